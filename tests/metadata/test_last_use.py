"""When a token was last used: noted once a minute, and never at the cost of a call."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from queues.models import Token
from queues.pools.ttl_cache import TtlCache
from queues.services.tokens import authentication
from queues.services.tokens import managing as last_use
from queues.services.tokens.authentication import authorise
from queues.services.tokens.managing import NewToken
from tests.support.clock import ManualClock
from tests.support.waiting import wait_until


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock of the access memory."""
    clock = ManualClock()
    monkeypatch.setattr(authentication, "_known", TtlCache(clock=clock))
    return clock


@pytest.fixture(autouse=True)
def notes(monkeypatch: pytest.MonkeyPatch) -> Iterator[last_use._Notes]:
    """Notes of this test alone, all written when it ends."""
    notes = last_use._Notes()
    monkeypatch.setattr(last_use, "_notes", notes)
    yield notes
    wait_until(lambda: idle(notes), or_fail="the notes were not written")


def idle(notes: last_use._Notes) -> bool:
    return all(thread.name != "taskq-last-use" for thread in threading.enumerate()) and not notes._waiting


def enter(token: NewToken) -> None:
    authorise(pool="default", secret=token.secret, namespace="orders")


@pytest.mark.django_db
def test_the_last_use_is_written_once_a_minute(
    token: NewToken, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Token.objects.filter(public_id=token.public_id)
    enter(token)
    first = row.get().last_used
    assert first is not None
    assert timezone.now() - first < timedelta(minutes=1)

    clock.advance(2)
    enter(token)
    assert row.get().last_used == first

    long_ago = timezone.now() - timedelta(hours=1)
    row.update(last_used=long_ago)
    clock.advance(2)
    enter(token)
    assert row.get().last_used == long_ago, "this process noted it less than a minute ago"

    now = time.monotonic()
    monkeypatch.setattr("queues.services.tokens.authentication.time.monotonic", lambda: now + 61)
    clock.advance(2)
    enter(token)
    assert row.get().last_used != long_ago


@pytest.mark.django_db
def test_a_use_that_another_process_noted_is_not_noted_again(token: NewToken) -> None:
    row = Token.objects.filter(public_id=token.public_id)
    noted = timezone.now() - timedelta(seconds=30)
    row.update(last_used=noted)
    enter(token)
    assert row.get().last_used == noted


@pytest.mark.django_db(transaction=True)
def test_the_last_use_is_written_soon_and_beside_the_call(token: NewToken) -> None:
    queries: list[str] = []

    def record(execute, sql, *rest):  # type: ignore[no-untyped-def]
        queries.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(record):
        enter(token)
    assert [sql.split()[0] for sql in queries] == ["SELECT"]
    wait_until(lambda: Token.objects.get().last_used, or_fail="the last use was not written")


@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_no_writes_holds_nobody_up_and_is_left_alone(
    token: NewToken, notes: last_use._Notes, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_use, "NOTE_SLOW_S", 0.05)
    blocked, held = threading.Event(), threading.Event()

    def lock() -> None:
        with transaction.atomic():
            Token.objects.update(description="locked")
            held.set()
            blocked.wait(10)
        connection.close()

    writer = threading.Thread(target=lock)
    writer.start()
    assert held.wait(10)
    try:
        started = time.monotonic()
        enter(token)
        assert time.monotonic() - started < 1
    finally:
        threading.Timer(0.2, blocked.set).start()
        writer.join()
    wait_until(lambda: idle(notes), or_fail="the note was not written")
    Token.objects.update(last_used=None)
    now = time.monotonic()
    last_use.note_use(Token.objects.get().pk)
    assert idle(notes), "it rests after a slow write"
    monkeypatch.setattr("queues.services.tokens.managing.time.monotonic", lambda: now + 61)
    last_use.note_use(Token.objects.get().pk)
    monkeypatch.undo()
    wait_until(lambda: Token.objects.get().last_used, or_fail="the last use was not written")
