"""Makes processes that do nothing but drain, so that tests can kill them at any moment.

`python -m tests.running.drainer REDIS_URL LAKE_URL POOL`: for each line on its input it forks one, and says its number.
Forked, since to start one anew takes seconds.
"""

from __future__ import annotations

import os
import signal
import sys

import django

from queues.engine import open_engine


def main() -> None:
    django.setup()  # the package of the roles has some that need the database
    import pyarrow as pa

    from queues.lake import files, writer  # noqa: F401  # each process would load them anew
    from queues.pump.roles import drain as module

    pa.array(())  # pyarrow loads pandas for its first array, where there is one

    redis_url, lake_url, pool = sys.argv[1:]
    module.PLAN_EVENTS = 300  # type: ignore[misc]
    module.TAKE_OVER_MS = 20  # type: ignore[misc]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            engine = open_engine(redis_url)
            drain = module.Drain(pool, url=lake_url, every_s=0)
            while True:
                drain.tick(engine, None)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
