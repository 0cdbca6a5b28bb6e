"""All push endpoints in one process: follows them in the database, writes down what happens, says that it lives.
`delivery` posts the jobs; a test request of the dashboard is posted here.

Any number of processes may do this side by side: each is only a consumer. What holds for all of them together
(concurrency, rate) is counted in Redis.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from time import monotonic, perf_counter
from typing import Any, Final, TypeVar

import orjson
from django.conf import settings
from django.db import close_old_connections

from queues.engine import AsyncEngine, PushCounts, PusherBeat, beat_pusher, note_deliveries
from queues.engine.errors import TaskqError
from queues.http_client import HttpClient, HttpClientError, Resolver, Response, client_tls
from queues.http_client.headers import write_headers
from queues.pools import async_engine_for, close_async_engines, peek_async_engine
from queues.services.policies import EffectivePolicy, peek_policy, policy_for
from queues.services.pools.managing import list_pools
from queues.services.push.endpoint_plans import PushJob, PushPlan, claim_test, pause_gone, read_plan
from queues.services.push.endpoints import address_rules

from .delivery import EndpointRunner
from .recorder import TEST_DELIVERED, TEST_FAILED, Happened, Recorder
from .request_headers import test_headers
from .runner_context import Bodies, RunnerContext
from .verdicts import Verdict, judge, judge_failure

logger = logging.getLogger(__name__)
T = TypeVar("T")

FOLLOW_EVERY_S: Final = 1.0
"""How soon an endpoint that was added, changed or paused is noticed."""

WRITE_EVERY_S: Final = 0.5
EXTEND_EVERY_S: Final = 0.5
BEAT_EVERY_S: Final = 1.0
METADATA_THREADS: Final = 2
PAUSE_AGAIN_S: Final = 1.0


def new_pusher_id() -> str:
    """Of a process: host, process, and something that no later process with the same number has."""
    return f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(3)}"


class Pusher:
    """Runs until told to stop. `heartbeats` are called every second while the event loop turns."""

    def __init__(self, *, pusher_id: str | None = None, heartbeats: Sequence[Callable[[], object]] = ()) -> None:
        self.pusher_id = pusher_id or new_pusher_id()
        self._heartbeats = heartbeats
        self._rules = address_rules()
        self._tls = client_tls(settings.TASKQ_PUSH_CA_FILE)
        self._resolver = Resolver()
        self._threads = ThreadPoolExecutor(max_workers=METADATA_THREADS, thread_name_prefix="taskq-push-metadata")
        self._runners: dict[int, EndpointRunner] = {}
        self._leaving: set[EndpointRunner] = set()
        """Of endpoints that are paused or gone: their deliveries under way end."""
        self._recorders: dict[int, tuple[PushJob, Recorder]] = {}
        self._writing = asyncio.Lock()
        self._paused_at: dict[int, float] = {}
        self._pools: frozenset[str] = frozenset()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._began = monotonic()
        self._is_database_away = False
        self._problems: dict[int, str] = {}
        self._context = RunnerContext(
            consumer=f"push:{self.pusher_id}"[:64],
            bodies=Bodies(settings.TASKQ_PUSH_MEMORY_MB * 1024 * 1024),
            engine=self._engine,
            policy=self._policy,
            client=self._client,
            on_gone=self._on_gone,
        )

    async def run(self, stop: asyncio.Event, *, drain_s: float) -> None:
        """Deliver until `stop` is set; then wait up to `drain_s` for what is under way, and give back the rest."""
        chores = [
            asyncio.create_task(self._repeat(work, every_s))
            for work, every_s in (
                (self.follow, FOLLOW_EVERY_S),
                (self.write_down, WRITE_EVERY_S),
                (self._extend, EXTEND_EVERY_S),
                (self._beat, BEAT_EVERY_S),
            )
        ]
        logger.info("pusher runs", extra={"action": "push.started", "pusher": self.pusher_id})
        try:
            await stop.wait()
        finally:
            chores.pop(0).cancel()  # no endpoint begins any more; leases are extended to the end
            await self.close(drain_s=drain_s)
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            await self.write_down()
            await close_async_engines()
            self._threads.shutdown(wait=False)
            logger.info("pusher stopped", extra={"action": "push.stopped", "pusher": self.pusher_id})

    async def close(self, *, drain_s: float) -> None:
        """Consume no more, and wait for the deliveries under way."""
        runners = [*self._runners.values(), *self._leaving]
        under_way = sum(runner.in_flight for runner in runners)
        logger.info("pusher drains", extra={"action": "push.draining", "deliveries": under_way})
        for runner in runners:
            runner.stop()
        await asyncio.gather(*[runner.drain(drain_s) for runner in runners])
        self._runners.clear()

    async def follow(self) -> None:
        """Look for endpoints that were added, changed, paused or deleted, and for tests that somebody wants."""
        asked_at = monotonic()
        try:
            plan, pools = await self._call(_read)
        except TaskqError as error:
            if not self._is_database_away:
                logger.warning("database away: endpoints go on", extra={"action": "push.follow", "error": error.code})
            self._is_database_away = True
            return
        self._is_database_away = False
        self._pools = pools
        wanted = {
            one.pk: one
            for one in plan.endpoints
            if not self._has_problem(one) and self._paused_at.get(one.pk, 0.0) < asked_at
        }
        for pk in self._runners.keys() - wanted.keys():
            self._retire(self._runners.pop(pk))
        for pk, endpoint in wanted.items():
            self._keep_running(pk, endpoint)
        known = {one.pk for one in (*plan.endpoints, *plan.tests)} | {one.endpoint.pk for one in self._leaving}
        for pk in self._recorders.keys() - known:
            if self._recorders[pk][1].is_empty:  # else it has to be written first
                del self._recorders[pk]
        for endpoint in plan.tests:
            self._start(self._test(endpoint))

    def _keep_running(self, pk: int, endpoint: PushJob) -> None:
        runner = self._runners.get(pk)
        if runner is None:
            runner = self._runners[pk] = EndpointRunner(endpoint, self._recorder(endpoint), self._context)
            runner.start()
        elif runner.endpoint != endpoint:
            runner.update(endpoint)

    def _has_problem(self, endpoint: PushJob) -> bool:
        if endpoint.problem != self._problems.get(endpoint.pk, ""):
            self._problems[endpoint.pk] = endpoint.problem
            if endpoint.problem:
                fields = {"action": "push.problem", "queue": endpoint.name, "reason": endpoint.problem}
                logger.error("endpoint cannot be served", extra=fields)
        return bool(endpoint.problem)

    def _retire(self, runner: EndpointRunner) -> None:
        runner.stop()
        self._leaving.add(runner)

        async def leave() -> None:
            await runner.drain(runner.endpoint.timeout_s + 5.0)
            self._leaving.discard(runner)

        self._start(leave())

    def _on_gone(self, endpoint: PushJob, reason: str) -> None:
        self._start(self._pause(endpoint, reason))

    async def _pause(self, endpoint: PushJob, reason: str) -> None:
        """Until the database has it: a pusher that begins meanwhile finds out by itself."""
        while True:
            try:
                paused = await self._call(partial(pause_gone, pk=endpoint.pk, url=endpoint.url, reason=reason))
                break
            except Exception as error:
                extra = {"action": "push.pause", "queue": endpoint.name, "error": type(error).__name__}
                logger.warning("endpoint is gone, but cannot be paused yet", extra=extra)
                await asyncio.sleep(PAUSE_AGAIN_S)
        self._paused_at[endpoint.pk] = monotonic()
        runner = self._runners.get(endpoint.pk)
        if runner is not None and runner.is_gone:
            self._retire(self._runners.pop(endpoint.pk))
        if paused:
            logger.warning(
                "endpoint paused: gone",
                extra={"action": "push.gone", "queue": endpoint.name, "reason": reason[:200]},
            )

    async def _test(self, endpoint: PushJob) -> None:
        """Send a test request, if no other pusher does."""
        if not await self._call(partial(claim_test, pk=endpoint.pk)):
            return
        now = datetime.now(UTC)
        message_id = f"test_{secrets.token_hex(12)}"
        body = orjson.dumps(
            {"type": "taskq.test", "namespace": endpoint.namespace, "queue": endpoint.queue, "at": now.isoformat()}
        )
        own = endpoint.headers
        if not any(name.lower() == "content-type" for name, _ in own):
            own = (*own, ("content-type", "application/json"))
        headers = test_headers(message_id, body, timestamp_s=int(now.timestamp()), keys=endpoint.keys, own=own)
        began = perf_counter()
        response: Response | None = None
        error = endpoint.problem
        if not endpoint.problem:
            client = self._client(endpoint)
            try:
                response = await client.post(write_headers(headers), body, timeout_s=endpoint.timeout_s)
                judgement = judge(response)
            except HttpClientError as failure:
                judgement = judge_failure(failure, timeout_s=endpoint.timeout_s)
            finally:
                client.close()
            error = judgement.error
            outcome = TEST_DELIVERED if judgement.verdict is Verdict.DELIVERED else TEST_FAILED
        else:
            outcome = TEST_FAILED
        self._recorder(endpoint).note(
            Happened(
                at_ms=round(now.timestamp() * 1000),
                job_id=message_id,
                attempt=0,
                outcome=outcome,
                error=error,
                duration_ms=(perf_counter() - began) * 1000,
                next="",
                headers=headers,
                body=body,
                body_bytes=len(body),
                response=response,
            )
        )

    async def write_down(self) -> None:
        """Write what has happened since the last time to Redis.

        A write that has begun goes on to its end also when this is cancelled: its notes would be lost. Raises what it
        raises; when nobody waits for it any more, that is logged.
        """
        writing = self._keep(self._write_all())
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            writing.add_done_callback(_log_failure)
            raise

    async def _write_all(self) -> None:
        async with self._writing:
            await asyncio.gather(*[self._write(endpoint, recorder) for endpoint, recorder in self._recorders.values()])

    async def _write(self, endpoint: PushJob, recorder: Recorder) -> None:
        notes = recorder.take()
        if notes is None:
            return
        try:
            engine = await self._engine(endpoint.pool)
            await engine.run(note_deliveries(engine.queue(endpoint.namespace, endpoint.queue), endpoint.pk, notes))
        except TaskqError:
            recorder.put_back(notes)

    async def _extend(self) -> None:
        await asyncio.gather(*[runner.extend_leases() for runner in (*self._runners.values(), *self._leaving)])

    async def _beat(self) -> None:
        for beat in self._heartbeats:
            beat()
        by_pool: dict[str, dict[str, PushCounts]] = {pool: {} for pool in self._pools}
        for pk, (endpoint, recorder) in self._recorders.items():
            runner = self._runners.get(pk)
            in_flight = PushCounts(in_flight=runner.in_flight if runner else 0)
            by_pool.setdefault(endpoint.pool, {})[endpoint.name] = recorder.counts.plus(in_flight)
        await asyncio.gather(*[self._beat_pool(pool, queues) for pool, queues in by_pool.items()])

    async def _beat_pool(self, pool: str, queues: dict[str, PushCounts]) -> None:
        beat = PusherBeat(
            pusher=self.pusher_id,
            up_ms=round((monotonic() - self._began) * 1000),
            endpoints=sum(runner.endpoint.pool == pool for runner in self._runners.values()),
            queues=queues,
        )
        try:
            engine = await self._engine(pool)
            await engine.run(beat_pusher(beat))
        except TaskqError:
            return  # runners say in the log that the pool is away

    def _recorder(self, endpoint: PushJob) -> Recorder:
        _, recorder = self._recorders.get(endpoint.pk, (endpoint, None))
        recorder = recorder or Recorder(self.pusher_id)
        self._recorders[endpoint.pk] = (endpoint, recorder)
        return recorder

    def _client(self, endpoint: PushJob) -> HttpClient:
        assert endpoint.target is not None, "an endpoint without a problem"
        return HttpClient(
            endpoint.target, rules=self._rules, resolver=self._resolver, tls=self._tls, max_kept=endpoint.concurrency
        )

    async def _engine(self, pool: str) -> AsyncEngine:
        return peek_async_engine(pool) or await async_engine_for(pool)

    async def _policy(self, endpoint: PushJob) -> EffectivePolicy:
        names = {"pool": endpoint.pool, "namespace": endpoint.namespace, "queue": endpoint.queue}
        known = peek_policy(**names)
        return known if known is not None else await self._call(partial(policy_for, **names))

    async def _call(self, function: Callable[[], T]) -> T:
        """Run something that asks the database, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, _with_fresh_connections, function)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something that nobody waits for: if it fails, the log says so."""
        self._keep(work).add_done_callback(_log_failure)

    def _keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """asyncio itself does not hold on to tasks."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _repeat(self, work: Callable[[], Awaitable[None]], every_s: float) -> None:
        while True:
            try:
                await work()
            except Exception:
                logger.exception("push chore failed", extra={"action": "push.chore"})
            await asyncio.sleep(every_s)


def _log_failure(done: asyncio.Task[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("push failed", exc_info=error, extra={"action": "push.chore"})


def _read() -> tuple[PushPlan, frozenset[str]]:
    return read_plan(), frozenset(pool.name for pool in list_pools())


def _with_fresh_connections(function: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return function()
    finally:
        close_old_connections()
