#!/bin/sh
# Made from the table in apps/eunoe/operations/permissions.py; a test compares. For an installation without a prefix.
# Each role is a principal of the cluster. Run with EUNOE_KAFKA, as an administrator, with StandardAuthorizer; where it
# asks for a login, EUNOE_KAFKA_ADMIN names the file with the administrator's client settings.
set -e
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Write --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-producer --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Read --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Write --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-reader --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Read --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Write --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Write --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-client --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Read --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Read --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Read --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Read --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Write --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Write --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-officer --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Read --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Read --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Write --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Write --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Write --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Write --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Read --group eunoe-decide --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-decider --operation Write --transactional-id eunoe-decide --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Read --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-projector --operation Read --group eunoe- --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Read --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Write --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Read --group eunoe-shred --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation Write --transactional-id eunoe-shred --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-shredder --operation DescribeConfigs --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Read --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Read --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Write --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Read --group eunoe-attest --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-attester --operation Write --transactional-id eunoe-attest --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Read --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Write --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --topic memory-dead-letters
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation Describe --group eunoe- --resource-pattern-type prefixed
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-events
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-lifecycle
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-keys
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-control
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-access
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-receipts
kafka-acls.sh --bootstrap-server "$EUNOE_KAFKA" ${EUNOE_KAFKA_ADMIN:+--command-config "$EUNOE_KAFKA_ADMIN"} --add --allow-principal User:eunoe-operator --operation DescribeConfigs --topic memory-dead-letters
