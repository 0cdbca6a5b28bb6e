"""Fires what is due, each fire once, however many processes do so and whichever of them is killed.

A fire takes three steps. One database transaction takes the due time off the schedule and writes its fire into the
history as pending: so one process decides what becomes of a due time. Then the job is published, with the schedule and
the due time as its idempotency key. Then the fire is marked with the job's id. A process that dies between two steps
leaves a pending fire, which any other one carries on: publishing again finds the key, and gives the same job.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Q, QuerySet

from queues.engine import (
    Engine,
    InvalidArgumentError,
    JobState,
    Published,
    TaskqError,
    cancel_job,
    constants,
    detail,
    prepare,
    publish,
    server_time,
)
from queues.engine.backoff import parse_backoff
from queues.engine.names import published_ms
from queues.engine.operation import Apart, Operation, Plan
from queues.models import CatchUp, FireOutcome, Overlap, Schedule, ScheduleFire
from queues.models.schedule import ERROR_MAX, HISTORY_MAX
from queues.pools.database import read_metadata

from ..jobs.publishing import PublishRequest, effective_options
from ..policies import policy_for
from .planning import PlannedFire, plan_fires
from .rows import optional_datetime, optional_ms, set_next, timing_of, to_datetime, to_ms, update_each

logger = logging.getLogger(__name__)

BATCH: Final = 500
"""Schedules that are decided in one transaction, and jobs that are published in one round trip."""

BATCH_BYTES: Final = 4 * constants.MEBIBYTE
"""Bodies that are in memory at once, and a job more."""

TAKE_OVER_MS: Final = 2_000
"""After so long without a mark, the process that decided a fire is taken for dead. No harm if it only slept."""

AGAIN_MS: Final = 100
"""When to look again for schedules that another process was deciding."""

PRUNE_EVERY: Final = 16
"""Of a schedule, every so many fires."""

_ENDED: Final = (None, JobState.DEAD, JobState.COMPLETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one call did. `fired`: jobs published; `decided`: due times taken off schedules.

    `more`: call again at once. `next_ms`: when the next fire is due (None: no schedule has one); `now_ms`: the time by
    the Redis server's clock.
    """

    decided: int
    fired: int
    more: bool
    next_ms: int | None
    now_ms: int


def fire_due(*, pool: str, engine: Engine, now_ms: int | None = None) -> Round:
    """Carry on fires that somebody left pending, then fire a batch of what is due.

    Raises StoreUnavailableError, before anything is decided if Redis is away already; MetadataUnavailableError,
    StoreFullError. What was decided stays pending then, and is carried on by a later call.
    """
    now = engine.run(server_time(now_ms=now_ms))
    left = read_metadata(lambda: _pending(pool, now))
    fired = carry_fires(pool=pool, engine=engine, fires=left)
    due = read_metadata(lambda: _due(pool, now))
    if not due:
        next_ms = read_metadata(lambda: _next_fire(pool, now))
        return Round(decided=0, fired=fired, more=len(left) == BATCH, next_ms=next_ms, now_ms=now)
    jobs = read_metadata(lambda: _LastJobs.read(due))
    jobs.look(engine)
    decided, fires = read_metadata(lambda: _decide(due, jobs, now))
    fired += carry_fires(pool=pool, engine=engine, fires=fires)
    more = decided > 0 and (len(due) == BATCH or len(left) == BATCH)
    next_ms = read_metadata(lambda: _next_fire(pool, now)) if decided == len(due) else now + AGAIN_MS
    return Round(decided=decided, fired=fired, more=more, next_ms=next_ms, now_ms=now)


def carry_fires(*, pool: str, engine: Engine, fires: Sequence[ScheduleFire]) -> int:
    """Publish pending fires and mark them; how many. Doing it again changes nothing. Raises as `fire_due`."""
    done = 0
    for part in _parts(fires):
        done += _carry(pool, engine, part)
    return done


class _LastJobs:
    """The jobs of the last fires of schedules that must not overlap."""

    def __init__(self, fires: dict[int, ScheduleFire], namespaces: dict[int, str]) -> None:
        self._fires = fires
        self._namespaces = namespaces
        self._there: set[int] = set()

    @classmethod
    def read(cls, rows: Sequence[Schedule]) -> _LastJobs:
        """From the history."""
        careful = {row.pk: row.namespace.name for row in rows if row.overlap != Overlap.ALLOW and row.last_fired}
        if not careful:
            return cls({}, {})
        last = ScheduleFire.objects.filter(schedule__in=careful, number=F("schedule__last_fired"))
        return cls({fire.schedule_id: fire for fire in last}, careful)

    def look(self, engine: Engine) -> None:
        """Ask Redis which of them are there still: not acked, dead or deleted."""
        asked = [(pk, fire) for pk, fire in self._fires.items() if fire.job_id]
        operations = [
            detail(engine.queue(self._namespaces[pk], fire.queue), fire.job_id, preview=0) for pk, fire in asked
        ]
        for (pk, _), found in zip(asked, engine.batch(operations) if operations else [], strict=True):
            if (found.state if found else None) not in _ENDED:
                self._there.add(pk)

    def may_decide(self, row: Schedule) -> bool:
        """Whether it is known what became of the last fire: not while that is pending, or if there is a newer one."""
        if row.overlap == Overlap.ALLOW or not row.last_fired:
            return True
        fire = self._fires.get(row.pk)
        return fire is not None and fire.number == row.last_fired and fire.outcome != FireOutcome.PENDING

    def there(self, row: Schedule) -> ScheduleFire | None:
        """The last fire, if its job is there still."""
        return self._fires[row.pk] if row.pk in self._there else None


