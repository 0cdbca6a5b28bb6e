"""What becomes of jobs by what their receiver answers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from queues.engine import AsyncEngine, JobState, list_limit_keys
from queues.http_client import Response
from queues.models import Namespace, PushEndpoint, QueuePolicy
from queues.pools import async_engine_for
from queues.push import service
from queues.push.service import Pusher
from queues.push.verdicts import RETRY_AFTER_MAX_S, fallback_delay_ms, judge, read_retry_after
from queues.services.push.endpoints import rotate_secret
from tests.engine.loop import until as until_true
from tests.support.loops import run_async
from tests.support.rows import in_one_test

from .conftest import SECRET, World, ask, is_in, pushing, until
from .sink import Received, held, listening, never, replies


def check_signature(request: Received, secret: str) -> bool:
    """As the Standard Webhooks specification says, computed without any code of taskq's."""
    key = base64.b64decode(secret.split("_", 1)[1])
    content = request.headers["webhook-id"] + "." + request.headers["webhook-timestamp"] + "."
    wanted = base64.b64encode(hmac.new(key, content.encode() + request.body, hashlib.sha256).digest()).decode()
    return any(one == f"v1,{wanted}" for one in request.headers["webhook-signature"].split(" "))


def test_the_example_of_the_specification_is_signed_alike() -> None:
    """https://github.com/standard-webhooks/standard-webhooks: the vector of its reference libraries."""
    from queues.services.push.secrets import key_of
    from queues.services.push.signing import sign

    signature = sign(
        [key_of(SECRET)],
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp_s=1614265330,
        body=b'{"test": 2432232314}',
    )

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_2xx_acks_and_the_request_is_signed(world: World) -> None:
    async def test() -> None:
        async with listening(replies("204 No Content")) as sink:
            await ask(world.endpoint, sink.url, headers={"Content-Type": "application/json", "X-Shop": "7"})
            attributes = {"trace-id": "abc", "who": "Zoë\n100%", "not a name": "x"}
            (job_id,) = await ask(world.publish, b'{"order": 7}', attributes=attributes)
            async with pushing():
                await until(lambda: world.counts() == {} and sink.received, or_fail="the job was not acked")

        (request,) = sink.received
        assert request.body == b'{"order": 7}'
        assert request.path == "/hook?x=1"
        headers = request.headers
        assert headers["webhook-id"] == job_id
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
        assert check_signature(request, SECRET)
        assert not check_signature(request, "whsec_" + base64.b64encode(b"x" * 32).decode())
        assert headers["content-type"] == "application/json"
        assert headers["x-shop"] == "7"
        assert (headers["taskq-namespace"], headers["taskq-queue"]) == ("shop", "orders")
        assert (headers["taskq-attempt"], headers["taskq-tries-left"]) == ("1", "2")
        assert headers["job-attr-trace-id"] == "abc"
        assert headers["job-attr-who"] == "Zo%C3%AB%0A100%25"
        assert headers["user-agent"].startswith("taskq/")

        (record,) = await ask(world.records)
        assert (record.job_id, record.outcome, record.status, record.next) == (job_id, "delivered", 204, "acked")
        assert record.request_body == '{"order": 7}'
        assert dict(record.request_headers)["webhook-signature"] == headers["webhook-signature"]

    run_async(test())


