"""Guessing passwords is limited, and locks out nobody but the guesser."""

from __future__ import annotations

import base64
import json
import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from queues.services.sign_ins import backend, throttling
from queues.services.sign_ins.backend import LINE_MAX, STRANGERS, VerifiedPasswords
from taskq_site.logs import LogfmtFormatter
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LIMIT: Final = 3
LOCK_S: Final = 900
AT_S: Final = 1_800_000_000 + 100
"""A hundred seconds after a window began."""

HOME: Final = "192.0.2.1"
RIGHT: Final = "correct horse battery"


@pytest.fixture(autouse=True)
def limited(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.AXES_FAILURE_LIMIT = LIMIT
    settings.TASKQ_SIGN_IN_LOCK_S = LOCK_S
    monkeypatch.setattr(throttling, "time", lambda: AT_S)
    start_anew(monkeypatch)
    User.objects.create_superuser("alice", password=RIGHT)
    User.objects.create_superuser("bob", password=RIGHT)


def start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this process had just been started."""
    monkeypatch.setattr(backend, "VERIFIED", VerifiedPasswords())
    throttling.known_here.clear()


def basic(address: str, username: str = "alice", password: str = RIGHT) -> Any:
    """A request with HTTP Basic."""
    credentials = base64.b64encode(f"{username}:{password}".encode()).decode()
    return Client().get("/version", headers={"Authorization": f"Basic {credentials}"}, REMOTE_ADDR=address)


def guess(address: str, username: str = "alice", *, times: int = 1) -> list[int]:
    return [basic(address, username, f"guess {number}").status_code for number in range(times)]


def sign_in(browser: Client, address: str, username: str = "alice", password: str = RIGHT, at: str = "/login/") -> Any:
    """The form."""
    return browser.post(at, {"username": username, "password": password}, REMOTE_ADDR=address)


def lock_account(username: str = "alice") -> None:
    """Twelve guessers."""
    for number in range(12):
        guess(f"198.51.100.{number}", username)
    assert guess("198.51.100.99", username) == [429]


def test_an_address_is_locked_after_some_wrong_passwords_until_the_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert guess(HOME, "nobody", times=LIMIT + 1) == [401] * LIMIT + [429]
    refused = basic(HOME)
    assert (refused.status_code, refused["Retry-After"]) == (429, str(LOCK_S - 100))
    assert "try again in 800 s, or from a browser" in refused.json()["error"]
    assert basic("192.0.2.2").status_code == 200, "another address"

    monkeypatch.setattr(throttling, "time", lambda: AT_S + LOCK_S)
    assert basic(HOME).status_code == 200


def test_an_account_is_locked_for_strangers_only() -> None:
    lock_account("alice")

    assert basic("192.0.2.7").status_code == 429
    assert basic("192.0.2.7", "bob").status_code == 200


def test_where_a_program_has_signed_in_from_it_is_not_locked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert basic(HOME).status_code == 200
    start_anew(monkeypatch)
    lock_account("alice")

    assert basic(HOME).status_code == 200


def test_a_browser_that_has_signed_in_is_not_locked_out_anywhere() -> None:
    browser = Client()
    assert sign_in(browser, HOME).status_code == 302
    del browser.cookies["taskq_session"]
    lock_account("alice")

    assert sign_in(Client(), "203.0.113.5").status_code == 429
    assert sign_in(browser, "203.0.113.5").status_code == 302
    assert sign_in(browser, "198.51.100.1", at="/admin/login/").status_code == 302, "the address of a guesser"


def test_a_program_is_not_locked_out_by_guessers_at_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert basic(HOME).status_code == 200
    assert guess(HOME, times=4 * LIMIT) == [401] * 4 * LIMIT, "they stand in line for being hashed"
    assert guess(HOME, "nobody", times=LIMIT + 1)[-1] == 429, "other accounts"
    assert sign_in(Client(), HOME).status_code == 429, "a form of a browser that is not known"

    assert basic(HOME).status_code == 200
    start_anew(monkeypatch)
    assert basic(HOME).status_code == 200


def test_what_was_right_lately_is_compared_only_by_those_who_stand_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it could be guessed as fast as HTTP goes, by whoever is locked out or refused."""
    assert basic(HOME).status_code == 200
    compared: list[str] = []
    find = "queues.services.sign_ins.backend.VERIFIED.find"
    monkeypatch.setattr(find, lambda _username, password: compared.append(password))
    guess("198.51.100.1", times=LIMIT + 1)
    monkeypatch.setattr(backend, "PROGRAMS_LINE_MAX", 0)
    assert guess(HOME) == [503]

    assert compared == []


def test_the_cookie_of_a_browser_is_good_for_its_account_only() -> None:
    mallory = Client()
    assert sign_in(mallory, HOME, "bob").status_code == 302
    (cookie,) = [one for name, one in mallory.cookies.items() if name.startswith("taskq_device")]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    of_alice = Client()
    sign_in(of_alice, "192.0.2.3")
    (name_of_alices,) = [one for one in of_alice.cookies if one.startswith("taskq_device")]
    mallory.cookies[name_of_alices] = cookie.value
    del mallory.cookies["taskq_session"]
    lock_account("alice")

    assert sign_in(mallory, "203.0.113.5", "alice").status_code == 429


def test_a_known_browser_has_a_limit_of_its_own() -> None:
    stolen, other = Client(), Client()
    for browser in (stolen, other):
        sign_in(browser, HOME)
        del browser.cookies["taskq_session"]

    answers = [sign_in(stolen, HOME, password=f"guess {number}").status_code for number in range(LIMIT + 1)]

    assert answers == [200] * LIMIT + [429]
    assert sign_in(other, HOME).status_code == 302


@pytest.mark.parametrize("at", ["/login/", "/admin/login/"])
def test_the_form_says_what_to_do(at: str) -> None:
    guess(HOME, times=LIMIT)

    page = Client().post(
        at, {"username": "alice", "password": RIGHT}, REMOTE_ADDR=HOME, headers={"Accept": "text/html"}
    )

    assert (page.status_code, page["Retry-After"]) == (429, str(LOCK_S - 100))
    assert "Try again in 14 minutes" in page.text


def test_a_name_is_not_taken_for_an_address() -> None:
    guess("198.51.100.1", HOME, times=LIMIT)

    assert basic(HOME).status_code == 200


def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    answers = [guess(f"2001:db8:1:2::{number}", f"nobody{number}")[0] for number in range(LIMIT + 1)]

    assert answers == [401] * LIMIT + [429]
    assert basic("2001:db8:1:3::1").status_code == 200
    assert guess("::ffff:192.0.2.9", times=LIMIT) == [401] * LIMIT
    assert guess("192.0.2.9", "nobody") == [429]


def test_a_refused_password_is_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    original = ModelBackend.authenticate

    def note(self: ModelBackend, request: Any, username: str | None = None, *rest: Any, **more: Any) -> Any:
        hashed.append(str(username))
        return original(self, request, username, *rest, **more)

    monkeypatch.setattr(ModelBackend, "authenticate", note)
    guess(HOME, times=10)
    assert hashed == ["alice"] * LIMIT

    hashed.clear()
    for _ in range(10):
        assert basic("192.0.2.2", "bob").status_code == 200
    assert hashed == ["bob"], "one hash, however often it is sent"


def test_strangers_who_wait_for_a_hash_keep_no_known_client_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert basic(HOME).status_code == 200
    start_anew(monkeypatch)
    may_end = threading.Event()
    original = ModelBackend.authenticate

    def hash_slowly(self: ModelBackend, request: Any, username: str | None = None, *rest: Any, **more: Any) -> Any:
        assert username != "nobody" or may_end.wait(20)
        return original(self, request, username, *rest, **more)

    monkeypatch.setattr(ModelBackend, "authenticate", hash_slowly)
    with ThreadPoolExecutor(LINE_MAX) as threads:
        waiting: list[Future[list[int]]] = []
        for number in range(LINE_MAX):
            waiting.append(threads.submit(guess, f"203.0.113.{number}", "nobody"))
        wait_until(lambda: STRANGERS.length == LINE_MAX, or_fail="they do not wait")

        refused = basic("203.0.113.99", "bob")
        assert (refused.status_code, refused.json(), refused["Retry-After"]) == (
            503,
            {"error": "too many sign-ins"},
            "1",
        )
        assert sign_in(Client(), "203.0.113.99", "bob").status_code == 503
        assert basic(HOME).status_code == 200, "a known address"
        assert basic(HOME).status_code == 200, "a password that was right lately"

        may_end.set()
        assert [one.result() for one in waiting] == [[401]] * LINE_MAX
    assert basic("203.0.113.99", "bob").status_code == 200, "being refused a place is no failure"


def test_a_changed_password_and_a_closed_account_are_noticed_at_once() -> None:
    assert basic(HOME).status_code == 200
    alice = User.objects.get(username="alice")
    alice.set_password("another one")
    alice.save()
    assert basic(HOME).status_code == 401

    assert basic(HOME, "bob").status_code == 200
    User.objects.filter(username="bob").update(is_active=False)
    assert basic(HOME, "bob").status_code == 401


def test_failures_are_logged_with_address_and_name_and_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    username = 'eve" action=x\n\u202e\x00' + "x" * 500
    for _ in range(LIMIT + 3):
        basic(HOME, username, "hunter2")
    sign_in(Client(), "192.0.2.2", "alice", "hunter2")

    records = [one for one in caplog.records if str(getattr(one, "action", "")).startswith("signin.")]
    lines = [LogfmtFormatter().format(one) for one in records]

    seen = [(one.action, one.address, one.known) for one in records]  # type: ignore[attr-defined]
    failed = ("signin.fail", HOME, False)
    locks = [("signin.lock", HOME, False)] * 2  # the address, and the account
    assert seen == [failed] * LIMIT + locks + [("signin.fail", "192.0.2.2", False)]
    assert {one.levelno for one in records} == {logging.WARNING}
    assert json.dumps('eve" action=x???' + "x" * 134) in lines[0]
    assert not any("hunter2" in line or "\n" in line for line in lines)


def test_an_operator_opens_what_is_locked() -> None:
    lock_account("alice")
    guess(HOME, "nobody", times=LIMIT)

    call_command("axes_reset_username", "alice")
    call_command("axes_reset_ip", HOME)

    assert basic(HOME).status_code == 200
