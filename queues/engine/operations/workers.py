"""Workers: what they say of themselves, commands to them, and what they say of the jobs that they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..constants import KEY_MAX_BYTES
from ..errors import InvalidArgumentError, JobNotFoundError
from ..keys import (
    QueueKeys,
    note_key,
    worker_beats_key,
    worker_channel,
    worker_commands_key,
    worker_namespaces_key,
    workers_key,
)
from ..names import is_job_id
from ..operation import Argument, Operation, Plan, Reply, clock_argument, expect_ok, tag_of
from ..record import OWN_KEY_PREFIX
from ..scripts import load
from ..stats.heartbeats import WorkerBeat, WorkerRecord, pack_worker, unpack_worker, worker_key
from ..values import JobState

FORGET_WORKER_MS: Final = 30_000
"""A worker that ended without a word, or hangs, is shown for so long."""

_HELD_PREFIX: Final = f"{OWN_KEY_PREFIX}held:".encode()
"""Of keys that jobs hold: they are among a queue's idempotency keys."""

WORKERS_MAX: Final = 1_000
"""Of one namespace."""

LISTED_NAMESPACES: Final = 16
LISTED_TOGETHER: Final = 16
"""Workers that one call of a listing looks at: a record may have 64 KiB."""

COMMANDS_KEPT_MS: Final = 600_000
COMMANDS_MAX: Final = 10_000
LOG_MAX_BYTES: Final = 16 * 1024
NOTE_FIELD_MAX_BYTES: Final = 64 * 1024
NOTE_FIELDS_MAX: Final = 32
"""Fields of one note, counting a field that is written again twice."""

TOLD_MAX: Final = 1_000
"""Commands that the reply to one beat contains, the latest. The others are not lost: see `cancel_job`."""

_OVERLAP_MS: Final = 5_000
"""Commands given this long before the latest beat are sent again: the clock may have been put back."""

_BEAT = load("worker_beat")
_LIST = load("list_workers")
_COMMAND = load("command_workers")
_ANNOTATE = load("annotate")
_READ = load("read_worker")
_READ_NOTE = load("read_note")
_HOLD_KEY = load("hold_key")
_CANCEL = load("cancel")
_NAMESPACES = load("list_worker_namespaces")


class WorkerCommandKind(StrEnum):
    """`quiet`: take no more jobs; `resume`: take jobs again; `stop`: finish what runs, then end.

    `cancel`: end a job.
    """

    QUIET = "quiet"
    RESUME = "resume"
    STOP = "stop"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """`target`: a worker's id, or the job's id to be cancelled. `given`: distinguishes two commands of one text.

    `namespace`: of the worker or job; brokers set it to their own. `attempt`: of the job, 0: whichever is under way.
    """

    kind: WorkerCommandKind
    target: str
    given: str
    namespace: str = ""
    attempt: int = 0

    def pack(self) -> bytes:
        """As it is stored and sent."""
        return f"{self.kind}\t{self.namespace}/{self.target}\t{self.given}\t{self.attempt}".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatReply:
    """`commands` since the beat before, a few of them again. `since_ms` goes into the next beat."""

    commands: tuple[WorkerCommand, ...]
    since_ms: int


def read_command(message: bytes) -> WorkerCommand | None:
    """A stored or sent command; None if this version does not know it."""
    try:
        kind, address, given, attempt = message.decode().split("\t")
        namespace, slash, target = address.partition("/")
        return WorkerCommand(WorkerCommandKind(kind), target, given, namespace, int(attempt)) if slash else None
    except ValueError:
        return None


def worker_beat(
    beat: WorkerBeat, *, since_ms: int, ends: bool = False, now_ms: int | None = None
) -> Operation[BeatReply]:
    """Note that a worker lives; or, with `ends`, that it is no more. Returns the commands since `since_ms`; 0: none.

    Only those that concern it: to itself, and to cancel jobs that the beat says it runs (if some are untold, all jobs
    of its namespace).
    """

    def decode(reply: Reply) -> BeatReply:
        now, *messages = expect_ok(_BEAT, reply)
        commands = [read_command(message) for message in messages]
        own = [one for one in commands if one is not None and _concerns(one, beat, running)]
        return BeatReply(commands=tuple(own), since_ms=max(0, now - _OVERLAP_MS))

    running = {job.job_id: job.attempt for job in beat.running}
    record = b"" if ends else pack_worker(beat)
    key = worker_key(beat.namespace, beat.worker)
    args = (clock_argument(now_ms), beat.namespace, key, record, FORGET_WORKER_MS, WORKERS_MAX, since_ms, TOLD_MAX)
    keys = (
        worker_namespaces_key(),
        workers_key(beat.namespace),
        worker_beats_key(beat.namespace),
        worker_commands_key(beat.namespace),
    )
    return Operation(_BEAT, keys, args, decode)


