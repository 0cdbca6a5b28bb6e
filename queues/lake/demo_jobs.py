"""The made-up jobs of one queue and hour, from publish to their end, as columns of events.

Random columns are the same for the same seed on every machine.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from .demo_conditions import Conditions
from .demo_shape import WORKERS, Queue
from .names import HOUR_MS

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TWOS: Final = pa.array([a + b for a in _ALPHABET for b in _ALPHABET])


class Draws:
    """A run of random columns; `name` says which: each name has its own, whatever else is drawn."""

    def __init__(self, name: str) -> None:
        self._seed = zlib.crc32(name.encode())
        self._drawn = 0

    def uniform(self, rows: int) -> Any:
        """float64 in [0, 1)."""
        self._drawn += 1
        return pc.random(rows, initializer=(self._seed << 20) + self._drawn)

    def whole(self, rows: int, below: int) -> Any:
        """int64 in [0, below)."""
        return pc.cast(pc.floor(pc.multiply(self.uniform(rows), real(below))), pa.int64())

    def log_normal(self, rows: int, *, median: float, spread: float) -> Any:
        """int64 around `median`, ≥ 1; `spread`: the standard deviation of the logarithm. By Box and Muller."""
        far = pc.sqrt(pc.multiply(pc.ln(pc.subtract(real(1.0), self.uniform(rows))), real(-2.0)))
        normal = pc.multiply(far, pc.cos(pc.multiply(self.uniform(rows), real(2 * math.pi))))
        drawn = pc.multiply(pc.power(real(math.e), pc.multiply(normal, real(spread))), real(median))
        return pc.cast(pc.floor(pc.max_element_wise(pc.min_element_wise(drawn, real(1e9)), real(1.0))), pa.int64())

    def job_ids(self, published_ms: Any) -> Any:
        """ULIDs with these times."""
        rows = len(published_ms)
        fours = _fours()
        time = [
            _part(fours, published_ms, 30),
            _part(fours, published_ms, 10),
            _part(_TWOS, published_ms, 0),
        ]
        chance = [pc.take(fours, self.whole(rows, len(fours))) for _ in range(4)]
        return pc.binary_join_element_wise(*time, *chance, pa.scalar("", pa.string()))


@cache
def _fours() -> Any:
    """All of a million: made when first needed, not by an import."""
    twos = _TWOS.to_pylist()
    return pa.array([a + b for a in twos for b in twos])


def _part(digits: Any, number: Any, shift: int) -> Any:
    """The base-32 digits of `number` from bit `shift` on, as many as `digits` has of them."""
    return pc.take(digits, pc.bit_wise_and(pc.shift_right(number, whole(shift)), whole(len(digits) - 1)))


# Given a value without a type, pyarrow tries to import dateutil each time; where that is not installed, it looks
# through all of sys.path.
def real(number: float) -> Any:
    """A number for pyarrow to compute with."""
    return pa.scalar(number, pa.float64())


def whole(number: int) -> Any:
    """The same, of int64."""
    return pa.scalar(number, pa.int64())


BACKOFF_MS: Final = 10_000
LATENESS_MS: Final = 100
"""Delayed jobs become ready less than one turn of the pump after they are due."""

EVENT_COLUMNS: Final = (
    "kind",
    "at_ms",
    "job",
    "published_ms",
    "attempt",
    "wait_ms",
    "run_ms",
    "size",
    "worker",
    "error",
)
_TYPES: Final = {
    **dict.fromkeys(("at_ms", "published_ms", "wait_ms", "run_ms", "size"), pa.int64()),
    **dict.fromkeys(("job", "worker", "error"), pa.string()),
    "attempt": pa.int32(),
}
_WORKERS: Final = pa.array(WORKERS, pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Jobs at the same point of their lives: columns of equal length.

    `due_ms`: from when on they wait; `late`: ms from then until they were made ready, so nobody takes them before;
    `poisoned`: whether each attempt fails.
    """

    job: Any
    published_ms: Any
    size: Any
    due_ms: Any
    late: Any
    poisoned: Any

    def only(self, mask: Any) -> _Line:
        """Those that `mask` names."""
        return _Line(**{column.name: getattr(self, column.name).filter(mask) for column in fields(self)})

    def and_(self, other: _Line) -> _Line:
        """All of both."""
        return _Line(
            **{
                column.name: pa.concat_arrays([getattr(self, column.name), getattr(other, column.name)])
                for column in fields(self)
            }
        )


def events_of_hour(*, conditions: Conditions, hour: int, start_ms: int, seed: int) -> Iterator[Any]:
    """Tables of EVENT_COLUMNS, one for each kind and attempt; times may lie behind the hour, even the day.

    `start_ms`: when hour `hour` of the day begins.
    """
    queue, jobs = conditions.queue, conditions.jobs
    draws = Draws(f"{seed} {queue.name} {start_ms}")
    published = pc.add(whole(start_ms), draws.whole(jobs, HOUR_MS))
    size = draws.log_normal(jobs, median=queue.size, spread=0.4)
    delay = pc.if_else(
        pc.less(draws.uniform(jobs), real(queue.delayed)),
        draws.log_normal(jobs, median=queue.delay_ms, spread=0.6),
        whole(0),
    )
    due_later = pc.greater(delay, whole(0))
    line = _Line(
        job=draws.job_ids(published),
        published_ms=published,
        size=size,
        due_ms=pc.add(published, delay),
        late=pc.if_else(due_later, draws.whole(jobs, LATENESS_MS), whole(0)),
        poisoned=pc.less(draws.uniform(jobs), real(conditions.poisoned)),
    )
    yield _events("published", line, at_ms=published, wait_ms=delay, size=size)
    yield _ready(line.only(due_later))
    away = conditions.away and tuple(start_ms + (one - hour) * HOUR_MS for one in conditions.away)
    for attempt in range(1, queue.tries + 1):
        if not len(line.job):
            return
        line = yield from _attempt(line, queue, attempt, draws, conditions.wait_ms, away)


