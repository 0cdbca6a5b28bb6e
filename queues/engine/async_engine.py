"""Runs operations from asyncio. Calls go out together, in pipelines, to each server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar, overload

from redis.exceptions import MovedError

from .engine import leaves_messages, relays_of, result_of, results_of
from .errors import StoreUnavailableError, TaskqError
from .keys import Layout, QueueKeys, notice_channel, wake_channel, worker_channel
from .operation import Operation, Paced, Plan, Relay
from .operations.relay import relay
from .queue_limits import ConsumeLimits
from .transport.batch_queue import AsyncPacer, BatchQueue
from .transport.connection import AsyncClient, StoreAddress
from .transport.failures import OutageLog, is_missing_script
from .transport.merging import Call, merge, spread
from .transport.redis_connection import LateCalls, RedisConnection, load_and_send, send_operations
from .transport.replication import ReplicaWait
from .transport.routing import AsyncRoutes, Server
from .values import Consumed, JobResult, RequestLimit
from .waiting.subscription import MessageHandler, Subscription
from .waiting.waiters import Waiters

T = TypeVar("T")

_outages = OutageLog(logging.getLogger("taskq.engine"))

QUIET_TURNS: Final = 5
"""Turns of the loop without work after which a closing engine ends: callers that were cancelled as their replies came
need a turn or two to hand them back."""


class AsyncEngine:
    """A pool, for one event loop. Create it inside the loop that uses it."""

    def __init__(
        self,
        client: AsyncClient,
        layout: Layout,
        address: StoreAddress,
        *,
        joins_slots: bool,
        replica_wait: ReplicaWait | None = None,
    ) -> None:
        self.client = client
        self.layout = layout
        self.address = address
        self._loop = asyncio.get_running_loop()
        self._routes = AsyncRoutes(client, address)
        self._pacer = AsyncPacer()
        self._pending: list[Call] = []
        self._flush_scheduled = False
        self._replica_wait = replica_wait
        self._batch_queues: dict[tuple[Server, ReplicaWait | None], BatchQueue] = {}
        """Calls that wait for replicas have queues of their own, so that no other call has to."""
        self._mapping: asyncio.Task[None] | None = None
        self._waiters = Waiters(self)
        self._relays: dict[int, asyncio.Task[None]] = {}
        self._relay_again: set[int] = set()
        self._notice_handlers: list[MessageHandler] = []
        handlers: dict[bytes, MessageHandler] = dict.fromkeys(
            map(wake_channel, range(layout.partitions)), self._waiters.on_message
        )
        self._subscription = Subscription(address, client, handlers | {notice_channel(): self._hear_notice})
        self._subscription.on_established(self._waiters.poll_soon)
        self._closed = self._ended = False
        self.counts_in_call = joins_slots
        """Whether a call that publishes or consumes can count itself against a limit, whose key is in no partition."""
        self.batches = 0
        """Batches sent so far, each in one write."""
        self.batched_calls = 0
        """Operations in them."""

    def is_usable(self) -> bool:
        """Whether it is open and its loop runs."""
        return not self._closed and self._loop.is_running()

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
        if not isinstance(work, Operation):
            return await self._follow(work)
        future = self._submit(work)
        try:
            reply = await future
        except asyncio.CancelledError:
            self._take_back_settled(work, future)
            raise
        if work.relay is not None and leaves_messages(work.relay, reply):
            self._relay(work.relay)
        return result_of(work, reply)

    async def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Run operations in one round trip (of a cluster: one for each node); results in order.

        They may run in another order: those whose script the server does not know yet come last. Raises the first error
        after all have run.
        """
        futures = [self._submit(operation) for operation in operations]
        try:
            replies = await asyncio.gather(*futures)
        except asyncio.CancelledError:
            for operation, future in zip(operations, futures, strict=True):
                self._take_back_settled(operation, future)
            raise
        for needed in relays_of(operations, replies):
            self._relay(needed)
        return results_of(operations, replies)

    def wait_consume(
        self,
        queues: Sequence[QueueKeys],
        *,
        ttr_ms: int,
        timeout_s: float,
        count: int = 1,
        consumer: str = "",
        max_in_flight: int | Sequence[int] = 0,
        freeze_tries: bool = False,
        limit: RequestLimit | None = None,
        queue_limits: Sequence[ConsumeLimits | None] | None = None,
    ) -> Coroutine[Any, Any, Consumed]:
        """Consume as `consume_any` does, waiting up to `timeout_s` for something to come. First come, first served.

        A caller that is cancelled takes no job with it: what it was about to get is released again.
        """
        return self._waiters.consume(
            self._subscription,
            queues,
            timeout_s=timeout_s,
            ttr_ms=ttr_ms,
            count=count,
            consumer=consumer,
            max_in_flight=max_in_flight,
            freeze_tries=freeze_tries,
            limit=limit,
            queue_limits=queue_limits,
        )

    def give_back(self, consumed: Consumed) -> None:
        """Release the jobs of a consumer that has gone before it could be given them, in the background."""
        self._waiters.give_back(consumed)

    async def wait_result(self, queue: QueueKeys, job_id: str, *, timeout_s: float) -> JobResult:
        """The result of a job, waiting up to `timeout_s` for its completion."""
        return await self._waiters.results.wait(self._subscription, queue, job_id, timeout_s=timeout_s)

    def follow_notices(self, on_message: MessageHandler, on_established: Callable[[], None]) -> None:
        """Follow the pool's notices (`announce`), from now on. Connects in the background, waiting for nothing.

        `on_established` is called whenever the connection has been established: notices may have been lost until then.
        """
        self._notice_handlers.append(on_message)
        self._subscription.on_established(on_established)
        self._subscription.start()

    def follow_commands(self, on_message: MessageHandler) -> None:
        """Follow commands to workers (`command_workers`), from now on. Connects in the background, waiting for nothing.

        To be called before anything else waits: the channels are those of the moment of connecting.
        """
        self._subscription.follow(worker_channel(), on_message)
        self._subscription.start()

    def _hear_notice(self, notice: bytes) -> None:
        for on_message in self._notice_handlers:
            on_message(notice)

    @property
    def waiting(self) -> int:
        """Number of consumers that are waiting."""
        return self._waiters.waiting

    async def stop_waiting(self) -> None:
        """Let every waiter return without jobs, now and from now on (for a graceful stop)."""
        self._waiters.stop()

    async def close(self) -> None:
        """Stop waiting, let what is in flight finish, close the connections."""
        if self._relays:
            await asyncio.wait(list(self._relays.values()))
        self._closed = True
        await self.stop_waiting()
        await self._subscription.close()
        quiet = 0
        while quiet < QUIET_TURNS:
            await asyncio.sleep(0)
            quiet += 1
            if under_way := self._under_way():
                await asyncio.wait(under_way)
                quiet = 0
            elif self._pending:
                quiet = 0
        self._ended = True
        if self._mapping:
            self._mapping.cancel()
            await asyncio.wait([self._mapping])
        for batch_queue in self._batch_queues.values():
            batch_queue.close()
        await self._routes.close()

    def _under_way(self) -> set[asyncio.Task[Any]]:
        return self._waiters.polls.union(*[batch_queue.under_way() for batch_queue in self._batch_queues.values()])

    def _relay(self, needed: Relay) -> None:
        """Carry the messages in the background. One relay runs for each partition."""
        if needed.partition in self._relays:
            self._relay_again.add(needed.partition)
        else:
            self._relays[needed.partition] = self._loop.create_task(self._carry(needed.partition, needed.now_ms))

    async def _carry(self, partition: int, now_ms: int | None) -> None:
        """If it fails, the pump does it."""
        try:
            again = True
            while again:
                self._relay_again.discard(partition)
                counts = await self._follow(relay(self.layout, partitions={partition}, now_ms=now_ms))
                again = counts.more or partition in self._relay_again
        except TaskqError as error:
            _outages.note("not carried", {"action": "relay", "reason": str(error)[:200]}, level=logging.INFO)
        finally:
            self._relay_again.discard(partition)
            del self._relays[partition]

    async def _follow(self, plan: Plan[T]) -> T:
        try:
            operations = next(plan)
            while True:
                try:
                    if isinstance(operations, Paced):
                        results = await self._pacer.run(partial(self.batch, operations))
                    else:
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
        return self._enqueue(operation)

    def _enqueue(self, operation: Operation[Any]) -> asyncio.Future[Any]:
        future = self._loop.create_future()
        self._pending.append((operation, future))
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)
        return future

    def _flush(self) -> None:
        self._flush_scheduled = False
        pending, self._pending = self._pending, []
        try:
            if self._replica_wait is None:
                self._distribute(pending, None)
            else:
                self._distribute([call for call in pending if not call[0].replicated], None)
                self._distribute([call for call in pending if call[0].replicated], self._replica_wait)
        except Exception as error:  # no caller may wait for ever
            for _, future in pending:
                if not future.done():
                    future.set_exception(error)

    def _distribute(self, calls: list[Call], wait: ReplicaWait | None) -> None:
        for server, places in self._routes.split([operation for operation, _ in calls]).items():
            self._batch_queue_to(server, wait).add([calls[i] for i in places])

    def _batch_queue_to(self, server: Server, wait: ReplicaWait | None) -> BatchQueue:
        batch_queue = self._batch_queues.get((server, wait))
        if batch_queue is None:
            batch_queue = self._batch_queues[server, wait] = BatchQueue(server, self._execute, wait)
        return batch_queue

    async def _execute(self, batch_queue: BatchQueue, connection: RedisConnection, batch: list[Call]) -> None:
        """Settle every future of the batch: with the reply, with an error of Redis as value, or with an exception."""
        batch = [call for call in batch if not call[1].done()]  # skip calls that were cancelled before they were sent
        if not batch:
            return
        self.batches += 1
        self.batched_calls += len(batch)
        try:
            calls = merge([operation for operation, _ in batch])
            late = LateCalls(batch, calls, self._take_back)
            merged = [call.operation for call in calls]
            replies = spread(calls, await self._replies(batch_queue, connection, merged, late), len(batch))
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        unclaimed = []
        for (operation, future), reply in zip(batch, replies, strict=True):
            if not future.done():
                future.set_result(reply)
            else:
                unclaimed.append((operation, reply))
        for operation, reply in reversed(unclaimed):  # what was taken last is put back first: each goes to the head
            self._take_back(operation, reply)

    def _take_back_settled(self, operation: Operation[Any], future: asyncio.Future[Any]) -> None:
        """A caller was cancelled when its reply was there already; of one that is to come `_execute` takes care."""
        if future.done() and not future.cancelled() and future.exception() is None:
            self._take_back(operation, future.result())

    def _take_back(self, operation: Operation[Any], reply: Any) -> None:
        """Undo an operation whose caller is gone, so that its result is not lost."""
        if operation.undo is None:
            return
        try:
            undoing = operation.undo(result_of(operation, reply))
        except TaskqError:
            return  # it did nothing
        self.undo(undoing)

    def undo(self, operations: Iterable[Operation[Any]]) -> None:
        """Run these in the background, in order, also of an engine that is closing. If one fails it is logged only."""
        if self._ended:
            return  # the leases run out instead
        for operation in operations:
            self._enqueue(operation).add_done_callback(_log_failed_undo)

    async def _replies(
        self, batch_queue: BatchQueue, connection: RedisConnection, operations: list[Operation[Any]], late: LateCalls
    ) -> list[Any]:
        replies = await self._ask(batch_queue, connection, operations, late)
        moved = [i for i, reply in enumerate(replies) if isinstance(reply, MovedError)]
        if moved:
            # Nothing was applied by a node that sends us elsewhere.
            await self._routes.follow(replies[i] for i in moved)
            again = [operations[i] for i in moved]
            parts = self._routes.split(again)
            batch_queues = [self._batch_queue_to(server, batch_queue.replica_wait) for server in parts]
            said = await asyncio.gather(
                *[
                    self._ask(new, new.connection_for(again[places[0]]), [again[i] for i in places], late)
                    for new, places in zip(batch_queues, parts.values(), strict=True)
                ]
            )
            for places, part in zip(parts.values(), said, strict=True):
                for i, reply in zip(places, part, strict=True):
                    replies[moved[i]] = reply
        return replies

    async def _ask(
        self, batch_queue: BatchQueue, connection: RedisConnection, operations: list[Operation[Any]], late: LateCalls
    ) -> list[Any]:
        """The replies of one server. What Redis, or the way to it, has against an operation is its reply."""
        wait = batch_queue.replica_wait
        replies = await send_operations(connection, operations, late, wait)
        missing = [i for i, reply in enumerate(replies) if is_missing_script(reply)]
        if missing:
            again = await load_and_send(connection, [operations[i] for i in missing], late, wait)
            for i, reply in zip(missing, again, strict=True):
                replies[i] = reply
        # In the background: the caller learns of its failure now, and nodes that are well are not held up.
        if (self._mapping is None or self._mapping.done()) and self._routes.wants_new_map(replies):
            self._mapping = self._loop.create_task(self._draw_new_map(batch_queue.server))
        return replies

    async def _draw_new_map(self, suspect: Server) -> None:
        """What waits for a node may belong to another one now: it is distributed again."""
        await self._routes.draw_new_map(suspect.name)
        for batch_queue in self._batch_queues.values():
            self._pending += batch_queue.take_pending()
        self._flush()


def _log_failed_undo(future: asyncio.Future[Any]) -> None:
    """Then the lease runs out instead."""
    reply = future.exception() or future.result()
    if isinstance(reply, BaseException):
        _outages.note("not taken back", {"action": "undo", "reason": str(reply)[:200]}, level=logging.INFO)
