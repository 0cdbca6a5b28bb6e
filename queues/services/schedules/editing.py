"""Makes, changes, pauses, fires and deletes schedules: for programs with a token, and for people on their pages.

Functions with an argument `user` check the person's role, and note what was done; for the others the API has
authenticated a token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from queues.engine import InvalidArgumentError, JobState, detail, server_time
from queues.models import FireOutcome, Namespace, Overlap, Schedule, ScheduleFire, ScheduleKind, ScheduleSource
from queues.pools import engine_for
from queues.pools.database import read_metadata

from ..activity import ActivityAction, note_activity
from ..errors import NamespaceNotFoundError, ScheduleNotFoundError, ScheduleTakenError
from ..permissions import Role, User, check_role
from .checking import check_fields, check_name, check_timing
from .firing import carry_fires, new_fire
from .planning import KEY_TTL_MIN_S, PlannedFire
from .rows import optional_datetime, set_next, timing_of, to_datetime, to_ms
from .timing import Timing
from .values import PREVIEWED, Fire, ScheduleFields, ScheduleView

SCHEDULES_MAX: Final = 20_000
"""Of one namespace."""

RUN_TRIES: Final = 3


def local_now_ms() -> int:
    """This host's clock: from when a new schedule's due times count. When one is fired, Redis's clock decides."""
    return time.time_ns() // 1_000_000


def put_schedule(
    *,
    pool: str,
    namespace: str,
    name: str,
    fields: ScheduleFields,
    app: str = "",
    only_new: bool = False,
    now_ms: int | None = None,
) -> tuple[ScheduleView, bool]:
    """Make the schedule, or set all its fields; whether it is new. `app`: whose code declares it; "": people do.
    `only_new`: do not touch one that there is.

    A change that leaves alone when it is due leaves the next due time, too. Raises InvalidArgumentError,
    ScheduleTakenError, NamespaceNotFoundError, MetadataUnavailableError.
    """
    check_name(name)
    fields = check_fields(fields)
    now = local_now_ms() if now_ms is None else now_ms

    def put() -> tuple[ScheduleView, bool]:
        with transaction.atomic():
            owner = _namespace(pool, namespace)
            row = _locked(owner).filter(name=name).first()
            is_new = row is None
            if row is None:
                if Schedule.objects.filter(namespace=owner).count() >= SCHEDULES_MAX:
                    raise InvalidArgumentError(f"too many schedules: a namespace has {SCHEDULES_MAX} at most")
                row = Schedule(namespace=owner, name=name)
            elif only_new:
                raise ScheduleTakenError("there is a schedule of this name already")
            else:
                _check_owner(row, app)
            row.app, row.source = app, ScheduleSource.CODE if app else ScheduleSource.PEOPLE
            _apply(row, fields, now)
            return ScheduleView.of(row, _newest(row), with_body=True), is_new

    try:
        return read_metadata(put)
    except IntegrityError:  # somebody made it meanwhile, as workers that start together do
        return read_metadata(put)


def preview(*, fields: ScheduleFields, now_ms: int | None = None, count: int = PREVIEWED) -> list[int]:
    """The next fires that these fields would have, jitter left out. Raises InvalidArgumentError."""
    fields = check_fields(fields)
    now = local_now_ms() if now_ms is None else now_ms
    timing = _timing(fields, now)
    check_timing(timing, now_ms=now)
    return timing.following(now, count)


def delete_schedule(*, pool: str, namespace: str, name: str, app: str = "") -> bool:
    """Whether there was one. Jobs that it has made stay. With `app`: only if this app declares it."""

    def delete() -> bool:
        with transaction.atomic():
            row = _locked(_namespace(pool, namespace)).filter(name=name).first() if name.isprintable() else None
            if row is None:
                return False
            if app:
                _check_owner(row, app)
            row.delete()
            return True

    return read_metadata(delete)


def set_paused(
    *, pool: str, namespace: str, name: str, paused: bool, now_ms: int | None = None
) -> tuple[ScheduleView, bool]:
    """Fire it no more, or again from now on: what would have fired meanwhile is not caught up. Whether that changed
    anything. Raises ScheduleNotFoundError.
    """
    now = local_now_ms() if now_ms is None else now_ms

    def change(row: Schedule) -> bool:
        if row.paused == paused:
            return False
        row.paused = paused
        timing = timing_of(row)
        set_next(row, timing.next_after(now), timing)
        row.save()
        return True

    return _change(pool, namespace, name, change)


