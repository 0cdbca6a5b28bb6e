"""Declaring tasks and enqueueing them: plain calls, arguments, options, keys, many at once, results."""

from __future__ import annotations

import base64
import enum
import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import GenericAlias
from typing import Any
from uuid import UUID

import pydantic
import pytest
from cryptography.fernet import Fernet

from queues.engine import InvalidArgumentError, JobState, Operation, PublishOptions
from taskq import (
    App,
    Context,
    Depends,
    JobFailedError,
    JobGoneError,
    NotConfiguredError,
    ResultTimeoutError,
    RetryPolicy,
    SerializationError,
    TaskOptions,
)
from taskq.app import group_calls
from taskq.message import read_message
from tests.support.rows import in_one_test

from .conftest import NAMESPACE, work


class Colour(enum.Enum):
    RED = "red"


class Parcel: ...


@dataclass
class Order:
    number: int
    at: datetime
    total: Decimal


SEEN: list[Any] = []


def test_calling_a_task_is_a_plain_call(app: App) -> None:
    @app.task
    def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    assert add(2, b=3) == 5
    assert add.__doc__ == "Adds."
    assert add.name == "tests.sdk.test_tasks.test_calling_a_task_is_a_plain_call.<locals>.add"


def test_a_plain_call_of_a_task_with_a_context_makes_one(app: App) -> None:
    @app.task
    def greet(ctx: Context, name: str) -> str:
        ctx.progress(50)
        return f"{name} {ctx.attempt}"

    assert greet("you") == "you 1"
    assert greet.function(Context(attempt=7), "you") == "you 7"


def test_arguments_come_as_the_types_that_the_signature_names(app: App) -> None:
    SEEN.clear()

    @app.task
    def take(
        order: Order, when: datetime, day: date, span: timedelta, price: Decimal, uid: UUID, colour: Colour,
        tags: set[str], pair: tuple[int, str], raw: bytes, maybe: Order | None = None, plain: Any = None,
    ) -> None:  # fmt: skip
        SEEN.append((order, when, day, span, price, uid, colour, tags, pair, raw, maybe, plain))

    when = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
    order = Order(7, when, Decimal("12.50"))
    given = (
        order, when, date(2026, 1, 2), timedelta(minutes=3), Decimal("0.1"), UUID(int=5), Colour.RED, {"a"}, (1, "b"),
        b"\x00\xff", order, {"x": [1, None]},
    )  # fmt: skip
    take.enqueue(*given)
    work(app)

    assert [given] == SEEN


def test_further_arguments_come_as_the_types_of_args_and_kwargs(app: App) -> None:
    seen: list[Any] = []

    @app.task
    def add(first: int, *times: datetime, exact: bool = False, **totals: Decimal) -> None:
        seen.append((first, times, exact, totals))

    day, night = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    add.enqueue(1, day, night, exact=True, times=Decimal(1), rest=Decimal(2))
    work(app)
    assert seen == [(1, (day, night), True, {"times": Decimal(1), "rest": Decimal(2)})]


def test_a_class_that_json_cannot_be_made_into_ends_the_job_and_is_named(app: App) -> None:
    @app.task
    def send(parcels: list[Parcel]) -> None: ...

    job = send.enqueue([{"weight": 1}])  # type: ignore[list-item]
    work(app)
    with pytest.raises(JobFailedError, match=r"argument parcels: no rule makes `.*Parcel` of `dict`"):
        job.result()


def test_pydantic_like_models_are_read_by_their_annotation(app: App) -> None:
    class Model:
        def __init__(self, x: int) -> None:
            self.x = x

        def model_dump(self, mode: str) -> dict[str, int]:
            assert mode == "json"
            return {"x": self.x}

        @classmethod
        def model_validate(cls, value: dict[str, int]) -> Model:
            return cls(value["x"])

    @app.task(retention=60)
    def take(model: Model) -> int:
        return model.x

    take._hints["model"] = take._converted["model"] = Model  # a local class has no name that an annotation finds
    job = take.enqueue(Model(4))
    work(app)

    assert job.result() == 4


def test_models_of_pydantic_are_arguments_and_results(app: App) -> None:
    order_model = pydantic.create_model("Order", number=(int, ...), due=(datetime, ...), tags=(list[str], []))
    seen: list[Any] = []

    def take(order: Any, others: Any = ()) -> Any:
        seen.append((order, others))
        return order

    take.__annotations__ = {"order": order_model, "others": GenericAlias(list, (order_model,)), "return": order_model}
    task = app.task(name="take", retention=60, retry=1)(take)
    order = order_model(number=7, due="2026-12-01T00:00:00Z", tags=["a"])
    kept, wrong = task.enqueue(order, [order, order]), task.enqueue({"number": "seven", "due": "2026-12-01"})
    work(app)

    assert seen == [(order, [order, order])]
    assert kept.result() == order
    found = wrong.detail()
    assert found is not None
    assert found.state is JobState.DEAD
    assert "take: argument order: 1 validation error for Order" in found.history[0].error


