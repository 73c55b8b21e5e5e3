"""Whether the models `keys` and `subjects` have seen all that the log held when it was asked.

The decider and the `recall` projector ask it before they take a key for unknown: end offsets first, then the wait, so
a key that was on the log when the question came up is found.
"""

from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from eunoe.crypto.errors import KeySourceUnavailable
from eunoe.processors.errors import KeysLagBehind
from eunoe.readmodels import keys, subjects
from eunoe.readmodels.errors import NotYet, StoreUnavailable
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.tenants import TenantsReader
from eunoe.readmodels.waiting import wait_for_position
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import Offset, Partition, TenantId
from eunoe.schemas.topics import Topic

PATIENCE_S: Final = 10.0
_FOLDS: Final = {Topic.KEYS: keys.NAME, Topic.LIFECYCLE: subjects.NAME}


class KeyModels:
    """``ends`` is a started consumer that reads committed records and has no group; only its offsets are asked for."""

    def __init__(
        self, redis: Redis, installation: Installation, ends: AIOKafkaConsumer, patience: float = PATIENCE_S
    ) -> None:
        self._tenants = TenantsReader(redis, installation)
        self._serving = {model: Serving(redis, installation, model) for model in _FOLDS.values()}
        self._installation = installation
        self._ends = ends
        self._patience = patience

    async def caught_up(self, partition: Partition) -> None:
        """For the decider. Raises `KeysLagBehind` after the patience, and what Kafka or Redis raise."""
        try:
            await self._wait(partition)
        except NotYet as behind:
            raise KeysLagBehind(partition) from behind

    async def wait(self, tenant: TenantId) -> None:
        """For `recall`. Raises ``KeySourceUnavailable`` after the patience, or where Redis does not answer."""
        try:
            await self._wait(self._installation.partition_of(tenant))
        except (NotYet, StoreUnavailable) as behind:
            raise KeySourceUnavailable("redis", str(behind)) from behind

    async def is_over(self, tenant: TenantId, incarnation: int) -> bool:
        """For `recall`. Raises ``KeySourceUnavailable`` where Redis does not answer."""
        try:
            return (await self._tenants.standing(tenant)).closed >= incarnation
        except StoreUnavailable as away:
            raise KeySourceUnavailable("redis", away.cause) from away

    async def _wait(self, partition: Partition) -> None:
        places = {topic: TopicPartition(self._installation.topic(topic), partition) for topic in _FOLDS}
        ends = await self._ends.end_offsets(list(places.values()))
        for topic, model in _FOLDS.items():
            await wait_for_position(self._serving[model], partition, Offset(ends[places[topic]]), self._patience)
