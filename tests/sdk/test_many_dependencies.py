"""Jobs with more dependencies than fit one publish, straight on Redis; test_http_broker.py has the same over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queues.engine import DependenciesClosedError, InvalidArgumentError, JobState, add_dependencies
from queues.engine.constants import DEPENDENCIES_MAX
from taskq import App, AsyncClient, Client

from .conftest import work

pytestmark = pytest.mark.anyio

MANY = DEPENDENCIES_MAX + 200


@pytest.fixture
def client(redis_url: str) -> Iterator[Client]:
    with Client(redis_url, namespace="sdk") as client:
        yield client


def publish_parts(client: Client, queue: str = "parts", number: int = MANY) -> list[str]:
    ids: list[str] = []
    while len(ids) < number:
        ids += client.publish(queue, ["1"] * min(1_000, number - len(ids)), retention=60)
    return [f"{queue}/{job_id}" for job_id in ids]


def work_off(client: Client, queue: str) -> None:
    while jobs := client.consume(queue, count=100):
        for job in jobs:
            assert client.ack(job)


def state_of(client: Client, queue: str, job_id: str) -> JobState | None:
    return client.result(queue, job_id).state


def walk_through_many_dependencies(client: Client) -> None:
    """What works alike on Redis and over HTTP."""
    (last,) = publish_parts(client, "last", 1)
    parts = [*publish_parts(client), last]
    (total,) = client.publish("totals", "sum", depends_on=[*parts, parts[0]], key="sum", key_ttl=60)
    assert client.publish("totals", "sum", depends_on=parts, key="sum", key_ttl=60) == (total,)
    with pytest.raises(DependenciesClosedError):
        client.add_dependencies("totals", total, parts[:1])
    work_off(client, "parts")
    assert state_of(client, "totals", total) is JobState.BLOCKED
    work_off(client, "last")
    (job,) = client.consume("totals", timeout=5)
    assert (job.job_id, job.body) == (total, b"sum")
    assert client.ack(job)
    # The key is held on; the job is gone.
    assert client.publish("totals", "sum", depends_on=parts, key="sum", key_ttl=60) == (total,)
    assert client.job("totals", total) is None


def walk_through_an_open_job(client: Client) -> None:
    (total,) = client.publish("totals", "sum", dependencies_open=True, on_dependency_failure="fail")
    first, second = publish_parts(client, number=2)
    assert client.add_dependencies("totals", total, [first]) == (JobState.BLOCKED, 1)
    assert client.add_dependencies("totals", total, [first, second]) == (JobState.BLOCKED, 2)
    work_off(client, "parts")
    assert client.consume("totals") == ()
    assert client.close_dependencies("totals", total).state in (JobState.BLOCKED, JobState.READY)
    with pytest.raises(DependenciesClosedError):
        client.add_dependencies("totals", total, [first])
    (job,) = client.consume("totals", timeout=5)
    assert job.job_id == total
    with pytest.raises(InvalidArgumentError, match='invalid depends_on "a b"'):
        client.add_dependencies("totals", total, ["a b"])
    with pytest.raises(InvalidArgumentError, match="no dependencies"):
        client.add_dependencies("totals", total, [])


def test_a_job_waits_for_more_jobs_than_fit_one_publish(client: Client) -> None:
    walk_through_many_dependencies(client)


def test_an_open_job_takes_dependencies_until_it_is_closed(client: Client) -> None:
    walk_through_an_open_job(client)


async def test_the_same_for_asyncio(client: Client, redis_url: str) -> None:
    parts = publish_parts(client)
    async with AsyncClient(redis_url, namespace="sdk") as aclient:
        (total,) = await aclient.publish("totals", "sum", depends_on=parts)
        with pytest.raises(DependenciesClosedError):
            await aclient.add_dependencies("totals", total, parts[:1])
        (opened,) = await aclient.publish("totals", "sum", dependencies_open=True)
        assert await aclient.add_dependencies("totals", opened, parts) == (JobState.BLOCKED, MANY)
        assert await aclient.close_dependencies("totals", opened) == (JobState.BLOCKED, MANY)


def test_a_task_does_and_so_do_many_calls_with_few_dependencies_each(app: App) -> None:
    ran: list[int] = []

    @app.task(queue="parts", retention=600)
    def part(number: int) -> None:
        ran.append(number)

    @app.task(queue="totals", retention=600)
    def total(number: int) -> int:
        return len(ran)

    parts = app.enqueue_many([part.call(number) for number in range(MANY)])
    one = total.using(depends_on=parts).enqueue(1)
    two_each = total.using(depends_on=parts[-2:])
    several = app.enqueue_many([two_each.call(number) for number in range(DEPENDENCIES_MAX // 2 + 1)])
    assert {job.state() for job in (one, several[0], several[-1])} == {JobState.BLOCKED}
    work(app, queues={"parts": 1}, concurrency=128)
    work(app, queues={"totals": 1}, concurrency=128)
    assert [job.result(10) for job in (one, several[0], several[-1])] == [MANY] * 3


class ProducerDiedError(Exception):
    """Stands for the death of the producer."""


def test_a_producer_that_died_half_way_repeats_the_publish(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = publish_parts(client)
    options: dict[str, Any] = {"depends_on": parts, "key": "sum", "key_ttl": 60}
    added: list[Any] = []

    def die(*arguments: Any) -> Any:
        added.append(arguments)
        if len(added) == 2:
            raise ProducerDiedError
        return add_dependencies(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr("taskq.brokers.redis.add_dependencies", die)
        with pytest.raises(ProducerDiedError):
            client.publish("totals", "sum", **options)
    (left,) = client.jobs("totals", "blocked").jobs
    work_off(client, "parts")
    assert client.consume("totals") == (), "it waits for the rest, whatever has been acked"

    assert client.publish("totals", "sum", **options) == (left.job_id,)
    (job,) = client.consume("totals", timeout=5)
    assert job.job_id == left.job_id


def test_a_cycle_is_named_and_leaves_no_job(client: Client) -> None:
    parts = publish_parts(client)
    client.publish("totals", "a", key="a", key_ttl=60, depends_on=[":b"])
    with pytest.raises(InvalidArgumentError, match="depends_on makes a cycle: totals:b"):
        client.publish("totals", "b", key="b", key_ttl=60, depends_on=[*parts, ":a"])
    assert [job.key for job in client.jobs("totals", "blocked").jobs] == ["a"]


def test_nothing_is_published_with_a_bad_name(client: Client) -> None:
    parts = publish_parts(client)
    with pytest.raises(InvalidArgumentError, match='invalid depends_on "a b"'):
        client.publish("totals", "x", depends_on=[*parts, "a b"])
    with pytest.raises(InvalidArgumentError, match="key_mode and depends_on exclude each other"):
        client.publish("totals", "x", depends_on=parts, key="k", key_mode="until_done")
    assert client.jobs("totals", "blocked").jobs == ()


def test_a_dependency_that_failed_already_makes_the_job_dead(client: Client) -> None:
    parts = publish_parts(client)
    (job,) = client.consume("parts")
    client.fail(job, "broken", dead=True)
    (total,) = client.publish("totals", "x", depends_on=parts, on_dependency_failure="fail")
    assert state_of(client, "totals", total) is JobState.DEAD