def test_a_pusher_that_stops_while_it_writes_deliveries_down_loses_none(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        may_write = asyncio.Event()
        async with listening(replies("204 No Content")) as sink:
            await ask(world.endpoint, sink.url)
            await ask(world.publish, b"job")
            async with pushing() as pusher:
                engine_of = pusher._engine

                async def engine_later(pool: str) -> Any:
                    await may_write.wait()
                    return await engine_of(pool)

                def is_being_written() -> bool:
                    return any(one.is_empty and one.counts.delivered for _, one in pusher._recorders.values())

                monkeypatch.setattr(pusher, "_engine", engine_later)
                await until(is_being_written, or_fail="the delivery is not written down")
                asyncio.get_running_loop().call_later(0.2, may_write.set)
        assert [record.outcome for record in await ask(world.records)] == ["delivered"]

    run_async(test())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("500 Internal Server Error", "500 Internal Server Error: no luck"),
        ("400 Bad Request", "400 Bad Request: no luck"),
        ("302 Found", "302 Found: redirects are not followed (http://127.0.0.1:9/)"),
    ],
)
def test_any_other_status_fails_with_what_was_said(world: World, answer: str, error: str) -> None:
    async def test() -> None:
        async with listening(replies(answer, b"no\n luck", "Location: http://127.0.0.1:9/")) as sink:
            await ask(world.endpoint, sink.url)
            (job_id,) = await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: is_in(world.job(job_id), JobState.RETRY), or_fail="the job did not fail")

        job = await ask(world.job, job_id)
        assert [one.error for one in job.history] == [error]
        assert job.history[0].consumer.startswith("push:")
        assert 2_400 < job.due_ms - job.now_ms + 100 <= 5_100, "5 s, half of it random"
        deliveries = await ask(world.deliveries)
        assert (deliveries.health.failed, deliveries.health.streak) == (1, 1)
        assert len(deliveries.failures) == 1

    run_async(test())


def test_a_job_with_a_backoff_waits_by_it(world: World) -> None:
    from queues.engine import parse_backoff

    async def test() -> None:
        async with listening(replies("500 Oops")) as sink:
            await ask(world.endpoint, sink.url)
            (job_id,) = await ask(world.publish, b"job", backoff=parse_backoff("fixed:1000"))
            async with pushing():
                await until(lambda: is_in(world.job(job_id), JobState.RETRY), or_fail="the job did not fail")
        job = await ask(world.job, job_id)
        assert 990_000 < job.due_ms - job.now_ms <= 1_000_001

    run_async(test())


def test_a_job_whose_tries_are_used_up_is_dead(world: World) -> None:
    async def test() -> None:
        async with listening(replies("500 Oops")) as sink:
            await ask(world.endpoint, sink.url)
            (job_id,) = await ask(world.publish, b"job", tries=1)
            async with pushing():
                await until(lambda: is_in(world.job(job_id), JobState.DEAD), or_fail="the job did not die")

    run_async(test())


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured_and_holds_the_endpoint_off(world: World, form: str) -> None:
    async def test() -> None:
        text = "900" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=900), usegmt=True)
        async with listening(replies("503 Busy", b"", f"Retry-After: {text}")) as sink:
            await ask(world.endpoint, sink.url, concurrency=1)
            first, second = await ask(world.publish, b"first", b"second")
            async with pushing():
                await until(lambda: is_in(world.job(first), JobState.RETRY), or_fail="the job did not fail")
        job = await ask(world.job, first)
        assert 880_000 < job.due_ms - job.now_ms <= 900_001
        assert is_in(await ask(world.job, second), JobState.READY)
        assert sink.bodies() == [b"first"]

    run_async(test())


def test_410_pauses_the_endpoint_and_burns_no_try(world: World) -> None:
    async def test() -> None:
        async with listening(replies("410 Gone", b"unsubscribed")) as sink:
            await ask(world.endpoint, sink.url)
            ids = await ask(world.publish, b"1", b"2", b"3")
            async with pushing():
                await until(
                    lambda: PushEndpoint.objects.exclude(paused_at=None).exists() and world.counts() == {"ready": 3},
                    or_fail="the endpoint was not paused",
                )
                requests = len(sink.received)
                jobs = [await ask(world.job, job_id) for job_id in ids]
                assert [job.used for job in jobs] == [0, 0, 0]
                row = await ask(PushEndpoint.objects.get)
                assert row.paused_reason == "410 Gone: unsubscribed"

                sink.answer = replies()
                await ask(PushEndpoint.objects.update, paused_at=None)
                await until(lambda: world.counts() == {}, or_fail="it does not go on after it was resumed")
        assert requests <= 3
        assert {body: sink.bodies().count(body) for body in sink.bodies()}.keys() == {b"1", b"2", b"3"}

    run_async(test())


