"""Workers of a namespace: what they say of themselves, commands to them, notes on the jobs that they run.

What they send is JSON. Everything in it has a bound, for any holder of a token may send it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from queues.engine import NOTE_FIELD_MAX_BYTES, WorkerCommandKind, annotate, read_note, worker_beat
from queues.engine import hold_key as hold_key_of_job
from queues.engine import list_workers as list_workers_of
from queues.engine.constants import NAME_MAX_BYTES, UINT32_MAX
from queues.engine.errors import InvalidArgumentError
from queues.engine.names import check_queue
from queues.engine.stats.heartbeats import ParkedTask, RunningJob, WorkerBeat
from queues.services.jobs.delivery import cancel_or_interrupt
from queues.services.workers.commands import send_command

from ..context import ApiContext
from ..http.body import flag_of, number_of, read_object
from ..http.errors import ParameterError
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response

T = TypeVar("T")

BEAT_MAX_BYTES: Final = 256 * 1024
"""Body of a beat. The record that is kept of it is shorter still (WORKER_RECORD_MAX_BYTES)."""

RUNNING_MAX: Final = 1_000
PARKED_MAX: Final = 100
QUEUES_MAX: Final = 64
WORKER_STATES: Final = ("running", "quiet", "stopping")
WORKER_ID_MAX_BYTES: Final = 255
WORKER_TEXT_MAX_BYTES: Final = 1_024

NOTE_MAX_BYTES: Final = 1024 * 1024
"""Body of a note."""

NOTE_FIELDS_MAX: Final = 8
"""Fields that one request may write."""

LINES_MAX: Final = 1_000
KEEP_MAX_MS: Final = 30 * 86_400_000

_NUMBER_MAX: Final = 2**53
_FIELD_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]")


def read_beat(content: dict[str, Any], *, namespace: str) -> tuple[WorkerBeat, int, bool]:
    """The beat, `since_ms` and `ends`. Unknown members are ignored: newer workers may send some.

    Raises ParameterError, which names the member that is wrong.
    """
    beat = WorkerBeat(
        worker=worker_id_of(content, "worker"),
        host=_text(content, "host"),
        pid=_whole(content, "pid"),
        version=_text(content, "version"),
        namespace=namespace,
        state=_state(content),
        queues=_queues(content),
        concurrency=_whole(content, "concurrency"),
        up_ms=_whole(content, "up_ms"),
        done=_whole(content, "done"),
        failed=_whole(content, "failed"),
        cpu_percent=_decimal(content, "cpu_percent"),
        memory_bytes=_whole(content, "memory_bytes"),
        running=_rows(content, "running", RUNNING_MAX, _running),
        running_untold=_whole(content, "running_untold", 0),
        parked=_rows(content, "parked", PARKED_MAX, _parked),
        parked_untold=_whole(content, "parked_untold", 0),
    )
    return beat, _whole(content, "since_ms", 0), flag_of(content, "ends")


def worker_id_of(content: dict[str, Any], name: str) -> str:
    """A worker's id: a text of 1 to WORKER_ID_MAX_BYTES bytes without control characters. Raises ParameterError."""
    text = content.get(name)
    if not isinstance(text, str) or not text or _UNPRINTABLE.search(text) or len(text.encode()) > WORKER_ID_MAX_BYTES:
        raise ParameterError(f"invalid {name}")
    return text


def note_fields_of(content: dict[str, Any]) -> dict[str, str]:
    """`fields` of a note: name → text. Raises ParameterError.

    `log` is none of them: lines are added to it by `lines`.
    """
    fields = content.get("fields", {})
    if not isinstance(fields, dict) or len(fields) > NOTE_FIELDS_MAX:
        raise ParameterError("invalid fields")
    for name, text in fields.items():
        if not _FIELD_NAME.match(name) or name == "log" or not isinstance(text, str):
            raise ParameterError("invalid fields")
        if len(text.encode()) > NOTE_FIELD_MAX_BYTES:
            raise ParameterError(f"{name} is longer than {NOTE_FIELD_MAX_BYTES} bytes")
    return fields


def lines_of(content: dict[str, Any]) -> list[str]:
    """`lines` of a note, at most LINES_MAX. Raises ParameterError."""
    lines = content.get("lines", [])
    if not isinstance(lines, list) or len(lines) > LINES_MAX or not all(isinstance(line, str) for line in lines):
        raise ParameterError("invalid lines")
    return lines


def _running(row: dict[str, Any]) -> RunningJob:
    percent = row.get("percent")
    return RunningJob(
        queue=_queue(row),
        job_id=_text(row, "job_id", NAME_MAX_BYTES),
        attempt=_whole(row, "attempt", most=UINT32_MAX),
        task=_text(row, "task"),
        run_ms=_whole(row, "run_ms"),
        percent=None if percent is None else _decimal(row, "percent"),
        note=_text(row, "note") if "note" in row else "",
    )


def _parked(row: dict[str, Any]) -> ParkedTask:
    return ParkedTask(queue=_queue(row), task=_text(row, "task"), reason=_text(row, "reason"), jobs=_whole(row, "jobs"))


