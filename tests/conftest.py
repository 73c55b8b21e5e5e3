"""Fixtures that every test may ask for."""

import gc
from collections.abc import Generator

import pytest

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """CPython 3.11 counts the depth of an AST under construction in one place for all: what a garbage collection runs
    meanwhile may make pytest's parsing of a test file fail ("AST constructor recursion depth mismatch").
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
