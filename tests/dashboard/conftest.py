"""What tests of the dashboard share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queues.engine import Engine, open_engine

from .people import People, gather
from .surveyor import Surveyor


@pytest.fixture
def people(db: None) -> People:
    """Alice owns the namespace `shop`, Bob may read it, Charlie owns `bank`."""
    return gather()


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    """On the Redis of the test."""
    engine = open_engine(redis_url)
    yield engine
    engine.close()


@pytest.fixture
def surveyor(engine: Engine) -> Surveyor:
    return Surveyor(engine)
