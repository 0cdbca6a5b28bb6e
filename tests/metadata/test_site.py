"""What the site answers when no view does, and its static files."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, NoReturn

import pytest
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.urls import path

import dashboard.urls
from queues.api.routes import ROUTES
from taskq_site import errors
from taskq_site.asgi import application

PAGE = {"Accept": "text/html,application/xhtml+xml"}


def outage(_request: Any) -> NoReturn:
    raise OperationalError("connection to server failed: password=hunter2")


def defect(_request: Any) -> NoReturn:
    raise ZeroDivisionError("hunter2")


urlpatterns = [path("outage", outage), path("defect", defect)]
handler400 = "taskq_site.errors.bad_request"
handler404 = "taskq_site.errors.not_found"
handler500 = "taskq_site.errors.server_error"


@pytest.fixture
def visitor() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.urls(__name__)
@pytest.mark.parametrize(
    ("url", "status", "error"),
    [("/outage", 503, "metadata unavailable"), ("/defect", 500, "internal error"), ("/nowhere", 404, "api not found")],
)
def test_programs_get_json_and_browsers_a_page(visitor: Client, url: str, status: int, error: str) -> None:
    answer = visitor.get(url)
    assert (answer.status_code, answer.json()) == (status, {"error": error})
    assert ("Retry-After" in answer) == (status == 503)
    page = visitor.get(url, headers=PAGE)
    assert (page.status_code, page["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert "hunter2" not in page.text + answer.text


def test_a_host_that_is_not_listed_is_refused(visitor: Client) -> None:
    answer = visitor.get("/nowhere", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()) == (400, {"error": "bad request"})


def test_an_unknown_page_does_not_repeat_what_was_asked_for() -> None:
    request = RequestFactory().get("/<script>", headers=PAGE)
    assert "<script>" not in errors.not_found(request, Exception()).content.decode()


def ask(scope: dict[str, Any], *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What the ASGI application sends for a scope."""
    sent: list[dict[str, Any]] = []
    incoming = list(messages)

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    returned: object = asyncio.run(application(scope, receive, send))
    assert returned is None, "to uvicorn's own protocols anything else is a fault"
    return sent


def get(url: str) -> tuple[int, bytes]:
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": url,
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
    }
    start, *body = ask(scope, {"type": "http.request", "body": b"", "more_body": False})
    return start["status"], b"".join(message.get("body", b"") for message in body)


@pytest.mark.parametrize("url", ["/static/taskq/base.css", "/static/admin/css/base.css"])
def test_static_files_are_served_with_debug_off(settings: Any, url: str) -> None:
    assert not settings.DEBUG
    status, body = get(url)
    assert status == 200
    assert b"{" in body


def test_a_static_file_that_did_not_change_is_not_sent_again(visitor: Client) -> None:
    first = visitor.get("/static/taskq/base.css")
    assert (first["Content-Type"], first["X-Content-Type-Options"]) == ("text/css", "nosniff")
    again = visitor.get("/static/taskq/base.css", headers={"If-Modified-Since": first["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("url", ["/static/taskq/nothing.css", "/static/../manage.py", "/static/%2e%2e/manage.py"])
def test_nothing_else_is_served_as_a_static_file(url: str) -> None:
    status, body = get(url)
    assert status in (400, 404)
    assert b"def main" not in body


def test_the_server_may_start_and_stop_the_application() -> None:
    sent = ask({"type": "lifespan"}, {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_whoever_serves_it_sees_that_it_is_an_asgi_application_of_today() -> None:
    """They look whether it is a coroutine function."""
    assert inspect.iscoroutinefunction(application.__call__)


def test_pages_and_api_share_no_first_segment() -> None:
    """What begins as a path of the API has its body read by the API: a form below it would come without its fields."""
    of_api = {route.path.split("/")[1] for route in ROUTES}
    of_pages = {str(pattern.pattern).partition("/")[0] for pattern in dashboard.urls.urlpatterns}

    assert of_api & of_pages == set()
