"""Drains all that is in a Redis into a lake, and says how long that took: `python -m bench.drainer REDIS_URL LAKE`.

Prints events and seconds. It is warm when it begins to count: a pump that runs has drained before.
"""

from __future__ import annotations

import os
import sys
import time

import django

from queues.engine import open_engine, publish

WARM_JOBS = 1_000


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")
    django.setup()  # the package of the roles has some that need the database
    from queues.pump.roles.drain import Drain

    redis_url, lake = sys.argv[1:]
    engine = open_engine(redis_url)
    warm = open_engine(redis_url.replace("?", "?db=1&") if "?" in redis_url else f"{redis_url}?db=1")
    for _ in range(2):
        warm.run(publish(warm.queue("warm", "up"), [b"x"] * WARM_JOBS))
        drain_all(Drain("warm", url=f"{lake}/warm", every_s=0, everything=True), warm)
    began = time.perf_counter()
    events = drain_all(Drain("bench", url=f"{lake}/lake", every_s=0, everything=True), engine)
    print(events, time.perf_counter() - began)


def drain_all(drain: object, engine: object) -> int:
    """Ticks until nothing is left. Events."""
    events = 0
    while (counts := drain.tick(engine, None)).more:  # type: ignore[attr-defined]
        events += counts.jobs
    return events


if __name__ == "__main__":
    main()
