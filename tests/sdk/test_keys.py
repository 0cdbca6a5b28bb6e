"""Once per business id: `key=` and its modes."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from queues.engine import JobState, PublishOptions
from taskq import App, Context, NotConfiguredError, TaskqClientError

from .conftest import until, work, working

pytestmark = pytest.mark.anyio


def test_by_default_a_second_call_is_the_first_job_until_that_is_done(app: App) -> None:
    @app.task(name="t", key="order-{order_id}")
    def close(order_id: int, reason: str = "unpaid") -> None: ...

    first, second, other = close.enqueue(7), close.enqueue(order_id=7), close.enqueue(8)
    assert (first.is_duplicate, second.is_duplicate, other.is_duplicate) == (False, True, False)
    found = first.detail()
    assert found is not None
    assert found.key == "t:order-7"
    assert close.enqueue(7).id == first.id
    work(app)
    assert not close.enqueue(7).is_duplicate


def test_a_key_may_be_a_function_and_is_the_tasks_own(app: App) -> None:
    @app.task(name="a", key=lambda order: str(order["id"]), key_mode="until_started")
    def first(order: dict[str, int]) -> None: ...

    @app.task(name="b", key=lambda order: str(order["id"]), key_mode="window", key_ttl=60)
    def second(order: dict[str, int]) -> None: ...

    jobs = [task.enqueue({"id": 1}) for task in (first, first, second, second)]
    assert [job.is_duplicate for job in jobs] == [False, True, False, True]
    work(app)
    assert [task.enqueue({"id": 1}).is_duplicate for task in (first, second)] == [False, True]


def test_a_limit_key_is_filled_in_and_shares_the_queue(app: App) -> None:
    ran: list[str] = []

    @app.task(limit_key="tenant-{tenant}")
    def mail(tenant: str, number: int = 0) -> None:
        ran.append(tenant)

    jobs = [mail.enqueue("large", number) for number in range(9)]
    jobs.append(mail.using(limit_key=lambda tenant, number=0: tenant).enqueue("small"))
    details = [job.detail() for job in (jobs[0], jobs[-1])]
    assert [detail and detail.limit_key for detail in details] == ["tenant-large", "small"]
    work(app)
    assert ran.index("small") <= 1
    assert len(ran) == 10
    with pytest.raises(TaskqClientError, match="does not fit"):
        mail.using(limit_key="{nobody}").enqueue("a")


def test_the_arguments_of_a_keyed_call_are_bound_once(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    @app.task(name="t", key="order-{order_id}-{reason}")
    def close(order_id: int, reason: str = "unpaid") -> None: ...

    binds: list[object] = []
    bind = inspect.Signature.bind

    def counted(self: inspect.Signature, /, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        binds.append(args)
        return bind(self, *args, **kwargs)

    monkeypatch.setattr(inspect.Signature, "bind", counted)
    jobs = [close.enqueue(7), close.enqueue(order_id=7), close.enqueue(7, reason="late")]

    assert [job.is_duplicate for job in jobs] == [False, True, False]
    assert len(binds) == 3


def test_replace_debounces_with_the_newest_arguments(app: App) -> None:
    ran: list[str] = []

    @app.task(key="doc-{doc}", key_mode="replace", delay=0.2, key_max_wait=60)
    def index(doc: int, text: str) -> None:
        ran.append(text)

    jobs = [index.enqueue(1, text) for text in ("a", "ab", "abc")]
    assert [job.state() for job in jobs] == [None, None, JobState.DELAYED]
    index.using(delay=0).enqueue(1, "now")
    work(app)
    assert ran == ["now"]


async def test_no_overlap_runs_one_after_the_other_and_others_meanwhile(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskq.worker.worker.OVERLAP_FIRST_S", 0.05)
    running: list[int] = []
    most: list[int] = []
    others = 0

    @app.task(key="shop-{shop}", key_mode="no_overlap")
    async def sync(shop: int) -> None:
        nonlocal others
        if shop != 1:
            others += 1
            return
        running.append(shop)
        most.append(len(running))
        await asyncio.sleep(0.05)
        running.pop()

    for shop in (1, 2, 1, 3, 1):
        assert not (await sync.aenqueue(shop)).is_duplicate
    async with working(app) as worker:
        await until(lambda: worker.done == 5, or_fail="not all ran")
    assert most == [1, 1, 1]
    assert others == 2
    assert worker.failed == 0


async def test_a_job_that_waits_for_its_key_asks_ever_more_rarely(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskq.worker.worker.OVERLAP_FIRST_S", 0.01)
    monkeypatch.setattr("taskq.worker.worker.OVERLAP_LONGEST_S", 0.32)
    attempts: list[int] = []

    @app.task(key="one", key_mode="no_overlap")
    async def run(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        if len(attempts) == 1:
            await asyncio.sleep(1.0)

    for _ in range(2):
        await run.aenqueue()
    async with working(app) as worker:
        await until(lambda: worker.done == 2, or_fail="not both ran")
    assert attempts[0] == 1
    assert 3 <= attempts[1] <= 20, "by the first delay it would have asked a hundred times"


def test_a_key_of_no_overlap_that_cannot_be_right_is_refused_and_a_job_with_one_is_dead(app: App) -> None:
    @app.task(name="t", key="{user[id]}", key_mode="no_overlap")
    def one(user: dict[str, str]) -> None: ...

    for bad, words in (({}, "does not fit"), ({"id": "x" * 300}, "at most 255 bytes")):
        with pytest.raises(TaskqClientError, match=words):
            one.enqueue(bad)
    # As another producer may have written them.
    bodies = [b'{"task": "t", "args": [{}]}', b'{"task": "t", "args": [{"id": "%b"}]}' % (b"x" * 300)]
    app.broker.run(app.broker.publish("default", bodies, PublishOptions(tries=5)))

    work(app)

    page = app.broker.run(app.broker.jobs("default", JobState.DEAD, after=None, limit=10))
    assert sorted(job.history[-1].error[:11] for job in page.jobs) == ["invalid key", "t: key '{us"]


def test_keys_that_do_not_fit_are_refused(app: App) -> None:
    @app.task(name="t", key="{missing}")
    def one(a: int) -> None: ...

    with pytest.raises(TaskqClientError, match=r"t: key '{missing}' does not fit the arguments"):
        one.enqueue(1)
    with pytest.raises(NotConfiguredError, match="unknown key_mode 'sometimes'"):
        app.task(key="x", key_mode="sometimes")(lambda: None)
