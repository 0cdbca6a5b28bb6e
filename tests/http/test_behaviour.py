"""What the options of the contract do, seen through HTTP."""

from __future__ import annotations

import base64
import json

import pytest

from tests.http.client import Client
from tests.http.service import Site
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until


def body_of(job: dict[str, object]) -> bytes:
    return base64.b64decode(str(job["data"]))


@in_one_test("body", [b"", bytes(range(256)) * 8, b"\xff\xfe", "é".encode(), b"a=b&c=d", b'{"x": 1}'])
@in_one_test("content_type", ["", "application/json", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_bodies_are_bytes_whatever_they_are_called(client: Client, queue: str, body: bytes, content_type: str) -> None:
    client.call("PUT", f"/api/{{ns}}/{queue}", body, {"Content-Type": content_type})

    assert body_of(client.take(queue)) == body


def test_bulk_elements_are_kept_byte_for_byte(client: Client, queue: str) -> None:
    elements = [b'{"a":  [1, "],[" ]}', b'"\\u00e9 \xc3\xa9 \xf0\x9f\x98\x80"', b"1e999", b"null", b'"\xff"', b"[ ]"]
    client.call("PUT", f"/api/{{ns}}/{queue}/bulk", b" [ " + b" ,\n\t".join(elements) + b" ]\r\n")

    taken = client.call("GET", f"/api/{{ns}}/{queue}?count=10").json

    assert [body_of(job) for job in taken] == elements


def test_bulk_is_all_or_nothing(client: Client, queue: str) -> None:
    too_large = '"' + "x" * 1024 * 1024 + '"'

    assert client.call("PUT", f"/api/{{ns}}/{queue}/bulk", f"[1, 2, {too_large}]").status == 413

    assert client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 0


def test_a_bulk_of_many_large_jobs_comes_whole_and_in_order(client: Client, queue: str) -> None:
    """lmstfy takes 64 jobs of up to 1 MiB each."""
    elements = [b'"%02d%b"' % (number, b"x" * 300 * 1024) for number in range(64)]

    reply = client.call("PUT", f"/api/{{ns}}/{queue}/bulk", b"[" + b",".join(elements) + b"]")

    assert reply.status == 201
    assert [client.take(queue)["job_id"] for _ in elements] == reply.json["job_ids"]


@pytest.mark.parametrize("route", ["GET {q}", "GET {q}?timeout=1", "DELETE {q}", "GET {q}/job/{id}", "GET {q}/size"])
def test_a_body_that_a_route_has_no_use_for_is_dropped(client: Client, queue: str, route: str) -> None:
    """PHP's client of lmstfy sends its last publish's body again with each request."""
    job_id = client.publish(queue)
    method, path = route.replace("{q}", f"/api/{{ns}}/{queue}").replace("{id}", job_id).split()

    assert client.call(method, path, b"x" * 3 * 1024 * 1024).status in (200, 204)


def test_a_delayed_job_is_not_ready(client: Client, queue: str) -> None:
    client.publish(queue, delay="0.4")

    assert client.call("GET", f"/api/{{ns}}/{queue}").status == 404
    assert client.take(queue, timeout=5)["elapsed_ms"] >= 400


def test_higher_priorities_go_first(client: Client, queue: str) -> None:
    for priority in (0, -5, 7):
        client.publish(queue, str(priority).encode(), priority=priority)

    assert [body_of(client.take(queue)) for _ in range(3)] == [b"7", b"0", b"-5"]


def test_a_job_is_handed_out_as_often_as_it_has_tries(client: Client, queue: str) -> None:
    job_id = client.publish(queue, tries=2)

    assert client.take(queue)["remain_tries"] == 1
    first = client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail", '{"error": "one"}').json
    assert client.take(queue)["remain_tries"] == 0
    second = client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail?attempt=2", '{"error": "two"}').json

    assert [first["state"], second["state"]] == ["ready", "dead"]
    detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json
    assert [(one["attempt"], one["error"]) for one in detail["errors"]] == [(1, "one"), (2, "two")]


def test_of_a_long_traceback_the_line_of_the_exception_is_kept(client: Client, queue: str) -> None:
    job_id = client.publish(queue, tries=1)
    client.take(queue)
    calls = "".join(f'  File "/app/deep.py", line {number}, in call\n    call({number})\n' for number in range(110))
    error = f"Traceback (most recent call last):\n{calls}shop.CardDeclined: order 17\n"
    assert len(error) > 5_000

    client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail", json.dumps({"error": error}))

    (past,) = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json["errors"]
    assert past["error"].startswith("Traceback (most recent call last):\n")
    assert past["error"].endswith("\nshop.CardDeclined: order 17")


def test_a_frozen_try_is_not_burnt(client: Client, queue: str) -> None:
    job_id = client.publish(queue, tries=1)

    taken = client.take(queue, freeze_tries="true")

    assert taken["remain_tries"] == 1
    assert client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail").json["state"] == "ready"


def test_a_released_job_goes_to_the_head_with_its_try(client: Client, queue: str) -> None:
    job_id = client.publish(queue, b"first", tries=1)
    client.publish(queue, b"second")
    client.take(queue)

    assert client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/release?attempt=1").status == 200

    taken = client.take(queue)
    assert (taken["job_id"], taken["remain_tries"]) == (job_id, 0)


def test_a_backoff_delays_the_next_try(client: Client, queue: str) -> None:
    job_id = client.publish(queue, tries=2, backoff="fixed:100")
    client.take(queue)

    failed = client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail").json

    detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json
    assert failed == {"state": "retry", "due_ms": detail["due_ms"]}
    assert 99_000 < detail["due_ms"] - detail["now_ms"] <= 100_001  # a delay counts from the next ms


def test_a_fenced_ack_of_a_lost_lease_changes_nothing(client: Client, queue: str) -> None:
    job_id = client.publish(queue, tries=3)
    client.take(queue)
    client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/release")
    client.take(queue)
    client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail")
    client.take(queue)

    late = client.call("DELETE", f"/api/{{ns}}/{queue}/job/{job_id}?attempt=1")

    assert late.status == 409
    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json["state"] == "working"


def test_a_job_without_retention_has_no_result(client: Client, queue: str) -> None:
    job_id = client.publish(queue)
    client.take(queue)

    client.call("DELETE", f"/api/{{ns}}/{queue}/job/{job_id}", b"result")

    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/result").status == 404


def test_a_key_makes_a_second_publish_a_duplicate_until_it_ends(client: Client, queue: str) -> None:
    first = client.publish(queue, key="order-7", key_ttl=1)

    again = client.call("PUT", f"/api/{{ns}}/{queue}?key=order-7").json

    assert again == {"msg": "duplicate", "job_id": first}
    assert client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 1
    wait_until(
        lambda: client.call("PUT", f"/api/{{ns}}/{queue}?key=order-7").status == 201,
        or_fail="the key never ends",
        timeout_s=3,
    )


def test_a_paused_queue_takes_publishes_and_hands_nothing_out(client: Client, queue: str) -> None:
    job_id = client.publish(queue)
    client.call("POST", f"/api/{{ns}}/{queue}/pause")
    assert client.call("GET", f"/api/{{ns}}/{queue}").status == 404
    assert client.call("GET", f"/api/{{ns}}/{queue}/stats").json["paused"] is True

    client.call("POST", f"/api/{{ns}}/{queue}/resume")

    assert client.take(queue)["job_id"] == job_id


def test_emptying_a_queue_leaves_delayed_and_working_jobs(client: Client, queue: str) -> None:
    client.publish(queue)
    client.take(queue)
    client.publish(queue, delay=100)
    client.publish(queue)

    client.call("DELETE", f"/api/{{ns}}/{queue}")
    some = client.call("GET", f"/api/{{ns}}/{queue}/stats").json
    client.call("DELETE", f"/api/{{ns}}/{queue}?all=true")
    none = client.call("GET", f"/api/{{ns}}/{queue}/stats").json

    states = ("ready", "delayed", "working")
    assert [some[state] for state in states] == [0, 1, 1]
    assert [none[state] for state in states] == [0, 0, 0]


def test_respawned_jobs_get_one_more_try_and_a_new_ttl(client: Client, queue: str) -> None:
    job_id = client.publish(queue, ttl=50)
    client.take(queue)
    client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail")
    assert client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}").json["ttl"] == 0

    client.call("PUT", f"/api/{{ns}}/{queue}/deadletter?ttl=1000")

    taken = client.take(queue)
    assert (taken["job_id"], taken["ttl"], taken["remain_tries"]) == (job_id, 1000, 0)


def test_pages_of_jobs_cover_all_of_them_once(client: Client, queue: str) -> None:
    bulk = client.call("PUT", f"/api/{{ns}}/{queue}/bulk", "[1,2,3,4,5]").json["job_ids"]
    found, after = [], ""
    while True:
        page = client.call("GET", f"/api/{{ns}}/{queue}/jobs?limit=2&after={after}").json
        found += [job["job_id"] for job in page["jobs"]]
        if page["after"] is None:
            break
        after = page["after"]

    assert found == bulk


def test_the_policy_of_a_queue_decides_what_the_client_left_open(site: Site, client: Client, queue: str) -> None:
    script = (
        "from queues.models import Namespace, QueuePolicy;"
        "QueuePolicy.objects.create(namespace=Namespace.objects.get(name='demo'),"
        f" queue='{queue}', tries=4, ttl_s=500, ttr_s=300, backoff='fixed:9', max_in_flight=2)"
    )
    site.manage("shell", "-c", script)

    def policy_holds() -> bool:
        job_id = client.publish(queue)
        detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json
        return bool(detail["tries"] == 4)

    wait_until(policy_holds, or_fail="the policy is not read", timeout_s=3)
    client.call("DELETE", f"/api/{{ns}}/{queue}?all=1")
    job_id = client.publish(queue)
    taken = client.take(queue)
    detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json
    assert (taken["ttl"], detail["tries"], detail["backoff"]) == (500, 4, "fixed:9")
    assert detail["lease_end_ms"] - detail["taken_ms"] == 300_000
    assert client.call("PUT", f"/api/{{ns}}/{queue}?delay=501").json == {"error": "ttl is shorter than delay"}

    own = client.publish(queue, tries=1, ttl=0, backoff="none")
    assert client.take(queue, ttr=5)["job_id"] == own
    own_detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{own}/detail").json
    assert (own_detail["tries"], own_detail["expires_ms"], own_detail["backoff"]) == (1, None, "none")
    assert own_detail["lease_end_ms"] - own_detail["taken_ms"] == 5_000
    client.publish(queue)
    assert client.call("GET", f"/api/{{ns}}/{queue}").status == 404, "three jobs in flight, where two may be"


def test_limits_of_a_policy_hold_for_each_limit_key(site: Site, client: Client, queue: str) -> None:
    script = (
        "from queues.models import Namespace, QueuePolicy;"
        "QueuePolicy.objects.create(namespace=Namespace.objects.get(name='demo'),"
        f" queue='{queue}', tries=5, key_in_flight=1, key_weights='acme=3')"
    )
    site.manage("shell", "-c", script)

    def policy_holds() -> bool:
        detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{client.publish(queue, delay=600)}/detail").json
        return bool(detail["tries"] == 5)

    wait_until(policy_holds, or_fail="the policy is not read", timeout_s=3)
    jobs = [client.publish(queue, limit_key=key) for key in ("acme", "acme", "globex")]
    taken = [job["job_id"] for job in client.call("GET", f"/api/{{ns}}/{queue}?count=9").json]
    assert set(taken) == {jobs[0], jobs[2]}
    assert client.call("GET", f"/api/{{ns}}/{queue}").status == 404
    (key,) = client.call("GET", f"/api/{{ns}}/{queue}/limit-keys").json["limit_keys"]
    assert (key["limit_key"], key["waits_for"], key["working"], key["weight"]) == ("acme", "concurrency", 1, 3)

    client.call("DELETE", f"/api/{{ns}}/{queue}/job/{jobs[0]}")
    assert client.take(queue)["job_id"] == jobs[1]
    detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{jobs[1]}/detail").json
    assert detail["limit_key"] == "acme"


def test_an_error_that_was_cut_within_a_character_is_taken(client: Client, queue: str) -> None:
    client.call("PUT", f"/api/{{ns}}/{queue}?tries=2", b"x")
    job_id = client.take(queue)["job_id"]

    failed = client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail", rb'{"error": "cut \ud83d", "delay": 60}')

    assert (failed.status, failed.json["state"]) == (200, "retry")
    (attempt,) = client.call("GET", f"/api/{{ns}}/{queue}/job/{job_id}/detail").json["errors"]
    assert attempt["error"] == "cut ?"


@pytest.mark.parametrize("body", [rb'{"error": "\ud83d"', b'{"delay": 1e400}', b'{"delay": NaN}', b"\xff"])
def test_what_is_no_json_is_still_refused(client: Client, queue: str, body: bytes) -> None:
    client.call("PUT", f"/api/{{ns}}/{queue}?tries=2", b"x")
    job_id = client.take(queue)["job_id"]

    assert client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail", body).status == 400


def test_a_consumer_may_have_a_name_in_utf_8(client: Client, queue: str) -> None:
    client.call("PUT", f"/api/{{ns}}/{queue}", b"x")
    taken = client.call("GET", f"/api/{{ns}}/{queue}", headers={"X-Consumer": "Zürich".encode().decode("latin-1")}).json

    detail = client.call("GET", f"/api/{{ns}}/{queue}/job/{taken['job_id']}/detail").json
    assert detail["consumer"] == "Zürich"
