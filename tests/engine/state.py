"""Reads all that is in Redis, says where every job is, and checks what must hold at any instant."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from queues.engine.keys import DELETED_KEYS, META_KEY, PARTITION_KEYS, QUEUE_KEYS, partition_of
from queues.engine.record import Record, Run, unpack_members, unpack_record, unpack_run

from .workflow_state import WorkflowContent, problems_of_workflow, read_workflow_keys

_OUTLIVES_JOBS = ("keys", "stats", "trend", "trimmed")
_DROPPED_LATER = (
    *("waits", "dependants", "turns", "shares"),
    *("joining", "gathered", "group_times", "group_sizes", "batches"),
)
"""Of an empty queue, until the role that sees to it has come by."""

_GROUP_SIZES = ">IIHIHIHIHHIHI"
"""Members, bytes, and five times of six bytes, each as high and low, with the most members between them."""

RANK_STEP = 2**44
"""Width of one priority's band of scores in `prio` (lua/lib/ready.lua)."""

TURN_LIMITED = 2**52
"""Is taken from the time of a key at a limit (lua/lib/fair.lua); twice as much from that of one without ready jobs."""

_PLACE_BYTES = 8
_ID_BYTES = 26
"""A zero byte and the rank, and the id, at the end of members of `lines`."""

_QUEUE_KEY = re.compile(rb"\{tq(\d+)\}:([-\w]+)/([-\w]+):(\w+)\Z")
_DELETED_KEY = re.compile(rb"\{tq(\d+)\}:deleted:([0-9a-f]+):(\w+)\Z")
_PARTITION_KEY = re.compile(rb"\{tq(\d+)\}:(\w+)\Z")
_LIMIT_KEY = re.compile(rb"\{tqlimit:[^}]+\}:(read|write):\d+:\d+\Z")
_WORKER_KEY = re.compile(rb"\{tqworkers\}:(?:namespaces|(?:seen|beats|commands):[-\w]+)\Z|\{tq\d+\}:note:")


@dataclass(slots=True, kw_only=True)
class QueueContent:
    """What the keys of one queue hold."""

    name: str
    partition: int
    jobs: dict[str, Record] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)
    front: list[str] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)
    prio: dict[str, int] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    places: dict[str, bytes] = field(default_factory=dict)
    """Of jobs with limit keys, out of `priorities`: key, zero byte, rank."""
    lines: dict[str, bytes] = field(default_factory=dict)
    """Ready jobs with limit keys in the order of the set, and what is before the id."""
    turns: dict[str, int] = field(default_factory=dict)
    shares: dict[str, tuple[float, ...]] = field(default_factory=dict)
    delayed: dict[str, int] = field(default_factory=dict)
    expiring: dict[str, int] = field(default_factory=dict)
    staged: dict[str, int] = field(default_factory=dict)
    retry: dict[str, int] = field(default_factory=dict)
    working: dict[str, int] = field(default_factory=dict)
    dead: dict[str, int] = field(default_factory=dict)
    completed: dict[str, int] = field(default_factory=dict)
    blocked: dict[str, int] = field(default_factory=dict)
    grouped: dict[str, int] = field(default_factory=dict)
    joining: dict[str, int] = field(default_factory=dict)
    gathered: dict[str, str] = field(default_factory=dict)
    """Member → its group."""
    group_times: dict[str, int] = field(default_factory=dict)
    group_sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    batches: dict[str, str] = field(default_factory=dict)
    waits: dict[str, int] = field(default_factory=dict)
    dependants: dict[str, int] = field(default_factory=dict)
    keys: dict[str, tuple[int, str]] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    trend: dict[str, str] = field(default_factory=dict)
    trimmed: dict[str, int] = field(default_factory=dict)
    _in_line: Counter[str] | None = None
    """How often each job is in the ready list, counted when it is first asked for."""

    def places_of(self, job_id: str) -> list[str]:
        """Every place the job is in; a sound store has exactly one."""
        if self._in_line is None:
            self._in_line = Counter(self.line)
        places = ["ready"] * (self._in_line[job_id] + (job_id in self.lines))
        sets = {
            "ready": self.prio,
            "delayed": self.delayed,
            "retry": self.retry,
            "working": self.working,
            "dead": self.dead,
            "completed": self.completed,
            "blocked": self.blocked,
            "grouped": self.grouped,
            "staged": self.staged,
        }
        return places + [place for place, members in sets.items() if job_id in members]

    @property
    def line(self) -> list[str]:
        """The ready list, both parts of it."""
        return self.front + self.ready

    def line_of(self, key: str) -> list[str]:
        """Ready jobs with this limit key, in their order."""
        return [job_id for job_id, place in self.lines.items() if place[:-_PLACE_BYTES].decode() == key]

    @property
    def tombstones(self) -> int:
        """Entries of the ready list that have no record."""
        return sum(job_id not in self.jobs for job_id in self.line)

    def expiry_of(self, job_id: str) -> int:
        """When a job expires, if it waits until then; 0: never."""
        return (self.runs.get(job_id) or self.jobs[job_id]).expires_ms


