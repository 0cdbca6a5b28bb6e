"""@page and @action: what views raise becomes an answer that fits who asks."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path

from dashboard import urls as dashboard_urls
from dashboard.error_messages import InputError
from dashboard.views.decorators import action, confirm_first, done, page
from queues.engine.errors import JobNotFoundError, LeaseLostError, ScriptError, StoreFullError, StoreUnavailableError
from queues.services.errors import (
    InvalidArgumentError,
    MetadataUnavailableError,
    NamespaceNotFoundError,
    RoleTooLowError,
    TaskqError,
)
from tests.support.rows import in_one_test

ERRORS: dict[str, tuple[TaskqError, int]] = {
    "namespace": (NamespaceNotFoundError(), 404),
    "job": (JobNotFoundError("01ARZ3NDEKTSV4RRFFQ69G5FAV"), 404),
    "role": (RoleTooLowError(), 403),
    "argument": (InvalidArgumentError("invalid <limit>"), 400),
    "mistake": (InputError("<days>: that is none"), 400),
    "lease": (LeaseLostError("01ARZ3NDEKTSV4RRFFQ69G5FAV"), 409),
    "redis": (StoreUnavailableError("unix:///secret.sock"), 503),
    "database": (MetadataUnavailableError(), 503),
    "full": (StoreFullError("OOM"), 507),
}


@page
def failing_page(request: HttpRequest, name: str) -> HttpResponse:
    raise ERRORS[name][0]


@action
def failing_action(request: HttpRequest, name: str) -> HttpResponse:
    raise ERRORS[name][0]


@page
def defect(request: HttpRequest) -> HttpResponse:
    raise ScriptError("broken")


@page
def fragment(request: HttpRequest) -> HttpResponse:
    text = f'<input type="hidden" name="csrfmiddlewaretoken" value="{request.META["QUERY_STRING"]}"><p>same</p>'
    return HttpResponse(text)


@action
def act(request: HttpRequest) -> HttpResponse:
    question = confirm_first(request, question="Really <b>?", word="orders")
    return question or done(request, message="Emptied.", back="/queues/", data={"done": 3})


urlpatterns = [
    path("page/<str:name>", failing_page),
    path("action/<str:name>", failing_action),
    path("defect", defect),
    path("fragment", fragment),
    path("act", act),
    path("admin/", include(([path("", defect, name="index"), path("pw", defect, name="password_change")], "admin"))),
    path("", include(dashboard_urls)),
]

pytestmark = [pytest.mark.urls(__name__), pytest.mark.django_db]

JSON = {"Accept": "application/json"}
LIVE = {"X-Live": "1"}
CONFIRMED = {"confirmed": "yes", "word": "orders"}


@pytest.fixture
def alice() -> Client:
    browser = Client(raise_request_exception=False)
    browser.force_login(User.objects.create_user("alice"))
    return browser


@in_one_test("name", ERRORS)
def test_an_error_is_a_page_a_fragment_or_json(alice: Client, name: str) -> None:
    error, status = ERRORS[name]

    whole, part = alice.get(f"/page/{name}"), alice.get(f"/page/{name}", headers=LIVE)
    sent, asked = alice.post(f"/action/{name}"), alice.post(f"/action/{name}", headers=JSON)

    assert [answer.status_code for answer in (whole, part, sent, asked)] == [status] * 4
    assert "<!doctype html>" in whole.text
    assert "<!doctype html>" not in part.text
    assert 'class="banner' in part.text
    assert asked.json()["code"] == error.code
    assert asked.json()["error"]
    assert ("Retry-After" in whole) == (status == 503)


def test_where_redis_is_stays_untold(alice: Client) -> None:
    assert "secret.sock" not in alice.get("/page/redis").text
    assert alice.post("/action/redis", headers=JSON).json()["error"] == "Redis does not answer"


def test_what_a_form_found_wrong_is_told_and_escaped(alice: Client) -> None:
    assert "&lt;days&gt;: that is none" in alice.get("/page/mistake").text


def test_the_engines_own_words_are_not_repeated(alice: Client) -> None:
    told = alice.get("/page/argument").text

    assert "a value that is not valid" in told
    assert "limit" not in told


def test_a_defect_is_no_answer(alice: Client) -> None:
    assert alice.get("/defect").status_code == 500


def test_a_fragment_says_how_long_it_took(alice: Client) -> None:
    whole, part = alice.get("/fragment"), alice.get("/fragment", headers=LIVE)
    known = alice.get("/fragment", headers=LIVE | {"If-None-Match": part["ETag"]})

    assert "X-Took-Ms" not in whole
    assert 0 < float(part["X-Took-Ms"]) < 60_000
    assert (known.status_code, "X-Took-Ms" in known) == (304, True)


@pytest.mark.parametrize(("url", "verb"), [("/page/role", "post"), ("/act", "get"), ("/act", "delete")])
def test_pages_are_read_and_actions_are_posted(alice: Client, url: str, verb: str) -> None:
    assert getattr(alice, verb)(url).status_code == 405


def test_strangers_are_sent_to_the_sign_in() -> None:
    stranger = Client()

    assert stranger.get("/page/role")["Location"] == "/login/?next=/page/role"
    assert stranger.post("/act", headers=JSON).status_code == 401


@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [
        ("http://testserver/queues/?q=a", "http%3A//testserver/queues/%3Fq%3Da"),
        ("https://elsewhere.example/", "/"),
        ("", "/"),
    ],
)
def test_who_was_signed_out_comes_back_to_the_page_with_the_button(came_from: str, leads_to: str) -> None:
    stranger = Client()

    answer = stranger.post("/act", CONFIRMED, headers={"Referer": came_from})

    assert answer["Location"] == f"/login/?next={leads_to}"
    assert "Nothing was done: sign in and repeat the action." in stranger.get(answer["Location"]).text


def test_an_action_needs_the_csrf_token() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_user("alice"))

    assert browser.post("/act", CONFIRMED).status_code == 403


def test_pages_are_kept_in_no_cache(alice: Client) -> None:
    assert "no-store" in alice.get("/fragment")["Cache-Control"]


def test_a_fragment_that_did_not_change_is_not_sent_again(alice: Client) -> None:
    first = alice.get("/fragment?one", headers=LIVE)
    again = alice.get("/fragment?two", headers=LIVE | {"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert alice.get("/fragment?one", headers=LIVE | {"If-None-Match": '"other"'}).status_code == 200


def test_an_action_that_is_done_leads_back_and_says_so(alice: Client) -> None:
    answer = alice.post("/act", CONFIRMED)

    assert answer["Location"] == "/queues/"
    assert [str(message) for message in messages.get_messages(answer.wsgi_request)] == ["Emptied."]


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ("/dead/?queue=x", "/dead/?queue=x"),
        ("https://evil.example/", "/queues/"),
        ("//evil", "/queues/"),
        ("no-route", "/queues/"),
    ],
)
def test_where_it_leads_is_on_this_site(alice: Client, wanted: str, taken: str) -> None:
    assert alice.post("/act", CONFIRMED | {"next": wanted})["Location"] == taken


def test_a_script_is_told_what_was_done(alice: Client) -> None:
    assert alice.post("/act", CONFIRMED, headers=JSON).json() == {"message": "Emptied.", "done": 3}


@pytest.mark.parametrize("form", [{}, {"confirmed": "yes"}, {"confirmed": "no", "word": "orders"}, {"word": "orders"}])
def test_nothing_is_done_before_it_is_confirmed(alice: Client, form: dict[str, Any]) -> None:
    asked = alice.post("/act", form | {"id": ["one", "<two>"]})

    assert "Location" not in asked
    assert "Really &lt;b&gt;?" in asked.text
    assert '<input type="hidden" name="id" value="one">' in asked.text
    assert 'value="&lt;two&gt;"' in asked.text
    assert alice.post("/act", form, headers=JSON).json()["code"] == "not_confirmed"


def test_a_word_that_was_mistyped_is_asked_for_again(alice: Client) -> None:
    asked = alice.post("/act", {"confirmed": "yes", "word": "order"})

    assert asked.status_code == 400
    assert 'aria-invalid="true"' in asked.text
