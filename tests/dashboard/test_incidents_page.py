"""Overview, queue page and the pages of incidents: what they say, to whom, and what people do there."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.views import incidents
from queues.engine import Engine, PublishOptions, ack, consume, fail, publish
from queues.models import Activity, AlertChannel, Incident, IncidentKind
from queues.services.incident_watch.watch import look_around
from queues.services.incidents.findings import Finding, Look
from queues.services.incidents.recording import RESOLVE_AFTER_LOOKS, record_look
from tests.support.rows import in_one_test

from .people import BANK, POOL, SHOP, People
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)


def put(engine: Engine, namespace: str, queue: str, *, jobs: int, age_s: float = 60) -> None:
    keys = engine.queue(namespace, queue)
    at = now_of(engine) - round(age_s * 1_000)
    engine.run(publish(keys, [b"x"] * jobs, PublishOptions(ttl_ms=0, tries=1), now_ms=at))
    engine.client.delete(keys.select(("stats",))[0])


def bury(engine: Engine, namespace: str, queue: str, *, jobs: int, ago_ms: int = 0) -> None:
    keys, at = engine.queue(namespace, queue), now_of(engine) - ago_ms
    put(engine, namespace, queue, jobs=jobs)
    for first in range(0, jobs, 100):
        for job in engine.run(consume(keys, ttr_ms=3_600_000, count=min(100, jobs - first), now_ms=at)).jobs:
            engine.run(fail(keys, job.job_id, error="502 Bad Gateway", dead=True, now_ms=at))


def watch(surveyor: Surveyor) -> None:
    surveyor.look()
    look_around(now=timezone.now(), every=timedelta(0))


def page(client: Client, path: str = "/", **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200, response.content
    return " ".join(response.content.decode().split())


def post(client: Client, path: str, **fields: Any) -> int:
    return client.post(path, fields).status_code


def lines(text: str) -> list[str]:
    """The list of incidents, a line each, without markup."""
    listed = re.search(r'<ul class="incident-list">(.*?)</ul>', text)
    if listed is None:
        return []
    items = re.findall(r"<li.*?</li>", listed[1])
    return [" ".join(re.sub(r"<form.*?</form>|<[^>]+>", " ", item).split()).replace(" ,", ",") for item in items]


def test_120_dead_letters_are_not_healthy_though_none_died_lately(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    bury(engine, SHOP, "webhooks", jobs=120, ago_ms=420_000)
    watch(surveyor)

    text = page(people.alice.browser)

    assert "Healthy" not in text
    assert "1 warning" in text
    assert lines(text)[0].startswith("Warning webhooks shop 120 dead letters; none died in the last 5 min.")


def test_a_queue_whose_every_job_dies_is_critical_and_one_unclaimed_job_is_not(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    bury(engine, SHOP, "mails", jobs=40)
    put(engine, SHOP, "orders", jobs=1, age_s=3_600)
    watch(surveyor)

    text = page(people.alice.browser)

    assert [line.split()[:2] for line in lines(text)] == [["Critical", "mails"], ["Warning", "orders"]]
    assert "40 jobs died in the last 5 min (40 in total)." in text
    assert "Stands still" not in text
    assert ">Look<" not in text


def test_alike_ones_are_one_line(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for number in range(24):
        put(engine, SHOP, f"tenant-{number:02}", jobs=2 if number < 7 else 1)
    watch(surveyor)

    found = lines(page(people.alice.browser))

    assert len(found) == 1
    assert "24 queues without consumers, 31 jobs" in found[0]
    assert "tenant-00, tenant-01, tenant-02 and 21 more" in found[0]
    all_of_them = lines(page(people.alice.browser, "/incidents/?state=open&kind=no_consumer"))
    assert len(all_of_them) == 24


def test_six_lines_are_shown_and_the_rest_is_a_click_away(engine: Engine, surveyor: Surveyor, people: People) -> None:
    now = timezone.now()
    chosen = [kind for kind in IncidentKind if kind is not IncidentKind.REPORT_FAILED][:8]
    findings = tuple(
        Finding(kind=kind, pool=POOL, namespace=SHOP, queue=f"q-{kind}", size=5, since=now - timedelta(minutes=9))
        for kind in chosen
    )
    record_look(Look(pool=POOL, kinds=frozenset(chosen), findings=findings), now=now)
    surveyor.look()

    text = page(people.alice.browser)

    assert len(lines(text)) == 6
    assert "Show all 8 incidents" in text


def test_a_page_of_thousands_lists_the_worst_and_counts_the_rest(
    surveyor: Surveyor, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incidents, "LISTED", 3)
    now = timezone.now()
    findings = tuple(
        Finding(kind=IncidentKind.OBJECTIVE_BURN, pool=POOL, namespace=SHOP, queue=f"q{size}", size=size, since=now)
        for size in range(5)
    )
    kinds = frozenset({IncidentKind.OBJECTIVE_BURN})
    record_look(Look(pool=POOL, kinds=kinds, findings=findings), now=now + timedelta(hours=2))
    surveyor.look()

    text = page(people.alice.browser, "/incidents/?state=open")

    assert len(lines(text)) == 3
    assert "2 more are not listed." in text


def test_the_order_stays_when_sizes_change(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for queue in ("b", "a"):
        put(engine, SHOP, queue, jobs=20, age_s=90)
        watch(surveyor)
    first = [line.split()[1] for line in lines(page(people.alice.browser))]
    put(engine, SHOP, "a", jobs=40, age_s=30)
    watch(surveyor)

    assert [line.split()[1] for line in lines(page(people.alice.browser))] == first == ["b", "a"]


def test_a_page_says_what_is_wrong_before_any_watch_has_looked(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    surveyor.look()

    assert lines(page(people.bob.browser))[0].startswith("Critical orders shop No active consumers: 300 jobs are ready")
    assert Incident.objects.count() == 0


@pytest.mark.parametrize(("person", "buttons"), [("bob", 0), ("olga", 2), ("alice", 2)])
def test_buttons_are_those_that_the_reader_may_press(
    person: str, buttons: int, engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    watch(surveyor)

    text = page(getattr(people, person).browser)

    listed = text.partition('<ul class="incident-list">')[2].partition("</ul>")[0]
    assert listed.count("<button") == buttons, "pause, acknowledge"
    assert 'href="/consumers/?by=queue&amp;namespace=default%2Fshop&amp;q=orders"' in listed
    assert 'href="/queues/default/shop/orders/?state=ready"' in listed


def test_the_page_of_a_queue_has_the_same_banner(engine: Engine, surveyor: Surveyor, people: People) -> None:
    keys = engine.queue(SHOP, "orders")
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    watch(surveyor)

    text = page(people.olga.browser, "/queues/default/shop/orders/")

    banner = text[text.index('class="banner incident-banner') :]
    banner = banner[: banner.index('<dl class="tiles">')]
    assert "No active consumers: 300 jobs are ready, the oldest for 2 min." in banner
    assert "Start a consumer or a worker for this queue, or pause it." in banner
    assert f'href="/incidents/{Incident.objects.get().pk}/"' in banner
    assert "No job was consumed in the last 3 hours." in banner
    assert "Acknowledge" in banner
    assert keys.queue == "orders"
    assert "incident-banner" not in page(people.olga.browser, "/queues/default/shop/another/")


def test_the_banner_says_when_a_job_was_last_consumed(engine: Engine, surveyor: Surveyor, people: People) -> None:
    keys, now = engine.queue(SHOP, "orders"), now_of(engine)
    earlier = now - 20 * 60_000
    engine.run(publish(keys, [b"x"] * 300, PublishOptions(ttl_ms=0), now_ms=earlier))
    (job,) = engine.run(consume(keys, ttr_ms=1, now_ms=earlier)).jobs
    engine.run(ack(keys, [job.job_id], now_ms=earlier))
    surveyor.look(now_ms=earlier + 60_000)
    watch(surveyor)

    text = page(people.alice.browser, "/queues/default/shop/orders/")

    assert "Last job consumed:" in text


def test_nobody_learns_of_incidents_of_a_namespace_that_they_do_not_see(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, BANK, "secret-plans", jobs=777, age_s=300)
    watch(surveyor)
    pk = Incident.objects.get().pk
    number = re.compile(r"(?<!\d)777(?!\d)")  # not a part of a time in seconds or milliseconds

    for person in (people.alice, people.bob, people.dave):
        for path in ("/", "/incidents/", "/incidents/?state=open", "/alerts/"):
            text = page(person.browser, path)
            assert "secret-plans" not in text
            assert not number.search(text)
        for path in (f"/incidents/{pk}/", f"/incidents/{pk}/chart"):
            assert person.browser.get(path).status_code == 404
        assert post(person.browser, f"/incidents/{pk}/act", act="acknowledge") == 404
    assert Incident.objects.get().acknowledged_at is None
    for person in (people.charlie, people.root):
        text = page(person.browser, "/incidents/")
        assert "secret-plans" in text
        assert number.search(text)


def test_what_concerns_a_pool_is_told_without_the_jobs_of_others(people: People) -> None:
    now = timezone.now()
    finding = Finding(
        kind=IncidentKind.REDIS_FULL,
        pool=POOL,
        size=98_765,
        since=now,
        facts={"percent": 97, "trouble": "redis-7.internal"},
    )
    record_look(Look(pool=POOL, kinds=frozenset({IncidentKind.REDIS_FULL}), findings=(finding,)), now=now)
    path = f"/incidents/{Incident.objects.get().pk}/"
    assert post(people.root.browser, f"{path}act", act="acknowledge", note="the tenant glaziers fills it") == 302
    assert post(people.root.browser, f"{path}act", act="note", note="they were phoned") == 302

    for_bob, for_root = page(people.bob.browser, path), page(people.root.browser, path)

    assert "Redis is 97 % full." in for_bob
    assert "98,765" not in for_bob
    assert "redis-7.internal" not in for_bob
    assert "acknowledged" in for_bob
    for note in ("glaziers", "phoned"):
        assert note not in for_bob
        assert note in for_root
    assert "98,765" in for_root
    assert "redis-7.internal" in for_root
    assert post(people.alice.browser, f"{path}act", act="acknowledge") == 403


def test_an_operator_acknowledges_with_a_note_and_a_reader_does_not(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    watch(surveyor)
    path = f"/incidents/{Incident.objects.get().pk}/"
    assert post(people.bob.browser, f"{path}act", act="acknowledge") == 403

    assert post(people.olga.browser, f"{path}act", act="acknowledge", note="restarting <b>billing</b>") == 302

    text = page(people.bob.browser, path)
    assert "acknowledged" in text
    assert "restarting &lt;b&gt;billing&lt;/b&gt;" in text
    assert "by olga" in text
    overview = page(people.bob.browser)
    assert "acknowledged by olga" in lines(overview)[0]
    assert "1 acknowledged" in overview
    assert "1 critical" not in overview
    (entry,) = Activity.objects.filter(action="incident_acknowledged")
    assert (entry.who, entry.namespace, entry.queue) == ("olga", SHOP, "orders")

    assert post(people.olga.browser, f"{path}act", act="acknowledge", note="it takes a while") == 302
    assert post(people.olga.browser, f"{path}act", act="acknowledge") == 302, "nothing is said twice"
    changes = Incident.objects.get().changes.values_list("change", "note")
    assert list(changes)[1:] == [("acknowledged", "restarting <b>billing</b>"), ("noted", "it takes a while")]

    assert post(people.alice.browser, f"{path}act", act="unacknowledge") == 302
    assert "1 critical" in page(people.bob.browser)


def test_notes_are_kept_and_checked(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    watch(surveyor)
    path = f"/incidents/{Incident.objects.get().pk}/act"

    assert post(people.olga.browser, path, act="note", note="it was the deploy") == 302
    assert post(people.olga.browser, path, act="note", note="  ") == 400
    assert post(people.olga.browser, path, act="note", note="x" * 2_001) == 400
    assert post(people.olga.browser, path, act="explode") == 400

    assert list(Incident.objects.get().changes.values_list("change", "note")) == [
        ("opened", ""),
        ("noted", "it was the deploy"),
    ]


def test_the_history_has_what_is_over_with_filters(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    watch(surveyor)
    engine.run(consume(engine.queue(SHOP, "orders"), ttr_ms=60_000, count=100))
    for _ in range(RESOLVE_AFTER_LOOKS):
        watch(surveyor)
    pk = Incident.objects.get().pk

    text = page(people.bob.browser, "/incidents/")
    assert f"#{pk} No consumer" in text
    assert "No incident is open." in text
    for query in ("state=open", "kind=jobs_dying", "severity=info", "namespace=default/bank", "q=nothing"):
        assert f"#{pk}" not in page(people.bob.browser, f"/incidents/?{query}"), query
    for query in ("state=resolved", "kind=no_consumer", "severity=critical", "namespace=default/shop", "q=ORD"):
        assert f"#{pk}" in page(people.bob.browser, f"/incidents/?{query}"), query
    assert "Resolved" in page(people.bob.browser, f"/incidents/{pk}/")


def test_the_chart_of_an_incident_has_its_sizes(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=300, age_s=120)
    watch(surveyor)

    chart = people.bob.browser.get(f"/incidents/{Incident.objects.get().pk}/chart").json()

    assert chart["series"][0]["values"] == [300]


def test_channels_are_for_administrators(people: People) -> None:
    options = {"name": "on call", "transport": "slack", "url": "https://hooks.example.org/x", "min_severity": "warning"}

    assert post(people.olga.browser, "/alerts/new", **options, namespace="default/shop") == 403
    assert post(people.alice.browser, "/alerts/new", **options, namespace="default/bank") == 404
    assert post(people.alice.browser, "/alerts/new", **options, namespace="") == 403
    assert post(people.alice.browser, "/alerts/new", **options, namespace="default/shop") == 302

    assert people.alice.browser.get("/alerts/new").status_code == 200
    for person in (people.olga, people.bob):
        assert person.browser.get("/alerts/new").status_code == 403, "no form that cannot be sent"
        assert "/alerts/new" not in page(person.browser, "/alerts/")
    pk = AlertChannel.objects.get().pk
    assert "hooks.example.org" in page(people.alice.browser, "/alerts/")
    for person in (people.olga, people.charlie):
        assert "hooks.example.org" not in page(person.browser, "/alerts/")
        assert person.browser.get(f"/alerts/{pk}/").status_code in (403, 404)
        assert post(person.browser, f"/alerts/{pk}/act", act="test") in (403, 404)
    assert post(people.alice.browser, f"/alerts/{pk}/act", act="delete") == 200, "it asks first"
    assert post(people.alice.browser, f"/alerts/{pk}/act", act="delete", confirmed="yes") == 302
    assert not AlertChannel.objects.exists()
    acts = list(Activity.objects.order_by("pk").values_list("action", flat=True))
    assert acts == ["channel_created", "channel_deleted"]


def test_the_secret_of_a_webhook_is_shown_once(people: People) -> None:
    options = {"name": "hook", "transport": "webhook", "url": "https://hooks.example.org/x", "min_severity": "info"}

    response = people.root.browser.post("/alerts/new", {**options, "enabled": "on"})

    text = response.content.decode()
    assert re.search(r"whsec_[A-Za-z0-9+/=]{32,}", text)
    assert "no-store" in response["Cache-Control"]
    pk = AlertChannel.objects.get().pk
    assert "whsec_" not in page(people.root.browser, f"/alerts/{pk}/")
    assert people.root.browser.post(f"/alerts/{pk}/", {**options, "enabled": "on"}).status_code == 302
    part = people.root.browser.get(f"/alerts/{pk}/", headers={"X-Live": "1"}).text
    assert part.lstrip().startswith("<div")
    assert "Nothing was sent yet." in part


@in_one_test(
    ("wrong", "words"),
    [
        ({"url": "http://10.0.0.1/"}, "public addresses only"),
        ({"url": "nonsense"}, "begins with"),
        ({"transport": "email", "addresses": "nobody"}, "e-mail"),
        ({"name": ""}, "required"),
        ({"kinds": "earthquake"}, "valid choice"),
    ],
)
def test_what_cannot_be_saved_is_said_at_its_field(wrong: dict[str, str], words: str, people: People) -> None:
    options = {"name": "hook", "transport": "slack", "url": "https://hooks.example.org/x", "min_severity": "info"}

    assert people.root.browser.post("/alerts/new", options).status_code == 302
    (saved,) = AlertChannel.objects.values()

    for path in ("/alerts/new", f"/alerts/{saved['id']}/"):
        response = people.root.browser.post(path, options | wrong)

        assert response.status_code == 400, path
        assert words in response.content.decode(), path
    assert AlertChannel.objects.values().get() == saved
    AlertChannel.objects.all().delete()
