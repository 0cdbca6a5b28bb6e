"""The same requests through both servers get the same answers."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from queues.api.asgi import is_own
from queues.api.context import CONTEXT
from queues.api.fast_path import FastPath
from queues.api.router import AuthKind
from queues.api.routes import ROUTER, ROUTES
from queues.server.request_head import decode_path, split_target
from tests.http.case import Case
from tests.http.cases import CASES_OF_ROUTES
from tests.http.test_routes import fill
from tests.http.two_servers import NAMESPACE, TOKEN, ApiServer, TwoServers, start_two_servers
from tests.http.two_servers_compare import JOB_ID, difference, flaw
from tests.http.two_servers_connection import Answer, Wire
from tests.http.two_servers_requests import JOBS_MAX, UNKNOWN, Sent, fast_path_requests, steps, wild_requests
from tests.support.rows import check_each, in_one_test
from tests.support.waiting import wait_until

LIMITED = "a-token-that-gets-a-limit"
REVOKED = "a-token-that-gets-revoked"
OTHERS = "a-token-of-another-namespace"
HOST = ("Host", "localhost")
FAST_PATH_NAMES = {route.name for route in ROUTES if route.auth is not AuthKind.STAFF}
FAST_PATH_REQUESTS = (
    ("PUT /api/demo/{queue}", b"job"),
    ("PUT /api/demo/{queue}/bulk", b"[1]"),
    ("GET /api/demo/{queue}", None),
    ("DELETE /api/demo/{queue}/job/{job}", None),
    ("POST /api/demo/{queue}/job/{job}/fail", None),
    ("POST /api/demo/{queue}/job/{job}/extend", None),
)
_queues = itertools.count(1)

# Without shrinking: it would take the servers as they were for as they are, and minutes.
generated = settings(
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoServers]:
    secrets = [(NAMESPACE, LIMITED), (NAMESPACE, REVOKED), ("other", OTHERS)]
    with start_two_servers(tmp_path_factory.mktemp("servers"), secrets=secrets) as servers:
        yield servers


class Play:
    """Requests about a queue of their own, through both servers in turn."""

    def __init__(self, servers: TwoServers) -> None:
        self._servers = servers
        self._begun = time.monotonic()
        self.queue = f"d{next(_queues)}"
        self._ids: dict[str, list[str]] = {api.name: [] for api in servers.both}
        """Jobs that each server has published to it."""

    def send(self, sent: Sent) -> tuple[Answer, Answer]:
        """Send it through both, and require equal answers."""
        servers = self._servers
        one, other = servers.send(*(sent.to_bytes(self._names(api)) for api in servers.both))
        took_ms = (time.monotonic() - self._begun) * 1_000
        found = difference(
            (servers.fast, one),
            (servers.django, other),
            expects=sent.expects_continue,
            ends=_is_handed_over(sent),
            took_ms=took_ms,
        )
        assert found == "", f"{sent}: {found}"
        for answer in (one, other):
            assert flaw(answer, sent_id=sent.request_id, to_head=sent.to_head) == "", f"{sent}: {answer}"
        for api, answer in zip(servers.both, (one, other), strict=True):
            if sent.method == "PUT" and answer.status == 201:
                self._ids[api.name].extend(job_id.decode() for job_id in JOB_ID.findall(answer.body))
        return one, other

    def call(self, line: str, body: bytes | None = None, token: str = TOKEN) -> Answer:
        """The fast path's answer, which is the other's too."""
        method, target = line.split(" ")
        return self.send(Sent(method=method, target=target, headers=(HOST, ("X-Token", token)), body=body))[0]

    def look(self) -> None:
        """Require that both hold the same."""
        for queue in ("{queue}", "{queue}b"):
            assert self.call(f"GET /api/demo/{queue}/stats").status == 200
            for state in ("ready", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped"):
                assert self.call(f"GET /api/demo/{queue}/jobs?state={state}").status == 200

    def _names(self, api: ApiServer) -> dict[str, str]:
        ids = self._ids[api.name]
        numbered = {f"job{n}": ids[n] if n < len(ids) else UNKNOWN for n in range(JOBS_MAX)}
        return {"queue": self.queue, "job": ids[-1] if ids else UNKNOWN, **numbered}


def _is_handed_over(sent: Sent) -> bool:
    """Whether the server with the fast path passes it to its pages process, and the API answers it there.

    That is the end of the connection, so that requests after it get a worker again.
    """
    path, _ = split_target(sent.target.encode("latin-1"))
    scope = {"method": sent.method, "raw_path": path, "path": decode_path(path)}
    return is_own(scope) and FastPath(ROUTER, CONTEXT).find(scope) is None


@pytest.fixture
def play(servers: TwoServers) -> Play:
    return Play(servers)


def test_only_one_of_the_two_servers_has_a_fast_path(servers: TwoServers) -> None:
    """It leaves the rest to a pages process; the other one serves everything itself."""
    lines = {api.name: b" ".join(api.server.children().values()) for api in servers.both}

    assert {name: b"servepages" in line for name, line in lines.items()} == {"fast": True, "django": False}


@settings(generated, max_examples=500)
@given(sent=wild_requests())
def test_wild_requests(servers: TwoServers, sent: Sent) -> None:
    Play(servers).send(sent)


@settings(generated, max_examples=500)
@given(sent=fast_path_requests())
def test_requests_of_the_fast_path_with_something_odd(servers: TwoServers, sent: Sent) -> None:
    play = Play(servers)
    if sent.method == "GET" or "{job" in sent.target:
        play.call("PUT /api/demo/{queue}", b"job")

    play.send(sent)


@settings(generated, max_examples=60)
@given(story=st.lists(steps(), min_size=4, max_size=14))
def test_stories_of_jobs(servers: TwoServers, story: list[Sent]) -> None:
    play = Play(servers)
    for sent in story:
        play.send(sent)

    play.look()


@pytest.mark.parametrize("route", [name for name in CASES_OF_ROUTES if name in FAST_PATH_NAMES])
def test_the_contract(servers: TwoServers, route: str) -> None:
    check_each(CASES_OF_ROUTES[route], lambda case: _check_replies(servers, case), title=lambda case: case.name)


def _check_replies(servers: TwoServers, case: Case) -> None:
    queue = f"d{next(_queues)}"
    made = [{"ns": NAMESPACE, "queue": queue, **case.prepare(api.client, queue)} for api in servers.both]
    requests = []
    for names in made:
        method, target = fill(case.request, names).split(" ", 1)
        body = fill(case.body, names).encode() if isinstance(case.body, str) else case.body
        headers = (HOST, ("X-Token", TOKEN), *case.headers.items())
        requests.append(Sent(method=method, target=target, headers=headers, body=body).to_bytes({}))

    answers = servers.send(*requests)

    assert difference((servers.fast, answers[0]), (servers.django, answers[1])) == ""
    for answer in answers:
        assert answer.status == case.status
        assert flaw(answer, sent_id=None, to_head=False) == ""


@in_one_test("target", ["/api/demo/\xff", "/api/demo/q?key=é", "api/demo/q", "/api/d\x7f/q", "/api/demo/q x"])
def test_what_is_no_request_is_refused_before_either_server(servers: TwoServers, target: str) -> None:
    raw = Sent(method="PUT", target=target).to_bytes({})

    for answer in servers.send(raw, raw):
        assert (answer.status, list(answer.json), answer.header("connection")) == (400, ["error"], "close")


@in_one_test("path", ["/%61pi/demo/{queue}", "/api/%64emo/{queue}/job/x", "/%61pi/demo/{queue}/%6aob/x"])
@in_one_test("body", [None, b"job", b"x" * 1_048_576])
def test_a_body_is_read_however_the_path_is_spelled(play: Play, path: str, body: bytes | None) -> None:
    assert play.call(f"PUT {path}", body).status == 201
    assert play.call("GET /api/demo/{queue}").status == 200


@pytest.mark.parametrize("host", ["localhost", "taskq.internal:7777"])
def test_cookies_mean_nothing_to_a_token(play: Play, host: str) -> None:
    headers = (("Host", host), ("X-Token", TOKEN), ("Cookie", "taskq_session=x; taskq_csrf=y"))
    for line, body in FAST_PATH_REQUESTS:
        method, target = line.split(" ")

        answer, _ = play.send(Sent(method=method, target=target, headers=headers, body=body))

        assert (answer.status < 410, answer.header("set-cookie"), answer.header("vary")) == (True, "", "")


def test_attempts_fence_off_late_consumers(play: Play) -> None:
    play.call("PUT /api/demo/{queue}?tries=3&retention=60", b"job")
    assert play.call("GET /api/demo/{queue}?ttr=60").json["attempt"] == 1
    assert play.call("POST /api/demo/{queue}/job/{job}/fail?attempt=1", b'{"error": "boom"}').json["state"] == "ready"
    assert play.call("GET /api/demo/{queue}?ttr=60").json["attempt"] == 2
    for line in (
        "DELETE /api/demo/{queue}/job/{job}?attempt=1",
        "POST /api/demo/{queue}/job/{job}/fail?attempt=1",
        "POST /api/demo/{queue}/job/{job}/extend?attempt=1",
    ):
        assert play.call(line).status == 409
    assert play.call("POST /api/demo/{queue}/job/{job}/extend?attempt=2&ttr=90").status == 200
    assert play.call("DELETE /api/demo/{queue}/job/{job}?attempt=2", b"\x00\xffdone").status == 204
    assert play.call("GET /api/demo/{queue}/job/{job}/result").body == b"\x00\xffdone"
    play.look()


def test_a_paused_queue_hands_nothing_out(play: Play) -> None:
    assert play.call("POST /api/demo/{queue}/pause").status == 404
    assert play.call("PUT /api/demo/{queue}", b"job").status == 201
    assert play.call("POST /api/demo/{queue}/pause").status == 200
    assert play.call("GET /api/demo/{queue}").status == 404
    assert play.call("GET /api/demo/{queue}?timeout=1").status == 404
    assert play.call("POST /api/demo/{queue}/resume").status == 200
    assert play.call("GET /api/demo/{queue}?timeout=1").status == 200


@pytest.mark.parametrize("count", [1, 3])
def test_a_job_that_comes_while_a_consumer_waits(servers: TwoServers, play: Play, count: int) -> None:
    waiting = Sent(method="GET", target=f"/api/demo/{play.queue}b,{play.queue}?timeout=20&count={count}").to_bytes({})
    with Wire(servers.fast.server.url) as one, Wire(servers.django.server.url) as other:
        one.send(waiting)
        other.send(waiting)
        play.call("PUT /api/demo/{queue}", b"job")

        answers = one.receive(), other.receive()

    assert answers[0].status == 200
    assert difference((servers.fast, answers[0]), (servers.django, answers[1])) == ""


def test_a_limit_that_is_used_up(servers: TwoServers, play: Play) -> None:
    for api in servers.both:
        limit = '{"read": 1, "write": 2, "interval": 3600}'
        assert api.staff.call("POST", f"/token/{NAMESPACE}/{LIMITED}/limit", limit).status == 201

    publishes = [play.call("PUT /api/demo/{queue}", b"x", LIMITED) for _ in range(3)]
    bulk = play.call("PUT /api/demo/{queue}/bulk", b"[1]", LIMITED)
    consumes = [play.call("GET /api/demo/{queue}", None, LIMITED) for _ in range(2)]
    ack = play.call("DELETE /api/demo/{queue}/job/{job}", None, LIMITED)

    assert [answer.status for answer in publishes] == [201, 201, 429]
    assert (bulk.status, ack.status) == (429, 204)
    assert [answer.status for answer in consumes] == [200, 429]
    for refused in (publishes[2], bulk, consumes[1]):
        assert 0 < int(refused.header("retry-after")) <= 3600


def test_a_revoked_token(servers: TwoServers, play: Play) -> None:
    assert play.call("PUT /api/demo/{queue}", b"x", REVOKED).status == 201
    for api in servers.both:
        assert api.staff.call("DELETE", f"/token/{NAMESPACE}/{REVOKED}").status == 204
    for api in servers.both:
        client, headers = api.client, {"X-Token": REVOKED}
        wait_until(
            lambda client=client, headers=headers: client.call("GET", "/api/demo/x", headers=headers).status == 401,  # type: ignore[misc]
            or_fail="the token goes on working",
        )

    for line, body in FAST_PATH_REQUESTS:
        assert play.call(line, body, REVOKED).json == {"error": "invalid token"}


def test_the_token_of_another_namespace(play: Play) -> None:
    for line, body in FAST_PATH_REQUESTS:
        assert play.call(line, body, OTHERS).status == 401
        assert play.call(line.replace("/demo/", "/other/"), body, OTHERS).status in (200, 201, 204, 404, 409)


def test_a_redis_that_is_away(servers: TwoServers, play: Play) -> None:
    play.call("PUT /api/demo/{queue}", b"job")
    for api in servers.both:
        api.redis.stop()
    try:
        answers = [play.call(line, body) for line, body in FAST_PATH_REQUESTS]
        answers.append(play.call("GET /api/demo/{queue}?timeout=1"))
    finally:
        for api in servers.both:
            api.redis.start()

    for answer in answers:
        assert (answer.status, answer.json) == (503, {"error": "store unavailable"})
        assert answer.header("retry-after") == "1"
    for api in servers.both:
        _wait_until_ready(api)
    assert play.call("GET /api/demo/{queue}").status == 200


def test_a_redis_that_is_full(servers: TwoServers, play: Play) -> None:
    for _ in range(4):
        play.call("PUT /api/demo/{queue}", b"x" * 1000)
    for api in servers.both:
        _set_memory(api, "1")
    try:
        answers = [play.call(line, body) for line, body in FAST_PATH_REQUESTS]
    finally:
        for api in servers.both:
            _set_memory(api, "0")

    assert [answer.status for answer in answers[:2]] == [507, 507]
    assert [answer.json for answer in answers[:2]] == [{"error": "store full"}] * 2
    assert [answer.status for answer in answers[2:4]] == [200, 204]
    assert play.call("PUT /api/demo/{queue}", b"job").status == 201


def test_a_database_that_is_away(servers: TwoServers, play: Play) -> None:
    play.call("PUT /api/demo/{queue}", b"job")
    databases = [api.site.data_dir / "taskq.sqlite3" for api in servers.both]
    hidden = [database.rename(database.with_suffix(".hidden")) for database in databases]
    for database in databases:
        _put_directory_at(database)
    try:
        for api in servers.both:
            client = api.client
            wait_until(
                lambda client=client: client.call("GET", "/readyz").json == {"error": "not ready: database"},  # type: ignore[misc]
                or_fail="the outage goes unnoticed",
            )
        known = [play.call(line, body) for line, body in FAST_PATH_REQUESTS]
        unknown = [play.call(line, body, "never-seen-before") for line, body in FAST_PATH_REQUESTS]
    finally:
        for database, away in zip(databases, hidden, strict=True):
            database.rmdir()
            away.rename(database)

    assert [answer.status for answer in known] == [201, 201, 200, 204, 404, 409]
    assert {(answer.status, answer.header("retry-after")) for answer in unknown} == {(503, "1")}
    for api in servers.both:
        _wait_until_ready(api)


def _put_directory_at(database: Path) -> None:
    """A directory cannot be opened as a database, nor made into one; a server that looked just now made one."""
    while True:
        database.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            return database.mkdir()


def _wait_until_ready(api: ApiServer) -> None:
    wait_until(lambda: api.client.call("GET", "/readyz").status == 200, or_fail="not ready again")


def _set_memory(api: ApiServer, value: str) -> None:
    with redis.Redis.from_url(api.redis.url) as admin:
        admin.config_set("maxmemory", value)
