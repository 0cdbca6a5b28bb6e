"""arq: one process, a hundred jobs at once."""

import asyncio
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker
from common import REDIS, main, write_mark

SETTINGS = RedisSettings.from_dsn(REDIS)


async def noop(_: dict[Any, Any]) -> None: ...


async def mark(_: dict[Any, Any], path: str) -> None:
    write_mark(path)


def enqueue(first: str, last: str, jobs: int) -> None:
    async def run() -> None:
        pool = await create_pool(SETTINGS)
        await pool.enqueue_job("mark", first)
        for start in range(0, jobs, 20):
            await asyncio.gather(*[pool.enqueue_job("noop") for _ in range(min(20, jobs - start))])
        await pool.enqueue_job("mark", last)

    asyncio.run(run())


def worker() -> None:
    asyncio.set_event_loop(asyncio.new_event_loop())
    Worker(
        functions=[noop, mark], redis_settings=SETTINGS, max_jobs=100, poll_delay=0.01, keep_result=0, burst=False
    ).run()


if __name__ == "__main__":
    main(enqueue, worker)