def test_a_producer_in_another_language_needs_only_the_name(app: App) -> None:
    @app.task(name="mail.send", retention=60)
    def send(to: str, at: datetime) -> str:
        return f"{to} {at.year}"

    job = app.job(
        "default", app.broker.run(_raw(app, b'{"task":"mail.send","kwargs":{"to":"x","at":"2026-01-01T00:00:00Z"}}'))
    )
    work(app)

    assert job.result() == "x 2026"


def _raw(app: App, body: bytes) -> Any:
    from queues.engine import PublishOptions, publish
    from taskq.brokers.redis import RedisBroker, _EngineWork

    assert isinstance(app.broker, RedisBroker)
    options = PublishOptions(retention_ms=60_000)
    work = _EngineWork(lambda engine: publish(engine.queue(NAMESPACE, "default"), [body], options))
    published = app.broker.run(work)
    return _EngineWork(lambda engine: _answer(published.job_ids[0]))


def _answer(value: Any) -> Any:
    yield []
    return value


@pytest.mark.parametrize(
    ("args", "kwargs", "wrong"),
    [((), {}, "missing a required argument: 'a'"), ((1, 2, 3), {}, "too many"), ((1,), {"c": 1}, "unexpected keyword")],
)
def test_arguments_that_do_not_fit_are_refused_where_they_are_given(
    app: App, args: tuple[Any, ...], kwargs: dict[str, Any], wrong: str
) -> None:
    @app.task(name="add")
    def add(a: int, b: int = 1) -> int:
        return a + b

    with pytest.raises(TypeError, match=f"add: .*{wrong}"):
        add.enqueue(*args, **kwargs)
    assert app.broker.run(app.broker.stats("default")).counts[JobState.READY] == 0


def test_what_has_no_json_form_is_refused_by_its_type(app: App) -> None:
    @app.task
    def take(x: Any) -> None: ...

    with pytest.raises(SerializationError, match="object has no JSON form"):
        take.enqueue(object())


def test_an_argument_of_the_wrong_type_is_a_dead_letter_that_names_it(app: App) -> None:
    @app.task(name="take")
    def take(number: int) -> None: ...

    job = take.enqueue("seven")  # type: ignore[arg-type]
    work(app)

    with pytest.raises(JobFailedError, match=r"take: argument number: .*int"):
        job.result()


def test_what_the_worker_provides_is_no_argument_of_callers(app: App) -> None:
    def database() -> str:
        return "db"

    @app.task(name="t", retention=60)
    def use(ctx: Context, a: int, db: str = Depends(database)) -> str:
        return f"{a} {db} {ctx.task}"

    job = use.enqueue(1)
    work(app)
    assert job.result() == "1 db t"
    with pytest.raises(TypeError, match="unexpected keyword argument 'db'"):
        use.enqueue(1, db="mine")


def test_two_tasks_of_one_name_are_refused_and_so_are_unknown_options(app: App) -> None:
    def first() -> None: ...
    def second() -> None: ...

    app.add_task(first, "t", TaskOptions())
    with pytest.raises(NotConfiguredError, match="two tasks named t"):
        app.add_task(second, "t", TaskOptions())
    with pytest.raises(NotConfiguredError, match="unknown option que; there are at, "):
        app.task(que="x")
    with pytest.raises(NotConfiguredError, match="unknown backoff 'often'"):
        app.task(retry=RetryPolicy(backoff="often"))(first)


@in_one_test(
    ("options", "wrong"),
    [
        ({"timeout": -1}, "timeout= must be above 0"),
        ({"expires": 0}, r"expires= must be above 0 \(None: the job never expires\)"),
        ({"expires": timedelta(microseconds=400)}, "expires= must be above 0"),
        ({"expires": -1}, "must not be negative"),
        ({"key_mode": "no_overlap"}, "needs a key="),
        ({"key": "x", "key_mode": "window"}, "needs key_ttl="),
        ({"delay": -1}, "must not be negative"),
        ({"queue": "bad queue"}, "queue name contains forbidden characters"),
        ({"queue": None}, "queue= must be text, not None"),
        ({"priority": 1000}, "invalid priority"),
        ({"priority": 1.5}, "priority= must be a whole number, not 1.5"),
        ({"retry": 0}, "tries shouldn't be zero"),
        ({"retry": "3"}, "retry= must be a RetryPolicy or a number of tries, not '3'"),
        ({"delay": 10**400}, "delay= must be a finite number"),
        ({"timeout": "30"}, "timeout= must be a finite number of seconds or a timedelta, not '30'"),
        ({"at": "2026-01-01"}, "at= must be a datetime"),
        ({"key": 7}, "key= must be text or a function, not 7"),
        ({"limit_key": 7}, "limit_key= must be text or a function, not 7"),
        ({"wait": "30"}, "wait= must be a finite number of seconds or a timedelta, not '30'"),
        ({"attributes": {"tenant": 7}}, "attributes= must be a dict of texts"),
        ({"version": "2"}, "version= must be a whole number, not '2'"),
    ],
)
def test_options_that_make_no_sense_are_refused_where_the_task_is_declared(
    app: App, options: dict[str, Any], wrong: str
) -> None:
    def task() -> None: ...

    with pytest.raises((NotConfiguredError, InvalidArgumentError), match=wrong):
        app.task(**options)(task)