def test_one_that_never_answers_fails_in_time(world: World) -> None:
    async def test() -> None:
        async with listening(never) as sink:
            await ask(world.endpoint, sink.url, timeout_s=1)
            (job_id,) = await ask(world.publish, b"job")
            async with pushing(drain_s=0):
                await until(lambda: is_in(world.job(job_id), JobState.RETRY), or_fail="no timeout")
            job = await ask(world.job, job_id)
            (attempt,) = job.history
            assert attempt.error == "no answer in time (1 s)"
            assert 1_000 <= attempt.ended_ms - attempt.taken_ms < 15_000

    run_async(test())


def test_one_that_never_answers_delays_no_other(world: World) -> None:
    async def test() -> None:
        async with listening(never) as slow, listening() as quick:
            await ask(world.endpoint, slow.url, queue="slow", timeout_s=60, concurrency=2)
            await ask(world.endpoint, quick.url, queue="quick", concurrency=2)
            await ask(world.publish, *[b"job"] * 20, queue="slow")
            async with pushing(drain_s=0):
                await until(lambda: slow.under_way == 2, or_fail="the slow endpoint got nothing")
                await ask(world.publish, *[b"job"] * 100, queue="quick")
                await until(lambda: world.counts("quick") == {}, or_fail="the quick endpoint was held up")
                assert slow.most == 2

    run_async(test())


def test_nobody_there_is_a_failure_that_says_so(world: World) -> None:
    async def test() -> None:
        async with listening() as sink:
            url = sink.url
        await ask(world.endpoint, url)
        (job_id,) = await ask(world.publish, b"job")
        async with pushing():
            await until(lambda: is_in(world.job(job_id), JobState.RETRY), or_fail="the job did not fail")
        job = await ask(world.job, job_id)
        assert job.history[0].error.startswith("cannot connect to 127.0.0.1:")

    run_async(test())


def test_a_name_that_means_a_private_address_fails_and_nothing_is_sent(world: World, settings: Any) -> None:
    settings.TASKQ_PUSH_ALLOWED_NETWORKS = []

    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, "https://hooks.example/")
            await ask(PushEndpoint.objects.update, url=f"http://localhost:{sink.port}/")
            (job_id,) = await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: is_in(world.job(job_id), JobState.RETRY), or_fail="the job did not fail")
            job = await ask(world.job, job_id)
            assert "not a public address" in job.history[0].error
            assert sink.connections == 0

    run_async(test())


def test_concurrency_is_bounded_for_all_pushers_together(world: World) -> None:
    async def test() -> None:
        gate = asyncio.Event()
        async with listening(held(gate)) as sink:
            await ask(world.endpoint, sink.url, concurrency=3)
            await ask(world.publish, *[b"job"] * 12)
            async with pushing(), pushing():
                await until(lambda: sink.under_way == 3, or_fail="fewer than three at once")
                assert (await ask(world.counts))["working"] == 3
                gate.set()
                await until(lambda: world.counts() == {}, or_fail="not all were delivered")
        assert sink.most == 3
        assert len(sink.received) == 12

    run_async(test())


