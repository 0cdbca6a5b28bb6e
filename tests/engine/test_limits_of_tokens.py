"""A token's requests per interval, counted in Redis."""

from __future__ import annotations

import pytest

from queues.engine import Engine, LimitTaken, RequestLimit, give_back_token_limit, take_token_limit
from queues.engine.keys import limit_key
from queues.engine.values import RequestKind
from tests.support.waiting import wait_until

INTERVAL_MS = 600_000


def key(allowance: int = 3, interval_ms: int = INTERVAL_MS) -> bytes:
    return limit_key("token-1", "read", allowance, interval_ms)


def limit(
    *, token: str = "token-1", kind: RequestKind = "read", allowance: int = 3, interval_ms: int = INTERVAL_MS
) -> RequestLimit:
    return RequestLimit(token_id=token, kind=kind, allowance=allowance, interval_ms=interval_ms)


def taken(engine: Engine, *, allowance: int = 3, interval_ms: int = INTERVAL_MS) -> LimitTaken:
    return engine.run(take_token_limit(limit(allowance=allowance, interval_ms=interval_ms)))


def take(engine: Engine, *, allowance: int = 3, interval_ms: int = INTERVAL_MS) -> bool:
    return taken(engine, allowance=allowance, interval_ms=interval_ms).allowed


def test_as_many_requests_are_allowed_as_the_interval_has(engine: Engine) -> None:
    assert [take(engine) for _ in range(5)] == [True, True, True, False, False]


def test_a_refusal_says_when_the_interval_ends(engine: Engine) -> None:
    take(engine, allowance=1)

    refused = engine.run(take_token_limit(limit(allowance=1)))

    assert not refused.allowed
    assert 590_000 < refused.retry_after_ms <= 600_000


def test_reads_and_writes_and_tokens_are_counted_apart(engine: Engine) -> None:
    take(engine, allowance=1)

    assert engine.run(take_token_limit(limit(kind="write", allowance=1))).allowed
    assert engine.run(take_token_limit(limit(token="token-2", allowance=1))).allowed
    assert not take(engine, allowance=1)


def test_what_is_given_back_can_be_taken_again(engine: Engine) -> None:
    engine.run(give_back_token_limit(taken(engine, allowance=1)))

    assert [take(engine, allowance=1) for _ in range(2)] == [True, False]


def test_giving_back_after_the_interval_leaves_nothing(engine: Engine) -> None:
    late = taken(engine)
    engine.client.delete(key())

    engine.run(give_back_token_limit(late))

    assert engine.client.exists(key()) == 0


def test_what_was_taken_in_an_earlier_interval_does_not_count_in_a_later_one(engine: Engine) -> None:
    late = taken(engine, allowance=1)
    engine.client.delete(key(1))
    assert take(engine, allowance=1)

    engine.run(give_back_token_limit(late))

    assert not take(engine, allowance=1)


def test_a_changed_limit_holds_at_once(engine: Engine) -> None:
    assert [take(engine, allowance=1) for _ in range(2)] == [True, False]

    assert take(engine, allowance=2)
    assert take(engine, allowance=1, interval_ms=INTERVAL_MS + 1)


def test_the_interval_begins_with_its_first_request_and_is_not_prolonged(engine: Engine) -> None:
    take(engine, interval_ms=50_000)
    before = engine.client.pttl(key(3, 50_000))
    for _ in range(2):
        engine.run(give_back_token_limit(taken(engine, interval_ms=50_000)))

    assert engine.client.pttl(key(3, 50_000)) <= before


def test_a_new_interval_allows_again(engine: Engine) -> None:
    assert take(engine, allowance=1, interval_ms=30)

    wait_until(lambda: take(engine, allowance=1, interval_ms=30), or_fail="the interval does not end")


def test_a_request_in_the_last_millisecond_does_not_lock_the_token_out(engine: Engine) -> None:
    for _ in range(3_000):
        take(engine, allowance=10**9, interval_ms=3)
        assert engine.client.pttl(key(10**9, 3)) != -1


@pytest.mark.parametrize("left", ["-1", "0 1", "2"])
def test_a_count_without_an_end_is_begun_anew(engine: Engine, left: str) -> None:
    engine.client.set(key(), left)

    assert take(engine)
    assert engine.client.pttl(key()) > 0
