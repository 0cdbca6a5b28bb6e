"""Data of charts: what happened minute by minute in one queue, in a few queues, in all that a user may see."""

from __future__ import annotations

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

FRESH_S: Final = 5.0

COUNTED: Final = ("published", "consumed", "acked", "failed", "leases_lost", "died", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Minutes, the earliest first. `is_whole`: no pool was silent, and no namespace was left out."""

    minutes: tuple[Minute, ...]
    is_whole: bool = True


_whole_pools: Final[Recent[tuple[str, int], Sequence[Minute] | TaskqError]] = Recent(FRESH_S)


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


def history_of_pools(*, visible: VisiblePools, minutes: int) -> Trend:
    """The last whole minutes of all that somebody sees, added up; one round trip to each pool that answers.

    A minute in which a pool's pumps surveyed nothing has no numbers: `recorded` is false.
    """
    is_whole = True
    found: list[Sequence[Minute]] = []
    for view in visible.pools:
        if view.survey is None:
            is_whole = False
            continue
        names = None if visible.sees_everything else _largest(view)
        is_whole &= names is None or len(names) == len(_present(view))
        answer = _whole_pool(view.pool, minutes) if names is None else _read(view.pool, names, minutes)
        if isinstance(answer, TaskqError):
            is_whole = False
        else:
            found.append(answer)
    return Trend(minutes=_add_up(found), is_whole=is_whole)


def _present(view: VisiblePool) -> list[str]:
    """Namespaces of the person where a survey found queues."""
    return [name for name in view.survey.totals if name in view.namespaces] if view.survey else []


def _largest(view: VisiblePool) -> frozenset[str]:
    totals = view.survey.totals if view.survey else {}
    by_size = sorted(_present(view), key=lambda name: totals[name].jobs, reverse=True)
    return frozenset(by_size[:NAMESPACES_SUMMED])


def _whole_pool(pool: str, minutes: int) -> Sequence[Minute] | TaskqError:
    return _whole_pools.get((pool, minutes), lambda: _read(pool, None, minutes))


def _read(pool: str, names: frozenset[str] | None, minutes: int) -> Sequence[Minute] | TaskqError:
    """Of some namespaces of a pool, or all of it."""
    try:
        engine = reading_engine_for(pool)
        wanted = [WHOLE_POOL, *sorted(names or ())]
        whole, *parts = engine.batch([namespace_minutes(name, count=minutes) for name in wanted])
    except TaskqError as error:
        return error
    if names is None:
        return whole  # type: ignore[no-any-return]
    summed = {minute.at_ms: minute for minute in _add_up(parts)}
    return [
        replace(summed[minute.at_ms], recorded=minute.recorded)
        if minute.at_ms in summed
        else Minute(at_ms=minute.at_ms, recorded=minute.recorded)
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
    return Minute(at_ms=at_ms, jobs=jobs, recorded=any(minute.recorded for minute in minutes), **counts)


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