def test_seconds_may_be_any_number(app: App) -> None:
    options = TaskOptions(delay=Decimal("1.5"), timeout=2, retention=timedelta(minutes=1))  # type: ignore[arg-type]
    assert (options.publish_options.delay_ms, options.timeout_s, options.retention_s) == (1_500, 2.0, 60.0)


def test_what_is_no_function_is_refused_as_a_task(app: App) -> None:
    with pytest.raises(NotConfiguredError, match=r"a task is a function, .* not 7"):
        app.task(7)  # type: ignore[call-overload]


@in_one_test("wrong", [{"never": ("ValueError",)}, {"only": 5}, {"tries": "3"}, {"tries": True}, {"backoff": 10}])
def test_a_retry_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(NotConfiguredError, match=f"^{next(iter(wrong))}= of a RetryPolicy"):
        RetryPolicy(**wrong)


def test_a_retry_policy_takes_classes_alone_and_in_lists() -> None:
    policy = RetryPolicy(only=[LookupError, OSError], never=KeyError)  # type: ignore[arg-type]
    assert [policy.retries(error) for error in (IndexError(), OSError(), KeyError(), ValueError())] == [
        True,
        True,
        False,
        False,
    ]


def test_a_plain_call_must_give_what_a_worker_would_provide(app: App) -> None:
    @app.task(name="t")
    def use(db: str = Depends(lambda: "db")) -> str:
        return db

    assert use(db="mine") == "mine"
    with pytest.raises(TypeError, match="t: a plain call must give db="):
        use()


def test_options_of_a_call_leave_the_task_as_it_is(app: App) -> None:
    @app.task
    def noop() -> None: ...

    at = datetime(2100, 1, 1, tzinfo=UTC)
    later = noop.using(at=at, queue="other", priority=7, retry=3).enqueue().detail()
    now = noop.enqueue().detail()

    assert later is not None
    assert now is not None
    assert (later.queue, later.state, later.priority, later.tries) == ("other", JobState.DELAYED, 7, 3)
    assert later.due_ms == at.timestamp() * 1_000
    assert (now.queue, now.state, now.priority, now.tries, now.expires_ms) == ("default", JobState.READY, 0, 25, 0)
    with pytest.raises(NotConfiguredError, match="a time with a zone"):
        noop.using(at=datetime(2100, 1, 1)).enqueue()  # noqa: DTZ001
    with pytest.raises(NotConfiguredError, match="exclude each other"):
        noop.using(at=at, delay=1).enqueue()


def test_many_calls_of_several_tasks_keep_their_order(app: App) -> None:
    @app.task(name="a")
    def first(n: int) -> None: ...

    @app.task(name="b", queue="other")
    def second(n: int) -> None: ...

    calls = [first.call(n) if n % 3 else second.call(n) for n in range(2_500)]
    jobs = app.enqueue_many(calls)

    assert [job.queue for job in jobs] == ["default" if n % 3 else "other" for n in range(2_500)]
    found = jobs[2_499].detail()
    assert found is not None
    assert read_message(found.body).args == [2_499]
    assert len({job.id for job in jobs}) == 2_500


async def _enqueue_in_a_loop(app: App, task: Any) -> Any:
    job = await task.aenqueue(1)
    assert await job.astate() is JobState.READY
    await app.broker.aclose()
    return job


def test_many_large_calls_go_in_parts_that_any_server_takes(app: App) -> None:
    @app.task
    def store(text: str) -> None: ...

    calls = [store.call("x" * 900_000) for _ in range(10)]
    assert [len(group) for group in group_calls(calls)] == [9, 1]
    broker: Any = app.broker
    bodies = [prepared.body for _, prepared in group_calls(calls)[0]]
    operation = broker.publish("default", bodies, PublishOptions()).make(broker.engine())
    assert not isinstance(operation, Operation), "it is written in several calls"
    assert len({job.id for job in app.enqueue_many(calls)}) == 10


