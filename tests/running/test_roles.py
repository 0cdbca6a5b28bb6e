"""What each background role does in one tick, and how `run_role` and a pool runner treat ticks."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import (
    Counts,
    Dependency,
    DependencyFailure,
    Engine,
    PublishOptions,
    StoreUnavailableError,
    ack_attempt,
    consume,
    delete_jobs,
    destroy,
    fail,
    open_engine,
    publish,
    size,
    stats,
)
from queues.models import Namespace, Pool, QueuePolicy
from queues.pump import service
from queues.pump.pool_runner import PoolRunner
from queues.pump.role import RETRY_FIRST_S, RETRY_MAX_S, WAIT_PART, BackgroundRole, CircuitBreaker, RoleStats, run_role
from queues.pump.roles import DELETER, GROUPS, PUMP, RECLAIMER, RELAY, SWEEPER, bounds, roles_for
from tests.support.clock import ManualClock
from tests.support.waiting import wait_until

START_MS = 2_000_000_000_000


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url)
    yield engine
    engine.close()


def counts_of(engine: Engine, now_ms: int, queue: str = "q") -> dict[str, int]:
    """Jobs by state, without the states that have none."""
    counts = engine.run(stats(engine.queue("ns", queue), now_ms=now_ms)).counts
    return {state.value: number for state, number in counts.items() if number}


def put(engine: Engine, options: PublishOptions, *, jobs: int = 1, queue: str = "q") -> None:
    engine.run(publish(engine.queue("ns", queue), [b"job"] * jobs, options, now_ms=START_MS))


def bury(engine: Engine, *, jobs: int, queue: str) -> None:
    """Make dead letters."""
    keys = engine.queue("ns", queue)
    put(engine, PublishOptions(), jobs=jobs, queue=queue)
    for job in engine.run(consume(keys, ttr_ms=1000, count=jobs, now_ms=START_MS)).jobs:
        engine.run(fail(keys, job.job_id, dead=True, now_ms=START_MS))


def test_the_pump_makes_due_jobs_ready_and_leaves_the_others(engine: Engine) -> None:
    put(engine, PublishOptions(delay_ms=1_000), jobs=3)
    put(engine, PublishOptions(delay_ms=5_000))

    counts = PUMP.tick(engine, START_MS + 1_000)

    assert counts.jobs == 3
    assert counts_of(engine, START_MS + 1_000) == {"ready": 3, "delayed": 1}


def test_a_group_is_flushed_when_its_time_has_come(engine: Engine) -> None:
    put(engine, PublishOptions(group="mails", group_grace_ms=1_000), jobs=3)
    put(engine, PublishOptions(group="pushes", group_grace_ms=5_000))

    ticks = [GROUPS.tick(engine, START_MS + ms).jobs for ms in (999, 1_000, 1_000)]

    assert ticks == [0, 1, 0]
    assert counts_of(engine, START_MS + 1_000) == {"ready": 1, "grouped": 1}


def test_a_tick_with_nothing_to_do_does_nothing(engine: Engine) -> None:
    put(engine, PublishOptions(delay_ms=1_000))

    assert [tick(engine, START_MS).jobs for tick in (PUMP.tick, RECLAIMER.tick, SWEEPER.tick, DELETER.tick)] == [0] * 4
    assert counts_of(engine, START_MS) == {"delayed": 1}


def test_the_reclaimer_takes_back_jobs_whose_lease_ran_out(engine: Engine) -> None:
    put(engine, PublishOptions(tries=2))
    put(engine, PublishOptions(tries=1))
    engine.run(consume(engine.queue("ns", "q"), ttr_ms=1_000, count=2, now_ms=START_MS))

    counts = RECLAIMER.tick(engine, START_MS + 1_001)

    assert (counts.jobs, counts.dead) == (2, 1)
    assert counts_of(engine, START_MS + 1_001) == {"ready": 1, "dead": 1}


def test_the_reclaimer_drops_completed_jobs_after_their_retention(engine: Engine) -> None:
    keys = engine.queue("ns", "q")
    put(engine, PublishOptions(retention_ms=1_000))
    (job,) = engine.run(consume(keys, ttr_ms=1_000, now_ms=START_MS)).jobs
    engine.run(ack_attempt(keys, job.job_id, result=b"done", now_ms=START_MS))

    RECLAIMER.tick(engine, START_MS + 1_001)

    assert counts_of(engine, START_MS + 1_001) == {}


def test_the_sweeper_drops_expired_jobs(engine: Engine) -> None:
    put(engine, PublishOptions(ttl_ms=1_000), jobs=3)
    put(engine, PublishOptions(ttl_ms=9_000))

    swept = sum(SWEEPER.tick(engine, START_MS + 1_001).jobs for _ in range(10))

    assert swept == 3
    assert counts_of(engine, START_MS + 1_001) == {"ready": 1}


def test_the_relay_tells_a_job_of_a_dependency_that_was_deleted(engine: Engine) -> None:
    orders, mails = engine.queue("shop", "orders"), engine.queue("shop", "mails")
    (first,) = engine.run(publish(orders, [b"x"], now_ms=START_MS)).job_ids
    needed = PublishOptions(
        depends_on=(Dependency(queue="orders", job_id=first),), on_dependency_failure=DependencyFailure.CONTINUE
    )
    engine.run(publish(mails, [b"x"], needed, now_ms=START_MS))
    engine.run(delete_jobs(orders, [first], now_ms=START_MS))
    assert engine.run(size(mails)) == 0

    assert RELAY.tick(engine, START_MS).jobs == 1

    assert engine.run(size(mails)) == 1
    assert RELAY.tick(engine, START_MS).jobs == 0


def test_the_deleter_frees_what_a_deleted_queue_held(engine: Engine) -> None:
    keys = engine.queue("ns", "q")
    put(engine, PublishOptions(), jobs=3)
    engine.run(destroy(keys, everything=True))
    put(engine, PublishOptions())

    assert DELETER.tick(engine, START_MS).jobs == 3
    assert not DELETER.tick(engine, START_MS).more

    assert engine.client.keys("*:deleted:*") == []
    assert counts_of(engine, START_MS) == {"ready": 1}


def test_a_role_with_a_share_of_the_time_leaves_the_rest_to_others(engine: Engine) -> None:
    clock = ManualClock()

    def tick(_engine: Engine, _now_ms: int | None) -> Counts:
        clock.advance(0.5)
        return Counts(jobs=1, more=True)

    began = clock.now
    role = BackgroundRole(name="role", interval_s=1, budget_s=10, tick=tick, share=0.25)
    counts = run_role(role, engine, should_stop=lambda: False, clock=clock, sleep=clock.advance)

    # Half a second of work, three times that for others, as long as the budget lasts.
    assert clock.now - began == pytest.approx(counts.jobs * 0.5 + (counts.jobs - 1) * 1.5)
    assert counts.jobs == 6


@pytest.mark.django_db(transaction=True)
def test_dead_letters_are_trimmed_to_the_bounds_that_people_set(engine: Engine) -> None:
    namespace = Namespace.objects.create(pool=Pool.objects.get_or_create(name="default")[0], name="ns")
    QueuePolicy.objects.create(namespace=namespace, queue="", dead_max_count=2)
    QueuePolicy.objects.create(namespace=namespace, queue="kept", dead_max_count=4)
    for queue in ("one", "two", "kept"):
        bury(engine, jobs=5, queue=queue)
    role = bounds.DeadLetterBounds("default")

    trimmed = Counts(more=True)
    while trimmed.more:
        trimmed = role.tick(engine, START_MS)

    assert [counts_of(engine, START_MS, queue)["dead"] for queue in ("one", "two", "kept")] == [2, 2, 4]


@pytest.mark.django_db(transaction=True)
def test_more_queues_than_a_tick_takes_are_all_trimmed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "QUEUES_PER_TICK", 2)
    namespace = Namespace.objects.create(pool=Pool.objects.get_or_create(name="default")[0], name="ns")
    QueuePolicy.objects.create(namespace=namespace, queue="", dead_max_count=0)
    queues = [f"q{number}" for number in range(5)]
    for queue in queues:
        bury(engine, jobs=1, queue=queue)
    role = bounds.DeadLetterBounds("default")

    ticks = 1
    while role.tick(engine, START_MS).more:
        ticks += 1

    assert ticks == 4
    assert [counts_of(engine, START_MS, queue) for queue in queues] == [{}] * 5


@pytest.mark.django_db(transaction=True)
def test_dead_letters_without_bounds_stay(engine: Engine) -> None:
    bury(engine, jobs=3, queue="q")

    assert bounds.DeadLetterBounds("default").tick(engine, START_MS) == Counts()
    assert counts_of(engine, START_MS)["dead"] == 3


class Script:
    """A tick that answers with the given counts, one after another."""

    def __init__(self, *answers: Counts | Exception) -> None:
        self.left = list(answers)

    def __call__(self, _engine: Engine, _now_ms: int | None) -> Counts:
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def role_of(tick: Callable[[Engine, int | None], Counts], *, budget_s: float = 60.0) -> BackgroundRole:
    return BackgroundRole(name="role", interval_s=1, budget_s=budget_s, tick=tick)


def test_a_turn_goes_on_while_there_is_more(engine: Engine) -> None:
    tick = Script(Counts(jobs=2, more=True), Counts(jobs=3, more=True), Counts(jobs=1), Counts(jobs=9))

    assert run_role(role_of(tick), engine, should_stop=lambda: False) == Counts(jobs=6)
    assert len(tick.left) == 1


def test_a_turn_ends_when_its_budget_is_used_up(engine: Engine) -> None:
    tick = Script(Counts(jobs=2, more=True), Counts(jobs=3))

    assert run_role(role_of(tick, budget_s=0), engine, should_stop=lambda: False) == Counts(jobs=2, more=True)


def test_a_turn_ends_when_asked_to_stop(engine: Engine) -> None:
    tick = Script(Counts(jobs=2, more=True), Counts(jobs=3))

    assert run_role(role_of(tick), engine, should_stop=lambda: True) == Counts(jobs=2, more=True)


def test_a_role_that_is_woken_ticks_again(engine: Engine) -> None:
    clock = ManualClock()
    left: list[float] = []
    tick = Script(Counts(), Counts(jobs=2, more=True), Counts(jobs=3), Counts(jobs=9))

    def wait(_engine: Engine, left_s: float) -> bool:
        left.append(left_s)
        clock.advance(left_s / 2)
        return len(left) == 1

    role = BackgroundRole(name="role", interval_s=1, budget_s=10, tick=tick, wait=wait)
    counts = run_role(role, engine, should_stop=lambda: False, clock=clock)

    assert counts == Counts(jobs=5)
    assert left == pytest.approx([WAIT_PART, WAIT_PART / 2])


def test_a_role_that_is_woken_all_the_time_ends_its_turn_all_the_same(engine: Engine) -> None:
    clock = ManualClock()

    began = clock.now

    def wait(_engine: Engine, _left_s: float) -> bool:
        clock.advance(0.4)
        return True

    role = BackgroundRole(name="role", interval_s=0.5, budget_s=3, tick=lambda _engine, _now: Counts(jobs=1), wait=wait)
    run_role(role, engine, should_stop=lambda: False, clock=clock)

    assert clock.now - began <= 3.4


def test_trouble_is_logged_once_when_it_begins_and_once_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "queues.pump")
    breaker = CircuitBreaker(pool="p")

    for _ in range(20):
        breaker.record_failure(StoreUnavailableError("connection refused"))
    for _ in range(20):
        breaker.record_success()

    assert [(record.levelname, record.__dict__["action"]) for record in caplog.records] == [
        ("WARNING", "trouble"),
        ("INFO", "recovered"),
    ]
    assert caplog.records[0].__dict__["error"] == "connection refused"


def test_what_began_before_trouble_does_not_end_it_and_what_began_before_its_end_does_not_begin_it_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Roles run side by side. One whose reply came before the server died may say so after another one's failure."""
    caplog.set_level(logging.INFO, "queues.pump")
    now = 10.0
    breaker = CircuitBreaker(clock=lambda: now)

    breaker.record_failure(StoreUnavailableError("away"), began_at=9.0)
    breaker.record_success(began_at=9.5)
    assert [record.__dict__["action"] for record in caplog.records] == ["trouble"]

    now = 12.0
    breaker.record_success(began_at=11.0)
    breaker.record_failure(StoreUnavailableError("away"), began_at=11.5)
    assert [record.__dict__["action"] for record in caplog.records] == ["trouble", "recovered"]

    breaker.record_failure(StoreUnavailableError("away"), began_at=12.0)
    assert [record.__dict__["action"] for record in caplog.records] == ["trouble", "recovered", "trouble"]


