"""Firing of schedules: each fire once, whatever fails in between and however many processes fire."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from queues.engine import (
    Engine,
    JobFilter,
    JobState,
    PublishOptions,
    StoreUnavailableError,
    ack,
    consume,
    count_jobs,
    delete_jobs,
    detail,
    publish,
    scan_jobs,
    server_time,
)
from queues.models import FireOutcome, Namespace, Schedule, ScheduleFire
from queues.pools import engine_for
from queues.services.errors import InvalidArgumentError, MetadataUnavailableError
from queues.services.schedules import editing, firing
from queues.services.schedules.editing import put_schedule, run_now, set_paused
from queues.services.schedules.firing import TAKE_OVER_MS, Round, fire_due, key_of
from queues.services.schedules.rows import to_datetime, to_ms
from queues.services.schedules.values import CatchUp, Overlap, ScheduleFields, ScheduleKind
from tests.engine.flaky import FlakyClient

T0 = 1_800_000_000_000
"""A whole minute."""
MINUTE = 60_000

MINUTELY = ScheduleFields(queue="mail", kind=ScheduleKind.CRON, cron="* * * * *", body=b"hello", tries=3)


@pytest.fixture
def engine(orders: Namespace) -> Engine:
    return engine_for("default")


def put(name: str = "s", *, now_ms: int = T0 - MINUTE, **changes: Any) -> Schedule:
    """A schedule that is due at T0, unless it is told otherwise."""
    put_schedule(pool="default", namespace="orders", name=name, fields=replace(MINUTELY, **changes), now_ms=now_ms)
    return Schedule.objects.get(name=name)


def fire(engine: Engine, now_ms: int = T0) -> Round:
    return fire_due(pool="default", engine=engine, now_ms=now_ms)


def history(schedule: Schedule) -> list[tuple[str, int, int]]:
    """Outcome, minutes since T0, count; the oldest first."""
    rows = ScheduleFire.objects.filter(schedule=schedule).order_by("number")
    return [(row.outcome, (to_ms(row.due_at) - T0) // MINUTE, row.count) for row in rows]


def jobs(engine: Engine, queue: str = "mail") -> dict[JobState, int]:
    counts = engine.run(count_jobs(engine.queue("orders", queue)))
    return {state: count for state, count in counts.items() if count}


def only_fire(schedule: Schedule) -> ScheduleFire:
    return ScheduleFire.objects.get(schedule=schedule)


def test_a_due_schedule_publishes_its_job_and_says_which(engine: Engine) -> None:
    schedule = put(priority=5, retention_s=60, attributes={"from": "cron"}, limit_key="acme")

    done = fire(engine)

    (job,) = engine.run(consume(engine.queue("orders", "mail"), ttr_ms=1_000)).jobs
    assert (job.body, job.tries, job.attributes) == (b"hello", 3, {"from": "cron"})
    found = engine.run(detail(engine.queue("orders", "mail"), job.job_id))
    assert found is not None
    assert found.limit_key == "acme"
    row = only_fire(schedule)
    assert (row.outcome, row.job_id, row.queue) == (FireOutcome.FIRED, job.job_id, "mail")
    assert row.fired_at is not None
    assert (done.decided, done.fired, done.next_ms) == (1, 1, T0 + MINUTE)
    schedule.refresh_from_db()
    assert to_ms(schedule.due_at) == T0 + MINUTE  # type: ignore[arg-type]


def test_no_key_that_a_client_publishes_with_takes_the_place_of_a_fire(engine: Engine) -> None:
    schedule = put()
    queue = engine.queue("orders", "mail")
    key = key_of(ScheduleFire(schedule=schedule, due_at=to_datetime(T0)))
    engine.run(publish(queue, [b"mine"], PublishOptions(key=key, key_ttl_ms=60_000)))

    fire(engine)

    found = engine.run(detail(queue, only_fire(schedule).job_id))
    assert found is not None
    assert (found.body, found.key) == (b"hello", "")
    alike = engine.run(scan_jobs(queue, JobState.READY, JobFilter(key="schedule:")))
    assert [job.body for job in alike.jobs] == [b"mine"]


def test_nothing_is_fired_before_it_is_due_nor_twice(engine: Engine) -> None:
    schedule = put()

    assert fire(engine, T0 - 1).fired == 0
    assert fire(engine, T0 - 1).next_ms == T0
    assert [fire(engine, T0).fired for _ in range(3)] == [1, 0, 0]
    assert history(schedule) == [("fired", 0, 1)]


def test_a_paused_schedule_does_not_fire_and_does_not_catch_up(engine: Engine) -> None:
    schedule = put()
    set_paused(pool="default", namespace="orders", name="s", paused=True, now_ms=T0 - 1)

    assert fire(engine, T0 + 5 * MINUTE).decided == 0
    set_paused(pool="default", namespace="orders", name="s", paused=False, now_ms=T0 + 5 * MINUTE + 1)
    assert fire(engine, T0 + 5 * MINUTE + 1).decided == 0
    assert fire(engine, T0 + 6 * MINUTE).fired == 1
    assert history(schedule) == [("fired", 6, 1)]


def test_what_is_due_once_ends(engine: Engine) -> None:
    schedule = put(kind=ScheduleKind.ONCE, at_ms=T0 + 1_500)

    assert fire(engine, T0 + 1_499).fired == 0
    assert fire(engine, T0 + 1_500).fired == 1
    schedule.refresh_from_db()
    assert (schedule.due_at, schedule.fire_at) == (None, None)
    assert fire(engine, T0 + MINUTE).decided == 0


def test_jobs_of_an_outage_are_caught_up_by_the_rule(engine: Engine) -> None:
    last, everything, none = put("last"), put("all", catch_up=CatchUp.ALL), put("none", catch_up=CatchUp.NONE)

    fire(engine, T0 + 3 * MINUTE + 59_999)

    assert history(last) == [("missed", 0, 3), ("fired", 3, 1)]
    assert history(everything) == [("fired", at, 1) for at in range(4)]
    assert history(none) == [("missed", 0, 3), ("fired", 3, 1)]
    fire(engine, T0 + 10 * MINUTE - 1)
    assert jobs(engine) == {JobState.READY: 1 + 4 + 1 + 1 + 6 + 1}


def test_skip_waits_until_the_job_before_is_done(engine: Engine) -> None:
    schedule = put(overlap=Overlap.SKIP)
    queue = engine.queue("orders", "mail")

    fire(engine, T0)
    fire(engine, T0 + MINUTE)
    job = engine.run(consume(queue, ttr_ms=60_000)).jobs[0]
    fire(engine, T0 + 2 * MINUTE)
    engine.run(ack(queue, [job.job_id]))
    fire(engine, T0 + 3 * MINUTE)

    assert history(schedule) == [("fired", 0, 1), ("skipped", 1, 1), ("skipped", 2, 1), ("fired", 3, 1)]


def test_a_dead_or_completed_job_does_not_hinder(engine: Engine) -> None:
    schedule = put(overlap=Overlap.SKIP, retention_s=600)
    queue = engine.queue("orders", "mail")

    fire(engine, T0)
    job = engine.run(consume(queue, ttr_ms=60_000)).jobs[0]
    engine.run(ack(queue, [job.job_id]))
    assert jobs(engine) == {JobState.COMPLETED: 1}
    fire(engine, T0 + MINUTE)

    assert history(schedule) == [("fired", 0, 1), ("fired", 1, 1)]


def test_replace_deletes_the_job_that_waits_and_cancels_the_one_that_runs(engine: Engine) -> None:
    schedule = put(overlap=Overlap.REPLACE)
    queue = engine.queue("orders", "mail")

    fire(engine, T0)
    fire(engine, T0 + MINUTE)
    assert jobs(engine) == {JobState.READY: 1}
    running = engine.run(consume(queue, ttr_ms=60_000)).jobs[0]
    fire(engine, T0 + 2 * MINUTE)

    assert history(schedule) == [("fired", 0, 1), ("fired", 1, 1), ("fired", 2, 1)]
    assert jobs(engine) == {JobState.READY: 1, JobState.WORKING: 1}
    newest = ScheduleFire.objects.filter(schedule=schedule).latest("number")
    assert newest.replaces == running.job_id


def test_run_now_fires_beside_the_due_times_also_when_paused(engine: Engine) -> None:
    schedule = put()
    set_paused(pool="default", namespace="orders", name="s", paused=True)

    fires = [run_now(pool="default", namespace="orders", name="s") for _ in range(2)]

    assert [(one.outcome, one.manual) for one in fires] == [(FireOutcome.FIRED, True)] * 2
    assert len({one.job_id for one in fires}) == 2
    assert jobs(engine) == {JobState.READY: 2}
    schedule.refresh_from_db()
    assert schedule.fire_at is None


def test_run_now_keeps_the_overlap_rule(engine: Engine) -> None:
    put(overlap=Overlap.SKIP)

    fires = [run_now(pool="default", namespace="orders", name="s") for _ in range(2)]

    assert [one.outcome for one in fires] == [FireOutcome.FIRED, FireOutcome.SKIPPED]


@pytest.fixture
def short_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firing, "HISTORY_MAX", 5)
    monkeypatch.setattr(firing, "PRUNE_EVERY", 3)


def test_the_history_is_bounded(engine: Engine, short_history: None) -> None:
    schedule = put()

    for number in range(12):
        fire(engine, T0 + number * MINUTE)

    assert history(schedule) == [("fired", number, 1) for number in range(7, 12)]


def test_the_last_fire_with_a_job_is_kept_however_many_were_skipped(engine: Engine, short_history: None) -> None:
    schedule = put(overlap=Overlap.SKIP)

    for number in range(12):
        fire(engine, T0 + number * MINUTE)

    assert history(schedule) == [("fired", 0, 1), *[("skipped", number, 1) for number in range(7, 12)]]
    assert jobs(engine) == {JobState.READY: 1}


def test_a_job_that_cannot_be_published_is_a_failed_fire(engine: Engine) -> None:
    schedule = put()
    Schedule.objects.update(priority=1_000)

    assert fire(engine).fired == 0

    row = only_fire(schedule)
    assert (row.outcome, row.error) == (FireOutcome.FAILED, "invalid priority")
    assert fire(engine, T0 + TAKE_OVER_MS).fired == 0


def break_engine(call: int, moment: str) -> Engine:
    """An engine whose `call`th call to Redis fails: before its effect, or after it."""
    good = engine_for("default")
    return Engine(FlakyClient(good.client, failing_call=call, moment=moment), good.layout)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_publish_that_fails_is_carried_on_by_the_next_pump(engine: Engine, moment: str) -> None:
    schedule = put()
    fire(engine, T0 - 1)  # scripts are loaded
    flaky = break_engine(2, moment)

    with pytest.raises(StoreUnavailableError):
        fire(flaky)
    assert only_fire(schedule).outcome == FireOutcome.PENDING
    assert jobs(engine) == ({} if moment == "before" else {JobState.READY: 1})
    assert fire(engine, T0 + TAKE_OVER_MS - 1).fired == 0
    assert fire(engine, T0 + TAKE_OVER_MS).fired == 1

    row = only_fire(schedule)
    assert row.outcome == FireOutcome.FIRED
    assert jobs(engine) == {JobState.READY: 1}
    assert engine.run(detail(engine.queue("orders", "mail"), row.job_id)) is not None


def test_without_redis_nothing_is_decided(engine: Engine) -> None:
    schedule = put()

    with pytest.raises(StoreUnavailableError):
        fire(break_engine(1, "before"))

    assert history(schedule) == []
    fire(engine, T0 + 2 * MINUTE)
    assert history(schedule) == [("missed", 0, 2), ("fired", 2, 1)]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", ["_bodies", "_apart", "_mark"])
def test_a_pump_that_is_killed_between_two_steps_leaves_one_fire(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    schedule = put()

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(firing, step, die)
        with pytest.raises(Killed):
            fire(engine)
    before = jobs(engine)
    job = engine.run(consume(engine.queue("orders", "mail"), ttr_ms=1_000)).jobs
    if job:
        engine.run(delete_jobs(engine.queue("orders", "mail"), [one.job_id for one in job]))

    assert fire(engine, T0 + TAKE_OVER_MS).fired == 1

    assert before == ({JobState.READY: 1} if step == "_mark" else {})
    row = only_fire(schedule)
    assert row.outcome == FireOutcome.FIRED
    if step == "_mark":  # even a job that is done already is not made again
        assert [one.job_id for one in job] == [row.job_id]
        assert jobs(engine) == {}
    else:
        assert jobs(engine) == {JobState.READY: 1}


def test_a_transaction_that_fails_leaves_the_schedule_due(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = put()

    def refuse(*_: object) -> None:
        raise OperationalError("server closed the connection")

    with monkeypatch.context() as patched:
        patched.setattr(firing, "_prune", refuse)
        with pytest.raises(MetadataUnavailableError):
            fire(engine)
    from queues.pools.database import forget_outage

    forget_outage()
    assert history(schedule) == []
    assert fire(engine).fired == 1
    assert history(schedule) == [("fired", 0, 1)]


def test_while_a_fire_is_pending_an_overlap_rule_waits(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = put(overlap=Overlap.SKIP)
    with monkeypatch.context() as patched:
        patched.setattr(firing, "carry_fires", lambda **_: 0)
        fire(engine)
        done = fire(engine, T0 + MINUTE)

    assert (done.decided, done.next_ms) == (0, T0 + MINUTE + firing.AGAIN_MS)
    fire(engine, T0 + MINUTE)
    assert history(schedule) == [("fired", 0, 1), ("skipped", 1, 1)]


@pytest.fixture
def committed(transactional_db: None) -> None:
    from queues.models import Pool

    Namespace.objects.get_or_create(pool=Pool.objects.get(name="default"), name="orders")


def test_pumps_that_race_fire_each_schedule_once(committed: None) -> None:
    engine = engine_for("default")
    for number in range(60):
        put(f"s{number}", queue=f"q{number % 3}", overlap=Overlap.SKIP if number % 2 else Overlap.ALLOW)
    engine.run(server_time())
    barrier = threading.Barrier(4)
    faults: list[BaseException] = []

    def pump() -> None:
        try:
            barrier.wait(10)
            for minute in range(3):
                fire(engine, T0 + minute * MINUTE)
        except BaseException as error:
            faults.append(error)
        finally:
            connection.close()

    run_together(pump, 4)

    assert faults == []
    fire(engine, T0 + 2 * MINUTE + TAKE_OVER_MS)
    fire(engine, T0 + 2 * MINUTE + TAKE_OVER_MS)
    rows = ScheduleFire.objects.exclude(outcome=FireOutcome.SKIPPED)
    assert set(rows.values_list("outcome", flat=True)) <= {"fired", "missed"}
    fired = list(rows.filter(outcome=FireOutcome.FIRED).values_list("schedule__name", "due_at", "job_id"))
    assert len({one[:2] for one in fired}) == len(fired) == len({one[2] for one in fired})
    assert sum(jobs(engine, f"q{number}").get(JobState.READY, 0) for number in range(3)) == len(fired)
    assert len(fired) >= 60 + 30


def run_together(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_more_than_a_batch_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firing, "BATCH", 2)
    for number in range(5):
        put(f"s{number}")

    rounds = [fire(engine) for _ in range(3)]

    assert [(one.fired, one.more) for one in rounds] == [(2, True), (2, True), (1, False)]


def test_the_query_of_due_schedules_uses_its_index(engine: Engine) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the plan is read as SQLite tells it")
    rows = firing._due_rows("default").filter(fire_at__lte=to_datetime(T0)).order_by("fire_at")

    assert "schedule_by_fire" in rows.explain()


def test_an_edit_that_leaves_the_timing_alone_leaves_the_next_fire(engine: Engine) -> None:
    before = put(kind=ScheduleKind.INTERVAL, interval_ms=90_000)

    after = put(kind=ScheduleKind.INTERVAL, interval_ms=90_000, body=b"new", now_ms=T0)
    moved = put(kind=ScheduleKind.INTERVAL, interval_ms=60_000, now_ms=T0)

    assert (after.due_at, after.starts_at) == (before.due_at, before.starts_at)
    assert moved.due_at == to_datetime(T0) + timedelta(minutes=1)


def test_two_who_make_the_same_schedule_at_once_make_one(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made = put()
    found = editing._locked
    looks: list[bool] = []

    def look(owner: Namespace) -> Any:
        looks.append(True)
        return found(owner).none() if len(looks) == 1 else found(owner)  # the first look was before the other's commit

    monkeypatch.setattr(editing, "_locked", look)

    assert put(body=b"new").pk == made.pk
    assert len(looks) == 2


def test_a_namespace_has_a_bounded_number_of_schedules(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "SCHEDULES_MAX", 2)
    put("a")
    put("b")

    with pytest.raises(InvalidArgumentError, match="too many schedules: a namespace has 2 at most"):
        put("c")
    assert put("a", body=b"new").body_bytes == 3
