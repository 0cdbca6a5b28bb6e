"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queues.engine import Engine, open_engine

from .world import World

PARTITIONS = 3


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    """An engine on an empty store."""
    engine = open_engine(redis_url, partitions=PARTITIONS)
    yield engine
    engine.close()


@pytest.fixture
def world(engine: Engine) -> World:
    """The queue shop/orders under a manual clock."""
    return World(engine, engine.queue("shop", "orders"))
