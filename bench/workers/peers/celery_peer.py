"""Celery: one process, its thread pool would be slower than its prefork of one."""

from celery import Celery
from common import REDIS, main, write_mark

app = Celery("celery_peer", broker=REDIS)
app.conf.update(worker_prefetch_multiplier=64, task_ignore_result=True, broker_connection_retry_on_startup=True)


@app.task
def noop() -> None: ...


@app.task
def mark(path: str) -> None:
    write_mark(path)


def enqueue(first: str, last: str, jobs: int) -> None:
    mark.delay(first)
    for _ in range(jobs):
        noop.delay()
    mark.delay(last)


def worker() -> None:
    app.worker_main(["worker", "--concurrency=1", "--loglevel=ERROR", "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    import celery_peer  # the module that workers import, so that names agree

    main(celery_peer.enqueue, celery_peer.worker)
