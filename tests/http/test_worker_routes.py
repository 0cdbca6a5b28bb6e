"""What workers do over HTTP beside consuming; one namespace neither sees nor disturbs the workers of another."""

from __future__ import annotations

import base64
import itertools
import json
import time
from typing import Any

import pytest

from tests.http.cases import RUNNING, beat, working
from tests.http.client import Client
from tests.http.service import Server

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def alice(server: Server) -> Client:
    return Client(url=server.url, namespace="alice", token=server.new_token("alice"))


@pytest.fixture(scope="module")
def bob(server: Server) -> Client:
    return Client(url=server.url, namespace="bob", token=server.new_token("bob"))


@pytest.fixture
def worker() -> str:
    return f"host:{next(_numbers)}"


def report(client: Client, worker: str, *, since_ms: int = 1, **changes: Any) -> list[tuple[str, str]]:
    """The commands that the reply to a report has."""
    reply = client.call("POST", "/api/{ns}/workers", beat(worker=worker, since_ms=since_ms, **changes))
    assert reply.status == 200, reply
    return [(one["kind"], one["target"]) for one in reply.json["commands"]]


def command(client: Client, kind: str, worker: str) -> int:
    body = json.dumps({"kind": kind, "target": worker})
    return client.call("POST", "/api/{ns}/workers/command", body).status


def workers(client: Client) -> dict[str, dict[str, Any]]:
    listed = client.call("GET", "/api/{ns}/workers").json["workers"]
    return {one["worker"]: one for one in listed}


def ack(client: Client, queue: str, *jobs: dict[str, Any]) -> list[str]:
    reply = client.call("POST", f"/api/{{ns}}/{queue}/ack", json.dumps({"jobs": jobs}))
    assert reply.status == 200, reply
    outcomes: list[str] = reply.json["outcomes"]
    return outcomes


def running(queue: str, job_id: str) -> dict[str, Any]:
    return {**RUNNING, "queue": queue, "job_id": job_id}


def test_a_bulk_ack_keeps_the_order_and_each_attempt(client: Client, queue: str) -> None:
    ids = [client.publish(queue, tries=2, retention=60) for _ in range(4)]
    client.call("GET", f"/api/{{ns}}/{queue}?count=4")
    client.call("POST", f"/api/{{ns}}/{queue}/job/{ids[1]}/fail")
    client.take(queue)
    result = base64.b64encode(b"\x00done").decode()

    outcomes = ack(
        client,
        queue,
        {"id": ids[0], "attempt": 2},
        {"id": ids[1], "attempt": 2},
        {"id": ids[2], "attempt": 1, "result": result},
        {"id": ids[3]},
        {"id": ids[0], "attempt": 1},
        {"id": "x"},
    )

    assert outcomes == ["lost", "acked", "acked", "acked", "acked", "missing"]
    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{ids[2]}/result").body == b"\x00done"
    assert client.call("GET", f"/api/{{ns}}/{queue}/stats").json["working"] == 0


def test_a_result_that_is_too_large_is_one_outcome(client: Client, queue: str) -> None:
    kept, dropped = client.publish(queue, retention=60), client.publish(queue)
    client.call("GET", f"/api/{{ns}}/{queue}?count=2")
    results = [base64.b64encode(b"x" * (1024 * 1024 + extra)).decode() for extra in (1, 100)]

    outcomes = [ack(client, queue, {"id": one, "result": r})[0] for one in (kept, dropped) for r in results]

    assert outcomes == ["too_large", "too_large", "acked", "missing"]


def test_a_thousand_jobs_are_acked_at_once(client: Client, queue: str) -> None:
    ids = client.call("PUT", f"/api/{{ns}}/{queue}/bulk", json.dumps([1] * 1000)).json["job_ids"]
    while client.call("GET", f"/api/{{ns}}/{queue}?count=1000").status == 200:
        pass

    assert ack(client, queue, *[{"id": one, "attempt": 1} for one in ids]) == ["acked"] * 1000


def test_many_results_are_acked_at_once(client: Client, queue: str) -> None:
    ids = client.call("PUT", f"/api/{{ns}}/{queue}/bulk?retention=60", json.dumps([1] * 1000)).json["job_ids"]
    while client.call("GET", f"/api/{{ns}}/{queue}?count=1000").status == 200:
        pass
    result = base64.b64encode(b"x" * 1_024).decode()

    assert ack(client, queue, *[{"id": one, "attempt": 1, "result": result} for one in ids]) == ["acked"] * 1000


def test_acks_are_in_the_metrics(server: Server, client: Client, queue: str) -> None:
    job_id = client.publish(queue)
    client.take(queue)
    ack(client, queue, {"id": job_id, "attempt": 1})

    reply = client.call("GET", f"/api/{{ns}}/{queue}/stats")
    assert reply.json["acked_per_s"] > 0


def test_a_worker_is_listed_until_it_ends(client: Client, worker: str) -> None:
    report(client, worker, namespace="other", running=[RUNNING], age_ms=77)

    (found,) = [one for name, one in workers(client).items() if name == worker]
    assert (found["namespace"], found["host"], found["queues"]) == ("demo", "h", {"q1": 1})
    assert found["running"][0]["task"] == "t"
    assert 0 <= found["age_ms"] < 20_000

    report(client, worker, ends=True)
    assert worker not in workers(client)


def test_a_running_job_that_is_cancelled_is_told_to_who_runs_it(client: Client, queue: str, worker: str) -> None:
    job_id = client.publish(queue)
    client.take(queue)
    other = client.publish(queue)
    client.take(queue)

    assert client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/cancel").json == {"state": "working"}

    cancelled = ("cancel", job_id)
    assert report(client, worker, running=[running(queue, job_id), running(queue, other)]) == [cancelled]
    assert report(client, worker, running=[running(queue, other)]) == []
    assert cancelled in report(client, worker, running=[], running_untold=1)
    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json["state"] == "working"


