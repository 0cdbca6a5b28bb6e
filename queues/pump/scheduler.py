"""When the roles run. The only module that knows APScheduler.

Each pool gets a thread pool of its own with as many threads as roles, so a pool whose Redis hangs holds up nobody
else. A role that is still running when its time comes is left out, not queued (`max_instances`, `coalesce`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from apscheduler.executors.pool import ThreadPoolExecutor as ExecutorOfThreads
from apscheduler.schedulers.background import BackgroundScheduler

from .lane import Lane


class RoleScheduler:
    """Runs lanes and chores, each at its interval, in threads."""

    def __init__(self) -> None:
        # It would report each run at INFO and each one left out at WARNING, ten times a second.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._scheduler: Any = BackgroundScheduler(
            timezone=UTC,
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": None},
        )
        self._executors: dict[str, ExecutorOfThreads] = {}

    def start(self) -> None:
        self._scheduler.start()

    def stop(self) -> None:
        """Let the ticks that run finish, and start no more."""
        self._scheduler.shutdown(wait=True)

    def catch_up(self) -> None:
        """Run everything now and go on from there.

        To be called when the wall clock was set: APScheduler plans by it, and a clock that is set back by an hour would
        leave the roles idle for that hour.
        """
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=datetime.now(UTC))

    def add_chore(self, name: str, work: Callable[[], object], *, interval_s: float, at_once: bool = False) -> None:
        """Run `work` every `interval_s`, the first time after so long, or at once."""
        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        self._scheduler.add_job(work, "interval", seconds=interval_s, id=f"chore:{name}", **first)

    def add_lane(self, lane: Lane) -> None:
        """Run the roles of a pool, each at its interval."""
        executor = self._executors[lane.pool] = ExecutorOfThreads(max_workers=len(lane.roles))
        self._scheduler.add_executor(executor, alias=lane.pool)
        for role in lane.roles:
            self._scheduler.add_job(
                lane.run,
                "interval",
                args=(role,),
                seconds=role.interval_s,
                id=_job_id(lane.pool, role.name),
                executor=lane.pool,
            )

    def remove_lane(self, lane: Lane) -> None:
        """Run the roles of a pool no more. Does not wait for a tick that is under way: its Redis may be gone."""
        for role in lane.roles:
            self._scheduler.remove_job(_job_id(lane.pool, role.name))
        self._scheduler.remove_executor(lane.pool, shutdown=False)
        self._executors.pop(lane.pool).shutdown(wait=False)


def _job_id(pool: str, role: str) -> str:
    return f"pool:{pool}:{role}"
