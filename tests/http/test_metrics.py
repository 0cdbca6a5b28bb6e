"""`/metrics`: what is counted, what is measured, in Prometheus' text format."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from queues.api.metrics.exposition import METRICS
from queues.embedded import EmbeddedRedis
from tests.http.client import Client
from tests.http.service import Server, Site
from tests.http.test_long_polls import in_background
from tests.support.exposition import Family, counters, read_page
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

SECRET = "a-secret-for-scraping"
QUEUES_MAX = 30
HOUR = 3600


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path_factory.mktemp("metrics-redis"), persistent=False) as redis:
        yield redis


@pytest.fixture(scope="module")
def own_server(own_redis: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that only these tests talk to, so that they know its numbers."""
    site = Site(data_dir=tmp_path_factory.mktemp("metrics"), redis_url=own_redis.url)
    site.prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKQ_METRICS_TOKEN", SECRET)
        with site.serve() as server:
            server.wait_for_pages()  # that process writes the page
            yield server


@pytest.fixture
def client(own_server: Server) -> Client:
    return own_server.client


def scrape(server: Server) -> dict[str, Family]:
    reply = Client(url=server.url).call("GET", "/metrics", headers={"Authorization": f"Bearer {SECRET}"})
    assert reply.status == 200, reply
    return read_page(reply.body.decode())


def test_the_page_has_every_metric_of_the_table(own_server: Server) -> None:
    page = scrape(own_server)

    assert [(one.name, one.kind, one.help) for one in page.values()] == [(m.name, m.kind, m.help) for m in METRICS]


def test_samples_have_the_labels_of_the_table(own_server: Server, client: Client) -> None:
    client.publish("labels")
    client.call("DELETE", f"/api/{{ns}}/labels/job/{client.take('labels')['job_id']}")
    client.publish("labels")

    for metric, family in zip(METRICS, scrape(own_server).values(), strict=True):
        for _, labels in family.samples:
            assert {name for name, _ in labels} - {"le"} == set(metric.labels), metric.name


def test_what_happens_to_jobs_is_counted_by_queue(own_server: Server, client: Client) -> None:
    client.call("PUT", "/api/{ns}/counted/bulk", '["1", "2", "3"]')
    client.publish("counted")
    jobs = [client.take("counted") for _ in range(3)]
    assert client.call("DELETE", f"/api/{{ns}}/counted/job/{jobs[0]['job_id']}").status == 204
    assert client.call("DELETE", f"/api/{{ns}}/counted/job/{jobs[0]['job_id']}").status == 204, "a repeated ack"
    assert client.call("POST", f"/api/{{ns}}/counted/job/{jobs[1]['job_id']}/fail").status == 200

    page = scrape(own_server)

    of_queue = {"pool": "default", "namespace": "demo", "queue": "counted"}
    names = ("jobs_published_total", "jobs_consumed_total", "jobs_acked_total", "jobs_failed_total")
    assert [page[f"taskq_{name}"].value(**of_queue) for name in names] == [4, 3, 1, 1]
    elapsed, acked = page["taskq_job_elapsed_seconds"], page["taskq_job_ack_elapsed_seconds"]
    assert [elapsed.value(**of_queue, le="+Inf"), acked.value(**of_queue, le="+Inf")] == [3, 1]


def test_jobs_are_shown_by_queue_and_state(own_server: Server, client: Client) -> None:
    """A queue that is new to the ranking comes with the next step of its walk."""
    for _ in range(3):
        client.publish("states")
    client.publish("states", delay=600)
    client.take("states")
    job = client.take("states")
    assert client.call("POST", f"/api/{{ns}}/states/job/{job['job_id']}/fail", '{"dead": true}').status == 200
    wanted = {"ready": 1, "working": 1, "dead": 1, "delayed": 1, "retry": 0, "completed": 0, "blocked": 0, "grouped": 0}

    def shown() -> bool:
        jobs = scrape(own_server)["taskq_jobs"]
        return all(jobs.values(queue="states", state=state) == [number] for state, number in wanted.items())

    wait_until(shown, or_fail="the ranking does not find the queue", timeout_s=30)