def test_commands_of_before_are_told_no_more(client: Client, worker: str) -> None:
    report(client, worker)
    assert command(client, "quiet", worker) == 200
    assert report(client, worker) == [("quiet", worker)]

    later = round(time.time() * 1000) + 60_000
    assert report(client, worker, since_ms=later) == []


def test_a_namespace_sees_its_own_workers_only(alice: Client, bob: Client, worker: str) -> None:
    report(alice, worker, host="of alice")
    report(bob, worker, host="of bob")

    assert workers(alice)[worker]["host"] == "of alice"
    assert workers(bob)[worker]["host"] == "of bob"
    report(bob, worker, ends=True)
    assert workers(alice)[worker]["host"] == "of alice"
    assert worker not in workers(bob)


def test_a_namespace_commands_its_own_workers_only(alice: Client, bob: Client, worker: str) -> None:
    report(alice, worker)

    assert command(bob, "stop", worker) == 404
    assert command(bob, "stop", f"alice/{worker}") == 404
    report(bob, worker)
    assert command(bob, "stop", worker) == 200

    assert report(alice, worker) == []
    assert report(bob, worker) == [("stop", worker)]


def test_a_worker_may_not_claim_the_jobs_of_another_namespace(
    alice: Client, bob: Client, queue: str, worker: str
) -> None:
    job_id = alice.publish(queue)
    alice.take(queue)
    alice.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/cancel")

    assert report(bob, worker, running=[running(queue, job_id)], running_untold=5) == []
    assert report(alice, worker, running=[running(queue, job_id)]) == [("cancel", job_id)]


@pytest.mark.parametrize("trick", ["alice/w", "../w", "w\u2028", "alice\\w", "é"])
def test_odd_ids_of_workers_stay_in_their_namespace(alice: Client, bob: Client, trick: str) -> None:
    report(alice, "w")
    report(bob, trick)

    assert trick in workers(bob)
    assert trick not in workers(alice)
    assert command(bob, "quiet", trick) == 200
    assert report(alice, "w") == []
    assert report(bob, trick)[-1] == ("quiet", trick)


def test_a_worker_is_named_exactly(client: Client, worker: str) -> None:
    report(client, f"{worker}-long")

    assert command(client, "quiet", worker) == 404


def test_notes_of_a_job_are_of_its_queue_and_namespace(alice: Client, bob: Client, queue: str) -> None:
    job_id = alice.publish(queue)
    path = f"/api/{{ns}}/{queue}/job/{job_id}/note"
    body = '{"fields": {"cursor": "{\\"page\\": 3}"}, "lines": ["a\\nb"], "keep_ms": 60000}'
    assert alice.call("POST", path, body).status == 200

    assert alice.call("GET", path).json == {"cursor": '{"page": 3}', "log": "a b\n"}
    assert bob.call("GET", path).json == {}
    assert alice.call("GET", path.replace(queue, f"{queue}b")).json == {}


def test_a_note_is_bounded(client: Client, queue: str) -> None:
    path = f"/api/{{ns}}/{queue}/job/{working(client, queue)['id']}/note"
    statuses = []
    for number in range(10):
        fields = {f"f{number}_{n}": "x" for n in range(8)}
        statuses.append(client.call("POST", path, json.dumps({"fields": fields, "keep_ms": 60_000})).status)
    log = json.dumps({"lines": ["y" * 999] * 100, "keep_ms": 60_000})
    assert client.call("POST", path, log).status == 200

    note = client.call("GET", path).json
    assert statuses == [200] * 4 + [400] * 6
    assert len(note) == 33
    assert 15_000 < len(note["log"]) <= 16_384


def test_a_note_is_forgotten(client: Client, queue: str) -> None:
    path = f"/api/{{ns}}/{queue}/job/x/note"
    client.call("POST", path, '{"fields": {"percent": "1"}, "keep_ms": 1}')
    time.sleep(0.1)

    assert client.call("GET", path).json == {}


def test_a_key_is_held_until_the_job_is_done(client: Client, queue: str) -> None:
    first = client.publish(queue, key="k", key_mode="until_done")
    client.take(queue)

    again = client.call("PUT", f"/api/{{ns}}/{queue}?key=k&key_mode=until_done")
    assert (again.status, again.json["job_id"]) == (200, first)
    client.call("DELETE", f"/api/{{ns}}/{queue}/job/{first}")
    assert client.publish(queue, key="k", key_mode="until_done") != first


def test_a_key_mode_fits_no_job_that_replaces_another_by_id(client: Client, queue: str) -> None:
    reply = client.call("PUT", f"/api/{{ns}}/{queue}/job/x?key=k&key_mode=until_done", "job")

    assert (reply.status, reply.json) == (400, {"error": "a job that is republished has no key_mode"})


def test_data_is_shown_where_it_is_asked_for(client: Client, queue: str) -> None:
    job_id = client.publish(queue, b"x" * 300)
    detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail?data=true").json
    page = client.call("GET", f"/api/{{ns}}/{queue}/jobs?data=1").json

    assert base64.b64decode(detail["data"]) == b"x" * 300
    assert base64.b64decode(page["jobs"][0]["data"]) == b"x" * 256
    assert "data" not in client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json


def test_queues_named_as_the_lists_are_still_queues(client: Client) -> None:
    job_id = client.publish("workers")

    assert client.call("GET", "/api/{ns}/workers,").json["job_id"] == job_id
    assert client.call("POST", "/api/{ns}/workers/ack", json.dumps({"jobs": [{"id": job_id}]})).json == {
        "outcomes": ["acked"]
    }
