"""Runs operations synchronously."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, overload

from hiredis import pack_command
from redis.exceptions import MovedError

from .errors import NotReplicatedError, TaskqError
from .keys import Layout, QueueKeys
from .operation import Apart, Operation, Paced, Plan, Relay
from .operations.relay import relay
from .transport.batch_queue import Pacer
from .transport.connection import StoreAddress, SyncClient
from .transport.failures import is_missing_script, same_for_all, translate
from .transport.replication import ReplicaWait, UnconfirmedError
from .transport.resp_protocol import packed, packed_in_pieces
from .transport.routing import Routes, Server
from .values import Published

T = TypeVar("T")


def result_of(operation: Operation[T], reply: Any) -> T:
    """The decoded reply. Raises what the decoder raises, or the translated error if the reply is one."""
    if isinstance(reply, BaseException):
        if isinstance(reply, UnconfirmedError):
            return _unconfirmed_result(operation, reply)
        raise translate(reply, operation.script.name) from reply
    return operation.decode(reply)


def _unconfirmed_result(operation: Operation[T], unconfirmed: UnconfirmedError) -> T:
    """Raises NotReplicatedError if that matters to the operation, and if it was not refused, so that it has written.

    A result of None says that nothing was (lua/publish_staged.lua: `gone`).
    """
    result = operation.decode(unconfirmed.reply)
    if not operation.replicated or result is None:
        return result
    job_ids = result.job_ids if isinstance(result, Published) else ()
    wait = unconfirmed.wait
    raise NotReplicatedError(job_ids, min_replicas=wait.min_replicas, timeout_s=wait.timeout_s)


def leaves_messages(relay: Relay, reply: Any) -> bool:
    """Whether the operation of this `relay`, and of this reply, has left messages to other partitions."""
    return not isinstance(reply, BaseException) and relay.is_needed(reply)


def relays_of(operations: Sequence[Operation[Any]], replies: Sequence[Any]) -> list[Relay]:
    """Those of the operations that have left messages to other partitions."""
    return [
        operation.relay
        for operation, reply in zip(operations, replies, strict=True)
        if operation.relay is not None and leaves_messages(operation.relay, reply)
    ]


def results_of(operations: Sequence[Operation[Any]], replies: Sequence[Any]) -> list[Any]:
    """The decoded replies; of a batch that is `Apart` errors too, otherwise the first one is raised."""
    if not isinstance(operations, Apart):
        return [result_of(operation, reply) for operation, reply in zip(operations, replies, strict=True)]
    results: list[Any] = []
    for operation, reply in zip(operations, replies, strict=True):
        try:
            results.append(result_of(operation, reply))
        except TaskqError as error:
            results.append(error)
    return results


class Engine:
    """A pool, for synchronous callers. Safe to share between threads; connections come from redis-py's pool.

    `address` is needed for a cluster only. `replica_wait`: what operations that are `replicated` wait for.
    `before_call` is called before each round trip; what it raises is raised.
    """

    def __init__(
        self,
        client: SyncClient,
        layout: Layout,
        address: StoreAddress | None = None,
        replica_wait: ReplicaWait | None = None,
        *,
        before_call: Callable[[], None] | None = None,
    ) -> None:
        self.client = client
        self.layout = layout
        self.address = address
        self._routes = Routes(client, address)
        self._replica_wait = replica_wait
        self._pacer = Pacer()
        self._before_call = before_call

    def queue(self, namespace: str, queue: str) -> QueueKeys:
        """The keys of a queue; a name costs nothing until something is published."""
        return self.layout.queue(namespace, queue)

    @overload
    def run(self, work: Operation[T]) -> T: ...
    @overload
    def run(self, work: Plan[T]) -> T: ...
    def run(self, work: Operation[T] | Plan[T]) -> T:
        """Run one operation, or a plan to its end. Raises the errors of `queues.engine.errors`."""
        if isinstance(work, Generator):
            return self._follow(work)
        (reply,) = self._replies([work])
        if work.relay is not None:
            self._relay([work], [reply])
        return result_of(work, reply)

    def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Run operations in one round trip (of a cluster: one for each node); results in order.

        They may run in another order: those whose script the server does not know yet come last. Raises the first error
        after all have run.
        """
        replies = self._replies(operations)
        self._relay(operations, replies)
        return results_of(operations, replies)

    def group_by_server(self, operations: Sequence[Operation[Any]]) -> list[list[int]]:
        """Places of the operations that the same server would run; one group unless this is a cluster."""
        return list(self._routes.split(operations).values())

    def close(self) -> None:
        """Close the connections."""
        self._routes.close()

    def _relay(self, operations: Sequence[Operation[Any]], replies: Sequence[Any]) -> None:
        """Carry at once what these have left for other partitions. If that fails, the pump does it."""
        relays = relays_of(operations, replies)
        if relays:
            partitions = {needed.partition for needed in relays}
            with suppress(TaskqError):
                self._follow(relay(self.layout, partitions=partitions, now_ms=relays[0].now_ms))

    def _follow(self, plan: Plan[T]) -> T:
        try:
            operations = next(plan)
            while True:
                try:
                    if isinstance(operations, Paced):
                        results = self._pacer.run(partial(self.batch, operations))
                    else:
                        results = self.batch(operations)
                except TaskqError as error:
                    operations = plan.throw(error)
                else:
                    operations = plan.send(results)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _replies(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        if self._before_call is not None:
            self._before_call()
        replies = self._distribute(operations)
        moved = [i for i, reply in enumerate(replies) if isinstance(reply, MovedError)]
        if moved:
            # Nothing was applied by a node that sends us elsewhere.
            self._routes.follow(replies[i] for i in moved)
            for i, reply in zip(moved, self._distribute([operations[i] for i in moved]), strict=True):
                replies[i] = reply
        return replies

    def _distribute(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Replies in order. Every server is asked, also if others fail; then the routes learn from their replies."""
        only = self._routes.only
        if only is not None:
            replies = _ask(only, operations, self._replica_wait)
            self._routes.heed(only, replies)
            return replies
        replies = [None] * len(operations)
        heard: list[tuple[Server, list[Any]]] = []
        for server, places in self._routes.split(operations).items():
            said = _ask(server, [operations[i] for i in places], self._replica_wait)
            heard.append((server, said))
            for i, reply in zip(places, said, strict=True):
                replies[i] = reply
        for server, said in heard:
            self._routes.heed(server, said)
        return replies


def _ask(server: Server, operations: Sequence[Operation[Any]], wait: ReplicaWait | None) -> list[Any]:
    """The replies of one server. What Redis, or the way to it, has against an operation is its reply."""
    replies = _send(server, operations, wait)
    missing = [i for i, reply in enumerate(replies) if is_missing_script(reply)]
    if missing:
        for i, reply in zip(missing, _load_and_send(server, [operations[i] for i in missing], wait), strict=True):
            replies[i] = reply
    return replies


def _load_and_send(server: Server, operations: Sequence[Operation[Any]], wait: ReplicaWait | None) -> list[Any]:
    try:
        assert server.kept is not None  # of a synchronous engine's routes
        for source in {operation.script.source for operation in operations}:
            command: Any = ("SCRIPT", "LOAD", source)
            (reply,) = server.kept.ask([pack_command(command)], commands=1)
            if isinstance(reply, Exception):
                return same_for_all(reply, operations)
    except Exception as error:
        return same_for_all(error, operations)
    return _send(server, operations, wait)


def _send(server: Server, operations: Sequence[Operation[Any]], wait: ReplicaWait | None) -> list[Any]:
    if wait is not None and not any(operation.replicated for operation in operations):
        wait = None
    pieces: list[bytes] = []
    for operation in operations:
        pieces += packed_in_pieces(operation) if operation.alone else (packed(operation),)
    if wait is not None:
        pieces.append(wait.packed)
    if len(pieces) > 1 and not any(operation.alone for operation in operations):
        pieces = [b"".join(pieces)]
    assert server.kept is not None  # of a synchronous engine's routes
    try:
        replies = server.kept.ask(pieces, commands=len(operations) + (wait is not None))
    except Exception as error:
        return same_for_all(error, operations)
    return replies if wait is None else wait.check(replies)
