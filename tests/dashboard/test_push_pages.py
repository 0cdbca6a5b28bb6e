"""The pages of push endpoints: what they show, and what their buttons do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from queues.engine import DeliveryNotes, Engine, PushCounts, PusherBeat, beat_pusher, note_deliveries
from queues.models import Activity, PushEndpoint
from queues.services.push.endpoints import EndpointOptions, save_endpoint, set_endpoint_paused
from queues.services.push.records import DeliveryRecord, pack_record

from .people import POOL, SHOP, People
from .queue_pages.hostile import assert_harmless

pytestmark = pytest.mark.django_db(transaction=True)

JOB = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
PAGE = f"/push/{POOL}/{SHOP}/orders/"
EVIL = "</pre></td><script>alert(1)</script>\u202e\x00\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def endpoint(people: People) -> PushEndpoint:
    headers = {"Authorization": "Bearer hidden", "X-Shop": "7"}
    options = EndpointOptions(url="https://hooks.example/orders", headers=headers, rate_per_s=2.5)
    save_endpoint(pool=POOL, namespace=SHOP, queue="orders", options=options)
    return PushEndpoint.objects.get()


def deliver(engine: Engine, endpoint: PushEndpoint, **changes: Any) -> None:
    """Note a delivery."""
    fields: dict[str, Any] = {
        "at_ms": 1_767_225_600_000,
        "job_id": JOB,
        "attempt": 1,
        "outcome": "delivered",
        "status": 200,
        "reason": "OK",
        "error": "",
        "duration_ms": 12.5,
        "pusher": "host:1:ab",
        "next": "acked",
        "request_headers": (("webhook-id", JOB),),
        "request_body": '{"order": 7}',
        "request_bytes": 12,
        "response_headers": (("server", "receiver/1"),),
        "response_body": "thank you",
    } | changes
    record = DeliveryRecord(**fields)
    failed = record.has_failed
    notes = DeliveryNotes(
        delivered=int(not failed), failed=int(failed), streak=int(failed), records=[(failed, pack_record(record))]
    )
    engine.run(note_deliveries(engine.queue(SHOP, "orders"), endpoint.pk, notes))


def run_pusher(engine: Engine) -> None:
    """A heartbeat of one."""
    queues = {f"{SHOP}/orders": PushCounts(in_flight=3)}
    engine.run(beat_pusher(PusherBeat(pusher="host:1:ab", up_ms=1, endpoints=1, queues=queues)))


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_the_list_shows_endpoints_and_how_they_do(people: People, engine: Engine, endpoint: PushEndpoint) -> None:
    assert "nothing delivered yet" in people.bob.browser.get("/push/").text
    deliver(engine, endpoint)
    text = people.bob.browser.get("/push/").text
    assert "https://hooks.example/orders" in text
    assert "delivering" in words(text)
    assert "No pusher runs for pool default" in text

    run_pusher(engine)
    for _ in range(3):
        deliver(engine, endpoint, outcome="failed", status=500)
    text = people.bob.browser.get("/push/", headers={"X-Live": "1"}).text
    assert "failing" in words(text)
    assert "No pusher runs" not in text
    assert "<html" not in text


def test_the_list_tells_failures_in_a_row_the_last_response_the_rate_and_why_it_is_paused(
    people: People, engine: Engine, endpoint: PushEndpoint
) -> None:
    deliver(engine, endpoint)
    deliver(engine, endpoint, outcome="failed", status=503)
    deliver(engine, endpoint, outcome="failed", status=0, duration_ms=5_000)
    set_endpoint_paused(pool=POOL, namespace=SHOP, queue="orders", paused=True, reason="410 Gone: <b>")

    said = words(people.bob.browser.get("/push/").text)

    assert re.search(r"paused 410 Gone: &lt;b&gt; .* 1 2 2 in a row no answer 5 s .* 2\.5 ", said), said


def test_a_namespace_that_one_may_not_see_is_not_listed(people: People, endpoint: PushEndpoint) -> None:
    text = people.charlie.browser.get("/push/").text

    assert "hooks.example" not in text
    assert "No push endpoints yet" in text
    assert "Nothing here yet" in people.dave.browser.get("/push/").text
    assert "No push endpoint matches" in people.bob.browser.get("/push/?q=nothing").text


def test_the_page_shows_deliveries_with_request_and_response(
    people: People, engine: Engine, endpoint: PushEndpoint
) -> None:
    run_pusher(engine)
    deliver(engine, endpoint)
    deliver(engine, endpoint, outcome="failed", status=0, error="no answer in time (15 s)", attempt=2)

    text = people.bob.browser.get(PAGE).text
    shown = words(text)

    for said in ("thank you", "server: receiver/1", "{&quot;order&quot;: 7}", "no answer in time (15 s)", "no answer"):
        assert said in shown, said
    assert re.search(r"In flight\s+3", shown)
    assert "Bearer hidden" not in text
    assert "X-Shop" in text
    assert 'name="act"' not in text, "Bob only reads"
    failures = people.bob.browser.get(f"{PAGE}?show=failures").text
    assert "thank you" not in failures
    assert failures.count('class="card delivery"') == 1


def test_what_receivers_say_is_escaped(people: People, engine: Engine, endpoint: PushEndpoint) -> None:
    deliver(
        engine,
        endpoint,
        error=EVIL,
        reason=EVIL,
        pusher=EVIL,
        next=EVIL,
        request_headers=((EVIL, EVIL),),
        request_body=EVIL,
        response_headers=((EVIL, EVIL),),
        response_body=EVIL,
    )

    assert_harmless(people.alice.browser.get(PAGE).text)


def test_a_record_of_another_version_hides_no_other(people: People, engine: Engine, endpoint: PushEndpoint) -> None:
    queue = engine.queue(SHOP, "orders")
    for record in (b"", b"[]", b"{", b'{"at_ms": "x"}', b"\xff"):
        engine.run(note_deliveries(queue, endpoint.pk, DeliveryNotes(records=[(False, record)])))
    deliver(engine, endpoint)

    assert "thank you" in people.bob.browser.get(PAGE).text


def test_buttons_pause_resume_and_test_and_are_noted(people: People, endpoint: PushEndpoint) -> None:
    browser = people.olga.browser
    for act, said in (("pause", "Paused"), ("resume", "Resumed"), ("test", "test request")):
        assert said in browser.post(f"{PAGE}act", {"act": act}, follow=True).text
    endpoint.refresh_from_db()

    assert endpoint.paused_at is None
    assert endpoint.test_wanted_at is not None
    noted = Activity.objects.exclude(action="signed_in").order_by("pk").values_list("who", "action", "queue")
    assert list(noted) == [("olga", f"push_{act}", "orders") for act in ("paused", "resumed", "tested")]
    assert browser.post(f"{PAGE}act", {"act": "explode"}).status_code == 400


def test_why_it_is_paused_is_shown(people: People, endpoint: PushEndpoint) -> None:
    place = {"pool": POOL, "namespace": SHOP, "queue": "orders"}
    set_endpoint_paused(**place, paused=True, reason="410 Gone: unsubscribed")

    text = words(people.bob.browser.get(PAGE).text)

    assert "The receiver is gone: 410 Gone: unsubscribed" in text


def test_a_new_secret_is_shown_once_to_an_administrator(people: People, endpoint: PushEndpoint) -> None:
    asked = people.alice.browser.post(f"{PAGE}act", {"act": "rotate"})
    assert "Make a new secret?" in asked.text
    assert "whsec_" not in asked.text

    answer = people.alice.browser.post(f"{PAGE}act", {"act": "rotate", "confirmed": "yes"})

    secret = re.search(r"whsec_[A-Za-z0-9+/=]+", answer.text)
    assert secret is not None
    assert "no-store" in answer["Cache-Control"]
    endpoint.refresh_from_db()
    assert len(endpoint.secrets) == 2
    assert secret[0] not in people.alice.browser.get(PAGE).text
    assert secret[0] not in str(endpoint.secrets)
    assert people.olga.browser.post(f"{PAGE}act", {"act": "rotate", "confirmed": "yes"}).status_code == 403


def test_where_there_is_none_the_page_says_so(people: People) -> None:
    assert people.bob.browser.get(PAGE).status_code == 404
    assert people.olga.browser.post(f"{PAGE}act", {"act": "pause"}).status_code == 404


def test_the_admin_makes_an_endpoint_and_shows_its_secret_once(people: People) -> None:
    from queues.models import Namespace

    browser = people.root.browser
    form = {
        "namespace": str(Namespace.objects.get(name=SHOP).pk),
        "queue": "mails",
        "url": "http://127.0.0.1/",
        "enabled": "on",
        "timeout_s": "15",
        "concurrency": "10",
        "rate_per_s": "",
        "headers": "{}",
    }
    refused = browser.post("/admin/queues/pushendpoint/add/", form).text
    assert "127.0.0.1 is not a public address." in refused
    for headers, said in (
        ('{"Host": "x"}', "set by taskq itself"),
        *((wrong, "object of names") for wrong in ("[1]", "[]", "false", '""', "0")),
        *((wrong, "valid JSON") for wrong in ("{", "[" * 100_000, '{"X-A": "\\ud800"}')),
    ):
        wrong = form | {"url": "https://hooks.example/", "headers": headers}
        assert said in browser.post("/admin/queues/pushendpoint/add/", wrong).text, headers

    made = browser.post("/admin/queues/pushendpoint/add/", form | {"url": "https://hooks.example/mails"})

    secret = re.search(r"whsec_[A-Za-z0-9+/=]+", made.text)
    assert secret is not None
    assert "no-store" in made["Cache-Control"]
    row = PushEndpoint.objects.get(queue="mails")
    assert secret[0] not in browser.get(f"/admin/queues/pushendpoint/{row.pk}/change/").text
    assert Activity.objects.filter(action="push_created", queue="mails").count() == 1
