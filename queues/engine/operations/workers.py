"""Workers: what they say of themselves, commands to them, and what they say of the jobs that they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..errors import InvalidArgumentError
from ..ids import is_job_id
from ..keys import QueueKeys, note_key, worker_beats_key, worker_channel, worker_commands_key, workers_key
from ..limits import KEY_MAX_BYTES
from ..operation import Argument, Operation, Plan, Reply
from ..scripts import load
from ..values import JobState
from ..worker_presence import WorkerBeat, WorkerRecord, pack_worker, unpack_worker, worker_key
from .control import delete_jobs
from .inspect import detail
from .reply import clock_argument, expect_ok, tag_of

FORGET_WORKER_MS: Final = 30_000
"""A worker that ended without a word, or hangs, is shown for so long."""

WORKERS_MAX: Final = 1_000
LISTED_TOGETHER: Final = 16
"""Workers that one call of a listing looks at: a record may have 64 KiB."""

COMMANDS_KEPT_MS: Final = 600_000
COMMANDS_MAX: Final = 10_000
LOG_MAX_BYTES: Final = 16 * 1024
NOTE_FIELD_MAX_BYTES: Final = 64 * 1024
NOTE_FIELDS_MAX: Final = 32
"""Fields of one note, counting a field that is written again twice."""

_OVERLAP_MS: Final = 5_000
"""How much of what has been told is told again: the clock may have been put back."""

_BEAT = load("worker_beat")
_LIST = load("list_workers")
_COMMAND = load("command_workers")
_ANNOTATE = load("annotate")
_READ = load("read_worker")
_READ_NOTE = load("read_note")
_HOLD_KEY = load("hold_key")


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
    """`target`: a worker's id, or the job's id to be cancelled. `given`: tells two commands of one text apart.

    `namespace`: of the worker or job; brokers set it to their own.
    """

    kind: WorkerCommandKind
    target: str
    given: str
    namespace: str = ""

    def pack(self) -> bytes:
        """As it is stored and sent."""
        return f"{self.kind}\t{self.namespace}/{self.target}\t{self.given}".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatReply:
    """`commands` since the beat before, a few of them again. `since_ms` goes into the next beat."""

    commands: tuple[WorkerCommand, ...]
    since_ms: int


def read_command(message: bytes) -> WorkerCommand | None:
    """A stored or sent command; None if this version does not know it."""
    try:
        kind, address, given = message.decode().split("\t")
        namespace, slash, target = address.partition("/")
        return WorkerCommand(WorkerCommandKind(kind), target, given, namespace) if slash else None
    except ValueError:
        return None


def worker_beat(
    beat: WorkerBeat, *, since_ms: int, ends: bool = False, now_ms: int | None = None
) -> Operation[BeatReply]:
    """Note that a worker lives; or, with `ends`, that it is no more. Returns the commands since `since_ms`.

    Only those that concern it: to itself, and to cancel jobs that the beat says it runs (if some are untold, all jobs
    of its namespace).
    """

    def decode(reply: Reply) -> BeatReply:
        now, *messages = expect_ok(_BEAT, reply)
        commands = [read_command(message) for message in messages]
        own = [one for one in commands if one is not None and _concerns(one, beat, running)]
        return BeatReply(commands=tuple(own), since_ms=max(0, now - _OVERLAP_MS))

    running = {job.job_id for job in beat.running}
    record = b"" if ends else pack_worker(beat)
    key = worker_key(beat.namespace, beat.worker)
    args = (clock_argument(now_ms), key, record, FORGET_WORKER_MS, WORKERS_MAX, since_ms)
    return Operation(_BEAT, (workers_key(), worker_beats_key(), worker_commands_key(beat.namespace)), args, decode)


def _concerns(command: WorkerCommand, beat: WorkerBeat, running: set[str]) -> bool:
    if command.namespace != beat.namespace:
        return False
    if command.kind is WorkerCommandKind.CANCEL:
        return command.target in running or beat.running_untold > 0
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

    pattern = worker_key(namespace, "*") if namespace else "*"
    found: dict[bytes, WorkerRecord] = {}
    cursor = b"0"
    while True:
        args = (clock_argument(now_ms), FORGET_WORKER_MS, pattern, cursor, LISTED_TOGETHER)
        ((cursor, records),) = yield [Operation(_LIST, (workers_key(), worker_beats_key()), args, decode)]
        found |= {record.key: record for record in records}
        if cursor == b"0":
            return tuple(sorted(found.values(), key=lambda one: (one.worker, one.namespace)))


def read_worker(namespace: str, worker: str, *, now_ms: int | None = None) -> Operation[WorkerBeat | None]:
    """One worker; None if it was not heard of lately."""

    def decode(reply: Reply) -> WorkerBeat | None:
        if tag_of(reply) == "unknown":
            return None
        now, at, record = expect_ok(_READ, reply)
        return unpack_worker(key, record, max(0, now - at))

    key = worker_key(namespace, worker).encode("utf-8", "replace")
    return Operation(
        _READ, (workers_key(), worker_beats_key()), (clock_argument(now_ms), key, FORGET_WORKER_MS), decode
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

    A dead or completed job is left as it is.
    """
    (found,) = yield [detail(queue, job_id, preview=0, now_ms=now_ms)]
    if found is None:
        return None
    state: JobState = found.state
    if state is JobState.WORKING:
        command = WorkerCommand(WorkerCommandKind.CANCEL, job_id, given, queue.namespace)
        yield [command_workers(command, now_ms=now_ms)]
    elif state not in (JobState.DEAD, JobState.COMPLETED):
        yield from delete_jobs(queue, [job_id], now_ms=now_ms)
    return state


def annotate(
    queue: QueueKeys, job_id: str, fields: Mapping[str, str | bytes], *, lines: Sequence[str] = (), keep_ms: int
) -> Operation[None]:
    """Keep what a worker says of a job for `keep_ms`: fields replace those of before, lines are added to its log.

    Raises InvalidArgumentError if a field is too long or the note has NOTE_FIELDS_MAX fields; nothing has changed then.
    """

    def decode(reply: Reply) -> None:
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
    return Operation(_ANNOTATE, (note_key(queue, job_id),), args, decode)


def read_note(queue: QueueKeys, job_id: str) -> Operation[dict[str, bytes]]:
    """What a worker said of a job: field → text, and its `log`. Empty if nothing was said, or it is forgotten."""

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

    args = (clock_argument(now_ms), queue.name, b"no_overlap:" + raw, job_id)
    return Operation(_HOLD_KEY, queue.select(_HOLD_KEY.keys), args, decode)
