"""Heartbeats: the record that each pump, pusher and worker writes to its pool's Redis every second or so.

A record holds durations only, so that no host's clock matters: the Redis server's clock says when it was written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, Final

PUSHER_RECORD_MAX_BYTES: Final = 32 * 1024
OTHER_ENDPOINTS: Final = ""
"""Stands for the endpoints that found no room in a beat, added up."""

_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors of reading a record that another version of taskq has written."""

WORKER_RECORD_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBeat:
    """A role on one pool. `tick_age_ms`: since its latest turn ended. `late_ms`: how much later than its interval says
    that turn began. Since the process began: `ticks` turns, in which `jobs` were moved."""

    tick_age_ms: int
    late_ms: int
    ticks: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PumpBeat:
    """A pump process. `age_ms`: since its beat; 0 when it is sent. `up_ms`: since the process began."""

    pump: str
    up_ms: int
    roles: Mapping[str, RoleBeat]
    age_ms: int = 0


def pack_beat(beat: PumpBeat) -> bytes:
    """The record as lua/beat.lua keeps it."""
    roles = {name: asdict(role) for name, role in beat.roles.items()}
    return json.dumps({"up_ms": beat.up_ms, "roles": roles}, separators=(",", ":")).encode()


def unpack_beat(pump: bytes, entry: bytes, now_ms: int) -> PumpBeat | None:
    """An entry of lua/list_pumps.lua; None if this version cannot read it. Ages are as of `now_ms`."""
    try:
        age_ms, content = _read(entry, now_ms)
        roles = {
            name: RoleBeat(
                tick_age_ms=role["tick_age_ms"] + age_ms,
                late_ms=role["late_ms"],
                ticks=role["ticks"],
                jobs=role["jobs"],
            )
            for name, role in content["roles"].items()
        }
        name = pump.decode("utf-8", "replace")
        return PumpBeat(pump=name, up_ms=content["up_ms"] + age_ms, roles=roles, age_ms=age_ms)
    except _UNREADABLE:
        return None


def _read(entry: bytes, now_ms: int) -> tuple[int, dict[str, Any]]:
    """How old an entry is, and what its record says."""
    at, _, record = entry.partition(b" ")
    return max(0, now_ms - int(at)), json.loads(record)


