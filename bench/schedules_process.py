"""Makes schedules that are due at once, and fires them: `python -m bench.schedules_process N`.

Prints jobs published, the seconds that it took, and the ms of a look at the database afterwards.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import django

LOOKS = 50
OTHERS = 10
"""Queues that the jobs go to."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")
    django.setup()
    from django.core.management import call_command

    from queues.models import Namespace, Pool, Schedule
    from queues.pools import engine_for
    from queues.services.schedules.editing import put_schedule
    from queues.services.schedules.firing import fire_due
    from queues.services.schedules.rows import to_datetime
    from queues.services.schedules.values import ScheduleFields, ScheduleKind

    call_command("migrate", verbosity=0)
    schedules = int(sys.argv[1])
    pool = Pool.objects.get_or_create(name="default")[0]
    Namespace.objects.create(pool=pool, name="bench")
    fields = ScheduleFields(queue="q", kind=ScheduleKind.CRON, cron="* * * * *", body=b"x" * 100)
    put_schedule(pool="default", namespace="bench", name="first", fields=fields)
    pattern: dict[str, Any] = dict(Schedule.objects.values().get(name="first"))
    due = to_datetime(time.time_ns() // 1_000_000 // 60_000 * 60_000)
    Schedule.objects.all().delete()
    del pattern["id"]
    Schedule.objects.bulk_create(
        Schedule(**{**pattern, "name": f"s{number}", "queue": f"q{number % OTHERS}", "due_at": due, "fire_at": due})
        for number in range(schedules)
    )
    assert Schedule.objects.count() == schedules
    engine = engine_for("default")

    def fire() -> int:
        fired = 0
        while True:
            done = fire_due(pool="default", engine=engine)
            fired += done.fired
            if not done.more:
                return fired

    began = time.perf_counter()
    fired = fire()
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    for _ in range(LOOKS):
        fire_due(pool="default", engine=engine)
    print(fired, seconds, (time.perf_counter() - began) / LOOKS * 1_000)


if __name__ == "__main__":
    main()
