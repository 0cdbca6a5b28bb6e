"""Every Redis key of taskq, one function or attribute each. Layout version 1.

All keys of a partition carry its number as their hash tag (`{tq3}:...`), so a script touches one Redis Cluster slot.
The layout is described in `docs/redis-layout.md`. To change it: raise LAYOUT_VERSION, say in that page what changed,
and write a migration; a pool of another version is refused (LayoutError), never guessed at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from zlib import crc32

from .constants import EVENTS_FULL_BYTES, EVENTS_FULL_PART, EVENTS_MEMORY_MB, MEBIBYTE, PARTITIONS_DEFAULT

LAYOUT_VERSION: Final = 1

META_KEY: Final = b"taskq:meta"
"""hash, for ever. `layout` and `partitions`, written once when the pool is first opened. Never deleted."""

QUEUE_KEYS: Final = {
    "jobs": "hash: job id → record as published (lua/lib/record.lua). Field deleted when the job is gone.",
    "runs": "hash: job id → run (lua/lib/run.lua), from the first delivery or rescheduling on. Deleted with the job.",
    "results": "hash: job id → result, for completed jobs. Field deleted with the job.",
    "ready": "list of job ids, head = next; may hold tombstones (ids without a record), counted in `flags`.",
    "front": "list of job ids that go before `ready`, only while tombstones are taken out (lua/lib/compact.lua).",
    "prio": "zset: ready jobs with a priority other than 0; score = rank (lua/lib/ready.lua).",
    "priorities": "hash: job id → priority, if not 0, or place in the line of its limit key. Deleted with the job.",
    "lines": "zset, scores 0: ready jobs with limit keys: key, zero byte, rank, job id (lua/lib/fair.lua).",
    "turns": "zset: limit key → when its turn comes (lua/lib/fair.lua); dropped by the sweeper.",
    "shares": "hash: limit key → what it has had (lua/lib/fair.lua); dropped by the sweeper.",
    "delayed": "zset: job id → due time, ms.",
    "retry": "zset: job id → due time, ms.",
    "expiring": "zset: waiting job → when it expires, ms, if before the horizon (lua/lib/expiry_horizon.lua).",
    "staged": "zset: id of a record written ahead of its job (lua/stage.lua) → when, ms; empty but for moments.",
    "working": "zset: job id → end of the lease, ms.",
    "dead": "zset: job id → time of death, ms.",
    "completed": "zset: job id → end of its retention, ms.",
    "blocked": "zset: job that waits for others → due time, ms.",
    "grouped": "zset: member of a group that fills → when it joins or joined the group, ms.",
    "joining": "zset: member with a delay → when it joins its group, ms; a deleted one stays until then.",
    "gathered": "zset, scores 0: group, zero byte, member (lua/lib/groups.lua); deleted ones stay until a look.",
    "group_times": "zset: group → when it is flushed, or looked at before (lua/lib/groups.lua).",
    "group_sizes": "hash: group → members, bytes, times, limits; `` → when to look through `batches`, HSCAN cursor.",
    "batches": "hash: batch → `b` and its members, member → `m` and its batch; dropped when the batch is gone.",
    "waits": "zset, scores 0: what each blocked job waits for (lua/lib/waits.lua), until it is met or forgotten.",
    "dependants": "zset, scores 0: jobs elsewhere that depend on jobs here (lua/subscribe.lua), until these end.",
    "keys": "hash: idempotency key → `expires_ms job_id`; expired ones are swept.",
    "stats": "hash: `<minute><metric>` → count, the last minutes only; expires by itself.",
    "trend": "hash: minute → what happened in it (lua/lib/trend.lua), the last hours; expires by itself.",
    "trimmed": "hash: `age`, `count` → dead letters that this bound dropped; expires a week after the latest.",
}

PARTITION_KEYS: Final = {
    "queues": "zset, all scores 0, so in name order: `namespace/queue` of each queue that holds anything or is paused.",
    "flags": (
        "hash: `p:ns/q` → paused since (ms), `t:ns/q` → tombstones in `ready`, `h:` → horizon of expiry (ms), "
        "`s:` → place of a scan, `k:` → when to look through idempotency keys, `l:` → places in `lines` so far."
    ),
    "due": "zset: queue → earliest due time of its delayed and retry jobs, or earlier (the pump corrects it).",
    "ends": "zset: queue → earliest end of a lease or a retention, or earlier (the reclaimer corrects it).",
    "sweeps": "zset: queue → when the sweeper has work there, or earlier; at most ten minutes ahead.",
    "flushes": "zset: queue → when its groups have work (lua/advance_groups.lua), or earlier.",
    "waiting": "zset: queue → until when (ms) a consumer waits on it; only such queues get wake-up messages.",
    "active": "zset: queue → minute of its latest counts in `stats`; dropped when they are too old.",
    "events": "stream of transitions, capped (lua/lib/events.lua).",
    "drain": "hash: which events are being taken out of the stream (lua/plan_drain.lua). Never deleted; fixed size.",
    "probe": "string that a probe of the server's readiness writes (lua/write_probe.lua); expires by itself.",
    "counters": "hash: `events_bytes`, `events_most`, `events_dropped`, `events_dropped_at`; events by day (Events).",
    "outgoing": "zset: message to another partition → since when, ms (lua/lib/outgoing.lua), until it is carried.",
    "deletions": "hash: id of a deletion whose memory is not yet free → HSCAN cursor (lua/free_deleted.lua).",
    "workflows": "zset: `namespace/workflow` with something to do → when, ms (lua/lib/workflow.lua).",
}

WORKFLOW_KEYS: Final = {
    "workflow": "hash: the record of a workflow (lua/lib/workflow.lua), until its retention ends.",
    "pending": "hash: job id → body and options of a node, until its job is published.",
    "unpublished": "zset: number of a node → rank in which its job is published, until it is.",
}

DELETED_KEYS: Final = {
    f"deleted_{name}": f"what `{name}` was when the queue was deleted; lua/free_deleted.lua empties it in small steps."
    for name in (
        "jobs",
        "runs",
        "results",
        "priorities",
        "front",
        "ready",
        "prio",
        "lines",
        "turns",
        "shares",
        "delayed",
        "retry",
        "expiring",
        "staged",
        "working",
        "dead",
        "completed",
        "blocked",
        "grouped",
        "joining",
        "gathered",
        "group_times",
        "group_sizes",
        "batches",
        "keys",
    )
}
"""By the names that script headers use: a deleted queue's keys, renamed under the id of the deletion."""