@dataclass(frozen=True, slots=True)
class PushCounts:
    """Of one endpoint, or several. `in_flight`: requests now. Since the process began: deliveries that succeeded and
    failed, jobs given back without an outcome, and the sum of the time that deliveries took, in ms."""

    in_flight: int = 0
    delivered: int = 0
    failed: int = 0
    returned: int = 0
    run_ms: int = 0

    def plus(self, other: PushCounts) -> PushCounts:
        """Both together."""
        return PushCounts(*[one + another for one, another in zip(astuple(self), astuple(other), strict=True)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PusherBeat:
    """A pusher process. `age_ms`: since its beat; 0 when it is sent. `queues`: namespace/queue → counts."""

    pusher: str
    up_ms: int
    endpoints: int
    queues: Mapping[str, PushCounts] = field(default_factory=dict)
    age_ms: int = 0


def pack_pusher(beat: PusherBeat) -> bytes:
    """The record as lua/beat.lua keeps it. Endpoints that find no room in it are added up as OTHER_ENDPOINTS."""
    kept: dict[str, tuple[int, ...]] = {}
    other = PushCounts()
    room = PUSHER_RECORD_MAX_BYTES
    for name, counts in beat.queues.items():
        room -= len(name) + 60
        if room > 0 and name != OTHER_ENDPOINTS:
            kept[name] = astuple(counts)
        else:
            other = other.plus(counts)
    if other != PushCounts():
        kept[OTHER_ENDPOINTS] = astuple(other)
    content = {"up_ms": beat.up_ms, "endpoints": beat.endpoints, "queues": kept}
    return json.dumps(content, separators=(",", ":")).encode()


def unpack_pusher(pusher: bytes, entry: bytes, now_ms: int) -> PusherBeat | None:
    """An entry of lua/list_pumps.lua; None if this version cannot read it."""
    try:
        age_ms, content = _read(entry, now_ms)
        return PusherBeat(
            pusher=pusher.decode("utf-8", "replace"),
            up_ms=int(content["up_ms"]) + age_ms,
            endpoints=int(content["endpoints"]),
            queues={str(name): PushCounts(*map(int, counts)) for name, counts in content["queues"].items()},
            age_ms=age_ms,
        )
    except _UNREADABLE:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job that a worker runs, for `run_ms` so far. `percent` and `note`: what its handler said last."""

    queue: str
    job_id: str
    attempt: int
    task: str
    run_ms: int
    percent: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedTask:
    """Jobs that a worker gave back because it does not know their task. `reason`: what it lacks."""

    queue: str
    task: str
    reason: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBeat:
    """A worker process, `age_ms` ago (0 when it is sent). `state`: running, quiet (takes nothing more), stopping.

    `queues`: name → weight, the higher the more often it is first. `cpu_percent` of one core since the beat before.
    `running_untold`, `parked_untold`: further ones that did not fit.
    """

    worker: str
    host: str
    pid: int
    version: str
    namespace: str
    state: str
    queues: dict[str, int]
    concurrency: int
    up_ms: int
    done: int
    failed: int
    cpu_percent: float
    memory_bytes: int
    running: tuple[RunningJob, ...] = ()
    running_untold: int = 0
    parked: tuple[ParkedTask, ...] = ()
    parked_untold: int = 0
    age_ms: int = field(default=0)


def worker_key(namespace: str, worker: str) -> str:
    """`NAMESPACE/WORKER`: what a worker is stored under, so that namespaces may use the same ids.

    A namespace contains no slash, so two namespaces never have the same key.
    """
    return f"{namespace}/{worker}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """A worker's beat as it is stored under `key` (`worker_key`), `age_ms` ago."""

    key: bytes
    record: bytes
    age_ms: int

    @property
    def namespace(self) -> str:
        """Of the worker."""
        return self.key.decode("utf-8", "replace").partition("/")[0]

    @property
    def worker(self) -> str:
        """Its id."""
        return self.key.decode("utf-8", "replace").partition("/")[2]

    def unpack(self) -> WorkerBeat | None:
        """The beat; None if this version cannot read it."""
        return unpack_worker(self.key, self.record, self.age_ms)


def pack_worker(beat: WorkerBeat) -> bytes:
    """The record as lua/worker_beat.lua keeps it, of at most WORKER_RECORD_MAX_BYTES."""
    head = {
        name: value
        for name, value in ((name, getattr(beat, name)) for name in WorkerBeat.__dataclass_fields__)
        if name not in ("worker", "age_ms", "running", "parked", "running_untold", "parked_untold")
    }
    budget = WORKER_RECORD_MAX_BYTES - len(_json(head)) - 128
    running, budget = _fit([asdict(job) for job in beat.running], budget * 3 // 4, budget)
    parked, _ = _fit([asdict(task) for task in beat.parked], budget, budget)
    head["running"], head["parked"] = running, parked
    head["running_untold"] = beat.running_untold + len(beat.running) - len(running)
    head["parked_untold"] = beat.parked_untold + len(beat.parked) - len(parked)
    return _json(head)


def _fit(rows: list[dict[str, Any]], most: int, budget: int) -> tuple[list[dict[str, Any]], int]:
    """The first rows that take at most `most` bytes; what is left of the budget."""
    kept = []
    for row in rows:
        size = len(_json(row)) + 1
        if size > most:
            break
        most, budget = most - size, budget - size
        kept.append(row)
    return kept, budget


def _json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def unpack_worker(key: bytes, record: bytes, age_ms: int) -> WorkerBeat | None:
    """A record of lua/list_workers.lua; None if this version cannot read it. Durations are as of `age_ms` later.

    `key`: as `worker_key` makes it. The namespace is taken from there, not from the record.
    """
    namespace, slash, worker = key.decode("utf-8", "replace").partition("/")
    if not slash:
        return None
    try:
        content: dict[str, Any] = json.loads(record)
        content["running"] = tuple([_older(RunningJob(**row), age_ms) for row in content["running"]])
        content["parked"] = tuple([ParkedTask(**row) for row in content["parked"]])
        content["up_ms"] += age_ms
        content["namespace"] = namespace
        return WorkerBeat(worker=worker, age_ms=age_ms, **content)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _older(job: RunningJob, age_ms: int) -> RunningJob:
    return replace(job, run_ms=job.run_ms + age_ms)
