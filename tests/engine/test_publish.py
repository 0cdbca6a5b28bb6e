"""Edges A and B: a published job is ready, or delayed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from queues.engine import InvalidArgumentError, PublishOptions, detail, publish
from queues.engine.constants import BODY_MAX_BYTES
from queues.engine.names import is_job_id, published_ms
from tests.support.rows import in_one_test

from .world import START_MS, World


def test_a_published_job_is_ready(world: World) -> None:
    job_id = world.publish_one(b"close order 7")

    assert world.places() == {job_id: "ready"}
    assert world.state().jobs[job_id].body == b"close order 7"


def test_a_job_with_a_delay_is_delayed_until_then(world: World) -> None:
    job_id = world.publish_one(delay_ms=250)

    assert world.places() == {job_id: "delayed"}
    assert world.state().delayed == {job_id: START_MS + 250}


def test_a_job_with_a_due_time_is_delayed_until_then(world: World) -> None:
    job_id = world.publish_one(at_ms=START_MS + 7_001)

    assert world.state().delayed == {job_id: START_MS + 7_001}


@pytest.mark.parametrize("at_ms", [0, 1, START_MS - 1, START_MS])
def test_a_due_time_that_has_come_means_ready(world: World, at_ms: int) -> None:
    job_id = world.publish_one(at_ms=at_ms)

    assert world.places() == {job_id: "ready"}


def test_the_longest_delay_is_kept_to_the_millisecond(world: World) -> None:
    longest = (2**32 - 1) * 1000

    job_id = world.publish_one(delay_ms=longest, ttl_ms=0)

    assert world.state().delayed == {job_id: START_MS + longest}
    assert world.take_one_after(longest).job_id == job_id


def test_ids_carry_the_servers_time_and_ascend_within_a_bulk(world: World) -> None:
    ids = world.publish(*[b"%d" % number for number in range(1_000)])

    assert list(ids) == sorted(set(ids))
    assert len(ids) == 1_000
    assert all(is_job_id(job_id) and published_ms(job_id) == START_MS for job_id in ids)


def test_a_bulk_of_a_thousand_is_handed_out_in_its_order(world: World) -> None:
    ids = world.publish(*[b"%d" % number for number in range(1_000)])

    taken = world.take(count=1_000)

    assert tuple(job.job_id for job in taken) == ids
    assert [job.body for job in taken] == [b"%d" % number for number in range(1_000)]
    assert set(world.places().values()) == {"working"}


def test_a_bulk_of_a_thousand_delayed_jobs_with_a_priority_is_added_whole(world: World) -> None:
    ids = world.publish(*[b"x"] * 1_000, delay_ms=5, priority=7, retention_ms=1)

    assert world.places() == dict.fromkeys(ids, "delayed")
    assert set(world.state().priorities.values()) == {7}


def test_without_a_given_time_the_servers_clock_is_used(world: World) -> None:
    (job_id,) = world.run(publish(world.queue, [b"x"])).job_ids

    seconds, micros = world.client.time()
    assert 0 <= seconds * 1000 + micros // 1000 - published_ms(job_id) < 5_000


@pytest.mark.parametrize("body", [b"", b"\x00\xff\r\n\t" * 9, bytes(range(256)), b"\xf0\x28\x8c\x28"])
def test_bodies_are_bytes(world: World, body: bytes) -> None:
    world.publish_one(body, retention_ms=1)

    assert world.take_one().body == body


def test_a_body_of_the_largest_size_comes_back_whole(world: World) -> None:
    body = bytes(range(256)) * (BODY_MAX_BYTES // 256)

    job_id = world.publish_one(body, attributes={"a": "b"})

    assert world.take_one().body == body
    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    assert found.body == body


def test_options_come_back_with_the_job(world: World) -> None:
    attributes = {"name": "wert ü", "empty": "", 'quote"': "\\ \n"}

    job_id = world.publish_one(attributes=attributes, tries=3, ttl_ms=10_000, priority=-7)
    world.advance(1_500)
    job = world.take_one()

    assert (job.job_id, job.attempt, job.tries, job.attributes) == (job_id, 1, 3, attributes)
    assert (job.ttl_s, job.elapsed_ms, job.remain_tries) == (9, 1_500, 2)


def test_no_attributes_and_empty_attributes_are_told_apart(world: World) -> None:
    world.publish_one(b"none")
    world.publish_one(b"empty", attributes={})

    assert [job.attributes for job in world.take(count=2)] == [None, {}]


@in_one_test(
    ("options", "message"),
    [
        (PublishOptions(delay_ms=-1), "invalid delay"),
        (PublishOptions(delay_ms=2**32 * 1000), "invalid delay"),
        (PublishOptions(at_ms=-1), "invalid at"),
        (PublishOptions(at_ms=5, delay_ms=5), "invalid at"),
        (PublishOptions(ttl_ms=-1), "invalid ttl"),
        (PublishOptions(ttl_ms=2**32 * 1000), "invalid ttl"),
        (PublishOptions(tries=0), "tries shouldn't be zero"),
        (PublishOptions(tries=65_536), "invalid tries"),
        (PublishOptions(tries=-1), "invalid tries"),
        (PublishOptions(priority=101), "invalid priority"),
        (PublishOptions(priority=-101), "invalid priority"),
        (PublishOptions(retention_ms=-1), "invalid retention"),
        (PublishOptions(key=""), "invalid key"),
        (PublishOptions(key="k" * 256), "invalid key"),
        (PublishOptions(key="\ud800"), "invalid key"),
        (PublishOptions(key="\0batch"), "invalid key: it begins with a zero byte"),
        (PublishOptions(key="k", key_ttl_ms=-1), "invalid key_ttl"),
        (PublishOptions(key_ttl_ms=5), "key_ttl without key"),
        (PublishOptions(attributes={str(n): "" for n in range(17)}), "too many attributes, cannot exceed 16"),
        (PublishOptions(attributes={"n" * 33: ""}), "attribute too long: " + "n" * 32),
        (PublishOptions(attributes={"n": "ü" * 65}), "attribute too long: n"),
        (PublishOptions(attributes={"n": "\udfff"}), "invalid attributes"),
        (PublishOptions(attributes=cast(Any, ["n"])), "invalid attributes"),
    ],
)
def test_an_option_out_of_range_is_refused(world: World, options: PublishOptions, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        publish(world.queue, [b"x"], options)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("bodies", "options", "message"),
    [
        ([], PublishOptions(), "no jobs"),
        ([b""] * 1_001, PublishOptions(), "too many jobs"),
        ([b"fits", b"x" * (BODY_MAX_BYTES + 1)], PublishOptions(), "body too large"),
        ([b"a", b"b"], PublishOptions(key="k"), "key fits one job only"),
    ],
)
def test_bodies_that_do_not_fit_are_refused(
    world: World, bodies: list[bytes], options: PublishOptions, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        publish(world.queue, bodies, options)


@pytest.mark.parametrize("due", [{"delay_ms": 5_001}, {"at_ms": START_MS + 5_001}])
def test_a_ttl_that_ends_before_the_job_is_due_is_refused_and_nothing_is_added(
    world: World, due: dict[str, Any]
) -> None:
    before = world.dump()

    with pytest.raises(InvalidArgumentError, match="ttl is shorter than delay"):
        world.publish_one(ttl_ms=5_000, **due)

    assert world.dump() == before


def test_a_ttl_that_ends_when_the_job_is_due_is_taken(world: World) -> None:
    job_id = world.publish_one(ttl_ms=5_000, delay_ms=5_000)

    assert world.places() == {job_id: "delayed"}
