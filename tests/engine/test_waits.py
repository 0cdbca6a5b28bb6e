"""How long a job waited counts from when it last became due."""

from __future__ import annotations

import pytest

from queues.engine import detail, fail, promote_due, reclaim_ended, release, respawn, stats

from .world import TTR_MS, World


def come_back(world: World, job_id: str, how: str) -> int:
    """Bring a working job back; when it is due again."""
    now = world.now_ms
    if how == "fail":
        world.run(fail(world.queue, job_id, now_ms=now))
    elif how == "fail later":
        world.run(fail(world.queue, job_id, delay_ms=700, now_ms=now))
        return now + 700
    elif how == "release":
        world.run(release(world.queue, job_id, now_ms=now))
    elif how == "release later":
        world.run(release(world.queue, job_id, delay_ms=700, now_ms=now))
        return now + 700
    elif how == "respawn":
        world.run(fail(world.queue, job_id, dead=True, now_ms=now))
        world.advance(50)
        world.run(respawn(world.queue, limit=1, ttl_ms=0, now_ms=world.now_ms))
        return now + 50
    else:
        world.advance(TTR_MS)
        world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))
        return now + TTR_MS
    return now


@pytest.mark.parametrize("how", ["fail", "fail later", "release", "release later", "respawn", "reclaim"])
def test_a_job_that_comes_back_is_due_from_then_on(world: World, how: str) -> None:
    job_id = world.publish_one(tries=3)
    world.advance(40_000)
    world.take_one()
    due_ms = come_back(world, job_id, how)
    world.advance(1_000)
    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    assert found.due_ms == due_ms
    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == world.now_ms - due_ms
    world.take_one()
    waited = world.run(stats(world.queue, now_ms=world.now_ms)).wait_ms["p50"]
    assert waited == pytest.approx(world.now_ms - due_ms, rel=0.1)
