"""Runs operations synchronously."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar, overload

from .connection import SyncClient
from .errors import TaskqError
from .failures import is_missing_script, is_translatable, translate
from .keys import Layout, QueueKeys
from .operation import Operation, Plan

T = TypeVar("T")


def command_of(operation: Operation[Any]) -> tuple[Any, ...]:
    """The Redis command of an operation."""
    return ("EVALSHA", operation.script.sha, len(operation.keys), *operation.keys, *operation.args)


def result_of(operation: Operation[T], reply: Any) -> T:
    """The decoded reply. Raises what the decoder raises, or the translated error if the reply is one."""
    if isinstance(reply, BaseException):
        raise translate(reply, operation.script.name) from reply
    return operation.decode(reply)


class Engine:
    """A pool, for synchronous callers. Safe to share between threads; connections come from redis-py's pool."""

    def __init__(self, client: SyncClient, layout: Layout) -> None:
        self.client = client
        self.layout = layout

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
        try:
            reply = self._evaluate(work)
        except Exception as error:
            if is_translatable(error):
                raise translate(error, work.script.name) from error
            raise
        return work.decode(reply)

    def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Run operations in one round trip; results in order. Raises the first error after all have run."""
        if len(operations) == 1:
            return [self.run(operations[0])]
        replies = self._send(operations)
        missing = [i for i, reply in enumerate(replies) if is_missing_script(reply)]
        if missing:
            self._load(operations[i] for i in missing)
            for i, reply in zip(missing, self._send([operations[i] for i in missing]), strict=True):
                replies[i] = reply
        return [result_of(operation, reply) for operation, reply in zip(operations, replies, strict=True)]

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _follow(self, plan: Plan[T]) -> T:
        try:
            operations = next(plan)
            while True:
                try:
                    results = self.batch(operations)
                except TaskqError as error:
                    operations = plan.throw(error)
                else:
                    operations = plan.send(results)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _evaluate(self, operation: Operation[Any]) -> Any:
        try:
            return self.client.execute_command(*command_of(operation))
        except Exception as error:
            if not is_missing_script(error):
                raise
        self._load([operation])
        return self.client.execute_command(*command_of(operation))

    def _send(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for operation in operations:
            pipeline.execute_command(*command_of(operation))
        try:
            return list(pipeline.execute(raise_on_error=False))
        except Exception as error:
            if is_translatable(error):
                raise translate(error, operations[0].script.name) from error
            raise

    def _load(self, operations: Any) -> None:
        for source in {operation.script.source for operation in operations}:
            self.client.script_load(source)
