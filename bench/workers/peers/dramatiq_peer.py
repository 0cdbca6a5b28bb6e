"""Dramatiq: one process, eight threads, its default."""

import dramatiq
from common import REDIS, main, write_mark
from dramatiq.brokers.redis import RedisBroker

dramatiq.set_broker(RedisBroker(url=REDIS))


@dramatiq.actor(max_retries=0)
def noop() -> None: ...


@dramatiq.actor(max_retries=0)
def mark(path: str) -> None:
    write_mark(path)


def enqueue(first: str, last: str, jobs: int) -> None:
    mark.send(first)
    for _ in range(jobs):
        noop.send()
    mark.send(last)


def worker() -> None:
    from dramatiq.cli import main as run
    from dramatiq.cli import make_argument_parser

    run(make_argument_parser().parse_args(["--processes", "1", "--threads", "8", "dramatiq_peer"]))


if __name__ == "__main__":
    import dramatiq_peer

    main(dramatiq_peer.enqueue, dramatiq_peer.worker)
