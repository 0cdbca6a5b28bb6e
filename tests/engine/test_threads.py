"""One engine, many threads: every job is delivered once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from queues.engine import ack_attempt, consume, publish

from .world import World

THREADS = 8
JOBS = 25


def test_threads_that_share_an_engine_share_out_its_jobs(world: World) -> None:
    def work(number: int) -> list[str]:
        taken: list[str] = []
        for turn in range(JOBS):
            world.run(publish(world.queue, [b"%d-%d" % (number, turn)], now_ms=world.now_ms))
            for job in world.run(consume(world.queue, ttr_ms=60_000, count=2, now_ms=world.now_ms)).jobs:
                world.run(ack_attempt(world.queue, job.job_id, attempt=1, now_ms=world.now_ms))
                taken.append(job.body.decode())
        return taken

    with ThreadPoolExecutor(THREADS) as pool:
        taken = [body for found in pool.map(work, range(THREADS)) for body in found]

    assert sorted(taken) == sorted(f"{number}-{turn}" for number in range(THREADS) for turn in range(JOBS))
    assert world.places() == {}