@pytest.mark.parametrize("wrong", [5, "tasks.add"])
def test_what_is_no_call_is_refused(app: App, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"enqueue_many takes calls, made by task\.call\(\.\.\.\), not "):
        app.enqueue_many([wrong])


def test_enqueue_from_asyncio_in_one_loop_after_another(app: App) -> None:
    import asyncio

    @app.task
    def take(n: int) -> None: ...

    assert asyncio.run(_enqueue_in_a_loop(app, take)).id != asyncio.run(_enqueue_in_a_loop(app, take)).id


def test_a_result_comes_as_the_return_annotation_says(app: App) -> None:
    @app.task(retention=60)
    def order() -> Order:
        return Order(1, datetime(2026, 1, 1, tzinfo=UTC), Decimal("1.10"))

    @app.task(retention=60)
    def nothing() -> None: ...

    jobs = order.enqueue(), nothing.enqueue()
    work(app)

    assert jobs[0].result() == Order(1, datetime(2026, 1, 1, tzinfo=UTC), Decimal("1.10"))
    assert jobs[1].result() is None


def test_waiting_for_a_result_that_does_not_come_says_why(app: App) -> None:
    @app.task
    def noop() -> None: ...

    job = noop.enqueue()
    with pytest.raises(ResultTimeoutError, match=f"job {job.id} is ready after 0.02 s"):
        job.result(timeout=0.02)
    work(app)
    with pytest.raises(JobGoneError, match="its result is not kept"):
        job.result()


class Pickle:
    name = "pickle"

    def dumps(self, value: Any) -> bytes:
        return pickle.dumps(value)

    def loads(self, raw: bytes) -> Any:
        return pickle.loads(raw)


def test_another_serializer_is_used_only_if_the_app_has_it(redis_url: str, app: App) -> None:
    theirs = App(redis_url, namespace=NAMESPACE, serializers=[Pickle()])

    @theirs.task(name="t", retention=60)
    def take(x: Any) -> str:
        return repr(x)

    app.add_task(take.function, "t", TaskOptions(retention=60))
    job = take.enqueue({1, 2})
    worker = work(app)
    assert [reason for (_, _, reason) in worker.parked] == [
        "the arguments need the serializer 'pickle', which this app does not have"
    ]
    app.broker.run(app.broker.run_now("default", [job.id]))
    work(theirs)
    assert job.result() == "{1, 2}"
    theirs.broker.close()


def test_encrypted_arguments_are_nowhere_in_redis_and_keys_rotate(redis_url: str, redis_client: Any) -> None:
    old, new = Fernet.generate_key(), Fernet.generate_key()
    before = App(redis_url, namespace=NAMESPACE, encryption_keys=[old])
    after = App(redis_url, namespace=NAMESPACE, encryption_keys=[new, old])
    stranger = App(redis_url, namespace=NAMESPACE, encryption_keys=[new])
    for one in (before, after, stranger):
        one.add_task(lambda secret: secret[::-1], "t", TaskOptions(retention=60))

    job = before.tasks["t"].enqueue("my-secret")
    found = job.detail()
    assert found is not None
    assert b"my-secret" not in found.body
    assert base64.urlsafe_b64encode(b"my-secret")[:8] not in found.body
    assert "cannot be decrypted" in next(iter(work(stranger).parked))[2]
    after.broker.run(after.broker.run_now("default", [job.id]))
    work(after)

    assert after.job("default", job.id).result() == "terces-ym"
    assert b"terces" not in b"".join(
        bytes(str(value), "utf-8") for value in map(redis_client.hgetall, redis_client.keys("*results"))
    )
    for one in (before, after, stranger):
        one.broker.close()


def test_without_any_place_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TASKQ_URL", raising=False)
    with pytest.raises(NotConfiguredError, match="set TASKQ_URL"):
        _ = App().broker
    with pytest.raises(NotConfiguredError, match="TASKQ_URL"):
        _ = App("ftp://x").broker


def test_a_place_is_found_in_the_environment_and_in_the_folder_of_taskq_dev(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, redis_url: str
) -> None:
    monkeypatch.setenv("TASKQ_URL", redis_url)
    monkeypatch.setenv("TASKQ_NAMESPACE", "env")
    assert App().broker.namespace == "env"
    monkeypatch.delenv("TASKQ_URL")
    monkeypatch.delenv("TASKQ_NAMESPACE")
    (tmp_path / ".taskq").mkdir()
    (tmp_path / ".taskq" / "dev.json").write_text(f'{{"url": "{redis_url}", "namespace": "demo"}}')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert App().broker.namespace == "demo"
