"""What browsers are told to refuse, and that no page needs what they refuse."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from taskq_site.middleware import CONTENT_SECURITY_POLICY, HEADERS
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = (
    "/",
    "/queues/",
    "/dead/",
    "/consumers/",
    "/workers/",
    "/schedules/",
    "/workflows/",
    "/reports/",
    "/activity/",
    "/find?q=01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "/admin/",
    "/admin/queues/token/",
    "/admin/queues/token/add/",
    "/admin/auth/user/add/",
    "/admin/password_change/",
    "/api/docs",
    "/nowhere",
)
SIGNED_OUT = ("/login/", "/admin/login/", "/api/docs", "/nowhere")
HTML = {"Accept": "text/html"}

INLINE = re.compile(
    r"""<style|<script(?![^>]*\ssrc=)(?![^>]*type="application/json")|\sstyle=["']|\son[a-z]+=["']|javascript:""", re.I
)


@pytest.fixture
def root() -> Client:
    browser = Client()
    browser.force_login(User.objects.create_superuser("root", password="pw"))
    return browser


def test_the_policy_runs_nothing_that_stands_in_a_page_itself() -> None:
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'")
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "frame-ancestors 'none'" in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY


@in_one_test("path", [*SIGNED_OUT, "/static/taskq/base.css"])
def test_every_answer_has_the_headers(path: str) -> None:
    response = Client().get(path, headers=HTML)

    assert {name: response.get(name) for name in HEADERS} == HEADERS
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"


@in_one_test("path", PAGES)
def test_no_page_has_anything_inline(root: Client, path: str) -> None:
    response: Any = root.get(path, headers=HTML)

    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert response.status_code in (200, 404)
    assert INLINE.findall(response.text) == []


@pytest.mark.parametrize("path", SIGNED_OUT)
def test_no_page_for_strangers_has_anything_inline(path: str) -> None:
    assert INLINE.findall(Client().get(path, headers=HTML).text) == []


@in_one_test(
    "text",
    [
        "<script>x</script>",
        "<style>a",
        '<p style="x">',
        "<a onclick='x'>",
        '<script type="module">',
        "href=javascript:x",
    ],
)
def test_what_is_inline_is_told(text: str) -> None:
    assert INLINE.search(text)
