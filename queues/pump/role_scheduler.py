"""What runs in which thread. The only module that knows APScheduler.

Each pool gets a thread pool of its own with as many threads as roles, so a pool whose Redis hangs holds up nobody
else. A role keeps its rhythm itself once it runs (`PoolRunner.work`): to be called thirty times a second by a
scheduler takes a third of what an idle pump takes. One that has ended is started
again. A chore that is still running when its time comes is left out, not queued (`max_instances`, `coalesce`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from apscheduler.executors.pool import ThreadPoolExecutor as ExecutorOfThreads
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from .pool_runner import PoolRunner

START_AGAIN_S: Final = 10.0
"""How soon a role is started again that has ended. Only what is no `Exception`, as SystemExit, ends one."""

CHORES: Final = "chores"
CHORES_AT_ONCE: Final = 10


class RoleScheduler:
    """Runs the roles of runners, and chores, in threads."""

    def __init__(self) -> None:
        # It would report each run at INFO and each one left out at WARNING, roles that run among them.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._chores = ExecutorOfThreads(max_workers=CHORES_AT_ONCE)
        self._scheduler: Any = BackgroundScheduler(
            timezone=UTC,
            executors={CHORES: self._chores},
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": None},
        )
        self._executors: dict[str, ExecutorOfThreads] = {}

    def start(self) -> None:
        self._scheduler.start()

    def stop_chores(self) -> None:
        """Wait for the chores that run, and start nothing more. No runner is added or removed then.

        Before `stop`, which waits with APScheduler's locks held: a chore that adds or removes a runner needs them.
        """
        self._scheduler.pause()
        self._scheduler.get_jobs()  # waits for what was being started
        self._chores.shutdown(wait=True)

    def stop(self) -> None:
        """Wait for the runners, which were closed."""
        self._scheduler.shutdown(wait=True)

    def catch_up(self) -> None:
        """Run every chore now and go on from there.

        To be called when the wall clock was set: APScheduler plans by it, and a clock that is set back by an hour would
        leave the chores undone for that hour.
        """
        for job in self._scheduler.get_jobs():
            with suppress(JobLookupError):  # a role of a runner that is just being removed
                job.modify(next_run_time=datetime.now(UTC))

    def add_chore(self, name: str, work: Callable[[], object], *, interval_s: float, at_once: bool = False) -> None:
        """Run `work` every `interval_s`, the first time after so long, or at once."""
        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        self._scheduler.add_job(work, "interval", seconds=interval_s, id=f"chore:{name}", executor=CHORES, **first)

    def add_runner(self, runner: PoolRunner) -> None:
        """Run the roles of a pool, until it is closed."""
        executor = self._executors[runner.pool] = ExecutorOfThreads(max_workers=len(runner.roles))
        self._scheduler.add_executor(executor, alias=_alias(runner.pool))
        for role in runner.roles:
            self._scheduler.add_job(
                runner.work,
                "interval",
                args=(role,),
                seconds=START_AGAIN_S,
                next_run_time=datetime.now(UTC),
                id=_job_id(runner.pool, role.name),
                executor=_alias(runner.pool),
            )

    def remove_runner(self, runner: PoolRunner) -> None:
        """Run the roles of a pool no more. Does not wait for a tick that is under way: its Redis may be gone."""
        runner.close()
        for role in runner.roles:
            self._scheduler.remove_job(_job_id(runner.pool, role.name))
        self._scheduler.remove_executor(_alias(runner.pool), shutdown=False)
        self._executors.pop(runner.pool).shutdown(wait=False)


def _alias(pool: str) -> str:
    """Not the bare name: a pool may be called as the executor of chores, or as APScheduler's own, `default`."""
    return f"pool:{pool}"


def _job_id(pool: str, role: str) -> str:
    return f"pool:{pool}:{role}"
