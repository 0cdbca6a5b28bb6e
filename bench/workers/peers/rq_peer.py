"""RQ: its SimpleWorker, which does not fork for each job."""

from common import REDIS, main, write_mark
from redis import Redis
from rq import Queue, SimpleWorker


def noop() -> None: ...


def enqueue(first: str, last: str, jobs: int) -> None:
    import rq_peer

    queue = Queue(connection=Redis.from_url(REDIS))
    queue.enqueue(write_mark, first, result_ttl=0)
    queue.enqueue_many([Queue.prepare_data(rq_peer.noop, result_ttl=0) for _ in range(jobs)])
    queue.enqueue(write_mark, last, result_ttl=0)


def worker() -> None:
    connection = Redis.from_url(REDIS)
    SimpleWorker([Queue(connection=connection)], connection=connection).work(burst=True, logging_level="ERROR")
    import time

    time.sleep(60)


if __name__ == "__main__":
    main(enqueue, worker)
