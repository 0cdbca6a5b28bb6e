"""Jobs that wait for others, in queues of several partitions: how they are told, and what a failure means."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queues.engine import (
    Dependency,
    DependencyFailure,
    Engine,
    InvalidArgumentError,
    JobState,
    PublishOptions,
    QueueKeys,
    ack,
    ack_attempt,
    consume,
    delete_dead,
    delete_jobs,
    destroy,
    detail,
    fail,
    free_deleted,
    list_jobs,
    list_waits,
    open_engine,
    parse_dependency,
    publish,
    reclaim_ended,
    refuse_cycle,
    relay,
    respawn,
    stats,
    sweep,
)
from tests.support.rows import in_one_test

from .loop import in_loop, opened, start_waiting
from .state import check
from .world import START_MS, TTR_MS

NAMES = ("orders", "mails", "images", "letters")


class Shop:
    """Queues in different partitions under a manual clock."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.now_ms = START_MS

    def run(self, work: Any) -> Any:
        return self.engine.run(work)

    def queue(self, name: str) -> QueueKeys:
        return self.engine.queue("shop", name)

    def publish(self, name: str, *depends_on: str, body: bytes = b"x", **options: Any) -> str:
        needed = tuple(parse_dependency(text, queue=name) for text in depends_on)
        if "on_failure" in options:
            options["on_dependency_failure"] = DependencyFailure(options.pop("on_failure"))
        chosen = PublishOptions(depends_on=needed, **options)
        (job_id,) = self.run(publish(self.queue(name), [body], chosen, now_ms=self.now_ms)).job_ids
        return f"{name}/{job_id}"

    def take(self, name: str) -> str:
        (job,) = self.run(consume(self.queue(name), ttr_ms=TTR_MS, now_ms=self.now_ms)).jobs
        return f"{name}/{job.job_id}"

    def ack(self, job: str, **options: Any) -> None:
        name, _, job_id = job.partition("/")
        self.run(ack_attempt(self.queue(name), job_id, now_ms=self.now_ms, **options))

    def do(self, job: str) -> None:
        """Take the job, which is the only one that is ready, and ack it."""
        assert self.take(job.partition("/")[0]) == job
        self.ack(job)

    def die(self, job: str) -> None:
        name, _, job_id = job.partition("/")
        assert self.take(name) == job
        self.run(fail(self.queue(name), job_id, dead=True, now_ms=self.now_ms))

    def relay(self) -> int:
        return int(self.run(relay(self.engine.layout, now_ms=self.now_ms)).jobs)

    def detail(self, job: str) -> Any:
        name, _, job_id = job.partition("/")
        return self.run(detail(self.queue(name), job_id, now_ms=self.now_ms))

    def state(self, job: str) -> str:
        """Where it is, in a sound store whose counts are right."""
        content = check(self.engine.client)
        for name in NAMES:
            found = content.queue(f"shop/{name}")
            counts = self.run(stats(self.queue(name), now_ms=self.now_ms)).counts
            wanted = dict.fromkeys(JobState, 0)
            for job_id in found.jobs:
                wanted[JobState(found.places_of(job_id)[0])] += 1
            assert counts == wanted
        found_job = self.detail(job)
        return str(found_job.state) if found_job else "gone"

    def left(self) -> dict[str, Any]:
        """What dependencies leave behind."""
        content = check(self.engine.client)
        queues = {
            f"{queue.name} {kind}": sorted(getattr(queue, kind))
            for queue in content.queues.values()
            for kind in ("waits", "dependants", "blocked")
            if getattr(queue, kind)
        }
        messages = {
            f"outgoing {number}": sorted(part.outgoing) for number, part in content.shared.items() if part.outgoing
        }
        return queues | messages


@pytest.fixture
def shop(redis_url: str) -> Any:
    engine = open_engine(redis_url, partitions=8)
    yield Shop(engine)
    engine.close()


def test_the_queues_of_these_tests_are_in_different_partitions(shop: Shop) -> None:
    assert len({shop.queue(name).partition for name in NAMES}) == len(NAMES)


def test_a_job_waits_for_those_it_depends_on_and_is_then_handed_out(shop: Shop) -> None:
    first, second = shop.publish("orders"), shop.publish("images")
    last = shop.publish("mails", first, second)

    assert shop.state(last) == "blocked"
    shop.do(first)
    assert shop.state(last) == "blocked"
    assert shop.run(consume(shop.queue("mails"), ttr_ms=TTR_MS, now_ms=shop.now_ms)).jobs == ()
    shop.do(second)
    assert shop.state(last) == "ready"
    shop.do(last)
    assert shop.left() == {}


