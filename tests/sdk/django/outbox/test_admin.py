"""The outbox in the admin, and its migration."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from taskq.django import DjangoApp
from taskq.django.outbox.relay import OutboxRelay

from .conftest import add, jobs, refused, waiting

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/taskq_django/outbox/"


def test_it_shows_what_was_refused_and_why(admin_client: Client, relay: OutboxRelay) -> None:
    add(b"\x00\xff secret", queue="not good")
    relay.tick()
    bad = add(queue="waits")

    page = admin_client.get(f"{LIST}?state=refused").text
    assert "queue name contains forbidden characters" in page
    assert "waits" not in page
    assert "waits" in admin_client.get(f"{LIST}?state=waiting").text
    assert admin_client.get(f"{LIST}{bad.pk}/change/").status_code == 200
    assert admin_client.get(f"{LIST}add/").status_code == 403


def test_a_refused_row_is_tried_again_and_deleted_there(
    admin_client: Client, app: DjangoApp, relay: OutboxRelay
) -> None:
    first, second = add(b"1", tries=0), add(b"2", tries=0)
    relay.tick()
    assert len(refused()) == 2
    type(first).objects.filter(pk=first.pk).update(tries=1)

    admin_client.post(LIST, {"action": "try_again", "_selected_action": [first.pk]})
    assert (len(refused()), waiting()) == (1, 1)
    admin_client.post(LIST, {"action": "delete_selected", "_selected_action": [second.pk], "post": "yes"})
    relay.tick()

    assert (refused(), jobs(app)) == ([], [b"1"])


def test_the_migration_is_that_of_the_model() -> None:
    call_command("makemigrations", "taskq_django", "--check", "--dry-run", verbosity=0)