@dataclass(slots=True, kw_only=True)
class PartitionContent:
    """What the keys that a partition's queues share hold."""

    queues: set[str] = field(default_factory=set)
    flags: dict[str, int] = field(default_factory=dict)
    scans: dict[str, str] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    flushes: dict[str, int] = field(default_factory=dict)
    sweeps: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    active: dict[str, int] = field(default_factory=dict)
    counters: dict[str, str] = field(default_factory=dict)
    deletions: dict[str, str] = field(default_factory=dict)
    outgoing: dict[str, int] = field(default_factory=dict)
    workflows: dict[str, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    """Ids of the deletions that keys are left of."""


@dataclass(slots=True, kw_only=True)
class Content:
    """All that is in Redis."""

    partitions: int
    queues: dict[str, QueueContent] = field(default_factory=dict)
    shared: dict[int, PartitionContent] = field(default_factory=dict)
    workflows: dict[str, WorkflowContent] = field(default_factory=dict)
    indexed: set[str] = field(default_factory=set)
    """Names of workflows that are in the index of their namespace."""

    def queue(self, name: str) -> QueueContent:
        """The queue `namespace/queue`, empty if it has no keys."""
        if name not in self.queues:
            namespace, _, queue = name.partition("/")
            self.queues[name] = QueueContent(name=name, partition=partition_of(namespace, queue, self.partitions))
        return self.queues[name]

    def partition(self, number: int) -> PartitionContent:
        """The partition, empty if it has no keys."""
        return self.shared.setdefault(number, PartitionContent())


def dump(client: Any) -> dict[bytes, object]:
    """Every key with its value, in a form that is equal when nothing changed."""
    names = sorted(client.keys("*"))
    asking = client.pipeline(transaction=False)
    for key in names:
        asking.type(key)
    reading = client.pipeline(transaction=False)
    readers = {
        b"string": reading.get,
        b"list": lambda key: reading.lrange(key, 0, -1),
        b"hash": reading.hgetall,
        b"zset": lambda key: reading.zrange(key, 0, -1, withscores=True),
        b"stream": reading.xrange,
    }
    for key, kind in zip(names, asking.execute() if names else [], strict=True):
        readers[kind](key)
    return dict(zip(names, reading.execute() if names else [], strict=True))


def read(client: Any) -> Content:
    """Read everything. Fails for a key that the layout does not know, or that lies in the wrong partition."""
    values: dict[bytes, Any] = dump(client)
    content = Content(partitions=int(values.pop(META_KEY)[b"partitions"]))
    content.workflows, content.indexed = read_workflow_keys(values, content.partitions)
    for key, value in values.items():
        if match := _QUEUE_KEY.match(key):
            name, kind = f"{match[2].decode()}/{match[3].decode()}", match[4].decode()
            assert kind in QUEUE_KEYS, f"unknown key {key!r}"
            queue = content.queue(name)
            assert queue.partition == int(match[1]), f"{key!r} lies in the wrong partition"
            if kind == "priorities":
                queue.places = {job_id.decode(): place for job_id, place in value.items() if b"\0" in place}
                value = {job_id: number for job_id, number in value.items() if b"\0" not in number}
            setattr(queue, kind, _read_queue_key(kind, value))
        elif match := _DELETED_KEY.match(key):
            assert f"deleted_{match[3].decode()}" in DELETED_KEYS, f"unknown key {key!r}"
            content.partition(int(match[1])).deleted.add(match[2].decode())
        elif match := _PARTITION_KEY.match(key):
            kind = match[2].decode()
            assert kind in PARTITION_KEYS, f"unknown key {key!r}"
            if kind != "events":
                setattr(content.partition(int(match[1])), kind, _read_partition_key(kind, value))
            if kind == "flags":
                content.partition(int(match[1])).scans = _read_scans(value)
        else:
            assert _LIMIT_KEY.match(key) or _WORKER_KEY.match(key), f"unknown key {key!r}"
    return content


def _scores(pairs: list[tuple[bytes, float]]) -> dict[str, int]:
    assert all(score == int(score) for _, score in pairs), "a score is not whole"
    return {member.decode(): int(score) for member, score in pairs}


def _read_queue_key(kind: str, value: Any) -> Any:
    if kind in ("front", "ready"):
        return [job_id.decode() for job_id in value]
    if kind == "jobs":
        return {job_id.decode(): unpack_record(raw) for job_id, raw in value.items()}
    if kind == "runs":
        return {job_id.decode(): unpack_run(raw) for job_id, raw in value.items()}
    if kind == "results":
        return {job_id.decode(): raw for job_id, raw in value.items()}
    if kind == "lines":
        assert not any(score for _, score in value)
        return {member[-_ID_BYTES:].decode(): member[:-_ID_BYTES] for member, _ in value}
    if kind == "gathered":
        assert not any(score for _, score in value)
        return {member[-_ID_BYTES:].decode(): member[: -_ID_BYTES - 1].decode() for member, _ in value}
    if kind == "group_sizes":
        return {name.decode(): struct.unpack(_GROUP_SIZES, raw) for name, raw in value.items() if name}
    if kind == "batches":
        return {job_id.decode(): text.decode() for job_id, text in value.items()}
    if kind == "shares":
        return {key.decode(): struct.unpack(">Idd" if key else ">ddd", raw) for key, raw in value.items()}
    if kind == "keys":
        return {key.decode(): _read_holder(raw) for key, raw in value.items()}
    if kind == "trend":
        return {name.decode(): row.decode() for name, row in value.items()}
    if kind in ("priorities", "stats", "trimmed"):
        return {name.decode(): int(number) for name, number in value.items()}
    return _scores(value)


def _read_holder(raw: bytes) -> tuple[int, str]:
    assert len(raw) in (32, 33, 39), "for a time, while it is worked on, as long as its job's state says"
    high, low = struct.unpack(">HI", raw[:6])
    return high << 32 | low, raw[6:32].decode()


def _read_partition_key(kind: str, value: Any) -> Any:
    if kind == "queues":
        assert all(score == 0 for _, score in value), "the registry is ordered by name only with equal scores"
        return set(_scores(value))
    if kind == "flags":
        scans = _read_scans(value)
        numbers = {name.decode(): number for name, number in value.items() if name.decode() not in scans}
        return {name: int(number.split(b" ")[0]) for name, number in numbers.items()}
    if kind in ("counters", "deletions"):
        return {name.decode(): text.decode() for name, text in value.items()}
    return _scores(value)


def _read_scans(flags: dict[bytes, bytes]) -> dict[str, str]:
    """Places of scans, of all that is in `flags`."""
    return {name.decode(): place.decode() for name, place in flags.items() if name.startswith(b"s:")}


def check(client: Any) -> Content:
    """Read everything and assert all invariants. The content, for further looking."""
    content = read(client)
    broken = [problem for queue in list(content.queues.values()) for problem in _problems_of_queue(content, queue)]
    broken += [problem for number in content.shared for problem in _problems_of_partition(content, number)]
    for one in content.workflows.values():
        broken += problems_of_workflow(one, content.partition(one.partition).workflows, content.indexed)
    broken += [f"{name} is in an index only" for name in content.indexed - content.workflows.keys()]
    assert not broken, "\n".join(broken)
    return content


def _problems_of_queue(content: Content, queue: QueueContent) -> Iterator[str]:
    shared = content.partition(queue.partition)
    for problem in (*_misplaced(queue), *_orphans(queue), *_impossible(queue), *_unfair(shared, queue)):
        yield f"{queue.name}: {problem}"
    counted = shared.flags.get(f"t:{queue.name}", 0)
    if queue.tombstones != counted:
        yield f"{queue.name}: {queue.tombstones} tombstones, but {counted} counted"
    registered = queue.name in shared.queues
    belongs = bool(queue.jobs or queue.keys) or f"p:{queue.name}" in shared.flags
    if registered != belongs:
        yield f"{queue.name}: registered is {registered}, should be {belongs}"
    yield from _problems_of_bound("due", shared.due, queue, [*queue.delayed.values(), *queue.retry.values()])
    yield from _problems_of_bound("ends", shared.ends, queue, [*queue.working.values(), *queue.completed.values()])
    yield from _problems_of_expiry(shared, queue)
    yield from _problems_of_waits(shared, queue)
    yield from _problems_of_groups(shared, queue)
    if queue.front and not queue.ready:
        yield f"{queue.name}: `ready` is empty, `front` is not"
    if not queue.jobs:
        left = [kind for kind in QUEUE_KEYS if kind not in (*_OUTLIVES_JOBS, *_DROPPED_LATER) and getattr(queue, kind)]
        left += [key for key, score in queue.turns.items() if score >= -TURN_LIMITED]
        left += [index for index in ("due", "ends") if queue.name in getattr(shared, index)]
        if left:
            yield f"{queue.name}: holds no job but leaves {left} behind"


def _problems_of_expiry(shared: PartitionContent, queue: QueueContent) -> Iterator[str]:
    """What is expired must be found: by `expiring`, or else when the horizon comes."""
    horizon, is_scanned = shared.flags.get(f"h:{queue.name}"), f"s:{queue.name}" in shared.scans
    waiting = [
        job_id for job_id in queue.jobs if queue.places_of(job_id)[0] in ("ready", "delayed", "retry", "blocked")
    ]
    for job_id in queue.expiring.keys() - set(waiting):
        yield f"{queue.name}: expiring has {job_id}, which does not wait"
    for job_id in waiting:
        expires_ms = queue.expiry_of(job_id)
        if job_id in queue.expiring:
            if queue.expiring[job_id] != expires_ms:
                yield f"{queue.name}: {job_id} expires at {expires_ms}, expiring says {queue.expiring[job_id]}"
        elif expires_ms and not is_scanned and (horizon is None or expires_ms < horizon):
            yield f"{queue.name}: nothing knows that {job_id} expires at {expires_ms}, the horizon is {horizon}"
    events = [*queue.expiring.values(), *([horizon] if horizon is not None else [])]
    if queue.keys and any(expires_ms for expires_ms, _ in queue.keys.values()):
        events += [shared.flags[f"k:{queue.name}"]]
    if events and queue.jobs:
        yield from _problems_of_bound("sweeps", shared.sweeps, queue, events)


def _problems_of_waits(shared: PartitionContent, queue: QueueContent) -> Iterator[str]:
    """A job is blocked exactly as long as it waits for something, and whoever is to be told of it is going to be."""
    found: dict[str, list[str]] = {}
    for member in queue.waits:
        job_id, _, rest = member.partition("\t")
        found.setdefault(job_id, []).append(rest)
    for job_id in queue.blocked.keys() - found.keys():
        yield f"{queue.name}: {job_id} is blocked and waits for nothing"
    outgoing = {message.partition("\t")[2] for message in shared.outgoing if message.startswith(("waits\t", "added\t"))}
    is_left = [m for m in shared.outgoing if m.startswith(f"left\t{queue.name}\t")]
    for job_id, waits in found.items():
        if job_id in queue.staged:
            continue
        is_untold = job_id not in queue.blocked or any(wait[0] == "?" for wait in waits)
        if is_untold and f"{queue.name}\t{job_id}" not in outgoing and not is_left:
            yield f"{queue.name}: nothing will tell of {job_id}'s {waits}"


def _problems_of_groups(shared: PartitionContent, queue: QueueContent) -> Iterator[str]:
    """A member has joined its group, or is going to; a group with members is looked at in time; a batch is known."""
    for job_id, joined_ms in queue.grouped.items():
        group = queue.jobs[job_id].options.group if job_id in queue.jobs else ""
        if (job_id in queue.joining) == (job_id in queue.gathered):
            yield f"{queue.name}: member {job_id} both joins and has joined, or neither"
        elif job_id in queue.joining and queue.joining[job_id] != joined_ms:
            yield f"{queue.name}: member {job_id} joins at {queue.joining[job_id]}, grouped says {joined_ms}"
        elif job_id in queue.gathered and (queue.gathered[job_id] != group or group not in queue.group_times):
            yield f"{queue.name}: member {job_id} of {group} is in {queue.gathered[job_id]}, of {queue.group_times}"
    for group in set(queue.gathered.values()):
        members = [job_id for job_id, its in queue.gathered.items() if its == group]
        count, _, first_high, first_low, *_ = queue.group_sizes.get(group, (0, 0, 0, 0))
        alive = [queue.grouped[job_id] for job_id in members if job_id in queue.grouped]
        if count != len(members):
            yield f"{queue.name}: {group} has {len(members)} members, {count} counted"
        if alive and first_high << 32 | first_low > min(alive):
            yield f"{queue.name}: {group} has had a member since {min(alive)}"
    if queue.group_sizes.keys() != queue.group_times.keys():
        yield f"{queue.name}: groups are {queue.group_sizes.keys()}, those looked at {queue.group_times.keys()}"
    events = [*queue.group_times.values(), *queue.joining.values()]
    yield from _problems_of_bound("flushes", shared.flushes, queue, events)
    for batch_id, record in queue.jobs.items():
        if not record.options.members:
            continue
        members = [member.job_id for member in unpack_members(record.stored_body)]
        if len(members) != record.options.members:
            yield f"{queue.name}: batch {batch_id} has {len(members)} members, says {record.options.members}"
        if queue.batches.get(batch_id) != "b" + "".join(members):
            yield f"{queue.name}: members of batch {batch_id} are noted as {queue.batches.get(batch_id)}"
        if lost := [one for one in members if queue.batches.get(one, "")[:27] != f"m{batch_id}" or one in queue.jobs]:
            yield f"{queue.name}: members of batch {batch_id} do not lead to it, or are jobs: {lost}"
    if queue.batches and queue.name not in shared.flushes:
        yield f"{queue.name}: nothing drops {queue.batches}"


def _misplaced(queue: QueueContent) -> Iterator[str]:
    for job_id in queue.jobs:
        places = queue.places_of(job_id)
        if len(places) != 1:
            yield f"job {job_id} is in {places or 'no place'}"
        is_right = (
            job_id in queue.lines if job_id in queue.places else (job_id in queue.prio) == (job_id in queue.priorities)
        )
        if places == ["ready"] and not is_right:
            yield f"ready job {job_id} is in the wrong one of list and prio"
    for job_id, score in queue.prio.items():
        band = 100 - score // RANK_STEP
        if band != queue.priorities.get(job_id):
            yield f"job {job_id} is ready with priority {band}, has {queue.priorities.get(job_id)}"


def _unfair(shared: PartitionContent, queue: QueueContent) -> Iterator[str]:
    """What is known of limit keys must agree with their jobs."""
    keys = {job_id: record.options.limit_key for job_id, record in queue.jobs.items() if record.options.limit_key}
    if keys.keys() != queue.places.keys():
        yield f"jobs with limit keys are {keys}, places have {queue.places}"
    for job_id, place in queue.lines.items():
        if queue.places.get(job_id) != place:
            yield f"{job_id} is in line at {place!r}, its place is {queue.places.get(job_id)!r}"
        if keys.get(job_id) != place[:-_PLACE_BYTES].decode():
            yield f"{job_id} is in line at {place!r}, its key is {keys.get(job_id)}"
    in_line = {place[:-_PLACE_BYTES].decode() for place in queue.lines.values()}
    taking_turns = {key for key, score in queue.turns.items() if score >= -TURN_LIMITED}
    if in_line != taking_turns:
        yield f"keys with ready jobs are {in_line}, those that take turns {taking_turns}"
    working = Counter(keys[job_id] for job_id in queue.working if job_id in keys)
    slots = {key: int(share[0]) for key, share in queue.shares.items() if key and share[0]}
    if slots != dict(working):
        yield f"working jobs of keys are {dict(working)}, their slots {slots}"
    if unknown := queue.shares.keys() - queue.turns.keys() - working.keys() - {""}:
        yield f"shares has {unknown}, which nothing drops"
    if (
        resting := queue.turns.keys() - taking_turns - queue.shares.keys()
        | (queue.turns.keys() - in_line) & working.keys()
    ):
        yield f"turns has {resting}, which have neither ready jobs nor a share to forget"
    if queue.places and f"l:{queue.name}" not in shared.flags:
        yield "it has jobs with limit keys, and no mark of it"
    if ("" in queue.shares or queue.turns.keys() - taking_turns) and queue.name not in shared.sweeps:
        yield f"nothing drops {queue.shares}"


def _orphans(queue: QueueContent) -> Iterator[str]:
    sets = ("prio", "lines", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped")
    for kind in (*sets, "runs", "priorities", "places"):
        for job_id in getattr(queue, kind).keys() - queue.jobs.keys():
            yield f"{kind} has {job_id}, which is no job"
    for job_id in queue.results.keys() - queue.completed.keys():
        yield f"there is a result of {job_id}, which is not completed"
    if len(set(queue.line)) != len(queue.line):
        yield "an id is twice in the ready list"
    if 0 in queue.priorities.values():
        yield "the default priority is stored"


def _impossible(queue: QueueContent) -> Iterator[str]:
    for place in ("retry", "working", "dead", "completed"):
        for job_id in getattr(queue, place).keys() - queue.runs.keys():
            yield f"{place} job {job_id} was never delivered"
    for job_id, run in queue.runs.items():
        (place,) = queue.places_of(job_id)[:1] or [""]
        if place in ("ready", "delayed", "retry", "blocked", "grouped") and run.used >= run.tries:
            yield f"{place} job {job_id} has no try left: {run.used} of {run.tries}"
        if place == "working" and not (run.attempt >= 1 and run.used <= run.tries):
            yield f"working job {job_id} has used {run.used} of {run.tries}"


def _problems_of_bound(index: str, bounds: dict[str, int], queue: QueueContent, events: list[int]) -> Iterator[str]:
    if events and (queue.name not in bounds or bounds[queue.name] > min(events)):
        yield f"{queue.name}: {index} says {bounds.get(queue.name)}, the next event is at {min(events)}"


def _problems_of_partition(content: Content, number: int) -> Iterator[str]:
    shared = content.shared[number]
    named = {name.partition(":")[2] for name in shared.flags if name.startswith("t:")} | shared.queues
    for name in sorted(named | shared.due.keys() | shared.ends.keys()):
        if name not in content.queues and f"p:{name}" not in shared.flags:
            yield f"partition {number} knows {name}, which holds nothing"
    if shared.deleted != shared.deletions.keys():
        yield f"partition {number} frees {shared.deletions.keys()}, has keys of {shared.deleted}"
    if any(value <= 0 for name, value in shared.flags.items() if name.startswith("t:")):
        yield f"partition {number} counts {shared.flags}: no tombstones must be no field"
