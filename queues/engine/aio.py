"""Runs operations from asyncio. All calls of one event-loop turn go out as one pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Any, Final, TypeVar, overload

from .connection import AsyncClient, StoreAddress
from .errors import StoreUnavailableError, TaskqError
from .executor import command_of, result_of
from .failures import is_missing_script, is_translatable, translate
from .keys import Layout, QueueKeys
from .operation import Operation, Plan
from .values import Consumed, JobResult
from .waiting import Waiters

T = TypeVar("T")

BATCH_MAX: Final = 512
"""Operations in one pipeline."""

IN_FLIGHT_MAX: Final = 4
"""Pipelines under way at once. While as many are, calls gather into the next one, so batches grow with the load."""


class AsyncEngine:
    """A pool, for one event loop. Create it inside the loop that uses it."""

    def __init__(self, client: AsyncClient, layout: Layout, address: StoreAddress) -> None:
        self.client = client
        self.layout = layout
        self.address = address
        self._loop = asyncio.get_running_loop()
        self._pending: list[tuple[Operation[Any], asyncio.Future[Any]]] = []
        self._flush_scheduled = False
        self._in_flight: set[asyncio.Task[None]] = set()
        self._waiters = Waiters(self)
        self._closed = False

    def queue(self, namespace: str, queue: str) -> QueueKeys:
        """The keys of a queue; a name costs nothing until something is published."""
        return self.layout.queue(namespace, queue)

    @overload
    async def run(self, work: Operation[T]) -> T: ...
    @overload
    async def run(self, work: Plan[T]) -> T: ...
    async def run(self, work: Operation[T] | Plan[T]) -> T:
        """Run one operation, or a plan to its end. Raises the errors of `queues.engine.errors`.

        A cancelled caller may be too late: what has been sent is carried out.
        """
        if isinstance(work, Generator):
            return await self._follow(work)
        return result_of(work, await self._submit(work))

    async def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Run operations in one round trip; results in order. Raises the first error after all have run."""
        futures = [self._submit(operation) for operation in operations]
        replies = await asyncio.gather(*futures)
        return [result_of(operation, reply) for operation, reply in zip(operations, replies, strict=True)]

    async def wait_consume(
        self,
        queues: Sequence[QueueKeys],
        *,
        ttr_ms: int,
        timeout_s: float,
        count: int = 1,
        consumer: str = "",
        max_in_flight: int | Sequence[int] = 0,
        freeze_tries: bool = False,
    ) -> Consumed:
        """Consume as `consume_any` does, waiting up to `timeout_s` for something to come. First come, first served.

        A caller that is cancelled takes no job with it: what it was about to get is released again.
        """
        return await self._waiters.consume(
            queues,
            timeout_s=timeout_s,
            ttr_ms=ttr_ms,
            count=count,
            consumer=consumer,
            max_in_flight=max_in_flight,
            freeze_tries=freeze_tries,
        )

    async def wait_result(self, queue: QueueKeys, job_id: str, *, timeout_s: float) -> JobResult:
        """The result of a job, waiting up to `timeout_s` for its completion."""
        return await self._waiters.result(queue, job_id, timeout_s=timeout_s)

    @property
    def waiting(self) -> int:
        """Number of consumers that are waiting."""
        return self._waiters.waiting

    async def stop_waiting(self) -> None:
        """Let every waiter return empty-handed, now and from now on (for a graceful stop)."""
        await self._waiters.stop()

    async def close(self) -> None:
        """Stop waiting, let what is in flight finish, close the connections."""
        self._closed = True
        await self.stop_waiting()
        while self._in_flight:
            await asyncio.wait(self._in_flight)
        await self.client.aclose()

    async def _follow(self, plan: Plan[T]) -> T:
        try:
            operations = next(plan)
            while True:
                try:
                    results = await self.batch(operations)
                except TaskqError as error:
                    operations = plan.throw(error)
                else:
                    operations = plan.send(results)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _submit(self, operation: Operation[Any]) -> asyncio.Future[Any]:
        if self._closed:
            raise StoreUnavailableError(f"{operation.script.name}: the engine is closed")
        future = self._loop.create_future()
        self._pending.append((operation, future))
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)
        return future

    def _flush(self) -> None:
        self._flush_scheduled = False
        while self._pending and len(self._in_flight) < IN_FLIGHT_MAX:
            batch, self._pending = self._pending[:BATCH_MAX], self._pending[BATCH_MAX:]
            task = self._loop.create_task(self._execute(batch))
            self._in_flight.add(task)
            task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        if self._pending:
            self._flush()

    async def _execute(self, batch: list[tuple[Operation[Any], asyncio.Future[Any]]]) -> None:
        """Settle every future of the batch: with the reply, with an error of Redis as value, or with an exception."""
        try:
            replies = await self._replies([operation for operation, _ in batch])
        except BaseException as error:
            for operation, future in batch:
                if not future.done():
                    known = is_translatable(error)
                    future.set_exception(translate(error, operation.script.name) if known else error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), reply in zip(batch, replies, strict=True):
            if not future.done():
                future.set_result(reply)

    async def _replies(self, operations: list[Operation[Any]]) -> list[Any]:
        replies = await self._send(operations)
        missing = [i for i, reply in enumerate(replies) if is_missing_script(reply)]
        if missing:
            for source in {operations[i].script.source for i in missing}:
                await self.client.script_load(source)
            for i, reply in zip(missing, await self._send([operations[i] for i in missing]), strict=True):
                replies[i] = reply
        return replies

    async def _send(self, operations: list[Operation[Any]]) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for operation in operations:
            pipeline.execute_command(*command_of(operation))
        return list(await pipeline.execute(raise_on_error=False))
