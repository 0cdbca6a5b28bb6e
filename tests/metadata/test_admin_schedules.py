"""Schedules in the admin: the next fires before saving, and the rules of the API."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.models import Activity, Namespace, Schedule
from queues.services.schedules.editing import put_schedule
from queues.services.schedules.values import ScheduleFields, ScheduleKind
from tests.support.rows import in_one_test

ADD = "/admin/queues/schedule/add/"


@pytest.fixture
def form(orders: Namespace) -> dict[str, object]:
    return {
        "namespace": orders.pk,
        "name": "nightly",
        "kind": "cron",
        "cron": "0 0 1 1 *",
        "zone": "UTC",
        "jitter_s": "0",
        "queue": "reports",
        "body_text": "hello",
        "priority": "0",
        "retention_s": "0",
        "catch_up": "last",
        "catch_up_max": "100",
        "overlap": "allow",
    }


def test_the_next_fires_are_shown_before_anything_is_saved(admin: Client, form: dict[str, object]) -> None:
    page = admin.post(ADD, form | {"_preview": "Preview"}).text

    assert "Nothing is saved yet. Next fires (UTC): " in page
    assert page.count("-01-01 00:00:00") == 10
    assert not Schedule.objects.exists()


def test_it_is_saved_with_its_next_fire(admin: Client, form: dict[str, object]) -> None:
    assert admin.post(ADD, form).status_code == 302

    row = Schedule.objects.get()
    assert (bytes(row.body), row.fire_at is None) == (b"hello", False)
    assert Activity.objects.filter(action="schedule_created", target="nightly").exists()
    assert row.limit_key == ""
    change = f"/admin/queues/schedule/{row.pk}/change/"
    assert admin.get(change).status_code == 200
    assert admin.post(change, form | {"body_text": "new", "paused": "on", "limit_key": "acme"}).status_code == 302
    row.refresh_from_db()
    assert (bytes(row.body), row.paused, row.fire_at, row.limit_key) == (b"new", True, None, "acme")


def test_nonsense_is_refused(admin: Client, form: dict[str, object]) -> None:
    page = admin.post(ADD, form | {"cron": "61 * * * *"}).text

    assert "minute &quot;61&quot; cannot be read (0-59)" in page
    assert "Printable text of at most 64 bytes." in admin.post(ADD, form | {"limit_key": "ö" * 33}).text
    assert not Schedule.objects.exists()


@in_one_test(
    ("attributes", "words"),
    [
        ("5", "Expected names and texts"),
        ("0", "Expected names and texts"),
        ("[]", "Expected names and texts"),
        ('"tenant"', "Expected names and texts"),
        ('{"tenant": 7}', "Expected names and texts"),
        ('{"tenant": "%s"}' % ("x" * 10_000), "attribute too long: tenant"),
        ("{", "Enter a valid JSON."),
        ('{"tenant": ' * 100_000, "Enter a valid JSON."),
        ('{"tenant": "\\ud800"}', "Enter a valid JSON."),
        ('{"tenant": "\\u0000"}', "Enter a valid JSON."),
    ],
)
def test_attributes_that_are_none_are_refused(
    admin: Client, form: dict[str, object], attributes: str, words: str
) -> None:
    response = admin.post(ADD, form | {"attributes": attributes})

    assert response.status_code == 200
    assert words in response.text
    assert not Schedule.objects.exists()


@in_one_test(
    ("attributes", "saved"),
    [
        ('{"tenant": "acme"}', {"tenant": "acme"}),
        ('{"a": "\\\\u0000"}', {"a": "\\u0000"}),
        ("{}", None),
        ("null", None),
        ("", None),
    ],
)
def test_attributes_are_saved(
    admin: Client, form: dict[str, object], attributes: str, saved: dict[str, str] | None
) -> None:
    assert admin.post(ADD, form | {"attributes": attributes}).status_code == 302

    assert Schedule.objects.get().attributes == saved
    Schedule.objects.all().delete()


def test_one_of_code_is_only_looked_at(admin: Client, orders: Namespace) -> None:
    fields = ScheduleFields(queue="q", kind=ScheduleKind.INTERVAL, interval_ms=60_000, body=b"\xff")
    put_schedule(pool="default", namespace="orders", name="s", fields=fields, app="shop")
    change = f"/admin/queues/schedule/{Schedule.objects.get().pk}/change/"

    assert admin.get(change).status_code == 200
    assert admin.post(change, {"queue": "other"}).status_code == 403


def test_charlie_sees_none_of_it(charlie: Client, orders: Namespace) -> None:
    fields = ScheduleFields(queue="q", kind=ScheduleKind.INTERVAL, interval_ms=60_000)
    put_schedule(pool="default", namespace="orders", name="nightly", fields=fields)
    row = Schedule.objects.get()

    assert "nightly" not in charlie.get("/admin/queues/schedule/").text
    assert charlie.get(f"/admin/queues/schedule/{row.pk}/change/").status_code == 302
    charlie.post(f"/admin/queues/schedule/{row.pk}/delete/", {"post": "yes"})
    assert Schedule.objects.exists()
