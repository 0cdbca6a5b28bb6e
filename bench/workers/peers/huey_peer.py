"""Huey: one process, one thread; more threads are slower."""

from common import REDIS, main, write_mark
from huey import RedisHuey

huey = RedisHuey("peer", url=REDIS, results=False)


@huey.task()
def noop() -> None: ...


@huey.task()
def mark(path: str) -> None:
    write_mark(path)


def enqueue(first: str, last: str, jobs: int) -> None:
    mark(first)
    for _ in range(jobs):
        noop()
    mark(last)


def worker() -> None:
    import logging

    logging.getLogger("huey").setLevel(logging.ERROR)
    huey.create_consumer(workers=1, periodic=False).run()


if __name__ == "__main__":
    import huey_peer

    main(huey_peer.enqueue, huey_peer.worker)