def test_a_job_whose_dependency_has_been_acked_is_ready_at_once(shop: Shop) -> None:
    kept, dropped = shop.publish("orders", retention_ms=60_000), shop.publish("images")
    shop.do(kept)
    shop.do(dropped)

    assert shop.state(shop.publish("mails", kept, dropped)) == "ready"
    assert shop.left() == {}


def test_a_dependency_by_key_may_be_published_later(shop: Shop) -> None:
    last = shop.publish("mails", "orders:first")
    assert shop.state(last) == "blocked"

    first = shop.publish("orders", key="first")
    assert shop.state(last) == "blocked"
    shop.do(first)

    assert shop.state(last) == "ready"
    assert shop.left() == {}


@pytest.mark.parametrize("unique", ["until_done", "replace"])
def test_any_kind_of_key_can_be_depended_on(shop: Shop, unique: str) -> None:
    waiting = shop.publish("mails", "orders:first")
    first = shop.publish("orders", key="first", key_mode=unique)
    later = shop.publish("letters", "orders:first")

    shop.do(first)

    assert (shop.state(waiting), shop.state(later)) == ("ready", "ready")
    assert shop.left() == {}


def test_a_job_that_takes_the_place_of_another_takes_its_dependants_too(shop: Shop) -> None:
    shop.publish("orders", key="first", key_mode="replace")
    waiting = shop.publish("mails", "orders:first")
    second = shop.publish("orders", key="first", key_mode="replace")
    shop.relay()

    assert shop.state(waiting) == "blocked"
    shop.do(second)

    assert shop.state(waiting) == "ready"
    assert shop.left() == {}


@pytest.mark.parametrize("published", ["before", "after"])
def test_a_dependency_by_key_outlives_a_job_that_was_deleted(shop: Shop, published: str) -> None:
    if published == "before":
        first = shop.publish("orders", key="first", key_ttl_ms=1_000)
    waiting = shop.publish("mails", "orders:first")
    if published == "after":
        first = shop.publish("orders", key="first", key_ttl_ms=1_000)
    shop.run(delete_jobs(shop.queue("orders"), [first.partition("/")[2]], now_ms=shop.now_ms))
    shop.relay()
    assert shop.state(waiting) == "blocked"

    shop.now_ms += 1_000
    shop.do(shop.publish("orders", key="first"))

    assert shop.state(waiting) == "ready"
    assert shop.left() == {}


def _publish_two_with_one_key(shop: Shop, **options: Any) -> tuple[str, str, str]:
    """A job that has expired but is there, one that depends on it by its key, and the job that has the key now."""
    first = shop.publish("orders", key="first", ttl_ms=1_000)
    waiting = shop.publish("mails", "orders:first", **options)
    shop.now_ms += 1_000
    return first, waiting, shop.publish("orders", key="first", retention_ms=60_000)


@pytest.mark.parametrize("how", ["sweep", "delete"])
def test_a_job_that_has_gone_is_bound_to_no_other_job_with_the_key(shop: Shop, how: str) -> None:
    _, waiting, second = _publish_two_with_one_key(shop, ttl_ms=1_000 if how == "sweep" else 0)
    if how == "delete":
        shop.run(delete_jobs(shop.queue("mails"), [waiting.partition("/")[2]], now_ms=shop.now_ms))
        shop.relay()
    shop.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
    shop.relay()

    assert shop.state(second) == "ready"
    assert shop.left() == {}
    assert not check(shop.engine.client).queue("shop/orders").runs, "nothing depends on the job"


def test_a_dependency_by_key_is_met_if_the_job_that_has_the_key_now_has_been_acked(shop: Shop) -> None:
    _, waiting, second = _publish_two_with_one_key(shop)
    shop.do(second)
    assert shop.state(waiting) == "blocked"

    shop.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
    shop.relay()

    assert (shop.state(second), shop.state(waiting)) == ("completed", "ready")
    assert shop.left() == {}


