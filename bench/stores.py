"""A private Redis for one scenario, without persistence, and an engine on it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, open_engine


@contextmanager
def fresh_engine() -> Iterator[Engine]:
    """An engine on an empty Redis that goes away with the block."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedRedis(Path(folder), persistent=False) as store:
        engine = open_engine(store.url)
        try:
            yield engine
        finally:
            engine.close()


def used_memory(engine: Engine) -> int:
    """Bytes that Redis uses."""
    return int(engine.client.info("memory")["used_memory"])


def event_stream_bytes(engine: Engine) -> int:
    """Bytes of the capped event streams, every entry measured."""
    partitions = range(engine.layout.partitions)
    return sum(engine.client.memory_usage(b"{tq%d}:events" % p, samples=0) or 0 for p in partitions)
