"""taskiq with its Redis list broker: one process, a hundred tasks at once."""

import asyncio

from common import REDIS, main, write_mark
from taskiq_redis import ListQueueBroker

broker = ListQueueBroker(REDIS)


@broker.task(task_name="noop")
async def noop() -> None: ...


@broker.task(task_name="mark")
async def mark(path: str) -> None:
    write_mark(path)


def enqueue(first: str, last: str, jobs: int) -> None:
    async def run() -> None:
        await broker.startup()
        await mark.kiq(first)
        for start in range(0, jobs, 500):
            await asyncio.gather(*[noop.kiq() for _ in range(min(500, jobs - start))])
        await mark.kiq(last)
        await broker.shutdown()

    asyncio.run(run())


def worker() -> None:
    from taskiq.cli.worker.args import WorkerArgs
    from taskiq.cli.worker.run import run_worker

    run_worker(WorkerArgs(broker="taskiq_peer:broker", modules=[], workers=1, max_async_tasks=100, log_level="ERROR"))


if __name__ == "__main__":
    import taskiq_peer

    main(taskiq_peer.enqueue, taskiq_peer.worker)
