"""What a web process says of the consumers that wait there, every few seconds, in their pool's Redis.

Durations only, so that no host's clock matters: when it was said is for the Redis server's clock to tell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from ..names import clean_line

RECORD_MAX_BYTES: Final = 128 * 1024
QUEUES_NAMED: Final = 8
"""Of a consumer that waits on more, how many are named."""

ADDRESS_MAX_BYTES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingConsumer:
    """Who waits, or did lately. `waiting`: with how many calls at once; 0: with none now, and `left_ms` ago with one.

    `since_ms`: how long ago it was first seen; `queues_unnamed`: further queues that it waits on.
    """

    namespace: str
    queues: tuple[str, ...]
    consumer: str
    address: str
    waiting: int
    since_ms: int
    left_ms: int = 0
    queues_unnamed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWaiters:
    """A queue that somebody waits on, and how many calls do."""

    namespace: str
    queue: str
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBeat:
    """What a process said `age_ms` ago (0 when it is sent). `waiting`: calls that wait there, told in detail or not."""

    process: str
    waiting: int
    consumers: tuple[WaitingConsumer, ...]
    consumers_omitted: int
    queues: tuple[QueueWaiters, ...]
    queues_omitted: int
    age_ms: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not self.consumers and not self.queues


def pack_waiting(beat: WaitingBeat) -> bytes:
    """The record as lua/tell_waiting.lua keeps it, of at most RECORD_MAX_BYTES; b"" if there is nothing to say."""
    if beat.is_empty:
        return b""
    budget = RECORD_MAX_BYTES - 1024
    rows, counts = list[bytes](), list[bytes]()
    for one in beat.consumers:
        rows.append(_row(one))
        budget -= len(rows[-1]) + 1
        if budget < RECORD_MAX_BYTES // 3:  # the rest is for the counts
            break
    for queue in beat.queues:
        counts.append(json.dumps([queue.namespace, queue.queue, queue.waiting]).encode())
        budget -= len(counts[-1]) + 1
        if budget < 0:
            counts.pop()
            break
    head = {
        "waiting": beat.waiting,
        "consumers_untold": beat.consumers_omitted + len(beat.consumers) - len(rows),
        "queues_untold": beat.queues_omitted + len(beat.queues) - len(counts),
    }
    return b'{"head":%b,"consumers":[%b],"queues":[%b]}' % (
        json.dumps(head).encode(),
        b",".join(rows),
        b",".join(counts),
    )


def unpack_waiting(process: bytes, record: bytes, age_ms: int) -> WaitingBeat | None:
    """A record of lua/list_waiting.lua; None if this version cannot read it. Durations are as of `age_ms` later."""
    try:
        content: dict[str, Any] = json.loads(record)
        return WaitingBeat(
            process=process.decode("utf-8", "replace"),
            waiting=content["head"]["waiting"],
            consumers=tuple([_read(row, age_ms) for row in content["consumers"]]),
            consumers_omitted=content["head"]["consumers_untold"],
            queues=tuple([QueueWaiters(namespace=ns, queue=name, waiting=n) for ns, name, n in content["queues"]]),
            queues_omitted=content["head"]["queues_untold"],
            age_ms=age_ms,
        )
    except (ValueError, KeyError, TypeError):
        return None


def _row(one: WaitingConsumer) -> bytes:
    return json.dumps(
        [
            one.namespace,
            one.queues[:QUEUES_NAMED],
            clean_line(one.consumer).decode(),
            clean_line(one.address, ADDRESS_MAX_BYTES).decode(),
            one.waiting,
            one.since_ms,
            one.left_ms,
            one.queues_unnamed + max(0, len(one.queues) - QUEUES_NAMED),
        ],
        ensure_ascii=False,
    ).encode()


def _read(row: list[Any], age_ms: int) -> WaitingConsumer:
    namespace, queues, consumer, address, waiting, since_ms, left_ms, unnamed = row
    return WaitingConsumer(
        namespace=namespace,
        queues=tuple(queues),
        consumer=consumer,
        address=address,
        waiting=waiting,
        since_ms=since_ms + age_ms,
        left_ms=0 if waiting else left_ms + age_ms,
        queues_unnamed=unnamed,
    )