def test_a_duplicate_is_no_new_job(own_server: Server, client: Client) -> None:
    client.publish("twice", key="k")
    assert client.call("PUT", "/api/{ns}/twice?key=k", "again").status == 200

    assert scrape(own_server)["taskq_jobs_published_total"].value(queue="twice") == 1


def test_requests_are_counted_by_route_method_and_status(own_server: Server, client: Client) -> None:
    before = scrape(own_server)["taskq_http_requests_total"]
    client.publish("requests")
    assert client.call("PUT", "/api/{ns}/requests?tries=none").status == 400
    assert client.call("PUT", "/api/{ns}/requests", headers={"X-Token": "wrong"}).status == 401
    assert client.call("GET", "/nothing/like/this").status == 404

    page = scrape(own_server)
    after = page["taskq_http_requests_total"]

    def grown(**labels: str) -> float:
        return sum(after.values(**labels)) - sum(before.values(**labels))

    publish = {"route": "/api/{namespace}/{queue}", "method": "PUT"}
    assert [grown(**publish, code=code) for code in ("201", "400", "401")] == [1, 1, 1]
    latency = page["taskq_http_request_duration_seconds"]
    assert latency.value(**publish, le="+Inf") == sum(after.values(**publish))
    assert next(value for (name, _), value in latency.samples.items() if name.endswith("_sum")) > 0


def test_requests_beyond_a_limit_are_counted_by_namespace(own_server: Server) -> None:
    staff = own_server.staff
    token = staff.call("POST", "/token/limited?description=limited").json["token"]
    assert staff.call("POST", f"/token/limited/{token}/limit", f'{{"write": 1, "interval": {HOUR}}}').status == 201
    client = Client(url=own_server.url, namespace="limited", token=token)

    statuses = [client.call("PUT", "/api/{ns}/q", "x").status for _ in range(3)]

    assert statuses == [201, 429, 429]
    assert scrape(own_server)["taskq_http_rate_limited_total"].value(pool="default", namespace="limited") == 2


def test_counters_never_fall(own_server: Server, client: Client) -> None:
    before = counters(scrape(own_server))
    for number in range(3):
        client.publish(f"monotone{number}")
        client.take(f"monotone{number}")

    after = counters(scrape(own_server))

    assert all(after[key] >= value for key, value in before.items())


def test_waiting_consumers_and_those_who_hang_up(own_server: Server, client: Client) -> None:
    waiter = in_background(client, "/api/{ns}/nothing?timeout=20")
    with hanging(client, "/api/{ns}/nothing?timeout=20"):
        wait_until(lambda: scrape(own_server)["taskq_waiting_consumers"].value() == 2, or_fail="nobody waits")
        assert scrape(own_server)["taskq_http_requests_in_progress"].value() == 3  # they, and the scrape

    route = {"route": "/api/{namespace}/{queue}", "method": "GET", "code": "499"}
    wait_until(lambda: scrape(own_server)["taskq_http_requests_total"].values(**route) == [1], or_fail="not noticed")
    client.publish("nothing")
    assert waiter.result(10).status == 200


def test_who_waits_for_a_result_and_hangs_up_is_missed(own_server: Server, client: Client) -> None:
    job_id = client.publish("slow", retention=60)
    path = f"/api/{{ns}}/slow/job/{job_id}/result"
    with hanging(client, f"{path}?timeout=60"):
        wait_until(lambda: scrape(own_server)["taskq_http_requests_in_progress"].value() == 2, or_fail="nobody waits")

    route = {"route": "/api/{namespace}/{queue}/job/{job_id}/result", "method": "GET", "code": "499"}
    wait_until(lambda: scrape(own_server)["taskq_http_requests_total"].values(**route) == [1], or_fail="not noticed")


@contextmanager
def hanging(client: Client, path: str) -> Iterator[None]:
    """A request whose client hangs up at the end of the block."""
    parts = urlsplit(client.url)
    with socket.create_connection((str(parts.hostname), parts.port or 80)) as connection:
        line = f"GET {path.replace('{ns}', client.namespace)} HTTP/1.1"
        connection.sendall(f"{line}\r\nHost: localhost\r\nX-Token: {client.token}\r\n\r\n".encode())
        yield


