"""Made-up history, written straight into the lake and marked as such: `manage.py demodata`."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from .deletion import find_deletion
from .demo_conditions import conditions_of
from .demo_incidents import Incident, IncidentKind, draw_holiday, draw_incidents
from .demo_jobs import events_of_hour, whole
from .demo_shape import NAMESPACE, POOL, QUEUES
from .files import hour_folders
from .names import HOUR_MS, SUFFIX, day_dir, temporary_name
from .schema import arrow_schema
from .storage import LakeError, Storage
from .writer import parquet_writer

PARTITIONS: Final = 8
PREFIX: Final = "demo-"
"""Of file names."""

SATURDAY: Final = 5


class DemoThereError(LakeError):
    """There is demo data of these days already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPlan:
    """`days` days from `first` on (UTC); `jobs_per_day`: of an ordinary working day. `with_incidents`: many, and a
    holiday; else a single bad deploy.

    Jobs that are not at an end after the last day stay so: the rest of their lives would be on days after it.
    """

    first: date
    days: int
    jobs_per_day: int
    seed: int = 1
    with_incidents: bool = False

    @property
    def holidays(self) -> tuple[date, ...]:
        """Days on which little happens, with no incident."""
        day = draw_holiday(first=self.first, days=self.days, seed=self.seed) if self.with_incidents else None
        return (day,) if day else ()

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """By day."""
        if self.with_incidents:
            return draw_incidents(first=self.first, days=self.days, seed=self.seed, quiet=self.holidays)
        return self._bad_deploy

    @property
    def _bad_deploy(self) -> tuple[Incident, ...]:
        """On the last working day but one: late, so that there are weeks to compare it with. (): no working day."""
        days = [self.first + timedelta(days=number) for number in range(self.days)]
        working = [day for day in days if day.weekday() < SATURDAY]
        if not working:
            return ()
        day = working[-2] if len(working) > 1 else working[0]
        return (Incident(kind=IncidentKind.BAD_DEPLOY, day=day, queue="emails", first_hour=14, last_hour=16),)


def write_demo(lake: str, plan: DemoPlan, *, tell: Callable[[date, int], None]) -> int:
    """Write the plan's events; `tell` is told of each hour that is written, with the events so far. → events

    Raises DemoThereError, and LakeError if a day was deleted, or the lake cannot be written.
    """
    storage = Storage(lake)
    for number in range(plan.days):
        day = plan.first + timedelta(days=number)
        if deletion := find_deletion(storage, day):
            raise LakeError(f"{deletion}. Demo data can be made of later days only.")
        for folder in hour_folders(storage, day):
            if any(entry.name.startswith(PREFIX) for entry in storage.list(folder)):
                raise DemoThereError(f"There is demo data of {day} already: delete {storage.url(day_dir(day))} first.")
    events = 0
    for _, hours in groupby(demo_hours(plan), key=itemgetter(0)):
        files: dict[str, str] = {}
        try:
            for day, hour, table in hours:
                path = f"{day_dir(day)}/hour={hour:02d}/{PREFIX}{day.isoformat()}-{hour:02d}{SUFFIX}"
                files[path] = _write_hour(storage, path, table)
                events += len(table)
                tell(day, events)
            # All at once: a pump makes reports of days that it finds, and must not find half of one.
            for path, temporary in files.items():
                storage.put_written(path, temporary)
        except BaseException:
            for temporary in files.values():
                storage.forget(temporary)
            raise
    return events


def _write_hour(storage: Storage, path: str, table: Any) -> str:
    """Under a name by which it does not count yet, which is the answer. Raises LakeError."""
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/{temporary_name(name)}"
    storage.make_dir(folder)
    try:
        with storage.open(temporary, "wb") as file, parquet_writer(file) as writer:
            writer.write_table(table)
    except BaseException as error:
        storage.forget(temporary)
        if isinstance(error, OSError):  # a full disk, say
            raise LakeError(f"{storage.url(path)}: {error}") from error
        raise
    return temporary


def demo_hours(plan: DemoPlan) -> Iterator[tuple[date, int, Any]]:
    """(day, hour, table of the lake's columns but in time order) for each hour in which something happens."""
    start = int(datetime.combine(plan.first, time(), UTC).timestamp() * 1000)
    waiting: list[Any] = []
    incidents, holidays = plan.incidents, plan.holidays
    for number in range(24 * plan.days):
        day, hour = plan.first + timedelta(days=number // 24), number % 24
        begins = start + number * HOUR_MS
        for place, queue in enumerate(QUEUES):
            conditions = conditions_of(
                queue,
                first=plan.first,
                day=day,
                hour=hour,
                jobs_per_day=plan.jobs_per_day,
                seed=plan.seed,
                incidents=incidents,
                holidays=holidays,
            )
            made = events_of_hour(conditions=conditions, hour=hour, start_ms=begins, seed=plan.seed)
            waiting += [_of_queue(table, place) for table in made if len(table)]
        yet = [(pc.less(table["at_ms"], whole(begins + HOUR_MS)), table) for table in waiting]
        due = [table.filter(mask) for mask, table in yet]
        waiting = [rest for mask, table in yet if len(rest := table.filter(pc.invert(mask)))]
        if rows := sum(map(len, due)):
            yield day, hour, _finish(pa.concat_tables(due), rows)


def _of_queue(table: Any, place: int) -> Any:
    """With the queue's place in QUEUES, which says its name and partition later, once for all rows of an hour."""
    return table.append_column("place", pa.repeat(pa.scalar(place, pa.int8()), len(table)))


def _finish(table: Any, rows: int) -> Any:
    """In the lake's columns, by time."""
    table = table.unify_dictionaries().combine_chunks()
    table = table.take(pc.sort_indices(table, sort_keys=[("at_ms", "ascending"), ("job", "ascending")]))
    names = pa.array([queue.name for queue in QUEUES], pa.string())
    homes = pa.array([zlib.crc32(f"{NAMESPACE}/{queue.name}".encode()) % PARTITIONS for queue in QUEUES], pa.int64())
    known = {name: table[name] for name in ("kind", "job", "attempt", "wait_ms", "run_ms", "size", "worker", "error")}
    known |= {
        "queue": pc.take(names, table["place"]),
        "at": table["at_ms"],
        "published": table["published_ms"],
        "partition": pc.take(homes, table["place"]),
        "entry_ms": table["at_ms"],
        "entry_seq": pa.array(range(rows), pa.int64()),
    }
    same = {"pool": POOL, "namespace": NAMESPACE, "line": 0, "demo": True}
    columns = [
        pa.repeat(pa.scalar(same[field.name], field.type), rows)
        if field.name in same
        else known[field.name].cast(field.type)
        for field in arrow_schema()
    ]
    return pa.table(columns, schema=arrow_schema())