_EVENTS_CAP: Final = EVENTS_MEMORY_MB * MEBIBYTE // PARTITIONS_DEFAULT


class QueueKeys:
    """The keys of one queue and of its partition, as bytes, by the names that script headers use."""

    __slots__ = (
        "_selections",
        "_tag",
        "channel",
        "events_cap",
        "keyed_until",
        "name",
        "namespace",
        "partition",
        "queue",
    )

    def __init__(self, namespace: str, queue: str, partition: int, events_cap: int = _EVENTS_CAP) -> None:
        self.namespace = namespace
        self.queue = queue
        self.partition = partition
        self.name = f"{namespace}/{queue}".encode()
        """What the queue is called inside its partition."""
        self.channel = wake_channel(partition)
        self.events_cap = events_cap
        self.keyed_until = 0.0
        """By the monotonic clock: until then it is taken to hold jobs with limit keys (operations/consume.py)."""
        self._tag = partition_tag(partition)
        self._selections: dict[tuple[str, ...], tuple[bytes, ...]] = {}

    def select(self, names: tuple[str, ...]) -> tuple[bytes, ...]:
        """The keys with these names, in this order; remembered, for the same scripts ask again and again."""
        selection = self._selections.get(names)
        if selection is None:
            own, shared = self._tag + b":" + self.name + b":", partition_keys(self.partition)
            selection = tuple([shared.get(name) or own + name.encode() for name in names])
            self._selections[names] = selection
        return selection


