"""A publish that waits for its job's result."""

from __future__ import annotations

import re
import socket
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.http.client import Client, Reply
from tests.http.service import Server, open_site
from tests.support.waiting import wait_until


def publish_and_work(client: Client, queue: str, end: Any) -> tuple[Reply, dict[str, Any]]:
    """The reply to a publish with `wait`, whose job a consumer takes, and ends with `end(job)`; and the job."""
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.call, "PUT", f"/api/{{ns}}/{queue}?wait=20", b"6*7")
        job = client.take(queue, timeout=20)
        end(f"/api/{{ns}}/{queue}/job/{job['job_id']}")
        return waiting.result(), job


def test_the_answer_is_what_the_consumer_acks_with(client: Client, queue: str) -> None:
    reply, job = publish_and_work(client, queue, lambda path: client.call("DELETE", f"{path}?attempt=1", b"42"))

    assert (reply.status, b64decode(job["data"])) == (200, b"6*7")
    assert reply.json == {"msg": "done", "job_id": job["job_id"], "duplicate": False, "result": "NDI="}


def test_the_answer_to_a_job_that_dies_is_its_error(client: Client, queue: str) -> None:
    reply, job = publish_and_work(client, queue, lambda path: client.call("POST", f"{path}/fail", '{"error": "no"}'))

    assert reply.status == 200
    assert reply.json == {"msg": "dead", "job_id": job["job_id"], "duplicate": False, "error": "no"}


def test_a_job_that_is_deleted_meanwhile_is_gone(client: Client, queue: str) -> None:
    def delete(path: str) -> None:
        ids = f'{{"ids": ["{path.rpartition("/")[2]}"]}}'
        assert client.call("DELETE", f"/api/{{ns}}/{queue}/jobs", ids).json["count"] == 1

    reply, job = publish_and_work(client, queue, delete)

    assert (reply.status, reply.json) == (200, {"msg": "gone", "job_id": job["job_id"], "duplicate": False})


def test_a_job_that_was_waited_for_in_vain_keeps_its_result(client: Client, queue: str) -> None:
    reply = client.call("PUT", f"/api/{{ns}}/{queue}?wait=1&retention=1", b"6*7")
    assert reply.status == 202
    client.take(queue)
    path = f"/api/{{ns}}/{queue}/job/{reply.json['job_id']}"
    client.call("DELETE", path, b"42")

    assert client.call("GET", f"{path}/result").body == b"42"
    job = client.call("GET", f"{path}/detail").json
    assert job["retention_s"] == 60


def test_a_longer_retention_is_kept(client: Client, queue: str) -> None:
    reply = client.call("PUT", f"/api/{{ns}}/{queue}?wait=1&retention=600", b"job")

    path = f"/api/{{ns}}/{queue}/job/{reply.json['job_id']}/detail"
    assert client.call("GET", path).json["retention_s"] == 600


def test_a_client_that_hangs_up_leaves_the_job_as_it_is(server: Server, client: Client, queue: str) -> None:
    def gone() -> int:
        page = server.staff.call("GET", "/metrics").body.decode()
        found = re.findall(r'^taskq_http_requests_total\{.*code="499"\} (\d+)', page, re.MULTILINE)
        return sum(map(int, found))

    before = gone()
    parts = urlsplit(client.url)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        head = f"PUT /api/{client.namespace}/{queue}?wait=60 HTTP/1.1\r\nHost: x\r\nX-Token: {client.token}\r\n"
        connection.sendall(f"{head}Content-Length: 3\r\n\r\njob".encode())
        job = client.take(queue, timeout=20)
    wait_until(lambda: gone() == before + 1, or_fail="the server goes on waiting")

    path = f"/api/{{ns}}/{queue}/job/{job['job_id']}"
    assert client.call("DELETE", f"{path}?attempt=1", b"42").status == 204
    assert client.call("GET", f"{path}/result").body == b"42"


def test_a_call_whose_token_is_revoked_is_refused(server: Server, queue: str) -> None:
    namespace = f"calls-{queue}"
    kept = Client(url=server.url, namespace=namespace, token=server.new_token(namespace))
    revoked = Client(url=server.url, namespace=namespace, token=server.new_token(namespace))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(revoked.call, "PUT", f"/api/{{ns}}/{queue}?wait=60", b"job")
        kept.take(queue, timeout=20)
        assert server.staff.call("DELETE", f"/token/{namespace}/{revoked.token}").status == 204

        reply = waiting.result(20)

    assert (reply.status, reply.json) == (401, {"error": "invalid token"})


def test_a_server_that_stops_answers_that_the_job_goes_on(tmp_path: Path) -> None:
    with open_site(tmp_path) as site, site.serve() as server, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(server.client.call, "PUT", "/api/{ns}/calls?wait=60", b"job")
        job = server.client.take("calls", timeout=20)
        assert server.stop() == 0
        reply = waiting.result(20)

    assert reply.status == 202
    assert reply.json == {"msg": "published", "job_id": job["job_id"], "duplicate": False, "state": "working"}


def test_a_key_makes_a_repeated_call_wait_for_the_first_job(client: Client, queue: str) -> None:
    first = client.publish(queue, key="k", retention=60)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(client.call, "PUT", f"/api/{{ns}}/{queue}?wait=20&key=k", b"job") for _ in range(2)]
        assert client.take(queue, timeout=20)["job_id"] == first
        client.call("DELETE", f"/api/{{ns}}/{queue}/job/{first}", b"42")

        replies = [one.result().json for one in waiting]

    assert replies == [{"msg": "done", "job_id": first, "duplicate": True, "result": "NDI="}] * 2
    assert client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 0
