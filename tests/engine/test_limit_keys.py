"""Jobs with limit keys share their queue: fairly, by weight, within limits of rate and concurrency (lua/lib/fair.lua)."""

from __future__ import annotations

from .world import World


def line(world: World, count: int, **options: object) -> list[str]:
    return [job.body.decode() for job in world.take(count, **options)]


def test_try(world: World) -> None:
    for _ in range(10):
        world.publish(*[b"a"] * 100, limit_key="a")
    world.publish(*[b"b"] * 3, limit_key="b")
    world.state()
    assert line(world, 8) == ["a", "b", "a", "b", "a", "b", "a", "a"]
    world.state()