def partition_tag(partition: int) -> bytes:
    """`{tqN}`: the hash tag that every key of partition N begins with."""
    return b"{tq%d}" % partition


def wake_channel(partition: int) -> bytes:
    """pub/sub channel of a partition's wake-ups: `ready\\tQUEUE\\tN`, `due\\tQUEUE\\tMS`, `done\\tQUEUE\\tJOB_ID`."""
    return partition_tag(partition) + b":wake"


def notice_channel() -> bytes:
    """pub/sub channel of a pool's notices to all processes, `KIND\\tDETAIL...`: what they remember is out of date.

    Channels are a server's, not a database's: pools that share a server hear each other, so notices name their pool.
    """
    return b"taskq:notices"


@lru_cache(maxsize=1024)
def partition_keys(partition: int) -> dict[str, bytes]:
    """The keys that a partition's queues share, by name. Do not modify the answer: it is shared."""
    tag = partition_tag(partition)
    return {key: tag + b":" + key.encode() for key in PARTITION_KEYS}


def deletion_keys(partition: int, deletion_id: str) -> dict[str, bytes]:
    """`{tqN}:deleted:ID:NAME`: the keys of one deletion and of its partition, by the names that script headers use."""
    prefix = partition_tag(partition) + b":deleted:" + deletion_id.encode() + b":"
    return partition_keys(partition) | {key: prefix + key.removeprefix("deleted_").encode() for key in DELETED_KEYS}


def limit_key(token_id: str, kind: str, allowance: int, interval_ms: int) -> bytes:
    """string: requests left over; expires with the interval. In no partition: a token spans its namespace."""
    return f"{{tqlimit:{token_id}}}:{kind}:{allowance}:{interval_ms}".encode()


def pumps_key() -> bytes:
    """hash: pump id → its latest beat, for ten minutes (lua/beat.lua); in no partition. Other beats drop old ones."""
    return b"{tqpumps}:beats"


def tellers_key() -> bytes:
    """zset: web process → when it last reported its consumers (lua/tell_waiting.lua). In no partition; expires."""
    return b"{tqwaiting}:tellers"


def told_key() -> bytes:
    """hash: web process → its report (`stats/consumers.py`). Expires by itself; other processes drop old fields."""
    return b"{tqwaiting}:told"


def worker_channel() -> bytes:
    """pub/sub channel of commands to workers, `KIND\\tNAMESPACE/TARGET\\t...` (lua/command_workers.lua)."""
    return b"taskq:workers"


def worker_namespaces_key() -> bytes:
    """zset: namespace → time of its workers' latest beat (lua/worker_beat.lua). In no partition; expires."""
    return b"{tqworkers}:namespaces"


def workers_key(namespace: str) -> bytes:
    """zset: `NAMESPACE/WORKER` → time of its latest beat (lua/worker_beat.lua). In no partition; expires.

    One for each namespace, as that of the records: the workers of one must not push out those of another.
    """
    return b"{tqworkers}:seen:" + namespace.encode("utf-8", "replace")


def worker_beats_key(namespace: str) -> bytes:
    """hash: `NAMESPACE/WORKER` → its record (`queues.engine.stats.heartbeats`). Expires; beats drop old fields."""
    return b"{tqworkers}:beats:" + namespace.encode("utf-8", "replace")


def worker_commands_key(namespace: str) -> bytes:
    """zset: command to the namespace's workers → when it was given (lua/command_workers.lua). In no partition; expires.

    One for each namespace: commands in one must neither be read in another nor push out those of another.
    """
    return b"{tqworkers}:commands:" + namespace.encode()


def note_key(queue: QueueKeys, job_id: str) -> bytes:
    """hash: what a worker said of a job that it ran (lua/annotate.lua). Expires by itself."""
    return b"%b:note:%b:%b" % (partition_tag(queue.partition), queue.name, job_id.encode("utf-8", "replace"))


