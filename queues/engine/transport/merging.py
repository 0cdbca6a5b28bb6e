"""Puts operations that ask the same of one queue into one script call.

A call costs Redis about 20 µs whatever it does, and the process as much again to send and to read; a job costs two or
three. Under load the calls of one turn of the event loop are many, and most of them publish to, consume from or ack in
a few queues. A combined call is as atomic as each of its parts was: all are answered once all are done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from ..constants import MERGE_MAX_CALLS
from ..operation import MergeKey, Operation, Reply, unexpected
from .replication import UnconfirmedError

Call: TypeAlias = tuple[Operation[Any], asyncio.Future[Any]]
"""An operation that waits to be sent, and where its reply goes."""


class MergedCall(NamedTuple):
    """What is sent: an operation, and the places of those that it stands for. `combined`: its reply has to be split."""

    operation: Operation[Any]
    places: Sequence[int]
    combined: bool


def merge(operations: Sequence[Operation[Any]]) -> list[MergedCall]:
    """The calls to make, in the order in which each group first appears."""
    groups: dict[MergeKey, list[int]] = {}
    calls: list[list[int]] = []
    for place, operation in enumerate(operations):
        key = operation.merge_key
        if key is None:
            calls.append([place])
            continue
        members = groups.get(key)
        if members is None or len(members) == MERGE_MAX_CALLS:
            groups[key] = members = []
            calls.append(members)
        members.append(place)
    return [_call(operations, places) for places in calls]


def _call(operations: Sequence[Operation[Any]], places: list[int]) -> MergedCall:
    first = operations[places[0]]
    if len(places) == 1 or first.merge_key is None:
        return MergedCall(first, places, False)
    combine, _ = first.merge_key
    return MergedCall(combine([operations[place] for place in places]), places, True)


def spread(calls: Sequence[MergedCall], replies: Sequence[Reply], total: int) -> list[Reply]:
    """The replies to the operations, out of the replies to the calls. An error is for each operation of its call."""
    spread: list[Reply] = [None] * total
    for call, reply in zip(calls, replies, strict=True):
        if not call.combined:
            spread[call.places[0]] = reply
            continue
        try:
            parts = _parts(call, reply)
        except Exception as error:  # an unreadable reply must not keep other calls from theirs
            parts = [error] * len(call.places)
        for place, part in zip(call.places, parts, strict=True):
            spread[place] = part
    return spread


def _parts(call: MergedCall, reply: Reply) -> Sequence[Reply]:
    if isinstance(reply, UnconfirmedError):
        return [UnconfirmedError(part, reply.wait) for part in _parts(call, reply.reply)]
    if isinstance(reply, BaseException):
        return [reply] * len(call.places)
    parts: Sequence[Reply] = call.operation.decode(reply)
    if len(parts) != len(call.places):
        raise unexpected(call.operation.script, reply)
    return parts