def test_during_trouble_pauses_between_attempts_grow_to_a_limit() -> None:
    now = 0.0
    breaker = CircuitBreaker(clock=lambda: now)
    attempts: list[float] = []
    breaker.record_failure(StoreUnavailableError("away"))
    while now < 30:
        now += 0.05
        if breaker.may_try():
            attempts.append(now)
            breaker.record_failure(StoreUnavailableError("away"))

    pauses = [round(later - earlier, 2) for earlier, later in zip([0.0, *attempts], attempts, strict=False)]
    assert pauses[0] == pytest.approx(RETRY_FIRST_S, abs=0.06)
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(RETRY_MAX_S, abs=0.06)


def test_during_trouble_one_caller_at_a_time_tries() -> None:
    now = 0.0
    breaker = CircuitBreaker(clock=lambda: now)
    breaker.record_failure(StoreUnavailableError("away"))
    now = RETRY_FIRST_S

    assert [breaker.may_try() for _ in range(4)] == [True, False, False, False]


def test_work_that_fails_is_logged_once_and_tried_again_after_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    now, calls = 0.0, 0
    breaker = CircuitBreaker(clock=lambda: now)

    def work() -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ValueError("not yet")

    for step in range(100):
        now = step / 10
        breaker.run(work)

    assert [record.__dict__["action"] for record in caplog.records] == ["trouble", "recovered"]
    assert 3 < calls < 100, "paused while it failed, then each time"