def push_keys(queue: QueueKeys, endpoint: int) -> tuple[bytes, bytes, bytes]:
    """Of a push endpoint: list of its latest deliveries, list of those that failed, hash of its counts
    (lua/note_deliveries.lua). `endpoint`: its number, so that the next one of the queue begins anew. They expire.
    """
    prefix = b"%b:push:%b:%d:" % (partition_tag(queue.partition), queue.name, endpoint)
    return prefix + b"recent", prefix + b"failures", prefix + b"health"


def pushers_key() -> bytes:
    """hash: pusher id → its latest beat, for ten minutes (lua/beat.lua); in no partition. Other beats drop old ones."""
    return b"{tqpushers}:beats"


def survey_key() -> bytes:
    """hash: namespace → its queues as the survey found them, `` → about the survey. The next survey writes it anew."""
    return b"{tqsurvey}:found"


def survey_turn_key() -> bytes:
    """string: id of the pump that surveys the pool; expires when it is silent."""
    return b"{tqsurvey}:turn"


def rollup_key(namespace: str) -> bytes:
    """hash: minute → sum over the namespace's queues; "": over all of the pool. The last day; expires by itself."""
    return b"{tqsurvey}:minutes:" + namespace.encode()


def partition_of(namespace: str, queue: str, partitions: int) -> int:
    """The partition of a queue: CRC-32 of `namespace/queue`, modulo the pool's number of partitions."""
    return crc32(f"{namespace}/{queue}".encode()) % partitions


def full_bytes(events_cap: int) -> int:
    """From how many bytes on a partition's events are drained at once, as scripts compute it, too."""
    return min(EVENTS_FULL_BYTES, events_cap // EVENTS_FULL_PART)


class WorkflowKeys:
    """The keys of one workflow and of its partition, as bytes, by the names that script headers use."""

    __slots__ = ("_index", "_prefix", "name", "namespace", "partition", "workflow_id")

    def __init__(self, namespace: str, workflow_id: str, partition: int) -> None:
        self.namespace = namespace
        self.workflow_id = workflow_id
        self.partition = partition
        self.name = f"{namespace}/{workflow_id}".encode()
        self._prefix = partition_tag(partition) + b":workflow:" + self.name + b":"
        self._index = workflow_index_key(partition, namespace)

    def select(self, names: tuple[str, ...]) -> tuple[bytes, ...]:
        """The keys with these names, in this order."""
        shared = partition_keys(self.partition)
        return tuple(
            [self._index if name == "index" else shared.get(name) or self._prefix + name.encode() for name in names]
        )


def workflow_index_key(partition: int, namespace: str) -> bytes:
    """zset, scores 0: `MS/ID` of each workflow of a namespace in this partition, by age. Members go with the record."""
    return partition_tag(partition) + b":workflows:" + namespace.encode()


QUEUES_KEPT: Final = 4_096
"""Queues whose keys a process keeps: up to 3 KiB for each, where names are as long as they may be."""


class Layout:
    """How a pool's keys are laid out: its number of partitions, and a bounded memory of the queues it was asked for.

    `events_memory`: bytes for the events of all partitions together; 0: no events are written.
    """

    def __init__(self, partitions: int, events_memory: int = EVENTS_MEMORY_MB * MEBIBYTE) -> None:
        self.partitions = partitions
        self.events_cap = events_memory // partitions
        self.events_full = full_bytes(self.events_cap)
        self.queue = lru_cache(maxsize=QUEUES_KEPT)(self._queue)

    def _queue(self, namespace: str, queue: str) -> QueueKeys:
        return QueueKeys(namespace, queue, partition_of(namespace, queue, self.partitions), self.events_cap)

    def workflow(self, namespace: str, workflow_id: str) -> WorkflowKeys:
        """The keys of a workflow, whose partition follows from its name as that of a queue does."""
        return WorkflowKeys(namespace, workflow_id, partition_of(namespace, workflow_id, self.partitions))

    def named(self, name: bytes) -> QueueKeys:
        """The queue that `name` (`namespace/queue`, as the indexes hold it) means."""
        namespace, _, queue = name.decode().partition("/")
        return self.queue(namespace, queue)
