"""Makes processes that do nothing but flush groups, so that tests can kill them at any moment.

`python -m tests.running.flusher URL`: for each line on its input it forks one, and says its number. Forked, since to
start one anew takes a while.
"""

from __future__ import annotations

import os
import signal
import sys

from queues.engine import flush_due, open_engine


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            engine = open_engine(sys.argv[1])
            while True:
                engine.run(flush_due(engine.layout))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
