"""manage.py pool add | set | list | check."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any, Final

from django.core.management import CommandError

from queues.engine import constants
from queues.management.verbs import VerbCommand
from queues.services.activity import ActivityAction, note_activity
from queues.services.pools.managing import PoolReport, add_pool, change_pool, check_pool, check_pools, list_pools

_MIN_REPLICAS_HELP: Final = "a publish succeeds once so many replicas have it"
AUTO: Final = "auto"
_EVENTS_HELP: Final = (
    f"memory for events in MiB, of all partitions together, or {AUTO}: "
    f"a quarter of maxmemory, {constants.EVENTS_MEMORY_MB} without one"
)


def _events_memory(text: str) -> int | str:
    """The argument of --events-memory. Raises ValueError."""
    return AUTO if text == AUTO else int(text)


class Command(VerbCommand):
    help = "Adds, changes, lists and checks pools: the Redis deployments that hold jobs."

    def add_verbs(self) -> None:
        add = self.verb("add", self.add, "Add a pool.")
        add.add_argument("name")
        add.add_argument("url", help="its Redis; - reads the URL from standard input, so that no password is in `ps`")
        add.add_argument("--partitions", type=int, metavar="N", help="for ever; default: as its Redis has it, or 8")
        add.add_argument("--min-replicas", type=int, metavar="N", default=0, help=f"{_MIN_REPLICAS_HELP}; default: 0")
        add.add_argument(
            "--events-memory",
            type=_events_memory,
            metavar="MB",
            default=AUTO,
            help=f"{_EVENTS_HELP}; default: {AUTO}",
        )
        add.add_argument("--description", default="")

        change = self.verb("set", self.set, "Change a pool. Running processes follow within a second or two.")
        change.add_argument("name")
        change.add_argument("--min-replicas", type=int, metavar="N", help=_MIN_REPLICAS_HELP)
        change.add_argument("--events-memory", type=_events_memory, metavar="MB", help=_EVENTS_HELP)

        self.verb("list", self.list, "List pools, passwords masked.").add_argument(
            "--json", action="store_true", dest="as_json"
        )

        check = self.verb("check", self.check_fitness, "Ask each pool's Redis; exit 1 if one is unfit to hold jobs.")
        check.add_argument("name", nargs="?", help="default: all pools")
        check.add_argument("--json", action="store_true", dest="as_json")

    def add(
        self,
        *,
        name: str,
        url: str,
        partitions: int | None,
        min_replicas: int,
        events_memory: int | str,
        description: str,
        **_options: Any,
    ) -> None:
        url = sys.stdin.readline().strip() if url == "-" else url
        pool = add_pool(
            name=name,
            url=url,
            partitions=partitions,
            min_replicas=min_replicas,
            events_memory_mb=None if events_memory == AUTO else int(events_memory),
            description=description,
        )
        note_activity(user=None, action=ActivityAction.POOL_CREATED, pool=pool.name)
        self.stdout.write(f"added {pool.name}: {pool.shown_url}, {pool.partitions} partitions")
        self._print_problems(check_pool(name=name))

    def set(self, *, name: str, min_replicas: int | None, events_memory: int | str | None, **_options: Any) -> None:
        asked = {"min_replicas": min_replicas, "events_memory_mb": events_memory}
        said = {field: value for field, value in asked.items() if value is not None}
        if not said:
            raise CommandError("nothing to change: give --min-replicas or --events-memory")
        pool = change_pool(name=name, **{field: None if value == AUTO else int(value) for field, value in said.items()})
        changed = [f"{field}={value}" for field, value in said.items()]
        note_activity(user=None, action=ActivityAction.POOL_CHANGED, pool=pool.name, detail=", ".join(changed))
        self.stdout.write(f"changed {pool.name}: {', '.join(changed)}")
        self._print_problems(check_pool(name=name))

    def list(self, *, as_json: bool, **_options: Any) -> None:
        pools = list_pools()
        if as_json:
            self.print_json([asdict(pool) for pool in pools])
            return
        rows = [
            (
                pool.name,
                pool.shown_url,
                pool.partitions,
                pool.min_replicas,
                AUTO if pool.events_memory_mb is None else pool.events_memory_mb,
                pool.namespaces,
                pool.description,
            )
            for pool in pools
        ]
        heads = ["NAME", "URL", "PARTITIONS", "MIN REPLICAS", "EVENTS MB", "NAMESPACES", "DESCRIPTION"]
        self.print_table(heads, rows)

    def check_fitness(self, *, name: str | None, as_json: bool, **_options: Any) -> None:
        reports = check_pools() if name is None else [check_pool(name=name)]
        if as_json:
            self.print_json([asdict(report) for report in reports])
        else:
            for report in reports:
                self._print_report(report)
        if any(report.problems for report in reports):
            raise SystemExit(1)

    def _print_report(self, report: PoolReport) -> None:
        store = report.store
        self.stdout.write(f"{report.pool}: {report.shown_url}")
        if store.reachable:
            jobs = "unknown number of" if store.jobs is None else store.jobs
            self.stdout.write(
                f"  {store.version} ({store.mode}), {jobs} jobs, {store.used_memory} bytes used, "
                f"{store.latency_ms:.2f} ms, policy {store.eviction_policy}, AOF {'on' if store.aof else 'off'}"
            )
        if report.problems:
            self._print_problems(report)
        else:
            self.stdout.write(self.style.SUCCESS("  fit to hold jobs"))
        for advice in report.advice:
            self.stdout.write(f"  ADVICE {advice.kind}: {advice.text}")
            self.stdout.write(f"    {advice.hint}")

    def _print_problems(self, report: PoolReport) -> None:
        for problem in report.problems:
            self.stdout.write(self.style.ERROR(f"  PROBLEM {problem.kind}: {problem.text}"))
            self.stdout.write(f"    {problem.hint}")