def test_a_dependency_by_key_follows_the_job_that_has_the_key_into_its_batch(shop: Shop) -> None:
    shop.publish("orders", key="first", ttl_ms=1_000)
    waiting = shop.publish("mails", "orders:first")
    shop.now_ms += 1_000
    shop.publish("orders", key="first", group="all", group_max_size=1)

    shop.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
    shop.relay()
    assert shop.state(waiting) == "blocked"

    shop.ack(shop.take("orders"))
    assert shop.state(waiting) == "ready"
    assert shop.left() == {}


def test_a_key_with_tabs_is_not_taken_for_the_key_that_a_job_waits_for(shop: Shop) -> None:
    waiting = shop.publish("mails", "orders:k")
    shop.relay()
    other = shop.publish("orders", key="k\tw\tshop/mails\t" + waiting.partition("/")[2])
    shop.publish("images", other)
    shop.relay()

    shop.do(other)
    shop.relay()

    assert shop.state(waiting) == "blocked"


def test_a_dependency_by_key_of_a_job_that_has_been_acked_is_met(shop: Shop) -> None:
    shop.do(shop.publish("orders", key="first"))

    assert shop.state(shop.publish("mails", ":other", "orders:first")) == "blocked"
    assert shop.state(shop.publish("letters", "orders:first")) == "ready"


def test_an_id_that_was_not_given_yet_is_no_dependency_that_was_met(shop: Shop) -> None:
    future = "orders/" + "7" + "Z" * 25

    assert shop.state(shop.publish("mails", future)) == "blocked"
    failed = shop.publish("letters", future, on_failure="fail")

    assert shop.state(failed) == "dead"
    assert shop.detail(failed).history[-1].error == f"dependency {future}: unknown"


def test_a_delay_counts_from_the_publish(shop: Shop) -> None:
    first = shop.publish("orders")
    soon, late = shop.publish("mails", first, delay_ms=1_000), shop.publish("mails", first, delay_ms=50_000)
    shop.now_ms += 10_000
    shop.do(first)

    assert (shop.state(soon), shop.state(late)) == ("ready", "delayed")
    assert shop.detail(late).due_ms == START_MS + 50_000


def test_how_long_a_job_was_blocked_is_no_wait_for_a_consumer(shop: Shop) -> None:
    first, last = shop.publish("orders"), ""
    last = shop.publish("mails", first)
    shop.now_ms += 40_000
    shop.do(first)

    assert shop.detail(last).due_ms == shop.now_ms


@pytest.mark.parametrize(("policy", "state"), [("wait", "blocked"), ("fail", "dead"), ("continue", "ready")])
def test_what_a_dead_dependency_means_is_chosen(shop: Shop, policy: str, state: str) -> None:
    first = shop.publish("orders")
    last = shop.publish("mails", first, on_failure=policy)

    shop.die(first)

    assert shop.state(last) == state
    if policy == "fail":
        assert shop.detail(last).history[-1].error == f"dependency {first}: dead"
    assert shop.state(shop.publish("letters", first, on_failure=policy)) == state


def test_a_job_that_waits_goes_on_waiting_for_a_dead_one_that_is_respawned(shop: Shop) -> None:
    first = shop.publish("orders")
    last = shop.publish("mails", first)
    shop.die(first)
    after = shop.publish("letters", first)

    shop.run(respawn(shop.queue("orders"), limit=1, ttl_ms=0, now_ms=shop.now_ms))
    shop.do(first)

    assert (shop.state(last), shop.state(after)) == ("ready", "ready")
    assert shop.left() == {}


@pytest.mark.parametrize(("policy", "state"), [("wait", "blocked"), ("fail", "dead"), ("continue", "ready")])
@pytest.mark.parametrize("how", ["delete", "ack", "destroy", "drain", "expire", "expire late", "delete dead"])
def test_a_dependency_that_goes_without_an_ack_has_failed(shop: Shop, how: str, policy: str, state: str) -> None:
    first = shop.publish("orders", ttl_ms=5_000)
    orders, job_id = shop.queue("orders"), first.partition("/")[2]
    last = shop.publish("mails", first, on_failure=policy, ttl_ms=0)
    if how == "delete":
        shop.run(delete_jobs(orders, [job_id], now_ms=shop.now_ms))
    elif how == "ack":
        shop.run(ack(orders, [job_id], now_ms=shop.now_ms))
    elif how in ("destroy", "drain"):
        shop.run(destroy(orders, everything=how == "destroy", now_ms=shop.now_ms))
    elif how == "delete dead":
        shop.die(first)
        shop.run(delete_dead(orders, limit=1, now_ms=shop.now_ms))
    else:
        shop.now_ms += 5_000
        if how == "expire":
            shop.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
        else:
            shop.run(consume(orders, ttr_ms=1, now_ms=shop.now_ms))
    shop.relay()

    assert shop.state(last) == state
    waits = shop.run(list_waits(shop.queue("mails"), job_id=last.partition("/")[2])).waits
    assert [wait.state for wait in waits] == ["-"] * (policy == "wait")


