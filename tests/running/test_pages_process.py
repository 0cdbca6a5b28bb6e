"""Pages through `manage.py serve`, which has them made by a process of their own: nobody can tell by looking."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from queues.embedded import EmbeddedRedis
from tests.http.doors_wire import Wire, request
from tests.http.service import Server, Site
from tests.running.visitor import Visitor
from tests.support.waiting import wait_until

KIB = 1024
STATIC = "/static/dashboard/live.js"
FORGED = "203.0.113.7"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory: Path = tmp_path_factory.mktemp("pages")
    with EmbeddedRedis(directory / "redis", persistent=False) as redis:
        site = Site(data_dir=directory, redis_url=redis.url)
        site.prepare()
        with site.serve() as server:
            yield server


@pytest.fixture
def visitor(server: Server) -> Visitor:
    visitor = Visitor(server.url)
    visitor.sign_in(server.site.account)
    return visitor


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as wire:
        yield wire


def test_somebody_signs_in_and_gets_every_cookie(server: Server, wire: Wire) -> None:
    visitor = Visitor(server.url)
    account = server.site.account
    form = {
        "csrfmiddlewaretoken": visitor.secret_of("/login/"),
        "username": account["username"],
        "password": account["password"],
    }
    kind = ("Content-Type", "application/x-www-form-urlencoded")

    answer = wire.call(
        request(
            "POST /login/", ("Host", "localhost"), kind, visitor.cookie_header, body=urlencode(form).encode(), chunk=7
        )
    )

    assert (answer.status, answer.header("location")) == (302, "/")
    set_cookies = [value.partition("=")[0] for name, value in answer.headers if name == "set-cookie"]
    assert sorted(name.partition("_device")[0] for name in set_cookies) == ["taskq", "taskq_csrf", "taskq_session"]


def test_a_form_acts_with_its_secret_and_not_without(server: Server, visitor: Visitor) -> None:
    server.client.publish("acted-on")
    secret = visitor.secret_of("/queues/default/demo/acted-on/publish/")

    refused = visitor.post("/queues/default/demo/acted-on/pause", secret="x" * 32)
    paused = visitor.post("/queues/default/demo/acted-on/pause", secret=secret)

    assert (refused.status, paused.status) == (403, 200)
    assert server.client.call("GET", "/api/{ns}/acted-on").json == {"msg": "no job available"}


def test_a_long_form_arrives_whole(server: Server, visitor: Visitor) -> None:
    path = "/queues/default/demo/long/publish/"
    body = "".join(f"{number:07}\n" for number in range(100 * KIB))

    visitor.post(path, secret=visitor.secret_of(path), body=body, encoding="text")

    assert base64.b64decode(server.client.take("long")["data"]) == body.encode()


def test_a_file_comes_once_and_then_only_when_it_has_changed(server: Server) -> None:
    visitor = Visitor(server.url)

    first = visitor.get(STATIC)
    again = visitor.get(STATIC, If_Modified_Since=first.headers["last-modified"])

    assert first.status == 200
    assert first.body == (Path(__file__).parents[2] / STATIC[1:]).read_bytes()
    assert (again.status, again.body) == (304, b"")


def test_head_has_the_headers_of_get_and_no_body(server: Server, wire: Wire) -> None:
    for path in (STATIC, "/login/", "/nowhere"):
        got = wire.call(request(f"GET {path}", ("Host", "localhost")))
        head = wire.call(request(f"HEAD {path}", ("Host", "localhost")))
        after = wire.call(request(f"GET {path}", ("Host", "localhost")))  # on the same connection: nothing is left over

        assert (head.status, head.body) == (got.status, b"")
        assert head.header("content-type") == got.header("content-type")
        assert head.header("date")
        assert (after.status, len(after.body)) == (got.status, len(got.body))


def test_a_section_that_has_not_changed_is_not_sent_again(visitor: Visitor) -> None:
    path = "/overview/charts/backlog?minutes=60"

    def unchanged() -> bool:
        first = visitor.get(path, X_Live="1")
        return visitor.get(path, X_Live="1", If_None_Match=first.headers["etag"]).status == 304

    wait_until(unchanged, or_fail="it is sent each time")


def test_staff_routes_answer_and_errors_have_the_shape_of_the_api(server: Server) -> None:
    assert "version" in server.staff.call("GET", "/version").json
    assert server.staff.call("POST", "/token/made?description=x").status == 201
    assert server.client.call("POST", "/api/{ns}/q").status == 405
    assert server.client.call("GET", "/api/a/b/c/d/e/f/g").json == {"error": "api not found"}


def test_the_log_tells_from_where_a_request_came_and_nobody_can_forge_it(server: Server) -> None:
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), source_address=("127.0.0.2", 0)) as connection:
        connection.sendall(
            request(
                "GET /pools",
                ("Host", "localhost"),
                ("Connection", "close"),
                ("X-Request-ID", "from-afar"),
                ("X-Taskq-Origin", f"https {FORGED} 1 {FORGED} 2"),
                ("x-taskq-origin", f"https {FORGED} 3 {FORGED} 4"),
            )
        )
        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.lower().count(b"x-request-id: from-afar") == 1

    def told() -> list[object]:
        return [line["client"] for line in server.log_lines() if line.get("request_id") == "from-afar"]

    assert wait_until(told, or_fail="nothing is logged") == ["127.0.0.2"]
    assert FORGED not in server.log.read_text()


def test_the_access_log_has_each_request_once(server: Server, visitor: Visitor) -> None:
    server.staff.call("POST", "/accesslog?status=enable")
    try:
        visitor.get("/", X_Request_ID="a-page")
        visitor.get("/nowhere", X_Request_ID="no-page")
        server.client.call("GET", "/healthz", headers={"X-Request-ID": "no-request-for-a-page"})
    finally:
        server.staff.call("POST", "/accesslog?status=disable")

    logged = [
        (line["request_id"], line["status"]) for line in server.log_lines() if line.get("action") == "http.request"
    ]
    assert [one for one in logged if "page" in str(one[0])] == [
        ("a-page", 200),
        ("no-page", 404),
        ("no-request-for-a-page", 200),
    ]