def _attempt(
    line: _Line, queue: Queue, attempt: int, draws: Draws, wait_median: float, away: tuple[int, ...] | None
) -> Any:
    """One delivery of each job. → those that come again"""
    wait = pc.max_element_wise(draws.log_normal(len(line.job), median=wait_median, spread=queue.spread), line.late)
    taken = pc.add(line.due_ms, wait)
    if away:
        during = pc.and_(pc.greater_equal(taken, whole(away[0])), pc.less(taken, whole(away[1])))
        taken = pc.if_else(during, pc.add(whole(away[1]), wait), taken)
        wait = pc.subtract(taken, line.due_ms)
    ends = pc.add(line.published_ms, whole(queue.ttl_ms))
    in_time = pc.less(taken, ends)
    if pc.min(in_time).as_py() is False:
        ended = pc.max_element_wise(ends, pc.add(line.due_ms, line.late))
        yield _some("expired", line, pc.invert(in_time), at_ms=ended, attempt=attempt - 1)
        line, taken, wait = line.only(in_time), taken.filter(in_time), wait.filter(in_time)
    rows = len(line.job)
    worker = pc.take(_WORKERS, draws.whole(rows, len(WORKERS)))
    yield _events("consumed", line, at_ms=taken, attempt=attempt, wait_ms=wait, size=line.size, worker=worker)
    run = pc.min_element_wise(draws.log_normal(rows, median=queue.run_ms, spread=queue.spread), whole(queue.ttr_ms - 1))
    fate = draws.uniform(rows)
    failed = pc.or_(pc.less(fate, real(queue.failing)), line.poisoned)
    lost = pc.and_(pc.greater_equal(fate, real(1 - queue.losing)), pc.invert(line.poisoned))
    well = pc.invert(pc.or_(failed, lost))
    done = pc.add(taken, run)
    yield _some("acked", line, well, at_ms=done, attempt=attempt, run_ms=run, worker=worker)
    error = _texts(queue.errors, draws, rows)
    yield _some("failed", line, failed, at_ms=done, attempt=attempt, run_ms=run, worker=worker, error=error)
    ran_out = pc.add(taken, whole(queue.ttr_ms))
    ttr = pa.repeat(whole(queue.ttr_ms), rows)
    yield _some("lease_lost", line, lost, at_ms=ran_out, attempt=attempt, run_ms=ttr, worker=worker)
    ended = pc.if_else(lost, ran_out, done)
    if attempt == queue.tries:
        said = pc.if_else(failed, error, pa.scalar(None, pa.string()))
        yield _some("dead", line, pc.or_(failed, lost), at_ms=ended, attempt=attempt, worker=worker, error=said)
        return line.only(pc.and_(failed, lost))
    retry = replace(
        line, due_ms=pc.add(done, whole(BACKOFF_MS * 2 ** (attempt - 1))), late=draws.whole(rows, LATENESS_MS)
    )
    again = retry.only(failed)
    yield _ready(again)
    return again.and_(replace(line, due_ms=ran_out, late=pa.repeat(whole(0), rows)).only(lost))


def _ready(line: _Line) -> Any:
    return _events("ready", line, at_ms=pc.add(line.due_ms, line.late), wait_ms=line.late)


def _texts(errors: tuple[str, ...], draws: Draws, rows: int) -> Any:
    """One of the texts for each row, with a number between 10 and 9,999 in it."""
    parts = zip(*(text.split("{}") for text in errors), strict=True)
    before, after = (pa.array(part, pa.string()) for part in parts)
    which = draws.whole(rows, len(errors))
    number = pc.cast(pc.add(draws.whole(rows, 9_990), whole(10)), pa.string())
    return pc.binary_join_element_wise(
        pc.take(before, which), number, pc.take(after, which), pa.scalar("", pa.string())
    )


def _some(kind: str, line: _Line, mask: Any, **columns: Any) -> Any:
    """The event for those jobs that `mask` names; columns are those of all."""
    chosen = {name: value if isinstance(value, int) else value.filter(mask) for name, value in columns.items()}
    return _events(kind, line.only(mask), **chosen)


def _events(kind: str, line: _Line, **columns: Any) -> Any:
    """A table of EVENT_COLUMNS; what is not given does not apply."""
    rows = len(line.job)
    known = {"job": line.job, "published_ms": line.published_ms, **columns}
    arrays = [pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), rows), pa.array([kind], pa.string()))]
    for name in EVENT_COLUMNS[1:]:
        value = known.get(name)
        if value is None:
            arrays.append(pa.nulls(rows, _TYPES[name]))
        elif isinstance(value, int):
            arrays.append(pa.repeat(pa.scalar(value, _TYPES[name]), rows))
        else:
            arrays.append(value)
    return pa.table(arrays, names=list(EVENT_COLUMNS))
