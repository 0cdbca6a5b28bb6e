"""Groups: members gather, are flushed as one batch, and what happens to it happens to all of them."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest

from queues.engine import (
    Delivery,
    Dependency,
    DependencyFailure,
    InvalidArgumentError,
    JobFilter,
    JobState,
    KeyMode,
    ack,
    ack_attempt,
    advance_groups,
    delete_jobs,
    destroy,
    fail,
    find_detail,
    find_job,
    find_result,
    flush_due,
    flush_group,
    free_deleted,
    list_groups,
    promote_due,
    publish,
    publish_once,
    reclaim_ended,
    relay,
    release,
    republish,
    respawn,
    scan_jobs,
    stats,
    sweep,
)
from queues.engine.operations.workers import cancel_job
from queues.engine.values import PublishOptions
from tests.support.rows import in_one_test

from .world import TTR_MS, World

MINUTE_MS = 60_000


def join(world: World, *bodies: bytes, **options: Any) -> tuple[str, ...]:
    return world.publish(*bodies, **({"group": "mails"} | options))


def flush(world: World) -> int:
    """One turn of the role, and how many batches and joining members there were."""
    return world.run(flush_due(world.engine.layout, now_ms=world.now_ms)).jobs


def members_of(delivery: Delivery) -> list[tuple[str, bytes]]:
    batch = json.loads(delivery.body)
    assert batch["group"] == "mails"
    return [(member["job_id"], b64decode(member["data"])) for member in batch["members"]]


def batch_of_two(world: World, **options: Any) -> tuple[Delivery, tuple[str, ...]]:
    ids = join(world, b"one", b"two", group_max_size=2, **options)
    return world.take_one(), ids


def counted(world: World) -> dict[str, int]:
    """What statistics have counted: p published, r acked, f failed, d died."""
    totals = dict.fromkeys("prfd", 0)
    for name, count in world.state().stats.items():
        if (metric := name.lstrip("0123456789")[:1]) in totals:
            totals[metric] += count
    return totals


def events_of(world: World, kind: str) -> list[str]:
    """Ids of the jobs that events of this kind are about."""
    (stream,) = world.queue.select(("events",))
    lines = [line for _, entry in world.client.xrange(stream) for line in entry[b"e"].decode().split("\n")]
    return [line.split("\t")[1] for line in lines if line.startswith(f"{kind}\t")]


def test_a_member_gathers_and_is_not_delivered(world: World) -> None:
    (job_id,) = join(world)

    assert world.take() == ()
    assert world.places() == {job_id: "grouped"}
    (found,) = world.run(list_groups(world.queue, now_ms=world.now_ms)).groups
    assert (found.group, found.members, found.max_size) == ("mails", 1, 500)


def test_a_full_group_is_flushed_by_the_publish_that_fills_it(world: World) -> None:
    first = join(world, b"one", group_max_size=3)
    rest = join(world, b"two", b"\xff\x00", group_max_size=3)

    delivery = world.take_one()

    assert members_of(delivery) == list(zip(first + rest, (b"one", b"two", b"\xff\x00"), strict=True))
    assert delivery.attributes == {"group": "mails"}
    assert world.places() == {delivery.job_id: "working"}
    assert world.run(list_groups(world.queue, now_ms=world.now_ms)).total == 0


def test_a_group_is_flushed_when_nobody_has_come_for_the_grace_period(world: World) -> None:
    join(world, b"one", group_grace_ms=1_000)
    world.advance(900)
    join(world, b"two", group_grace_ms=1_000)
    world.advance(999)
    assert flush(world) == 0
    world.advance(1)

    assert flush(world) == 1
    assert [body for _, body in members_of(world.take_one())] == [b"one", b"two"]


def test_a_group_is_flushed_when_its_oldest_member_has_waited_long_enough(world: World) -> None:
    for _ in range(4):
        join(world, group_grace_ms=1_000, group_max_delay_ms=2_500)
        world.advance(800)
    assert world.state().ready == []

    assert flush(world) == 1
    assert len(members_of(world.take_one())) == 4


def test_groups_and_other_jobs_of_a_queue_are_apart(world: World) -> None:
    join(world, b"mail", group_grace_ms=1_000)
    world.publish(b"push", group="pushes", group_grace_ms=2_000)
    plain = world.publish_one(b"plain")

    assert world.take_one().job_id == plain
    world.advance(1_000)
    flush(world)
    assert [body for _, body in members_of(world.take_one())] == [b"mail"]
    assert [one.group for one in world.run(list_groups(world.queue, now_ms=world.now_ms)).groups] == ["pushes"]


def test_a_batch_larger_than_a_call_may_flush_is_flushed_in_parts(world: World) -> None:
    bodies = [b"%d" % number for number in range(500)]
    join(world, *bodies[:200], group_max_size=3)
    assert world.run(stats(world.queue, now_ms=world.now_ms)).counts[JobState.READY] == 16
    join(world, *bodies[200:], group_max_size=3)
    assert world.run(stats(world.queue, now_ms=world.now_ms)).counts[JobState.READY] == 16, "the role flushes the rest"
    while flush(world):
        world.state()
    world.advance(600_000)
    flush(world)

    taken: list[bytes] = []
    for delivery in world.take(200):
        assert len(members_of(delivery)) in (2, 3)
        taken += [body for _, body in members_of(delivery)]
    assert taken == bodies


def test_a_call_flushes_a_few_hundred_members_and_leaves_the_rest_to_the_next(world: World) -> None:
    bodies = [b"%d" % number for number in range(400)]
    for start in range(0, 400, 100):
        join(world, *bodies[start : start + 100], group_max_size=500)
    join(world, group="other", group_max_size=100)
    world.advance(600_000)
    counts = [world.run(advance_groups(world.queue, now_ms=world.now_ms)) for _ in range(3)]
    assert [(one.jobs, one.more) for one in counts] == [(1, True), (1, False), (0, False)]
    taken = {json.loads(job.body)["group"]: json.loads(job.body)["members"] for job in world.take(count=3)}
    assert {group: len(members) for group, members in taken.items()} == {"mails": 400, "other": 1}
    assert [b64decode(member["data"]) for member in taken["mails"]] == bodies


def test_a_flush_on_demand_of_many_batches_is_done_in_parts(world: World) -> None:
    join(world, *[b"x"] * 200, group_max_size=500)
    join(world, *[b"x"] * 201, group_max_size=100)
    visits = [world.run(flush_group(world.queue, "mails", now_ms=world.now_ms)) for _ in range(3)]
    assert [(one.members, one.more) for one in visits] == [(300, True), (101, False), (0, False)]
    assert [len(json.loads(job.body)["members"]) for job in world.take(count=9)] == [100, 100, 100, 100, 1]


def test_a_batch_is_bounded_in_bytes(world: World) -> None:
    sizes = [300_000, 300_000, 10]
    join(world, bytes(sizes[0]), group_grace_ms=1_000)
    join(world, bytes(sizes[1]), group_grace_ms=1_000)
    join(world, bytes(sizes[2]), group_grace_ms=1_000)
    world.advance(1_000)
    flush(world)

    batches = [[len(body) for _, body in members_of(delivery)] for delivery in world.take(9) + world.take(9)]

    assert batches == [sizes[:1], sizes[1:]]


def test_a_member_with_a_delay_joins_when_it_is_over(world: World) -> None:
    (late,) = join(world, b"late", delay_ms=5_000, group_grace_ms=1_000)
    assert world.run(list_groups(world.queue, now_ms=world.now_ms)).joining == 1
    world.advance(4_999)
    assert flush(world) == 0
    world.advance(1)
    assert flush(world) == 1
    assert world.run(promote_due(world.engine.layout, now_ms=world.now_ms)).jobs == 0
    join(world, b"soon", group_grace_ms=1_000)
    world.advance(1_000)
    flush(world)

    assert members_of(world.take_one())[0] == (late, b"late")


def test_delayed_members_fill_a_group(world: World) -> None:
    join(world, b"one", b"two", b"three", delay_ms=5_000, group_max_size=2)
    world.advance(5_000)
    flush(world)

    assert [body for _, body in members_of(world.take_one())] == [b"one", b"two"]
    assert [one.members for one in world.run(list_groups(world.queue, now_ms=world.now_ms)).groups] == [1]


def test_a_batch_takes_the_best_of_its_members_options(world: World) -> None:
    world.publish(b"other", priority=5)
    join(world, b"one", tries=2, ttl_ms=MINUTE_MS, group_max_size=2)
    join(world, b"two", tries=5, ttl_ms=2 * MINUTE_MS, priority=7, retention_ms=1_000, group_max_size=2)

    delivery = world.take_one()
    found = world.run(find_detail(world.queue, delivery.job_id, now_ms=world.now_ms))

    assert (delivery.tries, delivery.expires_ms - world.now_ms) == (5, 2 * MINUTE_MS)
    assert found is not None
    assert (found.priority, found.retention_ms, found.group, found.members) == (7, 1_000, "mails", 2)


def test_an_ack_counts_for_all_members(world: World) -> None:
    delivery, ids = batch_of_two(world)

    world.run(ack_attempt(world.queue, delivery.job_id, attempt=1, now_ms=world.now_ms))

    assert world.places() == {}
    assert world.state().batches == {}
    assert counted(world) == {"p": 2, "r": 2, "f": 0, "d": 0}
    assert events_of(world, "acked") == list(ids)


def test_failure_retry_and_death_count_for_all_members(world: World) -> None:
    delivery, ids = batch_of_two(world, tries=2)
    world.run(fail(world.queue, delivery.job_id, error="no", now_ms=world.now_ms))
    assert world.places() == {delivery.job_id: "ready"}
    assert world.take_one().body == delivery.body
    world.run(fail(world.queue, delivery.job_id, error="no", now_ms=world.now_ms))

    assert world.places() == {delivery.job_id: "dead"}
    assert events_of(world, "failed") == [*ids, *ids]
    assert events_of(world, "dead") == list(ids)
    assert counted(world) == {"p": 2, "r": 0, "f": 4, "d": 2}


def test_a_lost_lease_counts_for_all_members(world: World) -> None:
    _, ids = batch_of_two(world)
    world.advance(TTR_MS)

    counts = world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert (counts.jobs, counts.dead) == (1, 1)
    assert events_of(world, "lease_lost") == events_of(world, "dead") == list(ids)
    assert world.run(stats(world.queue, now_ms=world.now_ms)).died == 2


def test_the_death_of_a_cancelled_batch_counts_for_all_members(world: World) -> None:
    delivery, _ = batch_of_two(world)
    world.run(cancel_job(world.queue, delivery.job_id, given="1", now_ms=world.now_ms))
    world.run(release(world.queue, delivery.job_id, now_ms=world.now_ms))

    assert world.places() == {delivery.job_id: "dead"}
    assert counted(world) == {"p": 2, "r": 0, "f": 2, "d": 2}


def test_respawn_brings_a_dead_batch_back_whole(world: World) -> None:
    delivery, _ = batch_of_two(world)
    world.run(fail(world.queue, delivery.job_id, now_ms=world.now_ms))
    world.run(respawn(world.queue, ids=[delivery.job_id], ttl_ms=MINUTE_MS, now_ms=world.now_ms))

    again = world.take_one()

    assert (again.job_id, again.body) == (delivery.job_id, delivery.body)


def test_a_released_batch_comes_back_whole(world: World) -> None:
    delivery, _ = batch_of_two(world)
    world.run(release(world.queue, delivery.job_id, now_ms=world.now_ms))

    assert world.take_one().body == delivery.body


def test_a_member_that_expires_before_the_flush_expires_alone(world: World) -> None:
    (short,) = join(world, b"short", ttl_ms=5_000)
    (long,) = join(world, b"long", ttl_ms=MINUTE_MS)
    world.advance(5_000)
    flush(world)
    assert world.places() == {long: "grouped"}
    assert events_of(world, "expired") == [short]
    world.advance(55_000)
    flush(world)

    assert world.places() == {}


def test_an_expired_member_is_not_in_the_batch(world: World) -> None:
    join(world, b"short", ttl_ms=5_000, group_grace_ms=5_000)
    join(world, b"long", group_grace_ms=5_000)
    world.advance(5_000)
    flush(world)

    assert [body for _, body in members_of(world.take_one())] == [b"long"]


@pytest.mark.parametrize("deleting", ["delete", "ack"])
def test_a_member_can_be_deleted_before_the_flush(world: World, deleting: str) -> None:
    gone, kept = join(world, b"gone", b"kept", group_grace_ms=1_000)
    if deleting == "delete":
        world.run(delete_jobs(world.queue, [gone], now_ms=world.now_ms))
    else:
        world.run(ack(world.queue, [gone], now_ms=world.now_ms))
    assert world.places() == {kept: "grouped"}
    assert [one.members for one in world.run(list_groups(world.queue, now_ms=world.now_ms)).groups] == [1]
    world.advance(1_000)
    flush(world)

    assert members_of(world.take_one()) == [(kept, b"kept")]


def test_deleted_members_do_not_fill_a_group(world: World) -> None:
    gone, _ = join(world, b"gone", b"kept", group_max_size=3)
    world.run(delete_jobs(world.queue, [gone], now_ms=world.now_ms))
    join(world, b"third", group_max_size=3)
    assert world.take() == ()
    join(world, b"fourth", group_max_size=3)

    assert [body for _, body in members_of(world.take_one())] == [b"kept", b"third", b"fourth"]


def test_a_group_of_deleted_members_leaves_nothing(world: World) -> None:
    ids = join(world, b"one", b"two") + join(world, b"late", delay_ms=5_000)
    world.run(delete_jobs(world.queue, list(ids), now_ms=world.now_ms))
    world.advance(600_000)
    flush(world)

    content = world.content()
    assert not content.queue(world.queue.name.decode()).group_times
    assert not content.partition(world.queue.partition).flushes


@pytest.mark.parametrize("mode", [KeyMode.UNTIL_DONE, KeyMode.UNTIL_STARTED])
def test_a_key_is_held_by_the_batch_once_the_group_is_flushed(world: World, mode: KeyMode) -> None:
    join(world, b"one", key="a", key_mode=mode, group_max_size=2)
    assert world.run(_duplicate(world, mode)).duplicate
    join(world, b"two", group_max_size=2)
    found = world.run(_duplicate(world, mode))
    delivery = world.take_one()

    assert (found.duplicate, found.job_ids) == (True, (delivery.job_id,))
    assert world.run(_duplicate(world, mode)).duplicate is (mode is KeyMode.UNTIL_DONE)
    world.run(ack_attempt(world.queue, delivery.job_id, now_ms=world.now_ms))
    if mode is KeyMode.UNTIL_DONE:
        assert not world.run(_duplicate(world, mode)).duplicate


def _duplicate(world: World, mode: KeyMode) -> Any:
    options = PublishOptions(group="mails", key="a", key_mode=mode, group_max_size=2)
    return publish(world.queue, [b"again"], options, now_ms=world.now_ms)


def test_a_member_is_replaced_until_its_group_is_flushed(world: World) -> None:
    options: dict[str, Any] = {"key": "a", "key_mode": KeyMode.REPLACE, "group_grace_ms": 1_000}
    join(world, b"old", **options)
    join(world, b"other", group_grace_ms=1_000)
    (newer,) = join(world, b"new", **options)
    world.advance(1_000)
    flush(world)
    (latest,) = join(world, b"latest", **options)

    assert [body for _, body in members_of(world.take_one())] == [b"other", b"new"]
    assert world.places()[latest] == "grouped"
    assert newer != latest


def test_a_delayed_member_is_replaced_and_joins_in_time(world: World) -> None:
    options: dict[str, Any] = {
        "key": "a",
        "key_mode": KeyMode.REPLACE,
        "key_max_wait_ms": 3_000,
        "delay_ms": 2_000,
        "group_grace_ms": 1_000,
    }
    join(world, b"old", **options)
    world.advance(1_500)
    (newer,) = join(world, b"new", **options)
    assert world.state().joining == {newer: world.now_ms + 1_500}


def test_a_window_of_a_key_goes_on_after_the_flush(world: World) -> None:
    (first,) = join(world, b"one", key="a", key_ttl_ms=5_000, group_max_size=1)

    assert join(world, b"again", key="a", key_ttl_ms=5_000) == (first,)
    assert len(members_of(world.take_one())) == 1


def test_a_repeated_publish_of_a_member_adds_nothing(world: World) -> None:
    options = PublishOptions(group="mails", group_max_size=2)
    first = world.run(publish_once(world.queue, [b"one"], options, once=["x"], now_ms=world.now_ms))
    again = world.run(publish_once(world.queue, [b"one", b"two"], options, once=["x", "y"], now_ms=world.now_ms))

    assert again.job_ids[0] == first.job_ids[0]
    assert members_of(world.take_one()) == list(zip(again.job_ids, (b"one", b"two"), strict=True))


def test_a_flushed_member_is_found_with_its_batch(world: World) -> None:
    delivery, (first, _) = batch_of_two(world, retention_ms=MINUTE_MS)
    found = world.run(find_detail(world.queue, first, now_ms=world.now_ms))

    assert found is not None
    assert (found.job_id, found.batch_id, found.body) == (first, delivery.job_id, b"one")
    assert found.state is JobState.WORKING
    world.run(ack_attempt(world.queue, delivery.job_id, result=b"sent", now_ms=world.now_ms))
    assert world.run(find_result(world.queue, first, now_ms=world.now_ms)).body == b"sent"


def test_what_is_known_of_members_is_dropped_with_their_batch(world: World) -> None:
    delivery, _ = batch_of_two(world)
    world.run(delete_jobs(world.queue, [delivery.job_id], now_ms=world.now_ms))
    assert world.content().queue(world.queue.name.decode()).batches
    world.advance(600_000)
    flush(world)

    assert not world.content().queue(world.queue.name.decode()).batches
    assert not world.content().partition(world.queue.partition).flushes


def test_a_group_is_flushed_on_demand(world: World) -> None:
    join(world, b"one", b"two")
    world.publish(b"push", group="pushes")

    flushed = world.run(flush_group(world.queue, "mails", now_ms=world.now_ms))

    assert (flushed.batches, flushed.members, flushed.more) == (1, 2, False)
    assert len(members_of(world.take_one())) == 2
    assert world.run(flush_group(world.queue, "mails", now_ms=world.now_ms)).batches == 0


def test_a_visit_that_is_repeated_changes_nothing(world: World) -> None:
    join(world, b"one", group_grace_ms=1_000)
    world.advance(1_000)
    flush(world)

    assert not world.changes(lambda: world.run(advance_groups(world.queue, now_ms=world.now_ms)))


def test_a_deleted_queue_leaves_nothing_of_its_groups(world: World) -> None:
    batch_of_two(world)
    join(world, b"three")
    join(world, b"four", delay_ms=5_000)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
    while world.run(free_deleted(world.engine.layout)).more:
        pass

    assert world.places() == {}
    assert not [key for key in world.dump() if b":deleted:" in key]
    assert not world.content().partition(world.queue.partition).flushes


def test_an_expired_batch_is_gone(world: World) -> None:
    join(world, b"one", ttl_ms=5_000, group_max_size=1)
    world.advance(5_000)
    while world.run(sweep(world.engine.layout, now_ms=world.now_ms)).more:
        pass

    assert world.places() == {}


@in_one_test(
    ("options", "message"),
    [
        ({"group": ""}, "invalid group"),
        ({"group": "a\tb"}, "invalid group"),
        ({"group": "a" * 256}, "invalid group"),
        ({"limit_key": "acme"}, "limit_key and group exclude each other"),
        ({"group_max_size": 501}, "invalid group_max_size"),
        ({"group_max_delay_ms": 0}, "invalid group_max_delay"),
        ({"group_grace_ms": 0}, "invalid group_grace_period"),
    ],
)
def test_what_does_not_fit_a_group_is_refused(world: World, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        join(world, **options)


def test_a_job_is_not_republished_into_a_group(world: World) -> None:
    job_id = world.publish_one()

    with pytest.raises(InvalidArgumentError, match="has no group"):
        world.run(republish(world.queue, job_id, b"x", PublishOptions(group="mails"), now_ms=world.now_ms))
    assert world.places() == {job_id: "ready"}


def test_members_that_are_too_large_together_are_refused(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="too large together"):
        join(world, bytes(600_000), bytes(600_000))
    assert world.places() == {}


def depend_on(
    world: World, *, job_id: str = "", key: str = "", policy: DependencyFailure = DependencyFailure.WAIT
) -> str:
    needed = (Dependency(queue=world.queue.queue, job_id=job_id, key=key),)
    waiting = world.publish_one(b"then", depends_on=needed, on_dependency_failure=policy)
    carry(world)
    return waiting


def carry(world: World) -> None:
    while world.run(relay(world.engine.layout, now_ms=world.now_ms)).more:
        pass


@pytest.mark.parametrize("when", ["before the flush", "after it", "by key, before it is published"])
def test_what_depends_on_a_member_waits_until_its_batch_is_acked(world: World, when: str) -> None:
    if when == "by key, before it is published":
        waiting = depend_on(world, key="k")
    (member,) = join(world, b"one", key="k")
    if when == "before the flush":
        waiting = depend_on(world, job_id=member)
    world.run(flush_group(world.queue, "mails", now_ms=world.now_ms))
    if when == "after it":
        waiting = depend_on(world, job_id=member)
    batch = world.take_one()
    carry(world)
    assert world.places()[waiting] == "blocked"
    world.run(ack(world.queue, [batch.job_id], now_ms=world.now_ms))
    carry(world)

    assert world.places() == {waiting: "ready"}


def test_what_depends_on_a_member_fails_with_its_batch(world: World) -> None:
    (member,) = join(world, b"one", group_max_size=2)
    waiting = depend_on(world, job_id=member, policy=DependencyFailure.FAIL)
    join(world, b"two", group_max_size=2)
    batch = world.take_one()
    world.run(fail(world.queue, batch.job_id, now_ms=world.now_ms))
    carry(world)

    assert world.places() == {waiting: "dead", batch.job_id: "dead"}


def test_what_depends_on_a_member_is_told_when_its_batch_is_deleted(world: World) -> None:
    (member,) = join(world, b"one", group_max_size=1, key="x")
    waiting = depend_on(world, job_id=member, policy=DependencyFailure.CONTINUE)
    (batch,) = [job_id for job_id, place in world.places().items() if place == "ready"]
    world.run(delete_jobs(world.queue, [batch], now_ms=world.now_ms))
    world.advance(600_000)
    flush(world)  # does not forget the members before the message has been carried
    carry(world)

    assert world.places() == {waiting: "ready"}


def test_a_batch_is_found_by_what_its_members_say(world: World) -> None:
    join(world, b"dear alice", b"dear bob", group_max_size=2)
    join(world, b"x" * 20_000 + b"dear carol", group_max_size=1)

    pages = [
        world.run(scan_jobs(world.queue, JobState.READY, JobFilter(body=text), now_ms=world.now_ms)).jobs
        for text in ("DEAR BOB", "dear carol", "dear dave")
    ]

    assert [len(jobs) for jobs in pages] == [1, 1, 0]


def test_a_member_is_found_in_its_queue_also_after_the_flush(world: World) -> None:
    _, (first, _) = batch_of_two(world)

    found = world.run(find_job(world.engine.layout, [world.queue.namespace], first, most=100))

    assert found.queue is not None
    assert found.queue.name == world.queue.name


def test_names_bytes_and_attributes_come_through(world: World) -> None:
    name = 'a"b/ü\\ 组'
    world.publish(b"\x00\xff", group=name, attributes={"x": "ü"}, group_max_size=1)

    delivery = world.take_one()

    assert delivery.attributes == {"group": name}
    batch = json.loads(delivery.body)
    assert (batch["group"], batch["members"][0]["data"]) == (name, "AP8=")
    assert batch["members"][0]["attributes"] == {"x": "ü"}


def test_a_member_of_the_largest_size_is_a_batch_by_itself(world: World) -> None:
    join(world, bytes(1024 * 1024))

    assert [len(body) for _, body in members_of(world.take_one())] == [1024 * 1024]