def _concerns(command: WorkerCommand, beat: WorkerBeat, running: Mapping[str, int]) -> bool:
    if command.namespace != beat.namespace:
        return False
    if command.kind is WorkerCommandKind.CANCEL:
        attempt = running.get(command.target)
        if attempt is None:
            return beat.running_untold > 0
        return command.attempt in (0, attempt)
    return command.target == beat.worker


def list_workers(namespace: str = "", *, now_ms: int | None = None) -> Plan[tuple[WorkerBeat, ...]]:
    """The workers that were heard of lately, by id: of one namespace, or of all."""
    records = yield from list_worker_records(namespace, now_ms=now_ms)
    beats = [record.unpack() for record in records]
    return tuple([beat for beat in beats if beat is not None])


def list_worker_records(namespace: str = "", *, now_ms: int | None = None) -> Plan[tuple[WorkerRecord, ...]]:
    """The same unparsed, for a caller that needs few of them: parsing 1,000 large records takes a second."""

    def decode(reply: Reply) -> tuple[bytes, list[WorkerRecord]]:
        now, cursor, *fields = expect_ok(_LIST, reply)
        rows = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
        return cursor, [WorkerRecord(key=key, record=record, age_ms=max(0, now - at)) for key, at, record in rows]

    cursors = {namespace: b"0"} if namespace else dict.fromkeys((yield from _namespaces(now_ms)), b"0")
    found: dict[bytes, WorkerRecord] = {}
    while cursors:
        some = list(cursors.items())[:LISTED_NAMESPACES]
        calls = [
            Operation(
                _LIST,
                (workers_key(name), worker_beats_key(name)),
                (clock_argument(now_ms), FORGET_WORKER_MS, cursor, LISTED_TOGETHER),
                decode,
            )
            for name, cursor in some
        ]
        for (name, _), (cursor, records) in zip(some, (yield calls), strict=True):
            found |= {record.key: record for record in records}
            cursors[name] = cursor
            if cursor == b"0":
                del cursors[name]
    return tuple(sorted(found.values(), key=lambda one: (one.worker, one.namespace)))


def _namespaces(now_ms: int | None) -> Plan[list[str]]:
    """Those that workers were heard of lately in."""
    args = (clock_argument(now_ms), FORGET_WORKER_MS)
    (names,) = yield [
        Operation(
            _NAMESPACES,
            (worker_namespaces_key(),),
            args,
            lambda reply: [str(name, "utf-8") for name in expect_ok(_NAMESPACES, reply)],
        )
    ]
    return names  # type: ignore[no-any-return]


def read_worker(namespace: str, worker: str, *, now_ms: int | None = None) -> Operation[WorkerBeat | None]:
    """One worker; None if it was not heard of lately."""

    def decode(reply: Reply) -> WorkerBeat | None:
        if tag_of(reply) == "unknown":
            return None
        now, at, record = expect_ok(_READ, reply)
        return unpack_worker(key, record, max(0, now - at))

    key = worker_key(namespace, worker).encode("utf-8", "replace")
    return Operation(
        _READ,
        (workers_key(namespace), worker_beats_key(namespace)),
        (clock_argument(now_ms), key, FORGET_WORKER_MS),
        decode,
    )


def command_workers(command: WorkerCommand, *, now_ms: int | None = None) -> Operation[int]:
    """Give a command to the workers of its namespace. The number of connections that heard of it at once.

    Raises InvalidArgumentError for a command without a namespace, or with a tab in it.
    """
    if not command.namespace or "\t" in command.target or "\t" in command.given:
        raise InvalidArgumentError("invalid command")
    args: tuple[Argument, ...] = (
        clock_argument(now_ms),
        worker_channel(),
        command.pack(),
        COMMANDS_KEPT_MS,
        COMMANDS_MAX,
    )
    key = worker_commands_key(command.namespace)
    return Operation(_COMMAND, (key,), args, lambda reply: int(expect_ok(_COMMAND, reply)[0]))


