"""A pool with `min_replicas` behind a Sentinel: 201 means that a failover does not lose the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.failovers import POOLS, fail_over_under_load
from bench.sentinel import SentinelSetup, sentinel_setup
from bench.servers import Service
from tests.http.client import Client
from tests.http.service import Server
from tests.support.waiting import wait_until

NAMESPACE = "failovers"
UNKNOWN = "0" * 26


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentinelSetup]:
    with sentinel_setup(tmp_path_factory.mktemp("sentinel")) as setup:
        yield setup


@pytest.fixture(scope="module")
def tokens(server: Server, setup: SentinelSetup) -> dict[str, str]:
    """Of a pool with min_replicas=1 and of one without, by the pool's name."""
    found = {}
    for database, (pool, min_replicas) in enumerate(POOLS.items()):
        server.site.manage("pool", "add", pool, setup.url(database), f"--min-replicas={min_replicas}")
        made = server.staff.call("POST", f"/token/{NAMESPACE}?description=test&pool={pool}")
        found[pool] = made.json["token"]
    return found


def services(server: Server, tokens: Mapping[str, str]) -> dict[str, Service]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return {
        pool: Service(
            host=host,
            port=int(port),
            namespace=NAMESPACE,
            token=token,
            redis_url="",
            data_dir=server.site.data_dir,
            username="",
            password="",
        )
        for pool, token in tokens.items()
    }


def test_no_acknowledged_job_is_lost(server: Server, setup: SentinelSetup, tokens: dict[str, str]) -> None:
    outcomes = fail_over_under_load(setup, services(server, tokens), rounds=1, demote_after_s=0.5)

    assert outcomes["replicated"].acknowledged > 10
    assert outcomes["replicated"].lost == 0
    assert outcomes["unreplicated"].lost > 0, "nothing was at stake"


def test_without_a_replica_a_publish_is_answered_503_with_what_it_wrote(
    server: Server, setup: SentinelSetup, tokens: dict[str, str], queue: str
) -> None:
    client = Client(url=server.url, namespace=NAMESPACE, token=tokens["replicated"])
    path = f"/api/{{ns}}/{queue}"
    requests = [("?key=order-7", b"1"), ("/bulk", b"[2, 3]"), (f"/job/{UNKNOWN}", b"4")]
    with setup.replica_stopped(), ThreadPoolExecutor() as threads:
        replies = list(threads.map(lambda request: client.call("PUT", path + request[0], request[1]), requests))
        taken = client.call("GET", f"{path}?count=9")
        # A busy machine may not get the answer of Redis in the time that the page has.
        says_so = {"status": "ready", "publish": "not_replicated"}
        wait_until(lambda: client.call("GET", "/readyz?pool=replicated").json == says_so, or_fail="it is not said")
        assert client.call("GET", "/readyz?pool=replicated").status == 200

    assert client.call("GET", "/readyz?pool=unreplicated").json == {"status": "ready"}
    for reply in replies:
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        assert reply.json["error"].startswith("written, but not confirmed by enough replicas: retry with the same key")
    assert [len(reply.json["job_ids"]) for reply in replies] == [1, 2, 1]
    assert {job["job_id"] for job in taken.json} == {job_id for reply in replies for job_id in reply.json["job_ids"]}
    again = client.call("PUT", path + requests[0][0], b"1")
    assert (again.status, again.json) == (200, {"msg": "duplicate", "job_id": replies[0].json["job_ids"][0]})