def test_a_failure_is_passed_on_to_those_that_depend_on_the_failed(shop: Shop) -> None:
    first = shop.publish("orders")
    second = shop.publish("mails", first, on_failure="fail")
    third = shop.publish("images", second, on_failure="fail")
    last = shop.publish("letters", third, on_failure="continue")

    shop.die(first)

    assert [shop.state(job) for job in (second, third, last)] == ["dead", "dead", "ready"]
    assert shop.left() == {}


def test_a_job_that_is_dead_for_its_dependencies_is_handed_out_when_it_is_respawned(shop: Shop) -> None:
    first, other = shop.publish("orders"), shop.publish("images")
    last = shop.publish("mails", first, other, on_failure="fail")
    shop.die(first)

    shop.run(respawn(shop.queue("mails"), limit=1, ttl_ms=0, now_ms=shop.now_ms))

    shop.do(last)
    assert shop.left() == {}
    shop.do(other)


@pytest.mark.parametrize("how", ["delete", "ack", "destroy", "expire"])
def test_a_blocked_job_that_goes_leaves_nothing_behind(shop: Shop, how: str) -> None:
    first = shop.publish("orders")
    last = shop.publish("mails", first, "letters:never", ttl_ms=5_000)
    mails, job_id = shop.queue("mails"), last.partition("/")[2]
    if how == "delete":
        assert shop.run(delete_jobs(mails, [job_id], only="blocked", now_ms=shop.now_ms)) == 1
    elif how == "ack":
        shop.run(ack(mails, [job_id], now_ms=shop.now_ms))
    elif how == "destroy":
        assert shop.run(destroy(mails, everything=True, now_ms=shop.now_ms)) == 1
        shop.run(free_deleted(shop.engine.layout))
    else:
        shop.now_ms += 5_000
        shop.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
    shop.relay()

    assert shop.state(last) == "gone"
    assert shop.left() == {}
    shop.do(first)


def test_blocked_jobs_are_listed_with_what_they_wait_for(shop: Shop) -> None:
    first = shop.publish("orders")
    last = shop.publish("mails", first, "orders:some", "orders:some")

    page = shop.run(list_jobs(shop.queue("mails"), JobState.BLOCKED, now_ms=shop.now_ms))
    waits = shop.run(list_waits(shop.queue("mails"), job_id=last.partition("/")[2]))

    assert [job.job_id for job in page.jobs] == [last.partition("/")[2]]
    assert (waits.is_blocked, waits.total) == (True, 2)
    assert {str(wait.dependency) for wait in waits.waits} == {first, "orders:some"}


def test_a_lease_that_runs_out_for_good_is_a_failure(shop: Shop) -> None:
    first = shop.publish("orders")
    last = shop.publish("mails", first, on_failure="fail")
    shop.take("orders")
    shop.now_ms += TTR_MS
    shop.run(reclaim_ended(shop.engine.layout, now_ms=shop.now_ms))
    shop.relay()

    assert shop.state(last) == "dead"


def test_a_cycle_is_refused_and_named(shop: Shop) -> None:
    shop.publish("orders", "mails:b", key="a")
    shop.publish("mails", "images:c", key="b")

    with pytest.raises(InvalidArgumentError, match="images:c → orders:a → mails:b → images:c"):
        shop.run(refuse_cycle(shop.engine.layout, shop.queue("images"), "c", [Dependency(queue="orders", key="a")]))
    with pytest.raises(InvalidArgumentError, match="images:c → images:c"):
        shop.run(refuse_cycle(shop.engine.layout, shop.queue("images"), "c", [Dependency(queue="images", key="c")]))


def test_the_job_that_closes_a_cycle_unseen_is_dead_and_says_why(shop: Shop) -> None:
    shop.publish("orders", "mails:b", key="a")
    last = shop.publish("mails", "orders:a", key="b")

    assert shop.state(last) == "dead"
    assert "cycle mails:b → orders:a → mails:b" in shop.detail(last).history[-1].error


