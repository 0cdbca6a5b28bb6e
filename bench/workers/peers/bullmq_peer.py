"""BullMQ's Python package: one process, a hundred jobs at once."""

import asyncio
from typing import Any

from bullmq import Queue, Worker
from common import REDIS, main, write_mark


def enqueue(first: str, last: str, jobs: int) -> None:
    async def run() -> None:
        queue = Queue("peer", {"connection": REDIS})
        await queue.add("mark", {"path": first})
        for start in range(0, jobs, 500):
            await queue.addBulk([{"name": "noop", "data": {}} for _ in range(min(500, jobs - start))])
        await queue.add("mark", {"path": last})
        await queue.close()

    asyncio.run(run())


async def process(job: Any, _token: str) -> None:
    if job.name == "mark":
        write_mark(job.data["path"])


def worker() -> None:
    async def run() -> None:
        Worker("peer", process, {"connection": REDIS, "concurrency": 100, "removeOnComplete": {"count": 0}})
        await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    main(enqueue, worker)
