"""Makes processes that do nothing but fire schedules, so that tests can kill them at any moment.

`python -m tests.running.firer SCHEDULES`: for each line `start` on its input it forks one, and says its number; for
`report` it carries on what they have left and says what became of the fires, as JSON. Forked, since to start one anew
takes seconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress

import django


def main() -> None:
    django.setup()
    from django.db import connection

    from queues.engine import TaskqError
    from queues.models import FireOutcome, Namespace, Pool, Schedule, ScheduleFire
    from queues.pools import engine_for
    from queues.services.schedules import firing
    from queues.services.schedules.editing import put_schedule
    from queues.services.schedules.values import CatchUp, ScheduleFields, ScheduleKind

    firing.TAKE_OVER_MS = 20  # type: ignore[misc]
    Namespace.objects.create(pool=Pool.objects.get(name="default"), name="clock")
    every_second = ScheduleFields(queue="ticks", kind=ScheduleKind.INTERVAL, interval_ms=1_000, catch_up=CatchUp.ALL)
    for number in range(int(sys.argv[1])):
        put_schedule(pool="default", namespace="clock", name=f"s{number}", fields=every_second)
    connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        if line.strip() == "report":
            Schedule.objects.update(fire_at=None)
            while ScheduleFire.objects.filter(outcome=FireOutcome.PENDING).exists():
                firing.fire_due(pool="default", engine=engine_for("default"))
            rows = ScheduleFire.objects.order_by("number").values_list("schedule__name", "due_at", "outcome", "job_id")
            print(json.dumps([(name, due.timestamp(), said, job) for name, due, said, job in rows]), flush=True)
            connection.close()
            continue
        pid = os.fork()
        if pid == 0:
            while True:
                with suppress(TaskqError):  # two processes on one SQLite
                    firing.fire_due(pool="default", engine=engine_for("default"))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
