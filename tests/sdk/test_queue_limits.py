"""Limits that an app declares: its workers in direct mode keep to them together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from queues.engine import JobState
from taskq import App, Client, NotConfiguredError, QueueLimits
from taskq.brokers.http import HttpBroker
from tests.support.rows import in_one_test

from .conftest import make_worker, until, work, working

pytestmark = pytest.mark.anyio

ONE_PER_KEY = {"mails": QueueLimits(key_in_flight=1)}
HOURLY = {"mails": QueueLimits(rate=0.001, burst=3)}


@pytest.fixture
def apps(redis_url: str) -> Iterator[Any]:
    """Makes apps with limits: each is a process of its own as far as Redis can tell."""
    made: list[App] = []

    def make(queue_limits: Any) -> App:
        made.append(App(redis_url, namespace="sdk", queue_limits=queue_limits))
        return made[-1]

    yield make
    for app in made:
        app.close()


@asynccontextmanager
async def two_workers(first: App, second: App, **options: Any) -> AsyncIterator[None]:
    async with working(first, queues={"mails": 1}, **options), working(second, queues={"mails": 1}, **options):
        yield


async def test_two_workers_together_keep_to_the_concurrency_of_each_key(apps: Any) -> None:
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    free = asyncio.Event()
    done = Counter[str]()

    def declare(app: App) -> Any:
        @app.task(name="send", queue="mails", limit_key="{tenant}")
        async def send(tenant: str) -> None:
            running[tenant] += 1
            most[tenant] = max(most[tenant], running[tenant])
            await free.wait()
            running[tenant] -= 1
            done[tenant] += 1

        return send

    app_1, app_2 = apps(ONE_PER_KEY), apps(ONE_PER_KEY)
    send, _ = declare(app_1), declare(app_2)
    await app_1.aenqueue_many([send.call(tenant) for tenant in ["acme"] * 4 + ["globex"] * 2])
    async with two_workers(app_1, app_2):
        await until(lambda: running["acme"] and running["globex"], or_fail="one of each key runs")
        counts = (await app_1.broker.arun(app_1.broker.stats("mails"))).counts
        assert (counts[JobState.WORKING], counts[JobState.READY]) == (2, 4), "both workers have 50 slots"
        free.set()
        await until(lambda: done == {"acme": 4, "globex": 2}, or_fail="all are run")
    assert most == {"acme": 1, "globex": 1}


def test_two_workers_together_keep_to_the_rate_of_the_queue(apps: Any) -> None:
    done: list[int] = []

    def declare(app: App) -> Any:
        @app.task(name="send", queue="mails")
        async def send(number: int) -> None:
            done.append(number)

        return send

    app_1, app_2 = apps(HOURLY), apps(HOURLY)
    send, _ = declare(app_1), declare(app_2)
    app_1.enqueue_many([send.call(number) for number in range(9)])
    for app in (app_1, app_2):
        work(app, queues={"mails": 1})
    assert sorted(done) == [0, 1, 2], "a burst of three, and nothing more for many minutes"
    counts = app_1.broker.run(app_1.broker.stats("mails")).counts
    assert (counts[JobState.READY], counts[JobState.WORKING]) == (6, 0)


def test_a_queue_without_limits_of_its_own_has_none(apps: Any) -> None:
    app: App = apps({"mails": QueueLimits(max_in_flight=1, rate=0.001)})

    @app.task(queue="free", retention=60)
    def number(value: int) -> int:
        return value

    jobs = [number.enqueue(value) for value in range(5)]
    work(app, queues={"mails": 1, "free": 1})
    assert [job.result() for job in jobs] == [0, 1, 2, 3, 4]


def test_clients_keep_to_limits_too(redis_url: str) -> None:
    limits = {"mails": QueueLimits(max_in_flight=2, key_in_flight=1)}
    with Client(redis_url, namespace="sdk", queue_limits=limits) as client:
        client.publish("mails", ["1", "2"], limit_key="acme")
        client.publish("mails", ["3", "4"], limit_key="globex")
        first, second = client.consume("mails", count=10)
        details = [client.job("mails", job.job_id) for job in (first, second)]
        assert {found.limit_key for found in details if found} == {"acme", "globex"}
        assert client.consume("mails", count=10) == ()
        assert client.ack(first)
        assert len(client.consume("mails", count=10)) == 1


@in_one_test(
    ("limits", "words"),
    [
        ({"rate": -1}, "queue_limits of 'mails': invalid rate"),
        ({"rate": float("nan")}, "rate must be a number of jobs per second"),
        ({"key_rate": "5"}, "key_rate must be a number of jobs per second"),
        ({"burst": 0}, "invalid burst"),
        ({"burst": 1.5}, "burst must be a whole number"),
        ({"max_in_flight": -1}, "invalid max_in_flight"),
        ({"key_in_flight": True}, "key_in_flight must be a whole number"),
        ({"key_weight": 0}, "invalid default_weight"),
        ({"key_weights": {"acme": 0}}, "invalid weight of acme"),
        ({"key_weights": {"a\tb": 1}}, "invalid limit_key"),
        ({"key_weights": {"acme": "3"}}, "key_weights must be a dict"),
        ({"key_weights": ["acme"]}, "key_weights must be a dict"),
        ({"per_second": 5}, "queue_limits of 'mails': got an unexpected keyword argument 'per_second'"),
        (7, "queue_limits of 'mails' must be QueueLimits, not 7"),
    ],
)
def test_bad_limits_are_refused_where_the_app_is_made(apps: Any, limits: Any, words: str) -> None:
    with pytest.raises(NotConfiguredError) as raised:
        apps({"mails": limits})
    assert words in str(raised.value)


def test_bad_queues_are_refused(apps: Any) -> None:
    with pytest.raises(NotConfiguredError, match="queue_limits of 'a b': queue name contains forbidden"):
        apps({"a b": QueueLimits(rate=1)})
    with pytest.raises(NotConfiguredError, match="must be a dict of queues"):
        apps(QueueLimits(rate=1))


def test_over_http_a_worker_with_limits_does_not_start(apps: Any) -> None:
    app = apps(ONE_PER_KEY)
    app.broker = HttpBroker("http://127.0.0.1:9", "sdk", "token")
    with pytest.raises(NotConfiguredError, match="the policies of the queues say their limits"):
        asyncio.run(make_worker(app, burst=True).run())
    with pytest.raises(NotConfiguredError, match="queue_limits need a redis:// URL"):
        Client("http://127.0.0.1:9", token="token", queue_limits=ONE_PER_KEY)
