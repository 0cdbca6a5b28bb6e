"""The activity log: what is written, for how long it is kept."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.utils import timezone

from queues.models import Activity, Namespace
from queues.services import activity
from queues.services.activity import ActivityAction, note_activity, prune_activity


@pytest.fixture
def alice_account(db: None) -> User:
    return User.objects.create_user("alice")


def test_an_act_is_written_down_with_who_and_what_and_where(alice_account: User, orders: Namespace) -> None:
    note_activity(
        user=alice_account,
        action=ActivityAction.RESPAWNED,
        pool="default",
        namespace="orders",
        queue="mail",
        count=7,
        detail="timeout",
    )

    row = Activity.objects.get()
    assert (row.who, row.user, row.action) == ("alice", alice_account, "respawned")
    assert (row.scope, row.pool, row.namespace, row.queue) == (orders, "default", "orders", "mail")
    assert (row.count, row.detail) == (7, "timeout")
    assert timezone.now() - row.at < timedelta(minutes=1)


def test_names_outlive_what_they_named(alice_account: User, orders: Namespace) -> None:
    note_activity(user=alice_account, action=ActivityAction.PAUSED, pool="default", namespace="orders", queue="mail")
    alice_account.delete()
    orders.delete()

    row = Activity.objects.get()
    assert (row.who, row.namespace, row.user, row.scope) == ("alice", "orders", None, None)


def test_batches_of_one_act_are_one_entry(alice_account: User, orders: Namespace) -> None:
    for run, count in (("a", 500), ("b", 1), ("a", 20)):
        note_activity(
            user=alice_account,
            action=ActivityAction.DELETED,
            pool="default",
            namespace="orders",
            queue="mail",
            count=count,
            act_id=run,
        )

    assert sorted(Activity.objects.values_list("run", "count")) == [("a", 520), ("b", 1)]


def test_a_note_that_cannot_be_written_is_logged_and_the_act_stands(
    alice_account: User, orders: Namespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(**_fields: object) -> None:
        raise DatabaseError("disk full")

    with transaction.atomic():
        orders.description = "changed"
        orders.save()
        monkeypatch.setattr(Activity.objects, "create", full)
        with caplog.at_level(logging.ERROR):
            note_activity(user=alice_account, action=ActivityAction.PAUSED, pool="default", namespace="orders")

    assert Namespace.objects.get(pk=orders.pk).description == "changed"
    assert [record.getMessage() for record in caplog.records] == ["activity not written"]


def test_long_texts_are_cut_to_what_is_kept(alice_account: User) -> None:
    note_activity(user=alice_account, action=ActivityAction.SIGNED_IN, pool="", target="t" * 300, detail="d" * 9_000)

    row = Activity.objects.get()
    assert (len(row.target), len(row.detail)) == (255, 500)


def test_what_is_too_old_is_forgotten(alice_account: User) -> None:
    for days in (1, activity.KEPT_DAYS - 1, activity.KEPT_DAYS + 1):
        Activity.objects.create(who=f"{days}", action="paused", at=timezone.now() - timedelta(days=days))

    assert prune_activity() == 1
    assert not Activity.objects.filter(who=f"{activity.KEPT_DAYS + 1}").exists()
    assert Activity.objects.count() == 2


def test_writing_keeps_the_log_within_its_number_of_rows(alice_account: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "KEPT_ROWS", 5)
    monkeypatch.setattr(activity, "PRUNE_EVERY", 10)

    for number in range(30):
        note_activity(user=alice_account, action=ActivityAction.PAUSED, pool="p", queue=f"{number}")

    assert 5 <= Activity.objects.count() < 15
    assert Activity.objects.first().queue == "29"  # type: ignore[union-attr]
