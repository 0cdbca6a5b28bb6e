"""Pages through `manage.py serve`, which has them made by a process of their own: nobody can tell by looking."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from queues.embedded import EmbeddedRedis
from queues.server.pages_process import PAGE_CONNECTIONS_PER_ADDRESS
from tests.http.service import Server, Site
from tests.http.two_servers_connection import Wire, request
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
        with site.serve(pages_on_demand=False) as server:
            server.wait_for_pages()
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


def test_a_form_of_more_than_64_kib_is_for_those_who_are_signed_in(server: Server, visitor: Visitor) -> None:
    kind = ("Content-Type", "application/x-www-form-urlencoded")
    host = ("Host", "localhost")
    looks_like_one = ("Cookie", f"taskq_session={'a' * 32}")
    for headers, limit in (
        ((host,), 64 * KIB),
        ((host, looks_like_one), 64 * KIB),
        ((host, visitor.cookie_header), 4096 * KIB),
    ):
        head = request("POST /login/", *headers, kind, ("Content-Length", "200000000"))
        with Wire(server.url) as wire:
            answer = wire.call(head)
            assert (answer.status, answer.header("connection")) == (413, "close"), "by what it says of itself"
        with Wire(server.url) as wire:
            wire.send(request("POST /login/", *headers, kind, ("Transfer-Encoding", "chunked")))
            wire.send(b"%x\r\n%b\r\n1\r\na\r\n" % (limit, b"a" * limit))
            assert wire.receive().status == 413, "by what comes"


def test_requests_of_both_kinds_on_one_connection_are_answered_in_their_order(server: Server, wire: Wire) -> None:
    token = ("X-Token", server.site.account["token"])
    publish = request("PUT /api/demo/both", ("Host", "localhost"), token, body=b"job" * 30_000)
    page = request("GET /login/", ("Host", "localhost"))

    wire.send(publish * 2 + page + publish + page + publish)
    answers = [wire.receive() for _ in range(6)]

    assert [answer.status for answer in answers] == [201, 201, 200, 201, 200, 201]
    assert [answer.header("connection") for answer in answers] == ["", "", "", "", "", "close"]
    assert wire.is_closed(), "the next one goes to a worker again"


def test_a_consumer_on_a_connection_of_a_page_waits_for_its_job(server: Server, wire: Wire) -> None:
    """As a proxy may have it, which sends requests of several clients on one connection."""
    token = ("X-Token", server.site.account["token"])
    wire.call(request("GET /login/", ("Host", "localhost")))

    wire.send(request("GET /api/demo/shared?timeout=20", ("Host", "localhost"), token))
    job_id = server.client.publish("shared")

    assert wire.receive().json["job_id"] == job_id


def test_one_address_does_not_take_the_places_of_others(server: Server) -> None:
    parts = urlsplit(server.url)
    slow = request("POST /login/", ("Host", "localhost"), ("Expect", "100-continue"), ("Content-Length", "10"))
    with ExitStack() as stack:
        taken = 0
        for _ in range(2 * PAGE_CONNECTIONS_PER_ADDRESS):
            wire = stack.enter_context(Wire(server.url))
            wire.send(slow)
            status = wire.receive_head()
            assert status in (100, 503)
            taken += status == 100
            if status == 503:
                break
        assert PAGE_CONNECTIONS_PER_ADDRESS - 8 <= taken <= PAGE_CONNECTIONS_PER_ADDRESS, "other tests may have some"

        assert server.staff.call("GET", "/metrics").status == 200
        assert server.client.publish("beside")
        with socket.create_connection((parts.hostname, parts.port), source_address=("127.0.0.3", 0)) as other:
            other.sendall(request("GET /login/", ("Host", "localhost"), ("Connection", "close")))
            assert other.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
    wait_until(lambda: gets_a_page(server), or_fail="the places are not free again")


def gets_a_page(server: Server) -> bool:
    with Wire(server.url) as wire:
        return wire.call(request("GET /login/", ("Host", "localhost"))).status == 200


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
    path = "/overview/charts?range=1h"

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
    def logged(request_id: str) -> list[object]:
        lines = [line for line in server.log_lines() if line.get("action") == "http.request"]
        return [line["status"] for line in lines if line["request_id"] == request_id]

    asked: list[str] = []

    def ask_a_worker() -> bool:
        asked.append(f"no-request-for-a-page-{len(asked)}")
        server.client.call("GET", "/healthz", headers={"X-Request-ID": asked[-1]})
        return any(map(logged, asked))

    server.staff.call("POST", "/accesslog?status=enable")
    try:
        wait_until(ask_a_worker, or_fail="the worker does not log")
        visitor.get("/", X_Request_ID="a-page")
        visitor.get("/nowhere", X_Request_ID="no-page")
    finally:
        server.staff.call("POST", "/accesslog?status=disable")

    assert [logged(name) for name in ("a-page", "no-page")] == [[200], [404]]
    assert all(logged(name) in ([], [200]) for name in asked), "those before the worker has heard of it are not logged"
