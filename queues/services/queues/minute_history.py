"""What happened minute by minute in one queue, in a few queues, in all that a user may see. Live charts show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from queues.engine import MINUTE_MS, WHOLE_POOL, Minute, namespace_minutes, queue_minutes
from queues.engine.errors import TaskqError
from queues.engine.stats.minutes import STATES
from queues.pools import reading_engine_for

from ...pools.ttl_cache import Recent
from .visible_queues import VisiblePool, VisiblePools

NAMESPACES_SUMMED: Final = 100
"""Of one pool; those with the most jobs come first."""

FRESH_S: Final[Mapping[int, float]] = {1: 15.0, 5: 60.0}
"""By minutes of a stretch (in the sums some seconds after its end). A day of many namespaces takes long to add."""

TRENDS_KEPT: Final = 64
"""In memory for each step, of all people who look: each at most some 300 stretches, without histograms."""

COUNTED: Final = ("published", "consumed", "acked", "failed", "leases_lost", "died", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """`count` stretches of `step` (1 or 5) whole minutes: the last ones, or those before `until_ms`."""

    count: int
    step: int = 1
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Minutes, the earliest first. `is_whole`: no pool was silent, and no namespace was left out."""

    minutes: tuple[Minute, ...]
    is_whole: bool = True


Part = tuple[str, frozenset[str] | None]
"""Some namespaces of a pool, or all of it."""

_trends: Final[Mapping[int, Recent[tuple[tuple[Part, ...], Span], Trend]]] = {
    step: Recent(fresh_s, size=TRENDS_KEPT) for step, fresh_s in FRESH_S.items()
}


def history_of_queue(*, pool: str, namespace: str, queue: str, minutes: int) -> Trend:
    """The last whole minutes of a queue, at most limits.TREND_MINUTES; one round trip. Raises what `engine_for` raises.

    A minute in which nothing happened to the queue is recorded if anything of the pool is: its pumps were there then.
    """
    engine = reading_engine_for(pool)
    asked = [queue_minutes(engine.queue(namespace, queue), count=minutes), namespace_minutes(WHOLE_POOL, count=minutes)]
    own, whole = engine.batch(asked)
    surveyed = {minute.at_ms for minute in whole if minute.recorded}
    known = (replace(minute, recorded=minute.recorded or minute.at_ms in surveyed) for minute in own)
    return Trend(minutes=tuple(known))


def histories_of_queues(
    *, pool: str, queues: Sequence[tuple[str, str]], minutes: int
) -> Mapping[tuple[str, str], Sequence[Minute]]:
    """The same of a page of queues (namespace, queue), in one round trip."""
    engine = reading_engine_for(pool)
    asked = [queue_minutes(engine.queue(namespace, queue), count=minutes) for namespace, queue in queues]
    return dict(zip(queues, engine.batch(asked) if asked else [], strict=True))


def history_of_pools(*, visible: VisiblePools, span: Span) -> Trend:
    """All that somebody sees in a time, added up; one round trip to each pool that answers, once in FRESH_S.

    A minute in which a pool's pumps surveyed nothing has no numbers: `recorded` is false.
    """
    known = [view for view in visible.pools if view.survey is not None]
    parts = tuple((view.pool, None if visible.sees_everything else _largest(view)) for view in known)
    trend = _trends[span.step].get((parts, span), lambda: _read_parts(parts, span))
    is_whole = len(known) == len(visible.pools) and all(
        names is None or len(names) == len(_present(view)) for (_pool, names), view in zip(parts, known, strict=True)
    )
    return replace(trend, is_whole=trend.is_whole and is_whole)


def _read_parts(parts: Sequence[Part], span: Span) -> Trend:
    answers = [_read(pool, names, span) for pool, names in parts]
    found = [answer for answer in answers if not isinstance(answer, TaskqError)]
    minutes = tuple(replace(minute.measured(), waits={}, runs={}) for minute in _add_up(found))
    return Trend(minutes=minutes, is_whole=len(found) == len(answers))


def _present(view: VisiblePool) -> list[str]:
    """Namespaces of the person where a survey found queues."""
    return [name for name in view.survey.totals if name in view.namespaces] if view.survey else []


def _largest(view: VisiblePool) -> frozenset[str]:
    totals = view.survey.totals if view.survey else {}
    by_size = sorted(_present(view), key=lambda name: totals[name].jobs, reverse=True)
    return frozenset(by_size[:NAMESPACES_SUMMED])


def _read(pool: str, names: frozenset[str] | None, span: Span) -> Sequence[Minute] | TaskqError:
    try:
        engine = reading_engine_for(pool)
        wanted = [WHOLE_POOL, *sorted(names or ())]
        asked = [namespace_minutes(name, count=span.count, step=span.step, until_ms=span.until_ms) for name in wanted]
        whole, *parts = engine.batch(asked)
    except TaskqError as error:
        return error
    if names is None:
        return whole  # type: ignore[no-any-return]
    summed = {minute.at_ms: minute for minute in _add_up(parts)}
    return [
        replace(summed.get(minute.at_ms, Minute(at_ms=minute.at_ms, minutes=span.step)), recorded=minute.recorded)
        for minute in whole
    ]


def _add_up(parts: Iterable[Sequence[Minute]]) -> tuple[Minute, ...]:
    """Minute by minute. Jobs by state are added as far as they are known."""
    by_time: dict[int, list[Minute]] = {}
    for part in parts:
        for minute in part:
            by_time.setdefault(minute.at_ms, []).append(minute)
    return tuple(_sum(at_ms, by_time[at_ms]) for at_ms in sorted(by_time))


def _sum(at_ms: int, minutes: Sequence[Minute]) -> Minute:
    if len(minutes) == 1:
        return minutes[0]
    counts = {name: sum(getattr(minute, name) for minute in minutes) for name in COUNTED}
    known = [minute.jobs for minute in minutes if minute.jobs is not None]
    jobs = {state: sum(one[state] for one in known) for state in STATES} if known else None
    waits, runs = Counter[int](), Counter[int]()
    for minute in minutes:
        waits.update(minute.waits)
        runs.update(minute.runs)
    return Minute(
        at_ms=at_ms,
        jobs=jobs,
        recorded=any(minute.recorded for minute in minutes),
        minutes=minutes[0].minutes,
        waits=waits,
        runs=runs,
        **counts,
    )


def running_minute(visible: VisiblePools) -> Minute | None:
    """What goes on now, as a minute that is yet to come: rates of the last 60 s, jobs by state. None: not known."""
    current = [view for view in visible.pools if view.survey is not None and view.survey.is_current]
    if not current:
        return None
    totals = visible.totals
    taken_ms = max(view.survey.taken_at_ms or 0 for view in current if view.survey)
    return Minute(
        at_ms=taken_ms - MINUTE_MS,
        published=round(totals.published_per_s * 60),
        consumed=round(totals.consumed_per_s * 60),
        acked=round(totals.acked_per_s * 60),
        failed=round(totals.failed_per_s * 60),
        jobs=dict(zip(STATES, totals[1:7], strict=True)),
    )
