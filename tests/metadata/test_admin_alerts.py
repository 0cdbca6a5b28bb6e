"""Alert channels in the admin: what is saved there can be sent to, and who changed it is noted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from queues.models import Activity, AlertChannel
from queues.services.incidents.alerts.channels import ChannelOptions, save_channel
from tests.support.rows import in_one_test

LIST = "/admin/queues/alertchannel/"
SAVED: dict[str, Any] = {"url": "https://hooks.example.org/x", "kinds": ["paused"], "addresses": []}


@pytest.fixture
def channel(admin: Client) -> AlertChannel:
    """A webhook for paused queues of all namespaces."""
    options = ChannelOptions(name="on call", transport="webhook", url=SAVED["url"], kinds=("paused",))
    saved = save_channel(user=User.objects.get(is_superuser=True), options=options)
    return AlertChannel.objects.get(pk=saved.channel.pk)


def save(browser: Client, channel: AlertChannel, **changes: str) -> str:
    """Send the form with these changes; the page that follows. Of what is JSON it also says what it was."""
    stored = AlertChannel.objects.get(pk=channel.pk)
    initial = {f"initial-{name}": json.dumps(getattr(stored, name)) for name in ("kinds", "addresses")}
    form = {"name": "on call", "url": SAVED["url"], "addresses": "[]", "kinds": '["paused"]', "min_severity": "warning"}
    response = browser.post(f"{LIST}{channel.pk}/change/", {**form, **initial, "enabled": "on", **changes}, follow=True)
    assert response.status_code == 200
    return response.text


def test_what_is_changed_is_saved_and_noted(admin: Client, channel: AlertChannel) -> None:
    assert "was changed successfully" in save(admin, channel, kinds='["jobs_dying"]', url="https://hooks.example.org/y")

    channel.refresh_from_db()
    assert (channel.kinds, channel.url) == (["jobs_dying"], "https://hooks.example.org/y")
    for nothing, name in (("", "at night"), ("null", "by day")):
        changes = {"kinds": nothing, "name": name, "min_severity": "critical", "enabled": ""}
        assert "was changed successfully" in save(admin, channel, **changes)
        channel.refresh_from_db()
        assert (channel.kinds, channel.name, channel.min_severity, channel.enabled) == ([], name, "critical", False)
    acts = Activity.objects.exclude(action="signed_in").order_by("pk").values_list("action", "target")
    changed = [("channel_changed", name) for name in ("on call", "at night", "by day")]
    assert list(acts) == [("channel_created", "on call"), *changed]


@in_one_test(
    ("wrong", "words"),
    [
        ({"url": "nonsense"}, "Url: it must begin with https://"),
        ({"url": "http://10.0.0.1/"}, "10.0.0.1 is not a public address"),
        ({"kinds": '["earthquake"]'}, "Kinds: each is one of no_consumer, "),
        ({"kinds": "[1]"}, "Expected a list of texts"),
        ({"kinds": "0"}, "Expected a list of texts"),
        ({"kinds": "5"}, "Expected a list of texts"),
        ({"kinds": '{"paused": 1}'}, "Expected a list of texts"),
        ({"kinds": '"paused"'}, "Expected a list of texts"),
        ({"kinds": '["paused"'}, "Enter a valid JSON"),
        ({"kinds": "[" * 100_000}, "Enter a valid JSON"),
        ({"kinds": "1" * 5_000}, "Enter a valid JSON"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_what_cannot_be_sent_to_is_refused(
    wrong: dict[str, str], words: str, admin: Client, channel: AlertChannel
) -> None:
    assert words in save(admin, channel, **wrong)

    channel.refresh_from_db()
    assert {field: getattr(channel, field) for field in SAVED} == SAVED


def test_channels_are_made_on_the_dashboard_only(admin: Client, channel: AlertChannel) -> None:
    assert admin.get(f"{LIST}add/").status_code == 403
    assert "on call" in admin.get(LIST).text


def test_a_channel_is_asked_for_what_its_transport_sends_to(admin: Client, channel: AlertChannel) -> None:
    assert "was changed successfully" in save(admin, channel, addresses='["ops@example.org"]')
    channel.refresh_from_db()
    assert (channel.url, channel.addresses) == (SAVED["url"], [])

    mails = {"transport": "email", "url": "", "addresses": ["ops@example.org"]}
    AlertChannel.objects.filter(pk=channel.pk).update(**mails)
    for wrong, words in (
        ("true", "Expected a list of texts"),
        ('["\\ud800"]', "Enter a valid JSON"),
        ('["nobody"]', "nobody is no e-mail address"),
        ("[]", "Addresses: 1 to 20"),
    ):
        assert words in save(admin, channel, addresses=wrong)
    channel.refresh_from_db()
    assert {field: getattr(channel, field) for field in mails} == mails

    assert "was changed successfully" in save(admin, channel, addresses='["night@example.org"]')
    channel.refresh_from_db()
    assert (channel.url, channel.addresses) == ("", ["night@example.org"])
    noted = Activity.objects.filter(action="channel_changed").order_by("pk").values_list("detail", flat=True)
    assert list(noted) == ["E-mail addresses"], "the first save changed nothing"
