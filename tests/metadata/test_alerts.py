"""Alerts reach a local sink: signed, once per channel and change, together where people read them, tried again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail

from queues.models import (
    AlertChannel,
    AlertDelivery,
    Incident,
    IncidentKind,
    Namespace,
    Pool,
)
from queues.services.errors import InvalidArgumentError, NamespaceNotFoundError
from queues.services.incidents.alerts import channels, messages, sending
from queues.services.incidents.alerts.channels import ChannelOptions, check_channel, save_channel, send_test
from queues.services.incidents.alerts.messages import mail_text, subject_of
from queues.services.incidents.alerts.queueing import SETTLE
from queues.services.incidents.alerts.sending import ATTEMPTS_MAX, send_due_alerts
from queues.services.incidents.findings import Finding, Look
from queues.services.incidents.recording import RESOLVE_AFTER_LOOKS, record_look
from queues.services.push.secrets import key_of
from tests.support.http_sink import HttpSink, http_sink
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 25, 10, 21, tzinfo=UTC)
SETTLE_S = int(SETTLE.total_seconds())
KINDS = frozenset({IncidentKind.NO_CONSUMER, IncidentKind.REDIS_AWAY})


@pytest.fixture
def sink(settings: Any) -> Iterator[HttpSink]:
    settings.TASKQ_PUSH_ALLOWED_NETWORKS = (ip_network("127.0.0.0/8"),)
    with http_sink() as sink:
        yield sink


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def shop(db: None) -> Namespace:
    return Namespace.objects.create(pool=Pool.objects.get(name="default"), name="shop")


def idle(queue: str = "orders", *, jobs: int = 300, minutes: float = 2) -> Finding:
    return Finding(
        kind=IncidentKind.NO_CONSUMER,
        pool="default",
        namespace="shop",
        queue=queue,
        size=jobs,
        since=NOW - timedelta(minutes=minutes),
        facts={"ready": jobs, "oldest_s": int(minutes * 60)},
    )


def look(*findings: Finding, at: float = 0) -> None:
    record_look(Look(pool="default", kinds=KINDS, findings=findings), now=NOW + timedelta(seconds=at))


def resolve(at: float = 1) -> None:
    for number in range(RESOLVE_AFTER_LOOKS):
        look(at=at + number)


def send(at: float = 0) -> int:
    return send_due_alerts(now=NOW + timedelta(seconds=at))


def channel(root: User, url: str, transport: str = "webhook", **options: Any) -> tuple[AlertChannel, str]:
    """A channel of all namespaces, and its secret."""
    place = {name: options.pop(name) for name in ("pool", "namespace") if name in options}
    chosen = ChannelOptions(name="on call", transport=transport, url=url, **options)
    saved = save_channel(user=root, options=chosen, **place)
    return AlertChannel.objects.get(pk=saved.channel.pk), saved.secret


def told(sink: HttpSink) -> list[tuple[str, str]]:
    payloads = [json.loads(one.body) for one in sink.received]
    return [(payload["type"], payload["data"]["queue"]) for payload in payloads]


def test_a_webhook_is_signed_as_standard_webhooks_says(sink: HttpSink, root: User, shop: Namespace) -> None:
    _, secret = channel(root, sink.url)
    look(idle())

    assert send() == 1

    (request,) = sink.received
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    digest = base64.b64encode(hmac.digest(key_of(secret), signed, hashlib.sha256)).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    payload = json.loads(request.body)
    incident = Incident.objects.get()
    assert payload["type"] == "incident.opened"
    assert payload["data"] | {"text": ""} == {
        "incident": incident.pk,
        "kind": "no_consumer",
        "severity": "critical",
        "pool": "default",
        "namespace": "shop",
        "queue": "orders",
        "size": 300,
        "share": 1.0,
        "facts": {"ready": 300, "oldest_s": 120},
        "since": "2026-11-25T10:19:00Z",
        "opened_at": "2026-11-25T10:21:00Z",
        "resolved_at": None,
        "reopened": 0,
        "acknowledged_by": None,
        "text": "",
        "url": "",
    }


def test_each_change_is_told_once_and_its_end(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    for at in (0, 20, 40):
        look(idle(), at=at)
    resolve(at=60)
    for at in (60, 61, 62):
        send(at=at)
    assert told(sink) == [("incident.opened", "orders")], "its end may not last"
    for at in (0, 1):
        send(at=70 + at + SETTLE_S)

    assert told(sink) == [("incident.opened", "orders"), ("incident.resolved", "orders")]


def test_what_opens_below_the_channels_severity_is_told_when_it_reaches_it(
    sink: HttpSink, root: User, shop: Namespace
) -> None:
    channel(root, sink.url, min_severity="warning")
    look(idle(jobs=20, minutes=0.3))
    assert send() == 0
    look(idle(jobs=20, minutes=2), at=60)
    look(idle(jobs=20, minutes=30), at=1_800)
    send(at=1_800)

    assert told(sink) == [("incident.opened", "orders"), ("incident.worse", "orders")]


def test_what_was_never_told_has_no_end_to_tell(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url, min_severity="critical")
    look(idle(jobs=1, minutes=0.3))
    resolve()

    assert send(at=9) == 0


def test_a_cause_that_comes_and_goes_is_one_alert(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    for at in range(0, 300, 30):
        look(idle(), at=at)
        send(at=at)
        resolve(at=at + 1)
        send(at=at + 20)

    assert Incident.objects.get().reopened == 9
    assert [kind for kind, _ in told(sink)] == ["incident.opened"]
    send(at=300 + SETTLE_S)
    assert [kind for kind, _ in told(sink)] == ["incident.opened", "incident.resolved"]


def test_one_that_gets_worse_between_is_told_so(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    look(idle(jobs=20, minutes=1))
    resolve(at=5)
    look(idle(jobs=9_000), at=60)
    send(at=60)

    assert [kind for kind, _ in told(sink)] == ["incident.opened", "incident.worse"]


def test_what_is_reopened_after_its_end_was_told_is_told_again(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    look(idle())
    resolve()
    send(at=5 + SETTLE_S)
    look(idle(), at=10 + SETTLE_S)
    send(at=10 + SETTLE_S)

    assert Incident.objects.get().reopened == 1
    assert [kind for kind, _ in told(sink)] == ["incident.opened", "incident.resolved", "incident.opened"]


def test_an_end_that_may_not_last_holds_up_nothing_else(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    look(idle())
    send()
    resolve()
    look(idle("others"), at=10)

    assert send(at=10) == 1
    assert told(sink)[-1] == ("incident.opened", "others")


def test_a_channel_chooses_kinds_and_namespace(sink: HttpSink, root: User, shop: Namespace) -> None:
    bank = Namespace.objects.create(pool=shop.pool, name="bank")
    assert bank.pk
    channel(root, f"{sink.url}/shop", pool="default", namespace="shop")
    channel(root, f"{sink.url}/bank", pool="default", namespace="bank")
    channel(root, f"{sink.url}/redis", kinds=("redis_away",))
    away = Finding(
        kind=IncidentKind.REDIS_AWAY, pool="default", size=77, since=NOW, facts={"trouble": "unix:///secret/place"}
    )
    look(idle(), away, at=0)
    look(idle(), away, at=60)
    send(at=60)

    by_path: dict[str, list[Any]] = {}
    for one in sink.received:
        by_path.setdefault(one.path.rpartition("/")[2], []).append(json.loads(one.body)["data"])
    # A Redis that is away is a warning at once, and critical a minute later: that is told as well.
    assert {path: sorted(f"{data['kind']} {data['severity']}" for data in its) for path, its in by_path.items()} == {
        "shop": ["no_consumer critical", "redis_away critical", "redis_away warning"],
        "bank": ["redis_away critical", "redis_away warning"],
        "redis": ["redis_away critical", "redis_away warning"],
    }
    of_bank = by_path["bank"][0]
    assert (of_bank["size"], of_bank["facts"]) == (0, {}), "a namespace learns nothing of others, nor where Redis is"
    assert by_path["redis"][0]["facts"] == {"trouble": "unix:///secret/place"}


def test_people_are_told_in_one_message_alike_ones_together(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url, "slack")
    look(*[idle(f"tenant-{number:02}", jobs=300) for number in range(24)])

    assert send() == 24

    (request,) = sink.received
    assert json.loads(request.body) == {
        "text": "*taskq: Critical: 24 incidents*\n[Critical] 24 queues without consumers, 7,200 jobs"
    }


def sent_of(kind: str, event: str = "opened", *, queue: str = "", size: int = 1_500) -> AlertDelivery:
    """Of an incident that nobody has stored, to a channel of all namespaces."""
    pool = "default" if kind != IncidentKind.REPORT_FAILED else ""
    ended = NOW if event == "resolved" else None
    incident = Incident(
        kind=kind, pool=pool, namespace=queue and "shop", queue=queue, size=size, opened_at=NOW, resolved_at=ended
    )
    severity = "critical" if kind == IncidentKind.REDIS_AWAY else "warning"
    return AlertDelivery(channel=AlertChannel(), incident=incident, event=event, severity=severity, size=size)


def test_a_message_names_the_worst_first_counts_alike_ones_and_says_what_is_over() -> None:
    queue_kinds = ("no_consumer", "too_slow", "jobs_dying", "leases_expiring", "paused", "objective_burn")
    together = [sent_of(kind, queue=queue) for kind in queue_kinds for queue in ("a", "b")]
    alone = [sent_of("redis_away"), sent_of("report_failed"), sent_of("pump_away", "resolved")]

    text = mail_text([*together, *alone])

    first, *lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert first == "- [Critical] Pool default: Redis does not answer."
    assert lines[:6] == [
        "- [Warning] 2 queues without consumers, 3,000 jobs",
        "- [Warning] 2 queues are too slow, 3,000 jobs wait",
        "- [Warning] 2 queues with dead letters, 3,000 jobs",
        "- [Warning] 2 queues whose leases expire, 3,000 in the last 5 min",
        "- [Warning] 2 paused queues, 3,000 jobs wait",
        "- [Warning] Objective at risk: 2",
    ]
    assert lines[6].startswith("- [Warning] taskq: ")
    assert lines[7].startswith("- [Resolved] Pool default: ")
    assert text.count("Start Redis.") == 1, "what to do, of what is still so and stands alone"
    assert "with the command runpump" not in text
    assert subject_of([*together, *alone]) == "taskq: Critical: 14 incidents, 1 resolved"
    assert subject_of(alone[2:]) == "taskq: 1 resolved"


def test_a_message_has_so_many_lines_and_says_how_many_more_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LINES_MAX", 2)

    text = mail_text([sent_of("paused", queue="a"), sent_of("jobs_dying", queue="a"), sent_of("redis_away")])

    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines[0] == "- [Critical] Pool default: Redis does not answer."
    assert lines[1].startswith("- [Warning] shop/a: ")
    assert lines[2:] == ["- and 1 more"]


def test_slacks_markup_is_escaped(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url, "slack")
    failed = Finding(
        kind=IncidentKind.REPORT_FAILED,
        pool="",
        size=1,
        since=NOW - timedelta(hours=1),
        facts={"day": "<!channel> & more"},
    )
    record_look(Look(pool="", kinds=frozenset({IncidentKind.REPORT_FAILED}), findings=(failed,)), now=NOW)
    send()

    text = json.loads(sink.received[0].body)["text"]
    assert "The report of &lt;!channel&gt; &amp; more could not be made." in text


def test_e_mails_are_sent_as_reports_are(root: User, shop: Namespace, settings: Any) -> None:
    settings.TASKQ_PUBLIC_URL = "https://taskq.example.org"
    channel(root, "", "email", addresses=("ops@example.org", "oncall@example.org"))
    look(idle())

    assert send() == 1

    (message,) = mail.outbox
    assert message.to == ["ops@example.org", "oncall@example.org"]
    assert message.subject == "taskq: Critical: 1 incident"
    assert "shop/orders: No active consumers: 300 jobs are ready, the oldest for 2 min." in message.body
    assert f"https://taskq.example.org/incidents/{Incident.objects.get().pk}/" in message.body


def test_what_fails_is_tried_again_with_the_same_id_until_it_is_given_up(
    sink: HttpSink, root: User, shop: Namespace
) -> None:
    row, _ = channel(root, sink.url)
    look(idle())
    sink.status = 503

    assert send() == 0
    waiting = AlertDelivery.objects.get()
    assert (waiting.attempts, waiting.error, waiting.sent_at) == (1, "503 Service Unavailable", None)
    assert send() == 0, "not before its pause is over"
    assert len(sink.received) == 1
    sink.status = 200
    assert send(at=60) == 1
    assert sink.received[0].headers["webhook-id"] == sink.received[1].headers["webhook-id"]

    resolve()
    sink.status = 500
    for day in range(1, ATTEMPTS_MAX + 2):
        send(at=86_400 * day)
    given_up = AlertDelivery.objects.get(event="resolved")
    assert (given_up.attempts, given_up.sent_at) == (ATTEMPTS_MAX, None)
    assert given_up.failed_at is not None
    row.refresh_from_db()
    assert row.last_error == "500 Internal Server Error"


def test_what_an_endpoint_answers_is_text_that_every_database_takes(root: User, shop: Namespace) -> None:
    channel(root, "https://example.org/")
    look(idle())
    (batch,) = sending._claim(NOW, timedelta(0))

    assert sending._note(sending._Outcome(batch=batch, error="500 no\0thing"), NOW) == 0
    assert AlertDelivery.objects.get().error == "500 nothing"
    assert AlertChannel.objects.get().last_error == "500 nothing"


def test_a_channel_that_fails_delays_no_other(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, "http://127.0.0.1:1024/nobody")
    channel(root, sink.url)
    look(idle())

    assert send() == 1
    assert len(sink.received) == 1


def test_a_channel_with_many_alerts_that_fail_delays_no_other(sink: HttpSink, root: User, shop: Namespace) -> None:
    flooded, _ = channel(root, "http://127.0.0.1:1024/nobody", kinds=("no_consumer",))
    look(*[idle(f"q{number}") for number in range(sending.AT_ONCE + 10)])
    channel(root, sink.url, kinds=("redis_away",))
    record_look(
        Look(
            pool="default",
            kinds=frozenset({IncidentKind.REDIS_AWAY}),
            findings=(Finding(kind=IncidentKind.REDIS_AWAY, pool="default", size=1, since=NOW - timedelta(hours=1)),),
        ),
        now=NOW + timedelta(seconds=1),
    )

    assert send(at=1) == 1
    assert told(sink) == [("incident.opened", "")]
    assert flooded.deliveries.exclude(sent_at=None).count() == 0


def test_what_opens_is_told_before_its_end_though_it_failed_first(sink: HttpSink, root: User, shop: Namespace) -> None:
    row, _ = channel(root, sink.url)
    look(idle())
    sink.status = 503
    send()
    sink.status = 200
    sink.received.clear()
    resolve()
    AlertDelivery.objects.update(due_at=NOW + timedelta(hours=1))
    AlertDelivery.objects.filter(event="resolved").update(due_at=NOW + timedelta(seconds=3))

    assert send(at=4) == 0, "the first one is not due yet, and the end waits for it"
    send_test(user=root, pk=row.pk)
    AlertDelivery.objects.filter(event="test").update(due_at=NOW)
    assert send(at=4) == 1, "a test does not"
    assert send(at=3_600) == 2
    types = [json.loads(one.body)["type"] for one in sink.received]
    assert types == ["alert.test", "incident.opened", "incident.resolved"]


def test_a_turn_is_over_long_before_others_may_send_the_same(
    sink: HttpSink, root: User, shop: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TURN_S", 0.0)
    channel(root, sink.url)
    look(idle("a"), idle("b"))

    assert [send(), send(), send()] == [1, 1, 0]
    assert [queue for _, queue in told(sink)] == ["a", "b"]


def test_what_waits_behind_others_that_fail_is_given_up_at_last(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    look(idle("a"), idle("b"))
    sink.status = 500
    send()
    assert AlertDelivery.objects.filter(failed_at=None).count() == 2
    send(at=sending.BEHIND_FOR.total_seconds())

    given_up = AlertDelivery.objects.exclude(failed_at=None).get()
    assert (given_up.incident and given_up.incident.queue, given_up.attempts) == ("b", 0)


def test_two_senders_send_an_alert_once(sink: HttpSink, root: User, shop: Namespace) -> None:
    channel(root, sink.url)
    look(idle())
    claimed = sending._claim(NOW, timedelta(0))

    assert [len(batch) for batch in claimed] == [1]
    assert send() == 0
    assert sink.received == []
    assert send(at=sending.CLAIMED_FOR.total_seconds()) == 1, "the one that had it has died"


def test_addresses_that_are_not_public_are_refused(root: User, shop: Namespace) -> None:
    with pytest.raises(InvalidArgumentError, match="not a public address"):
        channel(root, "http://127.0.0.1:8000/")
    with pytest.raises(InvalidArgumentError, match="invalid url"):
        channel(root, "ftp://example.org/")


@in_one_test(
    ("options", "words"),
    [
        ({"name": " "}, "invalid name: 1 to 100 characters"),
        ({"name": "x" * 101}, "invalid name: 1 to 100 characters"),
        ({"transport": "pigeon"}, "invalid transport: expected one of webhook, "),
        ({"min_severity": "awful"}, "invalid severity: expected one of "),
        ({"kinds": ("paused", "earthquake")}, "invalid kinds: each is one of no_consumer, "),
        ({"transport": "email"}, "invalid addresses: 1 to "),
        ({"transport": "email", "addresses": ("ops@example.org", "nobody")}, "nobody is no e-mail address"),
    ],
)
def test_a_channel_that_makes_no_sense_is_refused_with_a_reason(options: dict[str, Any], words: str) -> None:
    sound = {"name": "on call", "transport": "webhook", "url": "https://hooks.example.org/x"}

    with pytest.raises(InvalidArgumentError, match=words):
        check_channel(ChannelOptions(**sound | options))


def test_a_namespace_has_room_for_so_many_channels(
    root: User, shop: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "CHANNELS_MAX", 1)
    url = "https://hooks.example.org/x"
    kept, _ = channel(root, url, pool="default", namespace="shop")

    with pytest.raises(InvalidArgumentError, match="there are 1 already"):
        channel(root, url, pool="default", namespace="shop")
    with pytest.raises(NamespaceNotFoundError):
        channel(root, url, pool="default", namespace="gone")

    channel(root, url)  # of all namespaces
    assert list(AlertChannel.objects.filter(namespace=shop)) == [kept]


def test_a_name_that_turns_out_to_be_private_is_refused_at_each_connection(
    sink: HttpSink, root: User, shop: Namespace, settings: Any
) -> None:
    channel(root, sink.url)
    settings.TASKQ_PUSH_ALLOWED_NETWORKS = ()
    look(idle())

    assert send() == 0
    assert sink.received == []
    assert "not a public address" in AlertDelivery.objects.get().error


def test_a_test_is_sent_without_an_incident(sink: HttpSink, root: User) -> None:
    row, _ = channel(root, sink.url)
    send_test(user=root, pk=row.pk)
    send_test(user=root, pk=row.pk)
    AlertDelivery.objects.update(due_at=NOW)

    assert send() == 1
    assert [json.loads(one.body)["type"] for one in sink.received] == ["alert.test"]


def test_without_a_mail_server_it_says_so(root: User, shop: Namespace, settings: Any) -> None:
    settings.EMAIL_BACKEND = sending.NO_SERVER
    channel(root, "", "email", addresses=("ops@example.org",))
    look(idle())

    assert send() == 0
    assert "EMAIL_URL is not set" in AlertDelivery.objects.get().error