def run_now(*, pool: str, namespace: str, name: str) -> Fire:
    """Fire it once now, paused or not; its due times stay as they are, and its overlap rule holds.

    Raises ScheduleNotFoundError; StoreUnavailableError, after which it may be fired later if Redis went away midway.
    """
    engine = engine_for(pool)
    for _ in range(RUN_TRIES):
        now = engine.run(server_time())
        row = read_metadata(lambda: _found(_rows(pool, namespace), name))
        last = read_metadata(lambda row=row: _last_fired(row))  # type: ignore[misc]
        if last is not None and last.outcome == FireOutcome.PENDING:
            carry_fires(pool=pool, engine=engine, fires=[last])
        there = None
        if last is not None and last.job_id and row.overlap != Overlap.ALLOW:
            found = engine.run(detail(engine.queue(namespace, last.queue), last.job_id, preview=0))
            there = last if found and found.state not in (JobState.DEAD, JobState.COMPLETED) else None
        fire = read_metadata(lambda row=row, there=there, now=now: _decide_now(row, there, now))  # type: ignore[misc]
        if fire is None:
            continue  # it was fired meanwhile
        if fire.outcome == FireOutcome.PENDING:
            carry_fires(pool=pool, engine=engine, fires=[fire])
        return Fire.of(fire)
    raise InvalidArgumentError("the schedule is fired again and again: try again")


def _decide_now(seen: Schedule, there: ScheduleFire | None, now_ms: int) -> ScheduleFire | None:
    with transaction.atomic():
        row = Schedule.objects.select_for_update(of=("self",)).select_related("namespace").filter(pk=seen.pk).first()
        if row is None:
            raise ScheduleNotFoundError
        if row.last_fired != seen.last_fired and row.overlap != Overlap.ALLOW:
            return None
        is_skipped = there is not None and row.overlap == Overlap.SKIP
        planned = PlannedFire(outcome=FireOutcome.SKIPPED if is_skipped else FireOutcome.PENDING, due_ms=now_ms)
        fire = new_fire(row, planned, now_ms, key_ttl_s=KEY_TTL_MIN_S, replaces=there, manual=True)
        fire.save(force_insert=True)
        row.save(update_fields=["fires", "last_fired"])
        return fire


def _apply(row: Schedule, fields: ScheduleFields, now_ms: int) -> None:
    """Write the fields into the row and save it."""
    is_new = not row.pk
    before = None if is_new else timing_of(row)
    is_resumed = not is_new and row.paused and fields.paused is False
    interval_goes_on = (
        row.pk is not None
        and row.kind == fields.kind == ScheduleKind.INTERVAL
        and row.interval_ms == fields.interval_ms
    )
    row.queue, row.body, row.body_bytes = fields.queue, fields.body, len(fields.body)
    row.tries, row.ttl_s, row.priority = fields.tries, fields.ttl_s, fields.priority
    row.backoff, row.retention_s = fields.backoff, fields.retention_s
    row.attributes = None if fields.attributes is None else dict(fields.attributes)
    row.limit_key = fields.limit_key
    row.kind, row.cron, row.interval_ms = fields.kind, fields.cron, fields.interval_ms
    if not (interval_goes_on and fields.starts_ms is None):
        row.starts_at = optional_datetime(_timing(fields, now_ms).anchor_ms or None)
    row.at, row.zone = optional_datetime(fields.at_ms), fields.zone
    row.catch_up, row.catch_up_max = fields.catch_up, fields.catch_up_max
    row.jitter_s, row.overlap = fields.jitter_s, fields.overlap
    if fields.paused is not None:
        row.paused = fields.paused
    timing = timing_of(row)
    if before == timing and not is_resumed:
        row.fire_at = None if row.paused or row.due_at is None else to_datetime(timing.fire_at(to_ms(row.due_at)))
    else:
        check_timing(timing, now_ms=now_ms)
        if is_new:
            row.save()  # the jitter is computed from the row's id
            timing = timing_of(row)
        set_next(row, timing.next_after(now_ms), timing)
    row.save()


def _timing(fields: ScheduleFields, now_ms: int) -> Timing:
    """When a schedule with these fields is due that is saved now."""
    anchor_ms = 0
    if fields.kind is ScheduleKind.INTERVAL:
        anchor_ms = now_ms if fields.starts_ms is None else fields.starts_ms
    return Timing(
        kind=fields.kind,
        cron=fields.cron,
        zone=fields.zone,
        interval_ms=fields.interval_ms or 0,
        anchor_ms=anchor_ms,
        at_ms=fields.at_ms or 0,
        jitter_ms=fields.jitter_s * 1000,
    )