def _rows(content: dict[str, Any], name: str, most: int, read: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
    rows = content.get(name, [])
    if not isinstance(rows, list) or len(rows) > most or not all(isinstance(row, dict) for row in rows):
        raise ParameterError(f"invalid {name}")
    try:
        return tuple([read(row) for row in rows])
    except ParameterError as error:
        raise ParameterError(f"{error} in {name}") from None


def _text(content: dict[str, Any], name: str, most: int = WORKER_TEXT_MAX_BYTES) -> str:
    text = content.get(name)
    if not isinstance(text, str) or len(text.encode()) > most:
        raise ParameterError(f"invalid {name}")
    return text


def _whole(content: dict[str, Any], name: str, default: int | None = None, most: int = _NUMBER_MAX) -> int:
    value = content.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ParameterError(f"invalid {name}")
    return value


def _decimal(content: dict[str, Any], name: str) -> float:
    value = content.get(name)
    # JSON has neither infinity nor NaN, and the comparison refuses both.
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_NUMBER_MAX <= value <= _NUMBER_MAX:
        raise ParameterError(f"invalid {name}")
    return float(value)


def _state(content: dict[str, Any]) -> str:
    state = content.get("state")
    if state not in WORKER_STATES:
        raise ParameterError("invalid state")
    return str(state)


def _queues(content: dict[str, Any]) -> dict[str, int]:
    queues = content.get("queues")
    if not isinstance(queues, dict) or len(queues) > QUEUES_MAX:
        raise ParameterError("invalid queues")
    for name in queues:
        _check_queue(name, "queues")
        weight = queues[name]
        if isinstance(weight, bool) or not isinstance(weight, int) or not 0 <= weight <= UINT32_MAX:
            raise ParameterError("invalid queues")
    return queues


def _queue(row: dict[str, Any]) -> str:
    name = _text(row, "queue", NAME_MAX_BYTES)
    _check_queue(name, "queue")
    return name


def _check_queue(name: str, member: str) -> None:
    try:
        check_queue(name)
    except InvalidArgumentError:
        raise ParameterError(f"invalid {member}") from None


NO_SUCH_JOB: Final = json_response(404, {"error": "job not found"})
NO_SUCH_WORKER: Final = json_response(404, {"error": "worker not found"})
_COMMANDS: Final = {kind.value: kind for kind in WorkerCommandKind if kind is not WorkerCommandKind.CANCEL}


async def cancel_job(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Delete a job that waits; have the worker that runs it end it."""
    job_id = request.path["job_id"]
    state = await context.run(request, lambda queue: cancel_or_interrupt(queue=queue, job_id=job_id))
    return NO_SUCH_JOB if state is None else json_response(200, {"state": state.value})


async def hold_key(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Have a job that is worked on hold a key, unless another one that is worked on does."""
    job_id, key = request.path["job_id"], request.query.get("key") or ""
    holder = await context.run(request, lambda queue: hold_key_of_job(queue, key, job_id))
    return json_response(200, {"holder": holder})


async def show_note(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """What a worker said of a job; an empty object if nothing."""
    job_id = request.path["job_id"]
    note = await context.run(request, lambda queue: read_note(queue, job_id))
    return json_response(200, {name: text.decode("utf-8", "replace") for name, text in note.items()})


async def add_note(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Keep what a worker says of a job: fields replace those of before, lines are added to its log."""
    content = await read_object(request, NOTE_MAX_BYTES)
    fields, lines = note_fields_of(content), lines_of(content)
    keep_ms = number_of(content, "keep_ms", 0)
    if not 1 <= keep_ms <= KEEP_MAX_MS:
        raise ParameterError("invalid keep_ms")
    job_id = request.path["job_id"]
    await context.run(request, lambda queue: annotate(queue, job_id, fields, lines=lines, keep_ms=keep_ms))
    return json_response(200, {"msg": "noted"})


async def list_workers(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The namespace's workers that were heard of within the last 30 s."""
    access = request.granted
    engine = await context.engine(access.pool)
    beats = await engine.run(list_workers_of(access.namespace))
    return json_response(200, {"namespace": access.namespace, "workers": beats})


async def beat(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Record what a worker says of itself; the reply has the commands that concern it."""
    content = await read_object(request, BEAT_MAX_BYTES)
    beat_of_worker, since_ms, ends = read_beat(content, namespace=request.granted.namespace)
    engine = await context.engine_after_body(request)
    reply = await engine.run(worker_beat(beat_of_worker, since_ms=since_ms, ends=ends))
    commands = [
        {"kind": one.kind.value, "target": one.target, "given": one.given, "attempt": one.attempt}
        for one in reply.commands
    ]
    return json_response(200, {"since_ms": reply.since_ms, "commands": commands})


async def command(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Tell a worker to take no more jobs, to take jobs again, or to end."""
    content = await read_object(request)
    kind = _COMMANDS.get(content["kind"]) if isinstance(content.get("kind"), str) else None
    if kind is None:
        raise ParameterError("invalid kind")
    worker = worker_id_of(content, "target")
    engine = await context.engine_after_body(request)
    told = await engine.run(send_command(namespace=request.granted.namespace, kind=kind, worker=worker))
    return json_response(200, {"msg": "told"}) if told else NO_SUCH_WORKER