def test_lateness_and_age_come_from_redis(own_server: Server, client: Client) -> None:
    client.publish("late", delay=1)
    wait_until(lambda: client.call("GET", "/api/{ns}/late?timeout=3").status == 200, or_fail="not due")
    client.publish("late")

    def shown() -> bool:
        page = scrape(own_server)
        late = page["taskq_queue_lateness_seconds"].values(queue="late", quantile="0.99")
        return bool(late) and late[0] < 1 and page["taskq_queue_oldest_ready_seconds"].value(queue="late") > 0

    wait_until(shown, or_fail="no lateness", timeout_s=30)


def test_what_redis_says_of_itself(own_server: Server, client: Client) -> None:
    client.publish("itself")  # an empty Redis has neither keys nor events
    page = scrape(own_server)

    for name in ("memory_used_bytes", "keys", "connected_clients"):
        assert page[f"taskq_redis_{name}"].value(pool="default") > 0, name
    assert page["taskq_redis_blocked_clients"].value(pool="default") == 0
    assert page["taskq_redis_batches_total"].value() <= page["taskq_redis_batched_operations_total"].value()
    assert page["taskq_events_held_bytes"].value(pool="default") > 0


def test_a_pool_that_hangs_counts_as_down_and_delays_no_other(
    own_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with EmbeddedRedis(tmp_path_factory.mktemp("hanging"), persistent=False) as other:
        own_server.site.manage("pool", "add", "hanging", other.url)
        wait_until(lambda: up(own_server) == {"default": 1, "hanging": 1}, or_fail="the new pool is not seen")
        assert other.pid is not None
        os.kill(other.pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            found = up(own_server)
        finally:
            os.kill(other.pid, signal.SIGCONT)

    assert found == {"default": 1, "hanging": 0}
    assert time.monotonic() - began < 10


def up(server: Server) -> dict[str, float]:
    return {dict(labels)["pool"]: value for (_, labels), value in scrape(server)["taskq_redis_up"].samples.items()}


@in_one_test("authorization", ["", "Bearer wrong", f"Basic {SECRET}", SECRET, "Bearer "])
def test_without_the_secret_or_a_password_there_is_no_page(own_server: Server, authorization: str) -> None:
    reply = Client(url=own_server.url).call("GET", "/metrics", headers={"Authorization": authorization})

    assert reply.status == 401


def test_the_secret_opens_nothing_else(own_server: Server) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}

    assert Client(url=own_server.url).call("GET", "/version", headers=headers).status == 401


def test_staff_reads_the_page_with_a_password(own_server: Server) -> None:
    assert own_server.staff.call("GET", "/metrics").status == 200


def test_a_server_without_the_secret_refuses_every_bearer(server: Server) -> None:
    for secret in ("", " ", "x"):
        assert (
            Client(url=server.url).call("GET", "/metrics", headers={"Authorization": f"Bearer {secret}"}).status == 401
        )


def test_queues_beyond_the_bound_are_counted_together_in_a_directory_that_goes_with_the_server(
    site: Site, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        patch.setenv("TASKQ_METRICS_TOKEN", SECRET)
        patch.setenv("TASKQ_METRICS_QUEUES", str(QUEUES_MAX))
        with site.serve() as server:
            for number in range(3 * QUEUES_MAX):
                server.client.publish(f"many{number}")
            server.wait_for_pages()
            published = scrape(server)["taskq_jobs_published_total"]
            (directory,) = tmp_path.glob("taskq-serve-*")
            assert directory.stat().st_mode & 0o777 == 0o700

    assert sum(published.values()) == 3 * QUEUES_MAX
    assert len(published.samples) == QUEUES_MAX + 1
    assert published.value(namespace="", queue="other") >= 2 * QUEUES_MAX
    assert list(tmp_path.glob("taskq-serve-*")) == []


def test_the_lag_of_the_lake_is_the_age_of_the_oldest_event(own_server: Server, client: Client) -> None:
    """No pump drains this site. How lake and reports stand, tests of services say."""
    client.publish("undrained")
    page = scrape(own_server)
    assert page["taskq_lake_lag_seconds"].value(pool="default") > 0
    assert page["taskq_report_state"].value(state="missing") == 1
