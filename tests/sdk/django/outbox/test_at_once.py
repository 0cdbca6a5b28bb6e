"""Several relays at once, late commits, and news from PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections

from taskq.django import DjangoApp
from taskq.django.outbox import notifications
from taskq.django.outbox.notifications import OutboxNotifications
from taskq.django.outbox.relay import OutboxRelay, Relayed

from .conftest import add, jobs, waiting

pytestmark = pytest.mark.django_db(transaction=True)

INSERT = "INSERT INTO taskq_outbox (queue, body) VALUES (%s, %s)"


@pytest.fixture
def postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has this")


def tick_in_thread(relay: OutboxRelay) -> Relayed:
    """A tick of another relay, with a database connection of its own."""

    def tick() -> Relayed:
        try:
            return relay.tick()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(tick).result(20)


def test_two_relays_at_once_publish_each_row_once_and_in_order(
    app: DjangoApp, relay: OutboxRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second ticks in the middle of the first's: between its first publish and its second."""
    for number in range(6):
        add(b"%d" % number, tries=number + 1)
    add(b"elsewhere", queue="mails")
    original, seen = type(app.broker).run, threading.Event()
    others: list[Relayed] = []

    def run(broker: Any, work: Any) -> Any:
        result = original(broker, work)
        if not seen.is_set():
            seen.set()
            others.append(tick_in_thread(OutboxRelay(app, using="default")))
        return result

    monkeypatch.setattr(type(app.broker), "run", run)
    first = relay.tick()
    monkeypatch.undo()

    assert jobs(app) == [b"%d" % number for number in range(6)]
    assert jobs(app, "mails") == [b"elsewhere"]
    assert waiting() == 0
    if connection.features.has_select_for_update_skip_locked:
        assert (first.published, others[0].published) == (7, 0), "one has all rows that it looked at first"


def test_another_relay_publishes_other_queues(postgresql: None, app: DjangoApp, relay: OutboxRelay) -> None:
    add(b"1", queue="held")
    add(b"2", queue="held", namespace="sdk")
    add(b"3", queue="free")
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT id FROM taskq_outbox WHERE body = %s FOR UPDATE", [b"1"])
        assert relay.tick().published == 1
        assert (jobs(app, "held"), jobs(app, "free")) == ([], [b"3"])
        other.rollback()
    finally:
        other.close()

    assert relay.tick().published == 2
    assert jobs(app, "held") == [b"1", b"2"]


def test_a_transaction_that_commits_late_is_not_passed_by(postgresql: None, app: DjangoApp, relay: OutboxRelay) -> None:
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(INSERT, ["orders", b"late"])
        add(b"early")
        assert relay.tick().published == 1
        other.commit()
    finally:
        other.close()

    assert relay.tick().published == 1
    assert jobs(app) == [b"early", b"late"]


@pytest.fixture
def heard(postgresql: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[OutboxNotifications]:
    """Notifications that would not look by themselves for as long as the test takes."""
    monkeypatch.setattr(notifications, "LISTENING_POLL_S", 600.0)
    made = OutboxNotifications("default", poll_s=600.0)
    made.listen()
    assert made.is_listening
    yield made
    made.close()


def wait_for(heard: OutboxNotifications, act: Any) -> None:
    """`act`, and then the news of it."""
    with ThreadPoolExecutor(1) as threads:
        waiting_for = threads.submit(heard.wait)
        act()
        waiting_for.result(20)


def test_a_commit_is_heard_also_of_a_row_by_plain_sql(heard: OutboxNotifications) -> None:
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(INSERT, ["orders", b"1"])
        wait_for(heard, other.commit)
    finally:
        other.close()


def test_a_connection_that_is_lost_is_made_anew(heard: OutboxNotifications) -> None:
    def terminate() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [heard._connection.info.backend_pid])

    wait_for(heard, terminate)
    while heard._connection is not None:  # the first news is why, the next one that it is closed
        heard.wait()

    heard.listen()

    wait_for(heard, lambda: add(b"1"))


def test_what_was_heard_is_heard_once(heard: OutboxNotifications) -> None:
    wait_for(heard, lambda: add(b"1"))
    with ThreadPoolExecutor(1) as threads:
        waiting_for = threads.submit(heard.wait)
        with pytest.raises(TimeoutError):
            waiting_for.result(0.2)
        add(b"2")
        waiting_for.result(20)


def test_waiting_ends_when_it_is_woken() -> None:
    made = OutboxNotifications("default", poll_s=600.0)
    wait_for(made, made.wake)
    made.close()
