"""Fixtures of the tests of workflows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queues.engine import open_engine

from .shop import Shop


@pytest.fixture
def shop(redis_url: str) -> Iterator[Shop]:
    engine = open_engine(redis_url, partitions=8)
    yield Shop(engine)
    engine.close()
