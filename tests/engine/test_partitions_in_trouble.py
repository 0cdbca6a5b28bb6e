"""One partition whose data is broken: the background serves the others, and says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queues.engine import (
    AsyncEngine,
    Engine,
    PublishOptions,
    QueueKeys,
    ScriptError,
    consume,
    promote_due,
    publish,
    reclaim_ended,
    size,
    sweep,
)
from queues.engine.keys import partition_keys

from .loop import in_loop, opened
from .world import START_MS

LATER_MS = START_MS + 60_000


def delay(engine: Engine, queue: QueueKeys) -> None:
    engine.run(publish(queue, [b"x"], PublishOptions(delay_ms=1_000), now_ms=START_MS))


def hand_out(engine: Engine, queue: QueueKeys) -> None:
    engine.run(publish(queue, [b"x"], PublishOptions(tries=3), now_ms=START_MS))
    engine.run(consume(queue, ttr_ms=1_000, now_ms=START_MS))


def let_expire(engine: Engine, queue: QueueKeys) -> None:
    engine.run(publish(queue, [b"x"], PublishOptions(ttl_ms=1_000), now_ms=START_MS))


CASES = [
    pytest.param(promote_due, "due", delay, "delayed", id="promote"),
    pytest.param(reclaim_ended, "ends", hand_out, "working", id="reclaim"),
    pytest.param(sweep, "sweeps", let_expire, "jobs", id="sweep"),
]


def queue_of(engine: Engine | AsyncEngine, partition: int) -> QueueKeys:
    return next(q for q in (engine.queue("shop", f"q{i}") for i in range(99)) if q.partition == partition)


@pytest.mark.parametrize(("plan", "index", "prepare", "left"), CASES)
@pytest.mark.parametrize("broken", [0, 2])
def test_the_others_are_served(
    engine: Engine, plan: Any, index: str, prepare: Callable[..., None], left: str, broken: int
) -> None:
    healthy = [queue_of(engine, partition) for partition in range(3) if partition != broken]
    for queue in healthy:
        prepare(engine, queue)
    places = [queue.select((left,))[0] for queue in healthy]
    assert engine.client.exists(*places) == len(healthy)
    engine.client.set(partition_keys(broken)[index], "of the wrong type")

    with pytest.raises(ScriptError):
        engine.run(plan(engine.layout, now_ms=LATER_MS))

    assert engine.client.exists(*places) == 0


@in_loop
async def test_from_asyncio_too(redis_url: str) -> None:
    async with opened(redis_url, partitions=3) as engine:
        queue = queue_of(engine, 2)
        await engine.run(publish(queue, [b"x"], PublishOptions(delay_ms=1_000), now_ms=START_MS))
        await engine.client.set(partition_keys(0)["due"], "of the wrong type")

        with pytest.raises(ScriptError):
            await engine.run(promote_due(engine.layout, now_ms=LATER_MS))

        assert await engine.run(size(queue)) == 1
