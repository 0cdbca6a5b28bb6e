"""Requests to taskq's HTTP API as values, and acknowledgements, of which many share a request."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from queues.engine import AckOutcome, LeaseLostError, ResultTooLargeError, TaskqError
from queues.engine.constants import BODY_MAX_BYTES, BULK_MAX_JOBS
from queues.engine.names import check_queue
from queues.engine.values import AckResult

from .base import Work
from .http_json import Reply, to_json_bytes

T = TypeVar("T")

ACK_MAX_BYTES: Final = BODY_MAX_BYTES
"""Results that go into one bulk ack: in base64, and with BULK_MAX_JOBS ids, they have room in BULK_ACK_MAX_BYTES."""


@dataclass(frozen=True, slots=True)
class Ack:
    """Acks of one queue, which `arun_all` sends together. `results`: of each job; None: it has none."""

    queue: str
    job_ids: Sequence[str]
    attempt: int
    results: Sequence[bytes | None]
    is_single: bool


@dataclass(frozen=True, slots=True)
class HttpCall(Work[T]):
    """A request, and how to read its reply. `path`: below the namespace.

    `takes_missing`: a 404 of the job is an answer. `job_id`: for errors. `wait_s`: for how long the server is asked to
    wait.
    """

    method: str
    path: str
    decode: Callable[[Reply], T]
    params: Mapping[str, str] | None = None
    content: bytes | None = None
    headers: Mapping[str, str | bytes] | None = None
    job_id: str = ""
    takes_missing: bool = False
    wait_s: float = 0.0
    ack: Ack | None = None


@dataclass(frozen=True, slots=True)
class HttpPlan(Work[T]):
    """Requests one after the other: `make` returns a generator of them, which is sent each one's result."""

    make: Callable[[], Generator[HttpCall[Any], Any, T]]


def ack_call(ack: Ack) -> HttpCall[Any]:
    check_queue(ack.queue)

    def decode(reply: Reply) -> Any:
        part = _ack_outcome(ack, [AckOutcome(one) for one in reply.json["outcomes"]])
        if isinstance(part, TaskqError):
            raise part
        return part

    return HttpCall("POST", f"{ack.queue}/ack", decode, content=_ack_content([ack]), ack=ack)


def bulk_ack(works: Sequence[HttpCall[Any]]) -> HttpCall[list[Any]]:
    """One request for the acks of several calls; a result, or an error as its value, for each call."""
    acks = [work.ack for work in works if work.ack is not None]

    def decode(reply: Reply) -> list[Any]:
        outcomes = [AckOutcome(one) for one in reply.json["outcomes"]]
        parts, begin = [], 0
        for ack in acks:
            end = begin + len(ack.job_ids)
            parts.append(_ack_outcome(ack, outcomes[begin:end]))
            begin = end
        return parts

    return HttpCall("POST", f"{acks[0].queue}/ack", decode, content=_ack_content(acks))


def _ack_content(acks: Sequence[Ack]) -> bytes:
    jobs: list[dict[str, Any]] = []
    for ack in acks:
        for job_id, result in zip(ack.job_ids, ack.results, strict=True):
            job: dict[str, Any] = {"id": job_id, "attempt": ack.attempt}
            if result is not None:
                job["result"] = b64encode(result).decode("ascii")
            jobs.append(job)
    return to_json_bytes({"jobs": jobs})


def _ack_outcome(ack: Ack, outcomes: Sequence[AckOutcome]) -> Any:
    if not ack.is_single:
        return tuple(outcomes)
    (outcome,) = outcomes
    if outcome is AckOutcome.LOST:
        return LeaseLostError(ack.job_ids[0])
    if outcome is AckOutcome.TOO_LARGE:
        return ResultTooLargeError(ack.job_ids[0])
    return AckResult(outcome)


def together(works: Sequence[Work[Any]]) -> list[list[int]]:
    """Places of the calls that share a request: acks of one queue, as many as one request may have."""
    groups: list[list[int]] = []
    open_groups: dict[str, tuple[list[int], int, int]] = {}
    for place, work in enumerate(works):
        assert isinstance(work, HttpCall)
        ack = work.ack
        if ack is None:
            groups.append([place])
            continue
        size = sum([len(result) for result in ack.results if result is not None])
        group, jobs, taken = open_groups.get(ack.queue, ([], BULK_MAX_JOBS, 0))
        if jobs + len(ack.job_ids) > BULK_MAX_JOBS or taken + size > ACK_MAX_BYTES:
            group, jobs, taken = [], 0, 0
            groups.append(group)
        group.append(place)
        open_groups[ack.queue] = (group, jobs + len(ack.job_ids), taken + size)
    return groups