def _check_owner(row: Schedule, app: str) -> None:
    """Raise ScheduleTakenError if somebody else declares it."""
    if row.source == ScheduleSource.CODE and row.app != app:
        raise ScheduleTakenError(f"the schedule is declared in the code of {row.app}: change it there")
    if row.source == ScheduleSource.PEOPLE and app:
        raise ScheduleTakenError(
            "people made a schedule of this name: delete it, or give the one in the code another name"
        )


def _change(pool: str, namespace: str, name: str, change: Callable[[Schedule], bool]) -> tuple[ScheduleView, bool]:
    def changed() -> tuple[ScheduleView, bool]:
        with transaction.atomic():
            row = _found(_locked(_namespace(pool, namespace)), name)
            result = change(row)
            return ScheduleView.of(row, _newest(row)), result

    return read_metadata(changed)


def _namespace(pool: str, namespace: str) -> Namespace:
    found = Namespace.objects.select_related("pool").filter(pool__name=pool, name=namespace).first()
    if found is None:
        raise NamespaceNotFoundError
    return found


def _rows(pool: str, namespace: str) -> QuerySet[Schedule]:
    return Schedule.objects.filter(namespace__pool__name=pool, namespace__name=namespace).select_related(
        "namespace__pool"
    )


def _locked(owner: Namespace) -> QuerySet[Schedule]:
    return Schedule.objects.select_for_update(of=("self",)).filter(namespace=owner).select_related("namespace__pool")


def _found(rows: QuerySet[Schedule], name: str) -> Schedule:
    row = rows.filter(name=name).first() if name.isprintable() else None
    if row is None:
        raise ScheduleNotFoundError
    return row


def _newest(row: Schedule) -> ScheduleFire | None:
    return ScheduleFire.objects.filter(schedule=row, number=row.fires).first() if row.fires else None


def _last_fired(row: Schedule) -> ScheduleFire | None:
    if not row.last_fired:
        return None
    return (
        ScheduleFire.objects.select_related("schedule__namespace").filter(schedule=row, number=row.last_fired).first()
    )


class ScheduleAct(StrEnum):
    """Buttons of a schedule."""

    PAUSE = "pause"
    RESUME = "resume"
    RUN = "run"
    DELETE = "delete"


_NOTED: Final = {
    ScheduleAct.PAUSE: ActivityAction.SCHEDULE_PAUSED,
    ScheduleAct.RESUME: ActivityAction.SCHEDULE_RESUMED,
    ScheduleAct.RUN: ActivityAction.SCHEDULE_RUN,
    ScheduleAct.DELETE: ActivityAction.SCHEDULE_DELETED,
}


def check_may_edit(*, user: User, pool: str, namespace: str) -> None:
    """Raises NamespaceNotFoundError for what the person may not see, RoleTooLowError for what they may only see."""
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.OPERATE)


def save_schedule(
    *, user: User, pool: str, namespace: str, name: str, fields: ScheduleFields, only_new: bool = False
) -> None:
    """Make or set it. Raises InvalidArgumentError, ScheduleTakenError, RoleTooLowError, NamespaceNotFoundError."""
    check_may_edit(user=user, pool=pool, namespace=namespace)
    _, is_new = put_schedule(pool=pool, namespace=namespace, name=name, fields=fields, only_new=only_new)
    action = ActivityAction.SCHEDULE_CREATED if is_new else ActivityAction.SCHEDULE_CHANGED
    note_activity(user=user, action=action, pool=pool, namespace=namespace, queue=fields.queue, target=name)


def act_on_schedule(*, user: User, pool: str, namespace: str, name: str, act: ScheduleAct) -> Fire | None:
    """Do it; of RUN, what became of it. What changes nothing is not noted. Raises ScheduleNotFoundError as well."""
    check_may_edit(user=user, pool=pool, namespace=namespace)
    which = {"pool": pool, "namespace": namespace, "name": name}
    fire: Fire | None = None
    if act is ScheduleAct.RUN:
        fire = run_now(**which)
        changed = True
    elif act is ScheduleAct.DELETE:
        changed = delete_schedule(**which)
    else:
        _, changed = set_paused(pool=pool, namespace=namespace, name=name, paused=act is ScheduleAct.PAUSE)
    if changed:
        note_activity(user=user, action=_NOTED[act], pool=pool, namespace=namespace, target=name)
    return fire
