"""Records and runs: what Python packs, Lua reads, and the other way round."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queues.engine import Backoff, BackoffKind, Engine, PublishOptions, detail, fail, open_engine
from queues.engine.constants import SECONDS_MAX
from queues.engine.names import ALPHABET, is_job_id, published_ms, random_start
from queues.engine.record import OWN_KEY_PREFIX, pack_options, unpack_attributes, unpack_options
from tests.support.rows import in_one_test

from .world import World

FEW = settings(max_examples=60, database=None, suppress_health_check=list(HealthCheck))

milliseconds = st.integers(min_value=0, max_value=SECONDS_MAX * 1000)
text = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
backoffs = st.builds(
    Backoff, kind=st.sampled_from(BackoffKind), base_ms=milliseconds, cap_ms=st.integers(min_value=0, max_value=2**42)
)
options = st.builds(
    PublishOptions,
    delay_ms=st.just(0) | milliseconds,
    ttl_ms=st.just(0),
    tries=st.integers(min_value=1, max_value=65_535),
    priority=st.integers(min_value=-100, max_value=100),
    key=st.none() | text.filter(lambda key: key != "" and not key.startswith(OWN_KEY_PREFIX)),
    backoff=backoffs,
    retention_ms=milliseconds,
    attributes=st.none() | st.dictionaries(text.filter(lambda name: len(name.encode()) <= 32), text, max_size=4),
)


@pytest.fixture(scope="module")
def store(redis_url: str) -> Any:
    engine = open_engine(redis_url)
    yield engine
    engine.close()


@given(options)
def test_packed_options_are_read_back(given_options: PublishOptions) -> None:
    packed = pack_options(given_options)

    found = unpack_options(packed)

    assert (found.retention_ms, found.backoff) == (given_options.retention_ms, given_options.backoff)
    assert (found.key, found.attributes) == (given_options.key or "", given_options.attributes)
    assert unpack_attributes(packed) == found.attributes


def test_default_options_take_no_space() -> None:
    assert pack_options(PublishOptions(tries=9, ttl_ms=5, delay_ms=7, priority=3)) == b""


@FEW
@given(options=options, body=st.binary(max_size=300))
def test_a_record_written_by_lua_is_read_by_python(store: Engine, options: PublishOptions, body: bytes) -> None:
    store.client.flushdb()
    world = World(store, store.queue("ns", "q"))
    fields = {name: getattr(options, name) for name in options.__dataclass_fields__}
    job_id = world.publish_one(body, **fields)

    found = store.run(detail(world.queue, job_id, now_ms=world.now_ms))

    assert found is not None
    assert (found.body, found.tries, found.priority) == (body, options.tries, options.priority)
    assert (found.expires_ms, found.due_ms) == (0, world.now_ms + options.delay_ms)
    assert (found.backoff, found.retention_ms) == (options.backoff, options.retention_ms)
    assert (found.key, found.attributes) == (options.key or "", options.attributes)


@FEW
@given(
    options=options,
    consumer=text,
    error=st.text(max_size=600),
    ttl_ms=st.just(0) | st.integers(min_value=2**33 + 1, max_value=SECONDS_MAX * 1000),
    late_ms=st.integers(min_value=0, max_value=2**32),
)
def test_a_run_written_by_lua_is_read_by_python(
    store: Engine, options: PublishOptions, consumer: str, error: str, ttl_ms: int, late_ms: int
) -> None:
    store.client.flushdb()
    world = World(store, store.queue("ns", "q"))
    fields = {name: getattr(options, name) for name in options.__dataclass_fields__}
    job_id = world.publish_one(**(fields | {"delay_ms": 0, "ttl_ms": ttl_ms, "tries": max(2, options.tries)}))
    world.advance(late_ms)
    taken_ms = world.now_ms
    world.take_one(consumer=consumer)
    world.advance(late_ms)
    world.run(fail(world.queue, job_id, error=error, delay_ms=9, now_ms=world.now_ms))

    found = store.run(detail(world.queue, job_id, now_ms=world.now_ms))

    assert found is not None
    (past,) = found.history
    assert (past.attempt, past.taken_ms, past.ended_ms) == (1, taken_ms, taken_ms + late_ms)
    assert past.error.encode() == error.encode("utf-8", "replace")[:1024].decode("utf-8", "ignore").encode()
    assert past.consumer == found.consumer
    assert (found.attempt, found.tries, found.taken_ms) == (1, max(2, options.tries), taken_ms)
    assert found.expires_ms == (taken_ms - late_ms + ttl_ms if ttl_ms else 0)
    assert found.attributes == options.attributes


def test_random_parts_are_thirteen_characters_of_the_alphabet() -> None:
    parts = {random_start(1)[0] for _ in range(200)}

    assert len(parts) == 200
    assert all(len(part) == 13 and set(part) <= set(ALPHABET) for part in parts)


def test_the_counter_leaves_room_for_every_job_of_a_call() -> None:
    assert all(0 <= random_start(1_000)[1] <= 32**3 - 1_000 for _ in range(500))


@given(st.integers(min_value=0, max_value=2**48 - 1))
def test_the_time_in_an_id_is_read_back(ms: int) -> None:
    part, value = "", ms
    for _ in range(10):
        part, value = ALPHABET[value % 32] + part, value // 32

    assert published_ms(part + "0" * 16) == ms
    assert is_job_id(part + "0" * 16)


@in_one_test("wrong", ["", "0" * 25, "0" * 27, "8" + "0" * 25, "0" * 25 + "I", "0" * 25 + "a", "é" * 26])
def test_what_is_no_job_id_is_told(wrong: str) -> None:
    assert not is_job_id(wrong)
