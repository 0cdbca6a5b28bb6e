"""Push endpoints: their latest deliveries and counts, and the heartbeats of the processes that deliver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..keys import QueueKeys, push_keys, pushers_key
from ..operation import Argument, Operation, Reply, clock_argument, expect_ok
from ..scripts import load
from ..stats.heartbeats import PusherBeat, pack_pusher, unpack_pusher
from .pool_status import FORGET_PUMP_MS, PUMPS_MAX

KEPT_MS: Final = 7 * 86_400_000
"""Deliveries are forgotten a week after the latest one."""

DELIVERIES_KEPT: Final = 30
"""Of each endpoint, and as many that failed."""

RECORD_MAX_BYTES: Final = 16 * 1024

_NOTE = load("note_deliveries")
_READ = load("read_deliveries")
_BEAT = load("beat")
_LIST = load("list_pumps")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryNotes:
    """What has happened at an endpoint since the last call. `records`: the latest, the oldest first, each with whether
    it failed. `streak`: failures after the last success among them."""

    delivered: int = 0
    failed: int = 0
    returned: int = 0
    streak: int = 0
    records: Sequence[tuple[bool, bytes]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PushHealth:
    """Counts of an endpoint. `streak`: failures since the last success. Times None: never, of the last week."""

    now_ms: int
    delivered: int = 0
    failed: int = 0
    returned: int = 0
    streak: int = 0
    ok_at_ms: int | None = None
    failed_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDeliveries:
    """Records as they were noted, the newest first."""

    health: PushHealth
    recent: tuple[bytes, ...]
    failures: tuple[bytes, ...]


def note_deliveries(
    queue: QueueKeys, endpoint: int, notes: DeliveryNotes, *, now_ms: int | None = None
) -> Operation[None]:
    """Keep what has happened."""
    args: list[Argument] = [
        clock_argument(now_ms),
        KEPT_MS,
        DELIVERIES_KEPT,
        notes.delivered,
        notes.failed,
        notes.returned,
        notes.streak,
    ]
    for failed, record in notes.records[-2 * DELIVERIES_KEPT :]:
        args += [1 if failed else 0, record[:RECORD_MAX_BYTES]]

    def decode(reply: Reply) -> None:
        expect_ok(_NOTE, reply)

    return Operation(_NOTE, push_keys(queue, endpoint), tuple(args), decode)


def read_deliveries(
    queue: QueueKeys, endpoint: int, *, most: int = DELIVERIES_KEPT, now_ms: int | None = None
) -> Operation[PushDeliveries]:
    """The latest deliveries; `most` 0: only the counts."""

    def decode(reply: Reply) -> PushDeliveries:
        now, health, recent, failures = expect_ok(_READ, reply)
        fields = dict(zip(health[::2], health[1::2], strict=True))
        return PushDeliveries(health=_health(now, fields), recent=tuple(recent), failures=tuple(failures))

    return Operation(_READ, push_keys(queue, endpoint), (clock_argument(now_ms), most), decode)


def _health(now_ms: int, fields: Mapping[bytes, bytes]) -> PushHealth:
    def number(name: bytes) -> int:
        return int(fields.get(name, 0))

    return PushHealth(
        now_ms=now_ms,
        delivered=number(b"delivered"),
        failed=number(b"failed"),
        returned=number(b"returned"),
        streak=number(b"streak"),
        ok_at_ms=number(b"ok_at") or None,
        failed_at_ms=number(b"failed_at") or None,
    )


def beat_pusher(beat: PusherBeat, *, now_ms: int | None = None) -> Operation[int]:
    """Note that a pusher lives. The number of pushers that are known."""
    args = (clock_argument(now_ms), beat.pusher, pack_pusher(beat), FORGET_PUMP_MS, PUMPS_MAX)
    return Operation(_BEAT, (pushers_key(),), args, lambda reply: int(expect_ok(_BEAT, reply)[0]))


def list_pushers(*, now_ms: int | None = None) -> Operation[tuple[PusherBeat, ...]]:
    """The pushers that were heard of in the last ten minutes, by id."""

    def decode(reply: Reply) -> tuple[PusherBeat, ...]:
        now, fields = expect_ok(_LIST, reply)
        beats = [unpack_pusher(name, entry, now) for name, entry in zip(fields[::2], fields[1::2], strict=True)]
        return tuple(sorted((one for one in beats if one is not None), key=lambda one: one.pusher))

    return Operation(_LIST, (pushers_key(),), (clock_argument(now_ms),), decode)