def _pending(pool: str, now_ms: int) -> list[ScheduleFire]:
    rows = ScheduleFire.objects.filter(
        outcome=FireOutcome.PENDING,
        decided_at__lte=to_datetime(now_ms - TAKE_OVER_MS),
        schedule__pool__name=pool,
    )
    return list(_for_carrying(rows).order_by("decided_at")[:BATCH])


def _for_carrying(rows: QuerySet[ScheduleFire]) -> QuerySet[ScheduleFire]:
    return rows.select_related("schedule__namespace").defer("schedule__body")


def _due_rows(pool: str) -> QuerySet[Schedule]:
    return Schedule.objects.filter(pool__name=pool).select_related("namespace").defer("body")


def _due(pool: str, now_ms: int) -> list[Schedule]:
    return list(_due_rows(pool).filter(fire_at__lte=to_datetime(now_ms)).order_by("fire_at")[:BATCH])


def _next_fire(pool: str, now_ms: int) -> int | None:
    rows = _due_rows(pool).filter(fire_at__gt=to_datetime(now_ms)).order_by("fire_at")
    return optional_ms(rows.values_list("fire_at", flat=True).first())


def _decide(due: Sequence[Schedule], jobs: _LastJobs, now_ms: int) -> tuple[int, list[ScheduleFire]]:
    """Take due times off schedules, and write their fires; the number of schedules, and the fires to be published.

    In PostgreSQL rows that another process is deciding are skipped; SQLite has one writer at a time.
    """
    with transaction.atomic():
        # Read again under the lock: whatever happened since then is known now.
        rows = (
            Schedule.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(pk__in=[row.pk for row in due], fire_at__lte=to_datetime(now_ms))
            .select_related("namespace")
            .defer("body")
        )
        decided = [row for row in rows if jobs.may_decide(row)]
        fires = [fire for row in decided for fire in _decide_row(row, jobs.there(row), now_ms)]
        ScheduleFire.objects.bulk_create(fires)
        update_each(decided, ["due_at", "fire_at", "fires", "last_fired"])
        _prune(decided)
    return len(decided), [fire for fire in fires if fire.outcome == FireOutcome.PENDING]


def _decide_row(row: Schedule, last: ScheduleFire | None, now_ms: int) -> Iterator[ScheduleFire]:
    assert row.due_at is not None  # fire_at is not null either
    timing = timing_of(row)
    plan = plan_fires(
        timing=timing,
        due_ms=to_ms(row.due_at),
        now_ms=now_ms,
        catch_up=CatchUp(row.catch_up),
        catch_up_max=row.catch_up_max,
        overlap=Overlap(row.overlap),
        is_job_there=last is not None,
    )
    set_next(row, plan.next_due_ms, timing)
    for planned in plan.fires:
        yield new_fire(row, planned, now_ms, key_ttl_s=plan.key_ttl_s, replaces=last)


def new_fire(
    row: Schedule,
    planned: PlannedFire,
    now_ms: int,
    *,
    key_ttl_s: int,
    replaces: ScheduleFire | None,
    manual: bool = False,
) -> ScheduleFire:
    """The next row of the schedule's history, which is not saved. The schedule's counters are moved on."""
    row.fires += 1
    is_pending = planned.outcome is FireOutcome.PENDING
    if is_pending:
        row.last_fired = row.fires
    replaced = replaces if is_pending and row.overlap == Overlap.REPLACE else None
    return ScheduleFire(
        schedule=row,
        number=row.fires,
        due_at=to_datetime(planned.due_ms),
        until=optional_datetime(planned.until_ms),
        count=planned.count,
        manual=manual,
        outcome=planned.outcome,
        decided_at=to_datetime(now_ms),
        key_ttl_s=key_ttl_s,
        queue=row.queue if is_pending else "",
        replaces_queue=replaced.queue if replaced else "",
        replaces=replaced.job_id if replaced else "",
    )


