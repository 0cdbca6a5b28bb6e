"""The form that makes and changes push endpoints, and what leads to it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queues.models import Activity, PushEndpoint
from queues.services.push.endpoints import MASK, EndpointOptions, save_endpoint
from queues.services.push.secrets import unseal
from tests.support.rows import in_one_test

from .people import POOL, SHOP, People

pytestmark = pytest.mark.django_db(transaction=True)

NEW = f"/push/{POOL}/{SHOP}/new"
PAGE = f"/push/{POOL}/{SHOP}/orders/"
EDIT = f"{PAGE}edit"
FORM = {
    "queue": "orders",
    "url": "https://hooks.example/orders?shop=7",
    "enabled": "on",
    "timeout_s": "5",
    "concurrency": "3",
    "rate_per_s": "2.5",
    "headers": "Content-Type: application/json\r\n\r\nAuthorization: Bearer a:b",
}


@pytest.fixture
def alice(people: People) -> Client:
    return people.alice.browser


@pytest.fixture
def endpoint(people: People) -> PushEndpoint:
    headers = {"Authorization": "Bearer hidden", "X-Shop": "7"}
    save_endpoint(
        pool=POOL, namespace=SHOP, queue="orders", options=EndpointOptions(url="https://h.example/a", headers=headers)
    )
    return PushEndpoint.objects.get()


def errors(text: str) -> dict[str, str]:
    """Field → what is wrong with it."""
    return dict(re.findall(r'<p class="error" id="id_(\w+)_error">([^<]*)</p>', text))


def noted() -> list[tuple[str, str, str]]:
    return list(Activity.objects.exclude(action="signed_in").order_by("pk").values_list("who", "action", "queue"))


def test_a_form_makes_an_endpoint_and_shows_its_secret_once(alice: Client) -> None:
    answer = alice.post(NEW, FORM)

    row = PushEndpoint.objects.get()
    assert (row.queue, row.url, row.enabled) == ("orders", "https://hooks.example/orders?shop=7", True)
    assert (row.timeout_s, row.concurrency, row.rate_per_s) == (5, 3, 2.5)
    assert row.headers == {"Content-Type": "application/json", "Authorization": "Bearer a:b"}
    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/=]+", answer.text)
    assert "no-store" in answer["Cache-Control"]
    assert unseal(row.secrets[0]["sealed"])
    assert secret not in alice.get(PAGE).text
    assert noted() == [("alice", "push_created", "orders")]


@in_one_test(
    ("change", "field", "words"),
    [
        ({"url": ""}, "url", "This field is required."),
        ({"url": "ftp://example.org/"}, "url", "A URL begins with https:// or http://."),
        ({"url": "http://169.254.169.254/latest"}, "url", "public addresses only"),
        ({"url": "http://localhost:8000/"}, "url", "public addresses only"),
        ({"url": "https://me:secret@example.org/"}, "url", "A URL must not have credentials"),
        ({"url": "https://example.org:6379/"}, "url", "That port is not allowed"),
        ({"url": "https://"}, "url", "The URL has no valid host."),
        ({"queue": "_hidden"}, "queue", "Names consist of letters"),
        ({"queue": "a b"}, "queue", "Names consist of letters"),
        ({"timeout_s": "0"}, "timeout_s", "From 1 to 300 seconds."),
        ({"timeout_s": "x"}, "timeout_s", "Enter a whole number."),
        ({"concurrency": "1001"}, "concurrency", "From 1 to 1,000."),
        ({"concurrency": ""}, "concurrency", "This field is required."),
        ({"rate_per_s": "0"}, "rate_per_s", "From 0.01 to 10,000 per second."),
        ({"rate_per_s": "nan"}, "rate_per_s", "Enter a number."),
        ({"headers": "no colon"}, "headers", "Line 1 is not NAME: VALUE."),
        ({"headers": "A: 1\na: 2"}, "headers", "The header a occurs twice."),
        ({"headers": "Host: evil"}, "headers", "set by taskq itself"),
        ({"headers": "X: é"}, "headers", "ASCII characters"),
        ({"headers": f"Authorization: {MASK}"}, "headers", "ASCII characters"),
        ({"headers": "\n".join(f"h{n}: 1" for n in range(21))}, "headers", "At most 20 headers."),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(alice: Client, change: dict[str, str], field: str, words: str) -> None:
    answer = alice.post(NEW, FORM | change)

    assert answer.status_code == 400
    found = errors(answer.text)
    assert list(found) == [field]
    assert words in found[field]
    assert not PushEndpoint.objects.exists()
    assert noted() == []


def test_all_that_is_wrong_is_said_at_once(alice: Client) -> None:
    answer = alice.post(NEW, FORM | {"url": "http://10.0.0.1/", "headers": "no colon", "timeout_s": ""})

    assert sorted(errors(answer.text)) == ["headers", "timeout_s", "url"]


def test_a_queue_that_has_an_endpoint_gets_no_second_one(alice: Client, endpoint: PushEndpoint) -> None:
    answer = alice.post(NEW, FORM)

    assert errors(answer.text) == {"queue": "This queue already has a push endpoint: edit that one."}
    endpoint.refresh_from_db()
    assert endpoint.url == "https://h.example/a"


def edit(alice: Client, **change: Any) -> Any:
    return alice.post(EDIT, {name: text for name, text in FORM.items() if name != "queue"} | change)


def test_the_form_of_an_endpoint_masks_secret_headers_and_keeps_them(alice: Client, endpoint: PushEndpoint) -> None:
    text = alice.get(EDIT).text
    assert "Bearer hidden" not in text
    assert f"Authorization: {MASK}" in text
    assert "X-Shop: 7" in text

    answer = edit(alice, url="https://h.example/b", headers=f"Authorization: {MASK}\nX-Shop: 8")

    assert answer["Location"] == PAGE
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.headers) == (
        "https://h.example/b",
        {"Authorization": "Bearer hidden", "X-Shop": "8"},
    )
    assert noted() == [("alice", "push_changed", "orders")]


@pytest.mark.parametrize("url", ["https://evil.example/a", "http://h.example/a", "https://h.example:8443/a"])
def test_a_masked_header_does_not_go_to_another_server(alice: Client, endpoint: PushEndpoint, url: str) -> None:
    answer = edit(alice, url=url, headers=f"Authorization: {MASK}")

    assert answer.status_code == 400
    assert "another server" in errors(answer.text)["headers"]
    endpoint.refresh_from_db()
    assert endpoint.url == "https://h.example/a"


def test_a_box_that_is_not_ticked_disables_it_and_a_pause_stays(alice: Client, endpoint: PushEndpoint) -> None:
    alice.post(f"{PAGE}act", {"act": "pause"})

    edit(alice, enabled="")

    endpoint.refresh_from_db()
    assert not endpoint.enabled
    assert endpoint.paused_at is not None


def test_where_there_is_none_there_is_nothing_to_edit(alice: Client) -> None:
    assert alice.get(EDIT).status_code == 404
    assert edit(alice).status_code == 404
    assert not PushEndpoint.objects.exists()


def test_an_operator_gets_no_form_and_no_link_to_it(people: People, endpoint: PushEndpoint) -> None:
    for browser in (people.olga.browser, people.bob.browser):
        assert [browser.get(NEW).status_code, browser.get(EDIT).status_code] == [403, 403]
        assert [browser.post(NEW, FORM).status_code, edit(browser).status_code] == [403, 403]
        assert "New push endpoint" not in browser.get("/push/").text
        assert EDIT not in browser.get(PAGE).text
    assert people.charlie.browser.get(NEW).status_code == 404


def test_a_form_without_its_token_is_refused(people: People) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = people.alice.browser.cookies

    assert browser.post(NEW, FORM).status_code == 403
    assert not PushEndpoint.objects.exists()


def test_the_list_leads_to_the_form_of_a_namespace(alice: Client) -> None:
    assert "New push endpoint" in alice.get("/push/").text
    assert alice.get("/push/new", {"namespace": f"{POOL}/{SHOP}"})["Location"] == NEW
    for nonsense in ("", "x", "a/b/c", "/"):
        assert alice.get("/push/new", {"namespace": nonsense})["Location"] == "/push/"
    assert 'value="or&lt;ders"' in alice.get(f"{NEW}?queue=or<ders").text


def test_the_queue_page_leads_to_its_endpoint_or_to_the_form(people: People, endpoint: PushEndpoint) -> None:
    alice, bob = people.alice.browser, people.bob.browser

    for browser in (alice, bob):
        text = browser.get(f"/queues/{POOL}/{SHOP}/orders/").text
        assert f'href="{PAGE}"' in text
        assert "https://h.example/a" in text
        assert "nothing delivered yet" in text
    assert f'href="{NEW}?queue=mails"' in alice.get(f"/queues/{POOL}/{SHOP}/mails/").text
    assert NEW not in bob.get(f"/queues/{POOL}/{SHOP}/mails/").text


@pytest.mark.parametrize(("overlap", "kept", "words"), [("0", 1, "with it alone"), ("3600", 2, "for an hour")])
def test_a_rotation_says_how_long_the_secret_before_signs(
    alice: Client, endpoint: PushEndpoint, overlap: str, kept: int, words: str
) -> None:
    answer = alice.post(f"{PAGE}act", {"act": "rotate", "overlap": overlap, "confirmed": "yes"})

    assert words in answer.text
    endpoint.refresh_from_db()
    assert len(endpoint.secrets) == kept


@pytest.mark.parametrize("overlap", ["-1", "x", "99999999"])
def test_a_rotation_for_a_time_that_is_none_does_nothing(alice: Client, endpoint: PushEndpoint, overlap: str) -> None:
    assert alice.post(f"{PAGE}act", {"act": "rotate", "overlap": overlap, "confirmed": "yes"}).status_code == 400
    before = endpoint.secrets
    endpoint.refresh_from_db()
    assert endpoint.secrets == before
