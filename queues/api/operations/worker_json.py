"""Reads what workers send as JSON: beats and notes. Everything has a bound, for any holder of a token may send it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from queues.engine import NOTE_FIELD_MAX_BYTES
from queues.engine.errors import InvalidArgumentError
from queues.engine.limits import NAME_MAX_BYTES, UINT32_MAX
from queues.engine.names import check_queue
from queues.engine.stats.workers import ParkedTask, RunningJob, WorkerBeat

from ..http.errors import ParameterError
from ..http.json_body import flag_of

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