def cancel_job(queue: QueueKeys, job_id: str, *, given: str, now_ms: int | None = None) -> Plan[JobState | None]:
    """Delete a job that waits; have the worker that runs it end it. The state in which it was found, or None.

    What is worked on is marked, too: unless its attempt ends in an ack, the job is dead after it, even if its worker
    dies before it receives the command. A dead or completed job is left as it is.
    """

    (found,) = yield [cancel_step(queue, job_id, now_ms=now_ms)]
    if found is None:
        return None
    state, attempt = found
    if state is JobState.WORKING:
        command = WorkerCommand(WorkerCommandKind.CANCEL, job_id, given, queue.namespace, attempt)
        yield [command_workers(command, now_ms=now_ms)]
    return state  # type: ignore[no-any-return]


def cancel_step(queue: QueueKeys, job_id: str, *, now_ms: int | None = None) -> Operation[tuple[JobState, int] | None]:
    """`cancel_job` but for the command to the worker: the state, and the attempt if it is worked on; None: no job."""

    def decode(reply: Reply) -> tuple[JobState, int] | None:
        if tag_of(reply) == "missing":
            return None
        state, attempt = expect_ok(_CANCEL, reply)
        return JobState(str(state, "ascii")), attempt

    args = (clock_argument(now_ms), queue.name, queue.events_cap, job_id)
    return Operation(_CANCEL, queue.select(_CANCEL.keys), args, decode)


def annotate(
    queue: QueueKeys, job_id: str, fields: Mapping[str, str | bytes], *, lines: Sequence[str] = (), keep_ms: int
) -> Operation[None]:
    """Keep what a worker says of a job for `keep_ms`: fields replace those of before, lines are added to its log.

    Raises JobNotFoundError, and InvalidArgumentError if a field is too long or the note has NOTE_FIELDS_MAX fields;
    nothing has changed then.
    """

    def decode(reply: Reply) -> None:
        if tag_of(reply) == "missing":
            raise JobNotFoundError(job_id)
        if tag_of(reply) == "full":
            raise InvalidArgumentError("the note has too many fields")
        expect_ok(_ANNOTATE, reply)

    flat: list[Argument] = []
    for name, text in fields.items():
        if len(text) > NOTE_FIELD_MAX_BYTES:
            raise InvalidArgumentError(f"{name} is longer than {NOTE_FIELD_MAX_BYTES} bytes")
        flat += (name, text)
    log = "".join([line.replace("\n", " ") + "\n" for line in lines])
    args = (keep_ms, LOG_MAX_BYTES, NOTE_FIELDS_MAX, log.encode("utf-8", "replace")[-LOG_MAX_BYTES:], *flat)
    return Operation(_ANNOTATE, (*queue.select(("jobs",)), note_key(queue, job_id)), (job_id, *args), decode)


def read_note(queue: QueueKeys, job_id: str) -> Operation[dict[str, bytes]]:
    """The note of a job, written by its worker: field → text, and its `log`. Empty without one."""

    def decode(reply: Reply) -> dict[str, bytes]:
        flat = expect_ok(_READ_NOTE, reply)
        return {str(name, "utf-8"): text for name, text in zip(flat[::2], flat[1::2], strict=True)}

    return Operation(_READ_NOTE, (note_key(queue, job_id),), (), decode)


def hold_key(queue: QueueKeys, key: str, job_id: str, *, now_ms: int | None = None) -> Operation[str | None]:
    """Have a job that is worked on hold `key`. None: it does; else the id of the job that holds it and is worked on.

    Raises InvalidArgumentError for a key that is empty or too long, and for what is no job's id.
    """
    raw = key.encode("utf-8", "replace")
    if not 1 <= len(raw) <= KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid key")
    if not is_job_id(job_id):
        raise InvalidArgumentError("invalid job id")

    def decode(reply: Reply) -> str | None:
        if tag_of(reply) == "held":
            return str(reply[1], "ascii")
        expect_ok(_HOLD_KEY, reply)
        return None

    args = (clock_argument(now_ms), queue.name, _HELD_PREFIX + raw, job_id)
    return Operation(_HOLD_KEY, queue.select(_HOLD_KEY.keys), args, decode)
