"""The library over HTTP: a real server, a real worker."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import http.client
import itertools
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from queues.engine import (
    AckOutcome,
    AckResult,
    DependenciesClosedError,
    Dependency,
    DependencyFailure,
    InvalidArgumentError,
    JobNotFoundError,
    JobState,
    KeyMode,
    LeaseLostError,
    LimitReachedError,
    PublishOptions,
    ResultTooLargeError,
    StoreUnavailableError,
    TaskqError,
    WorkerCommand,
    WorkerCommandKind,
    WorkflowConflictError,
    WorkflowNotFoundError,
)
from taskq import App, Client, Context, Workflow, chain, group
from taskq.brokers.http import HttpBroker
from taskq.errors import JobFailedError, JobGoneError, NotConfiguredError, ResultTimeoutError
from taskq.worker import StopReason, Worker, WorkerOptions
from tests.http.service import Server, site_fixtures
from tests.sdk.test_client import walk_through_the_rest
from tests.sdk.test_many_dependencies import walk_through_an_open_job, walk_through_many_dependencies
from tests.support.waiting import wait_until

_numbers = itertools.count(1)
KEPT = PublishOptions(retention_ms=60_000, tries=3)


site, server = site_fixtures("sdk-http")


@pytest.fixture
def broker(server: Server) -> Iterator[HttpBroker]:
    account = server.site.account
    broker = HttpBroker(server.url, account["namespace"], account["token"])
    yield broker
    broker.close()


@pytest.fixture
def queue() -> str:
    return f"s{next(_numbers)}"


@pytest.fixture
def app(broker: HttpBroker) -> App:
    app = App()
    app.broker = broker
    return app


def consume(broker: HttpBroker, queue: str, count: int = 10, timeout_s: float = 0) -> Any:
    async def call() -> Any:
        try:
            return await broker.consume([queue], count=count, ttr_ms=30_000, timeout_s=timeout_s, consumer="tests")
        finally:
            await broker.aclose()

    return asyncio.run(call())


def together(broker: HttpBroker, *works: Any) -> list[Any]:
    async def call() -> list[Any]:
        try:
            return await broker.arun_all(works)
        finally:
            await broker.aclose()

    return asyncio.run(call())


def work_off(app: App, queue: str, **options: Any) -> Worker:
    """A worker that ends once nothing is left."""
    worker = Worker(app, WorkerOptions(queues={queue: 1}, burst=True, concurrency=10, **options))
    assert asyncio.run(asyncio.wait_for(worker.run(), 30)) is StopReason.EMPTY
    return worker


@contextlib.asynccontextmanager
async def running(app: App, queue: str) -> AsyncIterator[Worker]:
    worker = Worker(app, WorkerOptions(queues={queue: 1}, concurrency=10))
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await asyncio.wait_for(task, 20)


async def until(is_so: Callable[[], Awaitable[bool]], timeout_s: float = 10.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not await is_so():  # noqa: ASYNC110 - it asks a server
            await asyncio.sleep(0.02)


# Tasks, end to end.


def test_the_documented_recipes_of_other_languages_enqueue_tasks(
    server: Server, broker: HttpBroker, app: App, queue: str
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "sdk" / "message.md").read_text(encoding="utf-8")
    bodies = re.findall(r"""['`](\{"task": "invoice\.send".*\})['`]""", text)
    (recipe,) = set(re.findall(r"""https://taskq\.example\.com/api/shop/invoices(\?[^"']+)""", text))
    assert len(bodies) == 3, "those of curl, Go and PHP"
    seen: list[tuple[int, datetime, list[str]]] = []

    @app.task(name="invoice.send", queue=queue)
    def send_invoice(order: int, due: datetime, copies: list[str] = []) -> None:  # noqa: B006 - as in the docs
        seen.append((order, due, copies))

    # As curl sends it: `-d` says that the body is a form, which it is not.
    headers = {"X-Token": server.site.account["token"], "Content-Type": "application/x-www-form-urlencoded"}
    requests = [("", body) for body in bodies] + [("/bulk", f"[{','.join(bodies)}]")]
    for path, body in requests:
        connection = http.client.HTTPConnection(broker.url.removeprefix("http://"), timeout=10)
        connection.request("PUT", f"/api/{broker.namespace}/{queue}{path}{recipe}", body.encode(), headers)
        response = connection.getresponse()
        assert response.status == 201, response.read()
        connection.close()
    jobs = broker.run(broker.jobs(queue, JobState.READY, after=None, limit=10)).jobs
    assert [(job.tries, job.expires_ms) for job in jobs] == [(25, 0)] * 6
    work_off(app, queue)

    due = datetime(2026, 12, 1, tzinfo=UTC)
    assert sorted(seen) == [(7, due, [])] * 4 + [(7, due, ["a@example.com"])] * 2


def test_the_environment_says_where_the_server_is(
    server: Server, broker: HttpBroker, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_URL", server.url)
    monkeypatch.setenv("TASKQ_NAMESPACE", broker.namespace)
    monkeypatch.setenv("TASKQ_TOKEN", server.site.account["token"])
    app = App()

    job = app.task(queue=queue, name="noop")(lambda: None).enqueue()

    assert isinstance(app.broker, HttpBroker)
    found = broker.run(broker.detail(queue, job.id))
    assert found is not None
    assert found.state is JobState.READY
    app.broker.close()


def test_tasks_run_and_their_results_come_back(app: App, queue: str) -> None:
    @app.task(queue=queue, retention=60, name="double")
    async def double(number: int) -> int:
        return 2 * number

    jobs = app.enqueue_many([double.call(number) for number in range(30)])
    worker = work_off(app, queue)

    assert [job.result(timeout=5) for job in jobs] == [2 * number for number in range(30)]
    assert (worker.done, worker.failed) == (30, 0)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_synchronous_call_is_one_request(
    app: App, queue: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.task(queue=queue, name="double")
    async def double(number: int) -> int:
        return 2 * number

    @app.task(queue=queue, name="refuse", retry=1)
    async def refuse() -> None:
        raise ValueError("no such order")

    async def call(task: Any, *args: Any) -> Any:
        if is_async:
            return await task.aenqueue_and_wait(*args)
        return await asyncio.to_thread(task.enqueue_and_wait, *args)

    async def play() -> None:
        async with running(app, queue):
            with monkeypatch.context() as patch:
                patch.setattr(type(app.broker), "result", None)  # nothing asks for the result
                patch.setattr(type(app.broker), "wait_result", None)
                assert await call(double, 21) == 42
            with pytest.raises(JobFailedError, match="no such order"):
                await call(refuse)
        with pytest.raises(ResultTimeoutError) as caught:
            await call(double.using(wait=0.5), 4)
        async with running(app, queue):
            assert await app.job(queue, caught.value.job_id).aresult(10) == 8
        await app.aclose()

    asyncio.run(play())


def test_a_publish_under_an_id_may_be_repeated(broker: HttpBroker, queue: str) -> None:
    def publish(once: str) -> Any:
        options = PublishOptions(key="k", key_mode=KeyMode.UNTIL_DONE)
        return broker.run(broker.publish_once(queue, [b"x"], options, once=[once]))

    first = publish("a")
    (job,) = consume(broker, queue)
    broker.run(broker.ack(queue, [job.job_id], attempt=1))

    assert publish("a") == first
    assert publish("b").job_ids != first.job_ids
    assert broker.settle_once(queue, ["a"]) is None


def test_a_job_without_a_retention_is_gone_once_it_is_done(app: App, queue: str) -> None:
    ran = []

    @app.task(queue=queue, name="plain")
    def plain(number: int) -> None:
        ran.append(number)

    jobs = [plain.enqueue(number) for number in range(5)]
    work_off(app, queue)

    assert sorted(ran) == list(range(5))
    assert [job.state() for job in jobs] == [None] * 5
    with pytest.raises(JobGoneError):
        jobs[0].result(timeout=1)


def test_a_failed_task_is_tried_again(app: App, queue: str) -> None:
    attempts = []

    @app.task(queue=queue, retention=60, name="flaky")
    def flaky(context: Context) -> str:
        attempts.append(context.attempt)
        if len(attempts) < 3:
            raise ValueError("not yet")
        return "at last"

    from taskq import RetryPolicy

    job = flaky.using(retry=RetryPolicy(tries=5, backoff="none")).enqueue()
    work_off(app, queue)

    assert attempts == [1, 2, 3]
    assert job.result(timeout=5) == "at last"
    detail = job.detail()
    assert detail is not None
    assert [one.error.partition("\n")[0] for one in detail.history] == ["ValueError: not yet"] * 2


def test_a_task_whose_tries_are_used_up_is_dead(app: App, queue: str) -> None:
    @app.task(queue=queue, retry=1, name="broken")
    def broken() -> None:
        raise ValueError("no")

    job = broken.enqueue()
    work_off(app, queue)

    assert job.state() is JobState.DEAD
    with pytest.raises(JobFailedError, match="ValueError: no"):
        job.result(timeout=5)
    page = app.broker.run(app.broker.jobs(queue, JobState.DEAD, after=None, limit=10))
    assert [(one.job_id, b"broken" in one.body) for one in page.jobs] == [(job.id, True)]
    assert app.broker.run(app.broker.respawn(queue, [job.id])) == 1
    assert job.state() is JobState.READY


def test_an_unknown_task_is_parked_and_shown(app: App, queue: str, broker: HttpBroker) -> None:
    published = broker.run(broker.publish(queue, [b'{"task": "of.another.version"}'], KEPT))

    worker = work_off(app, queue)

    (job_id,) = published.job_ids
    detail = broker.run(broker.detail(queue, job_id))
    assert detail is not None
    assert (detail.state, detail.used) == (JobState.DELAYED, 0)
    assert broker.run(broker.note(queue, job_id))["parked"].startswith(b"of.another.version: ")
    assert sum(worker.parked.values()) == 1
    assert broker.run(broker.run_now(queue, [job_id])) == 1


def test_progress_and_the_workers_list(app: App, queue: str, broker: HttpBroker) -> None:
    async def main() -> None:
        done = asyncio.Event()

        @app.task(queue=queue, name="slow")
        async def slow(context: Context) -> None:
            context.progress(40, "2 of 5")
            context.log("page 2")
            await done.wait()

        job = await slow.aenqueue()
        async with running(app, queue) as worker:

            async def is_told() -> bool:
                return (await job.aprogress()).percent == 40.0

            async def is_listed() -> bool:
                beats = await broker.arun(broker.workers())
                mine = [beat for beat in beats if beat.worker == worker.id]
                return bool(mine and mine[0].running and mine[0].running[0].percent == 40.0)

            await until(is_told)
            await until(is_listed)
            told = await job.aprogress()
            done.set()
        assert (told.note, told.log) == ("2 of 5", ("page 2",))
        assert worker.id not in {beat.worker for beat in await broker.arun(broker.workers())}
        await broker.aclose()

    asyncio.run(main())


def test_a_running_job_that_is_cancelled_learns_of_it_within_a_second(app: App, queue: str, broker: HttpBroker) -> None:
    async def main() -> float:
        began, ended = asyncio.Event(), asyncio.Event()

        @app.task(queue=queue, name="endless")
        async def endless() -> None:
            began.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        job = await endless.aenqueue()
        async with running(app, queue):
            await asyncio.wait_for(began.wait(), 10)
            await asyncio.sleep(1)
            asked = time.monotonic()
            assert await job.acancel()
            await asyncio.wait_for(ended.wait(), 10)
            took = time.monotonic() - asked

            async def is_dead() -> bool:
                return await job.astate() is JobState.DEAD

            await until(is_dead)
        await broker.aclose()
        return took

    assert asyncio.run(main()) < 1.5  # half a second between beats, and a busy machine


def test_a_waiting_job_that_is_cancelled_is_deleted(app: App, queue: str) -> None:
    @app.task(queue=queue, name="later", delay=60)
    def later() -> None: ...

    job = later.enqueue()

    assert job.cancel()
    assert job.state() is None
    assert not job.cancel()


def test_a_worker_obeys_commands(app: App, queue: str, broker: HttpBroker) -> None:
    async def main() -> None:
        async with running(app, queue) as worker:

            async def is_listed() -> bool:
                return worker.id in {beat.worker for beat in await broker.arun(broker.workers())}

            async def is_quiet() -> bool:
                return worker.state == "quiet"

            async def is_stopping() -> bool:
                return worker.is_stopping

            await until(is_listed)
            await asyncio.sleep(1)  # the commands of the first beat are those of before
            assert await broker.arun(broker.command(WorkerCommand(WorkerCommandKind.QUIET, worker.id, "1"))) == 1
            await until(is_quiet)
            assert await broker.arun(broker.command(WorkerCommand(WorkerCommandKind.STOP, worker.id, "2"))) == 1
            await until(is_stopping)
        assert await broker.arun(broker.command(WorkerCommand(WorkerCommandKind.STOP, worker.id, "3"))) == 0
        await broker.aclose()

    asyncio.run(main())


# Verbs.


def test_what_a_delivery_has(broker: HttpBroker, queue: str) -> None:
    options = PublishOptions(tries=3, ttl_ms=90_500, attributes={"trace": "é"})
    (job_id,) = broker.run(broker.publish(queue, [b"\x00\xff"], options)).job_ids
    (first,) = consume(broker, queue)
    broker.run(broker.release(queue, job_id, attempt=1, delay_ms=0))
    (second,) = consume(broker, queue, count=1)

    assert (first.job_id, first.body, first.attempt, first.used, first.tries) == (job_id, b"\x00\xff", 1, 1, 3)
    assert (second.attempt, second.used, second.remain_tries) == (2, 1, 2)
    assert first.attributes == {"trace": "é"}
    assert (first.namespace, first.queue) == ("demo", queue)
    assert 89 <= first.ttl_s <= 91
    assert consume(broker, queue) == ()


@pytest.mark.parametrize("name", ["queues", "workers"])
def test_queues_that_are_called_as_routes_are(broker: HttpBroker, name: str) -> None:
    broker.run(broker.publish(name, [b"x"], PublishOptions()))

    assert [one.queue for one in consume(broker, name)] == [name]


def test_publish_options_travel(broker: HttpBroker, queue: str) -> None:
    options = replace(KEPT, key="k/é&", key_mode=KeyMode.UNTIL_DONE, priority=-7, delay_ms=60_250, ttl_ms=0, tries=9)
    first = broker.run(broker.publish(queue, [b"1"], options))
    again = broker.run(broker.publish(queue, [b"2"], options))

    assert (first.duplicate, again.duplicate, again.job_ids) == (False, True, first.job_ids)
    detail = broker.run(broker.detail(queue, first.job_ids[0]))
    assert detail is not None
    assert (detail.priority, detail.key, detail.tries, detail.expires_ms) == (-7, "k/é&", 9, 0)
    assert broker.run(broker.find_key(queue, "k/é&")) == detail.job_id
    assert broker.run(broker.find_key(queue, "another")) is None
    assert (detail.state, detail.retention_ms, detail.body) == (JobState.DELAYED, 60_000, b"1")
    assert detail.due_ms is not None
    assert 60_000 < detail.due_ms - detail.published_ms <= 60_300
    assert broker.run(broker.cancel(queue, first.job_ids[0])) is JobState.DELAYED
    assert not broker.run(broker.publish(queue, [b"3"], options)).duplicate


def test_several_bodies_are_one_publish_if_they_are_json(broker: HttpBroker, queue: str) -> None:
    published = broker.run(broker.publish(queue, [b'{"a":1}', b"[2]", b'"3"'], PublishOptions()))

    assert [one.job_id for one in consume(broker, queue)] == list(published.job_ids)
    for body in (b"1,2", b"1],[2", b"x", b"", b"[" * 100_000):
        with pytest.raises(InvalidArgumentError):
            broker.publish(queue, [b"1", body], PublishOptions())


def test_acks_go_together_and_each_has_its_outcome(broker: HttpBroker, queue: str) -> None:
    ids = broker.run(broker.publish(queue, [b"1"] * 6, KEPT)).job_ids
    consume(broker, queue)
    works = [
        broker.ack(queue, ids[:2], attempt=1),
        broker.ack_result(queue, ids[2], attempt=1, result=b"\x00done"),
        broker.ack_result(queue, ids[3], attempt=2, result=b"late"),
        broker.ack_result(queue, ids[4], attempt=1, result=b"x" * (1024 * 1024 + 1)),
        broker.ack(queue, [ids[5], "01ARZ3NDEKTSV4RRFFQ69G5FAV"], attempt=1),
        broker.extend(queue, ids[3], attempt=1, ttr_ms=1),
        broker.extend(queue, ids[3], attempt=2, ttr_ms=1),
    ]

    plain, kept, lost, too_large, mixed, extended, not_extended = together(broker, *works)

    assert plain == (AckOutcome.ACKED, AckOutcome.ACKED)
    assert isinstance(kept, AckResult)
    assert isinstance(lost, LeaseLostError)
    assert lost.job_id == ids[3]
    assert isinstance(too_large, ResultTooLargeError)
    assert mixed[0] is AckOutcome.ACKED
    assert mixed[1] in (AckOutcome.MISSING, AckOutcome.LOST)
    assert extended > 0
    assert isinstance(not_extended, LeaseLostError)
    assert broker.run(broker.result(queue, ids[2])).body == b"\x00done"
    with pytest.raises(LeaseLostError):
        broker.run(broker.ack_result(queue, ids[3], attempt=2, result=b"late"))


def test_results_that_fit_into_no_single_request_are_kept(broker: HttpBroker, queue: str) -> None:
    ids = broker.run(broker.publish(queue, [b"1"] * 4, KEPT)).job_ids
    consume(broker, queue)

    ended = together(broker, *[broker.ack_result(queue, one, attempt=1, result=b"x" * 700_000) for one in ids])

    assert [one.outcome for one in ended] == [AckOutcome.ACKED] * 4


def test_failing(broker: HttpBroker, queue: str) -> None:
    (job_id,) = broker.run(broker.publish(queue, [b"1"], KEPT)).job_ids
    consume(broker, queue)

    with pytest.raises(LeaseLostError):
        broker.run(broker.fail(queue, job_id, attempt=2, error="x", delay_ms=None, dead=False))
    failed = broker.run(broker.fail(queue, job_id, attempt=1, error="x" * 10_000, delay_ms=1_500, dead=False))

    assert failed.state is JobState.RETRY
    with pytest.raises(JobNotFoundError):
        broker.run(broker.fail(queue, "01ARZ3NDEKTSV4RRFFQ69G5FAV", attempt=1, error="", delay_ms=None, dead=True))


def test_waiting_for_a_result(broker: HttpBroker, queue: str) -> None:
    (job_id,) = broker.run(broker.publish(queue, [b"1"], KEPT)).job_ids

    async def main() -> Any:
        early = await broker.wait_result(queue, job_id, timeout_s=0)
        waiting = asyncio.create_task(broker.wait_result(queue, job_id, timeout_s=10))
        await broker.consume([queue], count=1, ttr_ms=30_000, timeout_s=0, consumer="tests")
        await broker.arun(broker.ack_result(queue, job_id, attempt=1, result=b"42"))
        found = await waiting
        missing = await broker.wait_result(queue, "01ARZ3NDEKTSV4RRFFQ69G5FAV", timeout_s=5)
        await broker.aclose()
        return early.state, found, missing.state

    early, found, missing = asyncio.run(main())

    assert early is JobState.READY
    assert (found.state, found.body) == (JobState.COMPLETED, b"42")
    assert missing is None


def test_queues_stats_and_deleting(broker: HttpBroker, queue: str) -> None:
    ids = broker.run(broker.publish(queue, [b"1"] * 3, PublishOptions())).job_ids

    names: list[str] = []
    after: str | None = None
    while True:
        page = broker.run(broker.queues(after=after, limit=2))
        names += page.names
        after = page.after
        if after is None:
            break
    stats = broker.run(broker.stats(queue))
    assert queue in names
    assert stats.counts[JobState.READY] == 3
    assert broker.run(broker.delete(queue, [ids[0], "x"])) == 1
    assert [broker.run(broker.pause(queue)) for _ in range(2)] == [True, False]
    assert consume(broker, queue) == ()
    assert broker.run(broker.stats(queue)).paused
    assert [broker.run(broker.resume(queue)) for _ in range(2)] == [True, False]
    assert len(consume(broker, queue)) == 2


def test_stats_say_what_died_and_how_late_jobs_became_ready(broker: HttpBroker, queue: str) -> None:
    broker.run(broker.publish(queue, [b"1"], PublishOptions(delay_ms=1)))
    deliveries = broker.run(broker.take([queue], count=1, ttr_ms=60_000, timeout_s=5, consumer="test"))
    for one in deliveries:
        broker.run(broker.fail(queue, one.job_id, attempt=one.attempt, error="no", delay_ms=None, dead=True))

    stats = broker.run(broker.stats(queue))

    assert (stats.died, stats.leases_lost) == (1, 0)
    assert stats.late_ms.keys() == {"p50", "p95", "p99"}
    assert stats.late_ms["p50"] is not None


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
def test_a_consume_that_is_cancelled_takes_no_job_with_it(broker: HttpBroker, queue: str, turns: int) -> None:
    """Cancelled just as the answer comes, `turns` turns of the loop after it is known to be on its way."""

    async def main() -> int:
        taken = 0
        for _ in range(20):
            call = asyncio.create_task(broker.consume([queue], count=5, ttr_ms=60_000, timeout_s=20, consumer="tests"))
            await asyncio.sleep(0.05)
            await broker.arun(broker.publish(queue, [b"1"], KEPT))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                taken += len(await call)
        await broker.aclose()
        return taken

    taken = asyncio.run(main())

    def is_back() -> bool:
        counts = broker.run(broker.stats(queue)).counts
        return (counts[JobState.WORKING], counts[JobState.READY]) == (taken, 20 - taken)

    wait_until(is_back, or_fail="a job is held by nobody", timeout_s=5)


def test_of_a_long_traceback_the_line_of_the_exception_arrives(broker: HttpBroker, queue: str) -> None:
    (job_id,) = broker.run(broker.publish(queue, [b"1"], KEPT)).job_ids
    consume(broker, queue)
    error = (
        "Traceback (most recent call last):\n" + '  File "/app/deep.py", line 1, in call\n' * 150 + "OSError: full\n"
    )

    broker.run(broker.fail(queue, job_id, attempt=1, error=error, delay_ms=None, dead=True))

    found = broker.run(broker.detail(queue, job_id))
    assert found is not None
    assert found.history[-1].error.splitlines()[-1] == "OSError: full"


# What goes wrong.


def test_the_client_does_over_http_what_it_does_on_redis(server: Server) -> None:
    account = server.site.account
    with Client(server.url, namespace=account["namespace"], token=account["token"]) as client:
        walk_through_the_rest(client)


def test_a_wrong_token_is_named(server: Server) -> None:
    broker = HttpBroker(server.url, "demo", "wrong-token")

    with pytest.raises(NotConfiguredError, match="token for the namespace demo"):
        broker.run(broker.workers())
    with pytest.raises(NotConfiguredError, match="TASKQ_TOKEN"):
        HttpBroker(server.url, "demo", "")
    with pytest.raises(NotConfiguredError, match="not the URL"):
        HttpBroker("http://", "demo", "t")


def test_a_server_that_is_away(queue: str) -> None:
    broker = HttpBroker("http://user:secret@127.0.0.1:9", "demo", "token")

    with pytest.raises(StoreUnavailableError) as caught:
        broker.run(broker.stats(queue))
    with pytest.raises(StoreUnavailableError):
        consume(broker, queue)
    assert "secret" not in str(caught.value)
    assert broker.url == "http://127.0.0.1:9"


def test_a_limit_that_is_used_up(server: Server, queue: str) -> None:
    token = server.new_token("limited")
    limit = '{"read": 1, "write": 1, "interval": 3600}'
    assert server.staff.call("POST", f"/token/limited/{token}/limit", limit).status == 201
    broker = HttpBroker(server.url, "limited", token)
    broker.run(broker.publish(queue, [b"1"], PublishOptions()))

    with pytest.raises(LimitReachedError) as caught:
        broker.run(broker.publish(queue, [b"1"], PublishOptions()))
    consume(broker, queue)
    with pytest.raises(LimitReachedError, match="consume"):
        consume(broker, queue)
    assert 0 < caught.value.retry_after_ms <= 3_600_000


def test_bad_options_are_refused_with_the_servers_words(broker: HttpBroker, queue: str) -> None:
    for options, words in (
        (PublishOptions(tries=70_000), "invalid tries"),
        (PublishOptions(key="k" * 300), "invalid key"),
        (PublishOptions(ttl_ms=1_000, delay_ms=2_000), "ttl is shorter than delay"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            broker.run(broker.publish(queue, [b"1"], options))


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (408, b"<h1>Request Timeout</h1>", StoreUnavailableError),
        (425, b"", StoreUnavailableError),
        (499, b"[]", StoreUnavailableError),
        (409, b"<h1>Conflict</h1>", StoreUnavailableError),
        (429, b"<h1>Too Many Requests</h1>", StoreUnavailableError),
        (409, b'{"error": "lease lost"}', LeaseLostError),
        (413, b"<h1>Request Entity Too Large</h1>", InvalidArgumentError),
        (400, b"<h1>Bad Request</h1>", InvalidArgumentError),
        (422, b'{"error": "invalid x"}', InvalidArgumentError),
        (503, b"<h1>Service Unavailable</h1>", StoreUnavailableError),
    ],
)
def test_what_a_proxy_says_of_the_moment_is_tried_again(
    queue: str, status: int, body: bytes, error: type[TaskqError]
) -> None:
    class Proxy(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy, ThreadPoolExecutor() as threads:
        threads.submit(proxy.handle_request)
        broker = HttpBroker(f"http://127.0.0.1:{proxy.server_port}", "demo", "token")
        with pytest.raises(error):
            broker.run(broker.delete(queue, ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]))
        broker.close()


def test_httpx_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_httpx(name: str, *args: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return original(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_httpx)

    with pytest.raises(NotConfiguredError, match=r"pip install 'taskq\[http\]'"):
        HttpBroker("http://localhost", "demo", "token")


def test_calls_of_a_task_gather_over_http(app: App, server: Server, queue: str) -> None:
    ran: list[list[int]] = []

    @app.task(name=f"{queue}.count", queue=queue, group="all", retention=60)
    def count(numbers: list[int]) -> int:
        ran.append(numbers)
        return sum(numbers)

    jobs = [count.enqueue([1, 2]), count.enqueue([3])]
    detail = jobs[0].detail()
    assert detail is not None
    assert (detail.state, detail.group) == (JobState.GROUPED, f"{queue}.count:all")
    account = server.site.account
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    path = f"/api/{account['namespace']}/{queue}/groups/flush?group={queue}.count:all"
    connection.request("POST", path, headers={"X-Token": account["token"]})
    assert b'"members":2' in connection.getresponse().read()
    connection.close()
    worker = Worker(app, WorkerOptions(queues={queue: 1}, burst=True))
    assert asyncio.run(worker.run()) is StopReason.EMPTY

    assert ran == [[1, 2, 3]]
    assert [job.result(timeout=5) for job in jobs] == [6, 6]
    detail = jobs[0].detail()
    assert detail is not None
    assert detail.state is JobState.COMPLETED
    assert len(detail.batch_id) == 26


def test_workflows_over_http(app: App, queue: str) -> None:
    asyncio.run(_walk_through_workflows(app, queue))


async def _walk_through_workflows(app: App, queue: str) -> None:
    ran: list[str] = []

    @app.task(queue=queue, retry=1)
    def number(x: int) -> int:
        ran.append(f"number {x}")
        if x == 3 and ran.count("number 3") == 1:
            raise ValueError("broken")
        return x

    @app.task(queue=queue)
    def total(context: Context, numbers: list[int]) -> int:
        assert list(context.results().values()) == numbers
        return sum(numbers)

    flow = chain(group([number.using(delay=0.01).call(n) for n in range(4)]), total.partial())
    async with running(app, queue):
        handle = await flow.aenqueue(f"w-{queue}")
        await asyncio.to_thread(
            wait_until, lambda: handle.detail().state == "failed", or_fail="the workflow has not failed"
        )
        with pytest.raises(WorkflowConflictError, match="another workflow"):
            await chain(number.call(1)).aenqueue(f"w-{queue}")
        assert await handle.aretry() == 1
        assert await handle.aresult(10) == 6
        await asyncio.to_thread(wait_until, lambda: handle.detail().state == "done", or_fail="the workflow is not done")
        more = Workflow()
        more.add(number.call(9), name="late", after="total")
        with pytest.raises(WorkflowConflictError, match="the workflow is done"):
            await handle.aadd(more)
        with pytest.raises(WorkflowNotFoundError):
            app.workflow("none").cancel()
        other = number.using(queue="elsewhere", depends_on=[handle.job("total"), "elsewhere:a,b%c"]).enqueue(1)
        assert other.state() == "blocked"
        assert other.cancel()


def test_a_job_waits_for_more_jobs_than_fit_one_publish(broker: HttpBroker, server: Server) -> None:
    account = server.site.account
    with Client(server.url, namespace=account["namespace"], token=account["token"]) as client:
        walk_through_many_dependencies(client)
        walk_through_an_open_job(client)


def test_dependencies_that_a_head_has_no_room_for_are_added_in_pages(broker: HttpBroker, queue: str) -> None:
    depends_on = tuple(Dependency(queue=f"{queue}-{'x' * 200}", key=f"{number}") for number in range(300))
    options = replace(KEPT, depends_on=depends_on, on_dependency_failure=DependencyFailure.CONTINUE)

    published = broker.run(broker.publish(queue, [b"1", b"2"], options))

    for job_id in published.job_ids:
        with pytest.raises(DependenciesClosedError):
            broker.run(broker.add_dependencies(queue, job_id, depends_on[:1]))
    assert broker.run(broker.stats(queue)).counts[JobState.BLOCKED] == 2
    cyclic = replace(options, key="k", depends_on=(*depends_on, Dependency(queue=queue, key="k")))
    with pytest.raises(InvalidArgumentError, match="depends_on makes a cycle"):
        asyncio.run(broker.arun(broker.publish(queue, [b"3"], cyclic)))
    assert broker.run(broker.stats(queue)).counts[JobState.BLOCKED] == 2


def test_a_request_of_several_waits_out_the_rate_limit(broker: HttpBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskq.brokers.http_connection.LIMIT_WAITS_S", (0.0, 0.0))
    refusals = {"PUT": 0, "POST": 2}

    def respond(request: Any) -> Any:
        if refusals[request.method]:
            refusals[request.method] -= 1
            return httpx.Response(429, headers={"Retry-After": "0"}, json={"error": "publish rate limit reached"})
        if request.method == "PUT":
            return httpx.Response(201, json={"msg": "published", "job_id": "01JD5T9ZQ3W8K4N7B2M6XCVHRE"})
        return httpx.Response(200, json={"state": "blocked", "waits_for_total": 1})

    options = replace(KEPT, depends_on=tuple(Dependency(queue="q", key=f"{number}") for number in range(1_001)))
    limited = HttpBroker("http://localhost:1", "ns", "t" * 43)
    limited._client, limited._pid = httpx.Client(transport=httpx.MockTransport(respond)), os.getpid()
    assert limited.run(limited.publish("q", [b"1"], options)).job_ids == ("01JD5T9ZQ3W8K4N7B2M6XCVHRE",)
    refusals["POST"] = 3
    with pytest.raises(LimitReachedError):
        limited.run(limited.publish("q", [b"1"], options))
    refusals.update(PUT=1, POST=0)
    with pytest.raises(LimitReachedError):
        limited.run(limited.publish("q", [b"1"], options))
