"""How waits and runs are spread."""

from __future__ import annotations

from queues.engine import ack
from queues.engine.operations.inspect import distributions
from queues.engine.queue_values import Distributions, Spread

from .world import World


def spread_of(world: World) -> Distributions:
    return world.run(distributions(world.queue, now_ms=world.now_ms))


def test_of_a_queue_that_did_nothing_there_is_nothing(world: World) -> None:
    assert spread_of(world) == Distributions(wait=Spread(), run=Spread())


def test_durations_are_counted_in_spans_that_double(world: World) -> None:
    for wait, run in ((0, 1), (3, 1), (4, 1_000), (5, 1_025)):
        job_id = world.publish_one()
        world.advance(wait)
        world.take_one()
        world.advance(run)
        world.run(ack(world.queue, [job_id], now_ms=world.now_ms))

    found = spread_of(world)

    assert found.wait == Spread(bounds_ms=(1, 2, 4, 8), counts=(1, 0, 1, 2))
    assert found.run.bounds_ms == tuple(2.0**span for span in range(1, 12))
    assert (found.run.counts[0], found.run.counts[9], found.run.counts[10]) == (2, 1, 1)


def test_what_is_older_than_ten_minutes_is_forgotten(world: World) -> None:
    world.publish_one()
    world.take_one()
    world.advance(11 * 60_000)
    world.publish_one()
    world.advance(64)
    world.take_one()

    assert sum(spread_of(world).wait.counts) == 1