def test_a_pusher_that_was_told_to_stop_consumes_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the one cancellation is lost on the way, as redis-py loses some while it connects."""
    is_opening = asyncio.Event()

    async def lose_cancellation(pool: str) -> AsyncEngine:
        is_opening.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(30)
        return await async_engine_for(pool)

    monkeypatch.setattr(service, "peek_async_engine", lambda pool: None)
    monkeypatch.setattr(service, "async_engine_for", lose_cancellation)

    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            async with pushing():
                await is_opening.wait()
                await ask(world.publish, b"job")
            left = [task for task in asyncio.all_tasks() if task.get_name().startswith("push ")]
            for task in left:  # or the loop would wait for it for ever
                while not task.done():
                    task.cancel()
                    await asyncio.wait([task], timeout=0.1)
            assert left == []
            assert await ask(world.counts) == {"ready": 1}
            assert sink.received == []

    run_async(test())


def set_policy(**fields: Any) -> None:
    QueuePolicy.objects.create(namespace=Namespace.objects.get(name="shop"), queue="orders", **fields)


def test_limits_of_keys_hold_for_pushers_too(world: World) -> None:
    async def test() -> None:
        gate = asyncio.Event()

        async def hold(request: Received, writer: asyncio.StreamWriter) -> None:
            await gate.wait()
            await replies()(request, writer)

        async with listening(hold) as sink:
            await ask(set_policy, key_in_flight=1)
            await ask(world.endpoint, sink.url, concurrency=10)
            for key in ("a", "b"):
                await ask(world.publish, *[b"job"] * 3, limit_key=key)
            async with pushing():
                await until(lambda: sink.under_way == 2, or_fail="not one of each key at once")
                await until(
                    lambda: world.engine.run(list_limit_keys(world.queue())).throttled == 2,
                    or_fail="the keys are not at their limit",
                )
                assert (await ask(world.counts)) == {"working": 2, "ready": 4}
                gate.set()
                await until(lambda: world.counts() == {}, or_fail="not all were delivered")
        assert sink.most == 2
        assert len(sink.received) == 6

    run_async(test())


@pytest.mark.parametrize("counts_in_call", [True, False], ids=["one server", "as in a cluster"])
def test_the_rate_is_bounded_for_all_pushers_together(
    world: World, monkeypatch: pytest.MonkeyPatch, counts_in_call: bool
) -> None:
    from queues.push.service import Pusher

    real = Pusher._engine

    async def engine_of(pusher: Pusher, pool: str) -> Any:
        engine = await real(pusher, pool)
        engine.counts_in_call = counts_in_call
        return engine

    monkeypatch.setattr(Pusher, "_engine", engine_of)

    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url, rate_per_s=0.05)
            await ask(world.publish, *[b"job"] * 5)
            async with pushing() as one, pushing() as other:
                await until(lambda: sink.received, or_fail="nothing was delivered")
                await until(
                    lambda: len(world.pushers()) == 2 and world.counts() == {"ready": 4}, or_fail="no heartbeats"
                )
                assert {one.pusher_id, other.pusher_id} == set(await ask(world.pushers))
        assert len(sink.received) == 1

    run_async(test())


def test_leases_are_extended_while_a_receiver_takes_its_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.push.delivery.LEASE_S", 1)
    monkeypatch.setattr("queues.push.delivery.LEASE_MIN_S", 1)
    monkeypatch.setattr("queues.push.service.EXTEND_EVERY_S", 0.1)

    async def test() -> None:
        gate = asyncio.Event()
        async with listening(held(gate)) as sink:
            await ask(world.endpoint, sink.url)
            (job_id,) = await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: sink.under_way == 1, or_fail="nothing was delivered")
                first = (await ask(world.job, job_id)).lease_end_ms

                def is_past_the_first_lease() -> bool:
                    job = world.job(job_id)
                    return job is not None and job.now_ms > first + 200

                await until(is_past_the_first_lease, or_fail="time does not pass")
                job = await ask(world.job, job_id)
                assert job.lease_end_ms > job.now_ms, "it is still held"
                gate.set()
                await until(lambda: world.counts() == {}, or_fail="the job was not acked")
        assert len(sink.received) == 1

    run_async(test())


def test_a_late_2xx_does_not_end_the_next_attempt(world: World) -> None:
    from queues.engine import consume, release

    async def test() -> None:
        gate = asyncio.Event()
        async with listening(held(gate)) as sink:
            await ask(world.endpoint, sink.url, concurrency=1)
            (job_id,) = await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: sink.under_way == 1, or_fail="nothing was delivered")
                queue = world.queue()
                await ask(world.engine.run, release(queue, job_id))  # as if its lease had run out
                taken = await ask(world.engine.run, consume(queue, ttr_ms=60_000))
                assert [(job.job_id, job.attempt) for job in taken.jobs] == [(job_id, 2)]
                gate.set()
                await until(lambda: world.deliveries().recent, or_fail="no delivery was noted")
        assert is_in(await ask(world.job, job_id), JobState.WORKING)
        (record,) = await ask(world.records)
        assert (record.outcome, record.status) == ("late", 200)

    run_async(test())


def test_a_pusher_that_ends_gives_back_what_takes_too_long(world: World) -> None:
    async def test() -> None:
        async with listening(never) as sink:
            await ask(world.endpoint, sink.url)
            (job_id,) = await ask(world.publish, b"job")
            async with pushing(drain_s=0.05):
                await until(lambda: sink.under_way == 1, or_fail="nothing was delivered")
            job = await ask(world.job, job_id)
            assert (job.state, job.used) == (JobState.READY, 0)
            assert (await ask(world.deliveries)).health.returned == 1

    run_async(test())


def test_endpoints_that_come_change_and_go_are_followed(world: World) -> None:
    async def test() -> None:
        async with listening() as one, listening() as other, pushing():
            await ask(world.endpoint, one.url)
            await ask(world.publish, b"1")
            await until(lambda: world.counts() == {}, or_fail="the new endpoint was not noticed")
            await ask(world.endpoint, other.url)
            await until_moved(world, one, other)
            await ask(PushEndpoint.objects.update, enabled=False)
            await until_left_alone(world)

    run_async(test())


async def until_moved(world: World, one: Any, other: Any) -> None:
    """Publish until a job reaches the other URL."""

    def has_moved() -> bool:
        if not world.counts():
            world.publish(b"2")
        return bool(other.received)

    await until(has_moved, or_fail="the new URL was not noticed")
    assert all(body in (b"1", b"2") for body in one.bodies())


async def until_left_alone(world: World) -> None:
    """Publish until a job stays."""
    await until(lambda: not world.counts(), or_fail="not all were delivered")

    def stays() -> bool:
        if world.counts().get("ready", 0) < 1:
            world.publish(b"3")
            return False
        return not any(beat.endpoints for beat in _beats(world))

    await until(stays, or_fail="the disabled endpoint still gets jobs")


def _beats(world: World) -> Any:
    from queues.engine import list_pushers

    return world.engine.run(list_pushers())


def test_a_rotated_secret_signs_beside_the_new_one(world: World) -> None:
    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            fresh = await ask(rotate_secret, pool="default", namespace="shop", queue="orders", overlap_s=60)
            await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: sink.received, or_fail="nothing was delivered")
                (request,) = sink.received
                assert check_signature(request, fresh)
                assert check_signature(request, SECRET)
                last = await ask(rotate_secret, pool="default", namespace="shop", queue="orders", overlap_s=0)

            async with pushing():
                await ask(world.publish, b"job")
                await until(lambda: len(sink.received) == 2, or_fail="nothing was delivered")
        request = sink.received[1]
        assert check_signature(request, last)
        assert not check_signature(request, fresh)
        assert not check_signature(request, SECRET)

    run_async(test())


def test_a_secret_that_cannot_be_read_any_more_is_said_and_no_job_is_touched(world: World, settings: Any) -> None:
    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            await ask(world.publish, b"job")
            settings.SECRET_KEY, before = "another one, by mistake", settings.SECRET_KEY
            async with pushing() as pusher:
                await until(lambda: any(pusher._problems.values()), or_fail="nobody complains")
                assert await ask(world.counts) == {"ready": 1}
                settings.SECRET_KEY_FALLBACKS = [before]
                await until(lambda: world.counts() == {}, or_fail="the old key does not help")
        assert check_signature(sink.received[0], SECRET)

    run_async(test())


def test_a_test_request_is_sent_once_also_to_a_paused_endpoint(world: World) -> None:
    from django.utils import timezone

    from queues.services.push.endpoints import request_test

    async def test() -> None:
        async with listening(replies("200 OK", b"pong")) as sink:
            await ask(world.endpoint, sink.url)
            await ask(PushEndpoint.objects.update, paused_at=timezone.now())
            await ask(world.publish, b"job")
            async with pushing(), pushing():
                await ask(request_test, pool="default", namespace="shop", queue="orders")
                await until(lambda: world.deliveries().recent, or_fail="no test was sent")
                await until(lambda: len(world.pushers()) == 2, or_fail="there are not two pushers")
            (request,) = sink.received
            assert request.headers["taskq-test"] == "1"
            assert check_signature(request, SECRET)
            (record,) = await ask(world.records)
            assert (record.outcome, record.status, record.response_body) == ("test_delivered", 200, "pong")
            assert await ask(world.counts) == {"ready": 1}

    run_async(test())


def test_secrets_in_headers_are_masked_where_deliveries_are_shown(world: World) -> None:
    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url, headers={"Authorization": "Bearer hidden", "X-Api-Key": "hidden"})
            await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: world.deliveries().recent, or_fail="nothing was delivered")
        assert sink.received[0].headers["authorization"] == "Bearer hidden"
        deliveries = await ask(world.deliveries)
        assert b"hidden" not in b"".join(deliveries.recent)

    run_async(test())


def test_bodies_in_memory_are_bounded_and_no_endpoint_is_kept_waiting(world: World) -> None:
    async def test() -> None:
        gate = asyncio.Event()
        async with listening(held(gate)) as slow, listening() as quick:
            await ask(world.endpoint, slow.url, queue="slow", concurrency=50)
            await ask(world.publish, *[b"x" * 700_000] * 6, queue="slow")
            async with pushing() as pusher:
                pusher._context.bodies.most = 1_000_000
                await until(lambda: pusher._context.bodies.held > 1_000_000, or_fail="the memory is not used up")
                await ask(world.endpoint, quick.url, queue="quick", concurrency=50)
                await ask(world.publish, *[b"y" * 1_000] * 20, queue="quick")
                await until(lambda: world.counts("quick") == {}, or_fail="the other endpoint was kept waiting")
                assert quick.most == 1
                assert slow.under_way < 6
                gate.set()
                await until(lambda: world.counts("slow") == {}, or_fail="it does not go on")
                await until(lambda: pusher._context.bodies.held == 0, or_fail="bodies are still counted")

    run_async(test())


def test_an_ack_that_redis_did_not_take_is_sent_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from queues.engine import AsyncEngine, StoreUnavailableError

    monkeypatch.setattr("queues.push.delivery.SETTLE_PAUSE_S", 0.01)
    real, refused = AsyncEngine.run, list[str]()

    async def run(engine: AsyncEngine, work: Any) -> Any:
        name = getattr(getattr(work, "script", None), "name", "")
        if name == "ack" and len(refused) < 3:
            refused.append(name)
            raise StoreUnavailableError("gone for a moment")
        return await real(engine, work)

    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            await ask(world.publish, b"job")
            monkeypatch.setattr(AsyncEngine, "run", run)
            async with pushing():
                await until(lambda: world.counts() == {}, or_fail="the job was not acked")
        assert len(refused) == 3
        assert len(sink.received) == 1

    run_async(test())


def test_a_defect_fails_the_job_instead_of_meeting_it_again_and_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            await ask(PushEndpoint.objects.update, headers={"X-Odd": "ü"})  # by hand, past all checks
            (job_id,) = await ask(world.publish, b"job")
            async with pushing():
                await until(lambda: is_in(world.job(job_id), JobState.RETRY), or_fail="the job did not fail")
        job = await ask(world.job, job_id)
        assert [one.error for one in job.history] == ["taskq failed: UnicodeEncodeError"]
        assert sink.received == []

    run_async(test())


def test_a_host_without_open_files_left_burns_no_try(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from queues.http_client import HttpClient

    monkeypatch.setattr("queues.push.delivery.PAUSE_S", 0.01)
    real, refused = HttpClient._open, list[str]()

    async def connect(client: HttpClient, address: str) -> Any:
        if len(refused) < 3:
            refused.append(address)
            raise OSError(errno.EMFILE, "Too many open files")
        return await real(client, address)

    monkeypatch.setattr(HttpClient, "_open", connect)

    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            await ask(world.publish, b"job", tries=1)
            async with pushing():
                await until(lambda: world.counts() == {}, or_fail="the job was not delivered")
        assert len(refused) == 3
        assert [one.headers["taskq-tries-left"] for one in sink.received] == ["0"]

    run_async(test())


def test_counts_that_could_not_be_written_are_written_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from queues.engine import AsyncEngine, StoreUnavailableError

    real, refused = AsyncEngine.run, list[str]()

    async def run(engine: AsyncEngine, work: Any) -> Any:
        if getattr(getattr(work, "script", None), "name", "") == "note_deliveries" and not refused:
            refused.append("once")
            raise StoreUnavailableError("gone for a moment")
        return await real(engine, work)

    async def test() -> None:
        async with listening() as sink:
            await ask(world.endpoint, sink.url)
            await ask(world.publish, b"1", b"2")
            monkeypatch.setattr(AsyncEngine, "run", run)
            async with pushing():
                await until(lambda: world.counts() == {} and refused, or_fail="nothing was refused")
                await ask(world.publish, b"3")
                await until(lambda: world.deliveries().health.delivered == 3, or_fail="counts are lost")

    run_async(test())


@in_one_test(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("9" * 60, float(RETRY_AFTER_MAX_S)),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 0.0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", float(RETRY_AFTER_MAX_S)),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 100, None),
        ("Wed, 99 Foo 2015 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_read(text: str, seconds: float | None) -> None:
    assert read_retry_after(text, now=datetime(2015, 10, 21, 7, 28, tzinfo=UTC)) == seconds


def test_a_job_without_a_backoff_waits_longer_each_time() -> None:
    for used, most in ((1, 5_000), (2, 10_000), (5, 80_000), (20, 3_600_000), (65_535, 3_600_000)):
        assert all(most / 2 <= fallback_delay_ms(used) <= most for _ in range(50))


def test_what_a_receiver_says_is_cut() -> None:
    judgement = judge(Response(500, "Oops", (), b"x" * 4_096))

    assert judgement.error == "500 Oops: " + "x" * 300
    assert judge(Response(299, "", (), b"")).error == ""


def test_an_unexpected_error_of_a_write_is_logged_once_and_the_next_write_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pusher = Pusher()
    failures = [RuntimeError("no room"), None]

    async def write_all() -> None:
        if (error := failures.pop(0)) is not None:
            raise error

    async def test() -> None:
        monkeypatch.setattr(pusher, "_write_all", write_all)
        chore = asyncio.create_task(pusher._repeat(pusher.write_down, 0.0))
        await until_true(lambda: not failures, or_fail="no second write")
        chore.cancel()

    with caplog.at_level(logging.ERROR):
        run_async(test())

    assert [record.getMessage() for record in caplog.records][:1] == ["push chore failed"]
    assert sum("no room" in str(record.exc_info) for record in caplog.records) == 1


def test_an_error_of_a_write_that_nobody_waits_for_any_more_is_logged_too(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pusher = Pusher()

    async def test() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def write_all() -> None:
            begun.set()
            await go_on.wait()
            raise RuntimeError("no room")

        monkeypatch.setattr(pusher, "_write_all", write_all)
        writing = asyncio.create_task(pusher.write_down())
        await begun.wait()
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        go_on.set()
        await asyncio.wait(pusher._tasks)
        await asyncio.sleep(0)  # what is called when a task is done

    with caplog.at_level(logging.ERROR):
        run_async(test())

    assert sum("no room" in str(record.exc_info) for record in caplog.records) == 1
