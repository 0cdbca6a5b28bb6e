"""Redis's clock was put back by an hour: what was written before lies in the future, and holds nobody up till then."""

from __future__ import annotations

import time

import pytest

from queues.engine import (
    LimitReachedError,
    PumpBeat,
    RequestLimit,
    beat,
    limited,
    list_pumps,
    publish,
    take_survey,
    take_token_limit,
)
from queues.engine.keys import limit_key, survey_turn_key
from queues.engine.operations.consumers import list_waiting, tell_waiting

from .test_consumers import beat as waiting_beat
from .world import World

HOUR_MS = 3_600_000
LIMIT = RequestLimit(token_id="t", kind="write", allowance=2, interval_ms=2_000)


def use_up_limit_before_the_jump(world: World) -> None:
    ends_ms = int(time.time() * 1000) + HOUR_MS + LIMIT.interval_ms
    key = limit_key(LIMIT.token_id, LIMIT.kind, LIMIT.allowance, LIMIT.interval_ms)
    world.client.set(key, f"0 {ends_ms * 1000}", pxat=ends_ms)


def test_a_tokens_interval_that_seems_to_end_in_an_hour_is_over(world: World) -> None:
    use_up_limit_before_the_jump(world)
    assert [world.run(take_token_limit(LIMIT)).allowed for _ in range(3)] == [True, True, False]

    use_up_limit_before_the_jump(world)
    one = limited(publish(world.queue, [b"x"]), LIMIT)
    assert [len(world.run(one).job_ids) for _ in range(2)] == [1, 1]
    with pytest.raises(LimitReachedError) as caught:
        world.run(one)
    assert caught.value.retry_after_ms <= LIMIT.interval_ms


def test_the_turn_of_a_pump_that_died_before_the_jump_is_taken(world: World) -> None:
    assert world.run(take_survey("one", hold_ms=2_000))
    world.client.pexpire(survey_turn_key(), HOUR_MS)

    assert world.run(take_survey("two", hold_ms=2_000))
    assert not world.run(take_survey("one", hold_ms=2_000))


def test_pumps_and_web_processes_that_died_before_the_jump_are_forgotten(world: World) -> None:
    for name, now_ms in (("dead", world.now_ms), ("alive", world.now_ms - HOUR_MS)):
        world.run(beat(PumpBeat(pump=name, up_ms=1, roles={}), now_ms=now_ms))
        world.run(tell_waiting(waiting_beat(name), now_ms=now_ms))

    now_ms = world.now_ms - HOUR_MS
    assert [one.pump for one in world.run(list_pumps(now_ms=now_ms))] == ["alive"]
    assert [one.process for one in world.run(list_waiting(now_ms=now_ms)).beats] == ["alive"]
    assert [one.process for one in world.run(list_waiting(now_ms=world.now_ms)).beats] == []