def runner_of(engine: Callable[[str], Engine]) -> PoolRunner:
    return PoolRunner("default", stats=RoleStats(), should_stop=lambda: False, open_engine=engine)


def with_tick(runner: PoolRunner, tick: Callable[[Engine, int | None], Counts]) -> BackgroundRole:
    """The pool runner's pump, doing something else."""
    name = runner.roles[0].name
    return BackgroundRole(name=name, interval_s=1, budget_s=0, tick=tick)


def test_a_defect_in_one_role_is_logged_with_its_place_and_ends_nothing(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    runner = runner_of(lambda _pool: engine)

    runner.run(with_tick(runner, Script(ZeroDivisionError("a defect"))))
    put(engine, PublishOptions(tries=1))
    runner.run(runner.roles[1])

    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.__dict__["role"] == "pump"
    assert "ZeroDivisionError" in caplog.text


def test_a_role_has_turns_at_multiples_of_its_interval_until_the_runner_is_closed(engine: Engine) -> None:
    began: list[float] = []

    def tick(_engine: Engine, _now_ms: int | None) -> Counts:
        began.append(time.monotonic())
        if len(began) == 2:
            time.sleep(0.25)  # over two multiples, which are left out
        if len(began) == 4:
            runner.close()
        return Counts()

    runner = runner_of(lambda _pool: engine)
    start = time.monotonic()
    runner.work(BackgroundRole(name="pump", interval_s=0.1, budget_s=0, tick=tick))

    first, second, third, _fourth = (moment - start for moment in began)
    assert first > 0.099
    assert third > second // 0.1 * 0.1 + 0.299


@pytest.fixture
def idle(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pools have one role, which does nothing but to note here that it had a turn."""
    turns: list[str] = []

    def tick(_engine: Engine, _now_ms: int | None) -> Counts:
        turns.append("turn")
        return Counts()

    role = BackgroundRole(name="idle", interval_s=0.05, budget_s=0, tick=tick)
    monkeypatch.setattr("queues.pump.pool_runner.roles_for", lambda _pool, *, once: (role,))
    monkeypatch.setattr(service, "PoolRunner", partial(PoolRunner, open_engine=lambda _pool: engine))
    monkeypatch.setattr(service, "POOLS_INTERVAL_S", 0.05)
    return turns


@pytest.mark.parametrize("pools", [["default", "new"], []], ids=["comes", "goes"])
def test_a_pool_that_comes_or_goes_while_the_pump_stops_does_not_hold_it_up(idle: list[str], pools: list[str]) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def list_pools() -> list[str]:
        if not idle:
            return ["default"]
        asked.set()
        may_answer.wait(10)
        return pools

    running = service.BackgroundService(list_pools)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    assert asked.wait(10)

    running.ask_to_stop()
    thread.join(0.2)  # it waits for that answer now
    may_answer.set()

    thread.join(10)
    assert not thread.is_alive()


def test_when_the_pump_itself_fails_its_roles_end_with_it(idle: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_service: service.BackgroundService, _scheduler: object) -> None:
        wait_until(lambda: idle, or_fail="the role had no turn")
        raise ZeroDivisionError

    monkeypatch.setattr(service.BackgroundService, "_wait", wait)

    with pytest.raises(ZeroDivisionError):
        service.BackgroundService(lambda: ["default"]).run()

    assert not [thread for thread in threading.enumerate() if "APScheduler" in thread.name]
    turns = len(idle)
    time.sleep(0.2)  # four intervals
    assert len(idle) == turns


def test_a_pool_that_goes_and_comes_back_is_worked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "queues.pump")
    server = EmbeddedRedis(tmp_path, persistent=True)
    server.start()
    engine = open_engine(server.url)
    runner = runner_of(lambda _pool: engine)
    put(engine, PublishOptions(delay_ms=1))
    server.kill()

    runner.run(with_tick(runner, lambda engine, _now: PUMP.tick(engine, START_MS + 1)))
    runner.run(with_tick(runner, lambda engine, _now: PUMP.tick(engine, START_MS + 1)))
    with server:
        runner._pool_breaker._again_at = 0  # the pause is over
        runner.run(with_tick(runner, lambda engine, _now: PUMP.tick(engine, START_MS + 1)))
        assert counts_of(engine, START_MS + 1) == {"ready": 1}
        engine.close()

    assert [record.__dict__["action"] for record in caplog.records] == ["trouble", "recovered"]


def test_role_stats_sum_up_and_start_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "queues.pump")
    role_stats = RoleStats()
    role_stats.add("p", "pump", Counts(queues=1, jobs=2), duration_ms=1)
    role_stats.add("p", "pump", Counts(queues=1, jobs=3), duration_ms=1)
    role_stats.add("p", "sweeper", Counts(queues=7), duration_ms=1)

    role_stats.report()
    role_stats.report()

    (record,) = caplog.records
    assert (record.__dict__["role"], record.__dict__["queues"], record.__dict__["jobs"]) == ("pump", 2, 5)


def test_every_pool_has_these_roles() -> None:
    assert [(role.name, role.interval_s) for role in roles_for("any")] == [
        ("pump", 0.1),
        ("groups", 0.1),
        ("reclaimer", 0.2),
        ("relay", 0.1),
        ("sweeper", 0.25),
        ("deleter", 1.0),
        ("bounds", 10.0),
        ("objectives", 10.0),
        ("survey", 0.2),
        ("drain", 0.5),
        ("counts", 5.0),
        ("schedules", 0.25),
    ]