def _prune(rows: Sequence[Schedule]) -> None:
    """Forget fires beyond HISTORY_MAX; never the last one that made a job."""
    full = [row.pk for row in rows if row.fires > HISTORY_MAX and row.fires % PRUNE_EVERY == 0]
    if full:
        prune_history(ScheduleFire.objects.filter(schedule__in=full))


def prune_history(fires: QuerySet[ScheduleFire]) -> None:
    """Forget those that are beyond HISTORY_MAX of their schedule; not the last one with a job, nor a pending one."""
    old = fires.filter(number__lte=F("schedule__fires") - HISTORY_MAX).exclude(outcome=FireOutcome.PENDING)
    old = old.filter(Q(schedule__last_fired=None) | ~Q(number=F("schedule__last_fired")))
    ScheduleFire.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()


def key_of(fire: ScheduleFire) -> str:
    """The idempotency key of its job: the schedule and the due time; of a fire by hand also its number."""
    key = f"schedule:{fire.schedule_id}:{to_ms(fire.due_at)}"
    return f"{key}:now:{fire.number}" if fire.manual else key


def _parts(fires: Sequence[ScheduleFire]) -> Iterator[list[ScheduleFire]]:
    """Fires whose bodies fit into memory together."""
    part: list[ScheduleFire] = []
    size = 0
    for fire in fires:
        bytes_more = fire.schedule.body_bytes
        if part and (len(part) == BATCH or size + bytes_more > BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(fire)
        size += bytes_more
    if part:
        yield part


def _carry(pool: str, engine: Engine, fires: Sequence[ScheduleFire]) -> int:
    bodies = read_metadata(lambda: _bodies(fires))
    operations: list[Operation[Any]] = []
    published: list[ScheduleFire] = []
    ended: list[ScheduleFire] = []
    fault: TaskqError | None = None
    for fire in fires:
        if fire.schedule_id not in bodies:
            continue  # deleted meanwhile
        try:
            operations.append(_publish(pool, engine, fire, bodies[fire.schedule_id]))
            published.append(fire)
        except InvalidArgumentError as error:
            ended.append(_failed(fire, error))
    for fire, outcome in zip(published, engine.run(_apart(operations)) if operations else [], strict=True):
        if isinstance(outcome, InvalidArgumentError):
            ended.append(_failed(fire, outcome))
        elif isinstance(outcome, TaskqError):
            fault = outcome
        else:
            fire.job_id = outcome.job_ids[0]
            fire.fired_at = to_datetime(published_ms(fire.job_id))
            fire.outcome = FireOutcome.FIRED
            ended.append(fire)
    for fire in ended:
        if fire.replaces and fire.job_id and fire.replaces != fire.job_id:
            queue = engine.queue(fire.schedule.namespace.name, fire.replaces_queue)
            engine.run(cancel_job(queue, fire.replaces, given=f"schedule:{fire.schedule_id}:{fire.number}"))
    if ended:
        read_metadata(lambda: _mark(ended))
    if fault is not None:
        raise fault
    return sum(fire.outcome == FireOutcome.FIRED for fire in ended)


def _bodies(fires: Sequence[ScheduleFire]) -> dict[int, bytes]:
    rows = Schedule.objects.filter(pk__in={fire.schedule_id for fire in fires})
    return {pk: bytes(body) for pk, body in rows.values_list("pk", "body")}


def _publish(pool: str, engine: Engine, fire: ScheduleFire, body: bytes) -> Operation[Published]:
    row = fire.schedule
    namespace = row.namespace.name
    request = PublishRequest(
        ttl_s=row.ttl_s,
        tries=row.tries,
        priority=row.priority,
        key=key_of(fire),
        key_ttl_ms=fire.key_ttl_s * 1000,
        backoff=parse_backoff(row.backoff) if row.backoff else None,
        retention_ms=row.retention_s * 1000,
        attributes=row.attributes or None,
        limit_key=row.limit_key or None,
    )
    policy = policy_for(pool=pool, namespace=namespace, queue=fire.queue)
    options = prepare(effective_options(request=request, policy=policy), own_key=True)
    return publish(engine.queue(namespace, fire.queue), [body], options)


def _apart(operations: Sequence[Operation[Any]]) -> Plan[list[Any]]:
    return (yield Apart(operations))


def _failed(fire: ScheduleFire, error: TaskqError) -> ScheduleFire:
    fire.outcome = FireOutcome.FAILED
    fire.error = str(error)[:ERROR_MAX]
    logger.warning(
        "a schedule's job cannot be published",
        extra={"action": "schedule.fire", "schedule": str(fire.schedule), "queue": fire.queue, "reason": fire.error},
    )
    return fire


def _mark(fires: Sequence[ScheduleFire]) -> None:
    """Only what is still pending: another process may have marked it."""
    with transaction.atomic():
        update_each(fires, ["outcome", "job_id", "fired_at", "error"], only_if=("outcome", FireOutcome.PENDING))
