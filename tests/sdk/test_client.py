"""Clients without tasks, straight on Redis; tests/sdk/test_http_broker.py has what HTTP does to each verb."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from queues.engine import InvalidArgumentError, JobState, LeaseLostError
from taskq import AsyncClient, Client, NotConfiguredError

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(redis_url: str) -> Iterator[Client]:
    with Client(redis_url, namespace="sdk", consumer="me") as client:
        yield client


def test_a_job_goes_from_publish_to_ack(client: Client) -> None:
    ids = client.publish("orders", ["one", b"two"], tries=3)
    first, second = client.consume(["empty", "orders"], count=5)

    assert [(job.job_id, job.body) for job in (first, second)] == [(ids[0], b"one"), (ids[1], b"two")]
    assert client.ack(first)
    assert not client.ack(first)
    assert client.fail(second, "no stock", delay=60).state is JobState.RETRY
    found = client.job("orders", ids[1])
    assert found is not None
    assert (found.consumer, found.history[0].error) == ("me", "no stock")
    assert client.run_now("orders", [ids[1]]) == 1
    (again,) = client.consume("orders")
    client.extend(again, 600)
    client.release(again)
    with pytest.raises(LeaseLostError):
        client.release(again)
    assert client.cancel("orders", ids[1]) is JobState.READY
    assert list(client.queues()) == []


def test_a_blocking_consume_waits_and_gives_up(client: Client, redis_url: str) -> None:
    began = time.monotonic()
    assert client.consume("orders", timeout=0.15) == ()
    assert 0.15 <= time.monotonic() - began < 2

    publishing = threading.Timer(0.1, client.publish, ("orders", "late"))
    publishing.start()
    (job,) = client.consume("orders", timeout=10)
    publishing.join()
    assert job.body == b"late"


def test_keys_results_and_dead_letters(client: Client) -> None:
    (first,) = client.publish("orders", "x", key="k", key_mode="until_done", ttl=0, retention=60)
    assert client.publish("orders", "x", key="k", key_mode="until_done", ttl=0) == (first,)
    (job,) = client.consume("orders")
    assert client.ack(job, result=b"done")
    assert client.result("orders", first).body == b"done"

    (bad,) = client.publish("orders", "bad")
    client.fail(client.consume("orders")[0], "hopeless", dead=True)
    assert [one.job_id for one in client.jobs("orders", "dead").jobs] == [bad]
    assert client.respawn("orders", [bad]) == 1
    client.pause("orders")
    assert client.consume("orders") == ()
    assert client.stats("orders").paused
    client.resume("orders")
    assert client.delete("orders", [bad, first]) == 2
    assert client.workers() == ()


def walk_through_the_rest(client: Client) -> None:
    """Verbs that work alike on Redis and over HTTP."""
    assert client.peek("letters") is None
    (first,) = client.publish("letters", '"a"', key="k", retention=60)
    assert client.find("letters", "k") == first
    assert client.find("letters", "other") is None
    second = client.republish("letters", first, '"b"', tries=2)
    assert second != first
    assert client.job("letters", first) is None
    head = client.peek("letters")
    assert head is not None
    assert (head.job_id, head.body) == (second, b'"b"')
    client.annotate("letters", second, lines=["begun"], percent="50", note="half")
    assert client.note("letters", second) == {"percent": b"50", "note": b"half", "log": b"begun\n"}
    (job,) = client.consume("letters")
    client.publish("letters", '"c"')
    client.empty("letters")
    counts = client.stats("letters").counts
    assert (counts[JobState.READY], counts[JobState.WORKING]) == (0, 1)
    client.empty("letters", everything=True)
    assert client.job("letters", job.job_id) is None


def test_it_finds_replaces_annotates_and_empties(client: Client) -> None:
    walk_through_the_rest(client)


async def test_both_clients_have_the_same_verbs(redis_url: str) -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")} - {"close", "aclose"}

    assert verbs(Client) == verbs(AsyncClient)
    async with AsyncClient(redis_url, namespace="sdk") as client:
        (first,) = await client.publish("letters", "a", key="k")
        second = await client.republish("letters", await client.find("letters", "k") or "", "b")
        assert second != first
        head = await client.peek("letters")
        assert head is not None
        assert head.job_id == second
        await client.annotate("letters", second, note="half")
        assert await client.note("letters", second) == {"note": b"half"}
        await client.empty("letters")
        assert await client.job("letters", second) is None


def test_options_that_are_wrong_are_named(client: Client) -> None:
    with pytest.raises(InvalidArgumentError, match="tries shouldn't be zero"):
        client.publish("orders", "x", tries=0)
    with pytest.raises(InvalidArgumentError, match="invalid backoff"):
        client.publish("orders", "x", backoff="often")
    with pytest.raises(NotConfiguredError, match="unknown key_mode 'once'"):
        client.publish("orders", "x", key="k", key_mode="once")
    with pytest.raises(InvalidArgumentError, match="forbidden characters"):
        client.publish("no/queue", "x")


async def test_the_client_for_asyncio_does_the_same(redis_url: str) -> None:
    async with AsyncClient(redis_url, namespace="sdk") as client:
        (job_id,) = await client.publish("orders", "x", tries=2, retention=60)
        (job,) = await client.consume("orders", timeout=5)
        await client.extend(job, 60)
        await client.release(job)
        (job,) = await client.consume("orders")
        assert await client.ack(job, result=b"1")
        assert (await client.result("orders", job_id, timeout=1)).body == b"1"
        assert await client.queues() == ("orders",)
        assert (await client.stats("orders")).counts[JobState.COMPLETED] == 1
        assert [one.job_id for one in (await client.jobs("orders", "completed")).jobs] == [job_id]
        assert await client.delete("orders", [job_id]) == 1
        assert await client.job("orders", job_id) is None
        assert await client.workers() == ()