@in_one_test(
    "text", ["", "/", ":", "orders/", "orders:", "orders/x", "or ders:a", "orders:a\tb", "orders:" + "k" * 256, "a/b/c"]
)
def test_what_is_no_name_of_a_job_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid depends_on"):
        parse_dependency(text, queue="mails")


def test_a_job_by_id_or_key_in_the_same_queue_needs_no_queue(shop: Shop) -> None:
    first = shop.publish("orders", key="a/b:c")
    last = shop.publish("orders", first.partition("/")[2], ":a/b:c")

    shop.do(first)

    shop.do(last)
    assert shop.left() == {}


def test_many_jobs_that_depend_on_one_are_told_in_parts(shop: Shop) -> None:
    first = shop.publish("orders")
    needed = (Dependency(queue="orders", job_id=first.partition("/")[2]),)
    for _ in range(3):
        shop.run(publish(shop.queue("mails"), [b"x"] * 1_000, PublishOptions(depends_on=needed), now_ms=shop.now_ms))
    while shop.run(relay(shop.engine.layout, now_ms=shop.now_ms)).more:
        pass
    shop.do(first)
    while shop.run(relay(shop.engine.layout, now_ms=shop.now_ms)).more:
        pass

    assert shop.run(stats(shop.queue("mails"), now_ms=shop.now_ms)).counts[JobState.READY] == 3_000
    assert shop.left() == {}


def test_a_job_that_depends_on_many_is_told_in_parts(shop: Shop) -> None:
    ids = shop.run(publish(shop.queue("orders"), [b"x"] * 1_000, now_ms=shop.now_ms)).job_ids
    last = shop.publish("mails", *[f"orders/{job_id}" for job_id in ids])
    taken = shop.run(consume(shop.queue("orders"), ttr_ms=TTR_MS, count=1_000, now_ms=shop.now_ms)).jobs
    for job in taken[1:]:
        shop.run(ack(shop.queue("orders"), [job.job_id], now_ms=shop.now_ms))
    shop.relay()
    assert shop.state(last) == "blocked"

    shop.ack(f"orders/{taken[0].job_id}")

    assert shop.state(last) == "ready"
    assert shop.left() == {}


@in_loop
async def test_an_ack_wakes_a_consumer_that_waits_for_what_depends_on_it(redis_url: str) -> None:
    """The process that acked tells the other partition at once; there is no pump here."""
    async with opened(redis_url) as engine:
        orders, mails = engine.queue("shop", "orders"), engine.queue("shop", "mails")
        (first,) = (await engine.run(publish(orders, [b"first"]))).job_ids
        needed = (Dependency(queue="orders", job_id=first),)
        await engine.run(publish(mails, [b"last"] * 3, PublishOptions(depends_on=needed)))
        (waiting,) = await start_waiting(engine, mails, timeout_s=20)
        (job,) = (await engine.run(consume(orders, ttr_ms=TTR_MS))).jobs
        engine._waiters._fallback_polls.stop()

        await asyncio.gather(engine.run(ack_attempt(orders, job.job_id)), engine.run(ack(orders, [job.job_id])))

        assert [found.body for found in (await waiting).jobs] == [b"last"]


@in_loop
async def test_an_engine_that_is_closed_has_told_of_its_acks(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        orders, mails = engine.queue("shop", "orders"), engine.queue("shop", "mails")
        (first,) = (await engine.run(publish(orders, [b"first"]))).job_ids
        await engine.run(publish(mails, [b"x"], PublishOptions(depends_on=(Dependency(queue="orders", job_id=first),))))
        await engine.run(consume(orders, ttr_ms=TTR_MS))
        await engine.batch([ack(orders, [first])])
    other = open_engine(redis_url)

    assert other.run(stats(other.queue("shop", "mails"))).counts[JobState.READY] == 1
    other.close()


def test_too_many_dependencies_are_refused(shop: Shop) -> None:
    needed = [f"orders:{number}" for number in range(1_001)]
    with pytest.raises(InvalidArgumentError, match="too many dependencies"):
        shop.publish("mails", *needed)
    with pytest.raises(InvalidArgumentError, match="too many dependencies"):
        shop.run(
            publish(
                shop.queue("mails"),
                [b"x"] * 2,
                PublishOptions(depends_on=tuple(Dependency(queue="a", key=text) for text in needed[:501])),
            )
        )
