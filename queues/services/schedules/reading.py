"""Lists of schedules, one schedule, its history and its next fires; by namespace, or for what a person may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import F, Q, QuerySet

from queues.engine import constants
from queues.models import Namespace, Schedule, ScheduleFire
from queues.models.schedule import HISTORY_MAX
from queues.pools.database import read_metadata

from ..errors import ScheduleNotFoundError
from ..permissions import Role, User, role_in, roles_of
from .editing import local_now_ms
from .rows import timing_of, to_ms
from .values import PREVIEWED, Fire, ScheduleState, ScheduleView

__all__ = [
    "HISTORY_MAX",
    "LIMIT_MAX",
    "ScheduleDetail",
    "ScheduleFilter",
    "SchedulePage",
    "ShownSchedule",
    "ShownSchedules",
    "list_schedules",
    "read_schedule",
    "show_schedule",
    "show_schedules",
]

PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage:
    """`after`: the name that goes into the next call; None: these were the last."""

    schedules: tuple[ScheduleView, ...]
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDetail:
    """A schedule with its next fires (jitter included) and the newest of its history."""

    schedule: ScheduleView
    upcoming_ms: tuple[int, ...]
    fires: tuple[Fire, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSchedule:
    """One of a page of schedules, and what the person may do with it."""

    schedule: ScheduleView
    may_operate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSchedules:
    """Schedules of all namespaces that a person sees. `after`: of the next page; `total`: how many match.

    `namespaces`: those that the person sees, as (pool, name); `open_to`: those in which they may make a schedule.
    """

    schedules: tuple[ShownSchedule, ...]
    after: int | None
    total: int
    namespaces: tuple[tuple[str, str], ...]
    open_to: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """What is left empty lets everything through."""

    pool: str = ""
    namespace: str = ""
    text: str = ""
    state: ScheduleState | None = None


def list_schedules(
    *, pool: str, namespace: str, after: str = "", limit: int = 100, app: str | None = None
) -> SchedulePage:
    """A page of a namespace's schedules by name, without their bodies; with `app` those that its code declares.

    Raises MetadataUnavailableError.
    """
    rows = _rows().filter(namespace__pool__name=pool, namespace__name=namespace, name__gt=after)
    if app is not None:
        rows = rows.filter(app=app)
    found = read_metadata(lambda: _views(rows.order_by("name")[: limit + 1]))
    return SchedulePage(schedules=tuple(found[:limit]), after=found[limit - 1].name if len(found) > limit else None)


def read_schedule(*, pool: str, namespace: str, name: str, history: int = PREVIEWED) -> ScheduleDetail:
    """One schedule with its body. Raises ScheduleNotFoundError, MetadataUnavailableError."""
    return read_metadata(lambda: _detail(pool, namespace, name, min(history, HISTORY_MAX)))


def show_schedule(*, user: User, pool: str, namespace: str, name: str) -> tuple[ScheduleDetail, Role]:
    """The same for a person, and their role there. Raises NamespaceNotFoundError for what they may not see."""
    role = role_in(user=user, pool=pool, namespace=namespace)
    return read_schedule(pool=pool, namespace=namespace, name=name, history=HISTORY_MAX), role


def show_schedules(*, user: User, chosen: ScheduleFilter, after: int = 0) -> ShownSchedules:
    """A page of the schedules that `user` may see, the next to fire first. Raises MetadataUnavailableError."""
    roles = roles_of(user=user)
    rows = _chosen(_rows().filter(namespace__in=Namespace.objects.visible_to(user).order_by().values("pk")), chosen)
    ordered = rows.order_by(F("fire_at").asc(nulls_last=True), "namespace__name", "name", "pk")
    begin = max(0, after)
    found = read_metadata(lambda: _views(ordered[begin : begin + PAGE + 1]))
    total = read_metadata(rows.count)
    shown = [
        ShownSchedule(schedule=one, may_operate=roles.get((one.pool, one.namespace), Role.READ) >= Role.OPERATE)
        for one in found[:PAGE]
    ]
    return ShownSchedules(
        schedules=tuple(shown),
        after=begin + PAGE if len(found) > PAGE else None,
        total=total,
        namespaces=tuple(roles),
        open_to=tuple(place for place, role in roles.items() if role >= Role.OPERATE),
    )


def _rows() -> QuerySet[Schedule]:
    return Schedule.objects.select_related("namespace__pool").defer("body")


def _chosen(rows: QuerySet[Schedule], chosen: ScheduleFilter) -> QuerySet[Schedule]:
    if chosen.pool:
        rows = rows.filter(namespace__pool__name=chosen.pool)
    if chosen.namespace:
        rows = rows.filter(namespace__name=chosen.namespace)
    if chosen.text:
        rows = rows.filter(Q(name__icontains=chosen.text) | Q(queue__icontains=chosen.text))
    if chosen.state is ScheduleState.PAUSED:
        rows = rows.filter(paused=True)
    elif chosen.state is ScheduleState.ACTIVE:
        rows = rows.filter(paused=False).exclude(fire_at=None)
    elif chosen.state is ScheduleState.ENDED:
        rows = rows.filter(paused=False, fire_at=None)
    return rows


def _views(rows: QuerySet[Schedule]) -> list[ScheduleView]:
    """With the newest fire of each: two queries."""
    found: Sequence[Schedule] = list(rows)
    fires = ScheduleFire.objects.filter(schedule__in=[row.pk for row in found], number=F("schedule__fires"))
    newest = {fire.schedule_id: fire for fire in fires}
    return [ScheduleView.of(row, newest.get(row.pk)) for row in found]


def _detail(pool: str, namespace: str, name: str, history: int) -> ScheduleDetail:
    rows = Schedule.objects.select_related("namespace__pool")
    if not name.isprintable():  # PostgreSQL refuses to look for some of such names
        raise ScheduleNotFoundError
    row = rows.filter(namespace__pool__name=pool, namespace__name=namespace, name=name).first()
    if row is None:
        raise ScheduleNotFoundError
    fires = list(ScheduleFire.objects.filter(schedule=row).order_by("-number")[: max(1, history)])
    timing = timing_of(row)
    upcoming: list[int] = []
    if row.fire_at is not None and row.due_at is not None:
        # From the next due time on, which may have passed if nothing fires at the moment.
        first = to_ms(row.due_at)
        upcoming = [first, *timing.following(max(first, local_now_ms()), PREVIEWED - 1)]
    return ScheduleDetail(
        schedule=ScheduleView.of(row, fires[0] if fires else None, with_body=True),
        upcoming_ms=tuple(timing.fire_at(due) for due in upcoming),
        fires=tuple(Fire.of(fire) for fire in fires[:history]),
    )


LIMIT_MAX: Final = constants.PAGE_MAX
