"""Fixtures that every test may ask for."""

from stack_fixtures import (
    kafka_bootstrap,
    kafka_log_directories,
    own_stack,
    redis_client,
    redis_url,
    stack,
    topic_names,
    topic_prefix,
)

__all__ = [
    "kafka_bootstrap",
    "kafka_log_directories",
    "own_stack",
    "redis_client",
    "redis_url",
    "stack",
    "topic_names",
    "topic_prefix",
]
