"""Reads and writes the binary job record and run (layouts: `lua/lib/record.lua`, `lua/lib/run.lua`)."""

from __future__ import annotations

import json
import struct
from binascii import b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass

from .backoff import FAILURES_ONLY_BIT, NO_BACKOFF, Backoff, BackoffKind
from .values import AttemptRecord, PublishOptions

_OUTCOMES = {1: "failed", 2: "lease_lost"}


_LIMIT_KEY_BIT = 64
_GROUP_BIT = 32
"""Is added to the kind of the backoff if a limit key, or a group, is at the end."""

OWN_KEY_PREFIX = "\0"
"""With it begin keys of the service itself: of batches, of `once`, of schedules, and those that jobs hold. No client
may publish with one."""

BATCH_KEY = OWN_KEY_PREFIX + "batch"
"""What is stored of a batch instead of an idempotency key: by it the relay knows a batch (lua/lib/groups.lua)."""

_GROUP_TAIL = struct.Struct(">BHH6s6s")
"""Behind the group's name: its bytes, members of a batch, most members, longest delay, grace period (in ms)."""

_KEY_PLACE = 19
"""Behind retention, kind, base and cap of the backoff: u16 n, n bytes of key, and after it the attributes likewise."""


def _u48(raw: bytes, at: int) -> int:
    return int.from_bytes(raw[at : at + 6], "big")


def _end_of_field(raw: bytes, at: int) -> int:
    """Where a field ends that begins at `at` with its length, a u16."""
    return at + 2 + int.from_bytes(raw[at : at + 2], "big")


def _pack_u48(value: int) -> bytes:
    return value.to_bytes(6, "big")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the record keeps of the publish options beyond tries, ttl and due time."""

    retention_ms: int = 0
    backoff: Backoff = NO_BACKOFF
    key: str = ""
    attributes: Mapping[str, str] | None = None
    limit_key: str = ""
    group: str = ""
    members: int = 0
    """Of a batch; 0: the job is none."""


NO_OPTIONS = Options()


def pack_options(options: PublishOptions) -> bytes:
    """The options part of a record; b"" when all of it is default, so that plain jobs stay small."""
    backoff = options.backoff
    if (
        not (options.retention_ms or options.key or options.limit_key or options.group)
        and options.attributes is None
        and backoff == NO_BACKOFF
    ):
        return b""
    key = (options.key or "").encode()
    attributes = b""
    if options.attributes is not None:
        attributes = json.dumps(dict(options.attributes), ensure_ascii=False, separators=(",", ":")).encode()
    limit_key = (options.limit_key or "").encode()
    tail = limit_key + bytes((len(limit_key),)) if limit_key else b""
    bits = (FAILURES_ONLY_BIT if backoff.failures_only else 0) | (_LIMIT_KEY_BIT if limit_key else 0)
    if options.group is not None:
        bits |= _GROUP_BIT
        tail = _pack_group(options, options.group.encode())
    return b"".join(
        (
            _pack_u48(options.retention_ms),
            bytes((backoff.kind | bits,)),
            _pack_u48(backoff.base_ms),
            _pack_u48(backoff.cap_ms),
            struct.pack(">H", len(key)),
            key,
            struct.pack(">H", len(attributes)),
            attributes,
            tail,
        )
    )


def _pack_group(options: PublishOptions, name: bytes) -> bytes:
    times = _pack_u48(options.group_max_delay_ms), _pack_u48(options.group_grace_ms)
    return name + _GROUP_TAIL.pack(len(name), 0, options.group_max_size, *times)


def unpack_options(raw: bytes) -> Options:
    """The inverse of `pack_options`."""
    if not raw:
        return NO_OPTIONS
    key_end = _end_of_field(raw, _KEY_PLACE)
    attributes_end = _end_of_field(raw, key_end)
    attributes = raw[key_end + 2 : attributes_end]
    group, members = "", 0
    if raw[6] & _GROUP_BIT:
        tail = len(raw) - _GROUP_TAIL.size
        length, members, *_ = _GROUP_TAIL.unpack_from(raw, tail)
        group = raw[tail - length : tail].decode()
    return Options(
        retention_ms=_u48(raw, 0),
        backoff=Backoff(
            kind=BackoffKind(raw[6] & ~FAILURES_ONLY_BIT & ~_LIMIT_KEY_BIT & ~_GROUP_BIT),
            base_ms=_u48(raw, 7),
            cap_ms=_u48(raw, 13),
            failures_only=bool(raw[6] & FAILURES_ONLY_BIT),
        ),
        key="" if (key := raw[_KEY_PLACE + 2 : key_end].decode()).startswith(OWN_KEY_PREFIX) else key,
        attributes=json.loads(attributes) if attributes else None,
        limit_key=raw[attributes_end:-1].decode() if raw[6] & _LIMIT_KEY_BIT else "",
        group=group,
        members=members,
    )


def unpack_attributes(raw: bytes) -> Mapping[str, str] | None:
    """Only the attributes of an options part: consumers get nothing else of it."""
    if not raw:
        return None
    key_end = _end_of_field(raw, _KEY_PLACE)
    attributes = raw[key_end + 2 : _end_of_field(raw, key_end)]
    return json.loads(attributes) if attributes else None


def is_batch(options: bytes) -> bool:
    """Whether these are the options of a batch, whose body is to be read by `batch_body`."""
    if len(options) <= _GROUP_TAIL.size or not options[6] & _GROUP_BIT:
        return False
    _, members, *_ = _GROUP_TAIL.unpack_from(options, len(options) - _GROUP_TAIL.size)
    return bool(members)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A job that has become part of a batch."""

    job_id: str
    body: bytes
    attributes: Mapping[str, str] | None


def unpack_members(raw: bytes) -> list[Member]:
    """The members in the stored body of a batch; of a body that was cut, as far as it goes."""
    members, at = [], 0
    while at + _MEMBER_HEAD.size < len(raw):
        job_id, size = _MEMBER_HEAD.unpack_from(raw, at)
        at += _MEMBER_HEAD.size
        try:
            record = unpack_record(raw[at : at + size])
        except (IndexError, ValueError):  # cut within its options
            break
        at += size
        members.append(Member(job_id=job_id.decode("ascii"), body=record.body, attributes=record.options.attributes))
    return members


_MEMBER_HEAD = struct.Struct(">26sI")


def batch_body(group: str, raw: bytes) -> bytes:
    """What consumers get as the body of a batch: JSON with its members, and their bodies in base64."""
    members = [
        {
            "job_id": member.job_id,
            "data": str(b2a_base64(member.body, newline=False), "ascii"),
            "attributes": member.attributes,
        }
        for member in unpack_members(raw)
    ]
    return json.dumps({"group": group, "members": members}, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record, read. `due_ms` None unless the job was published with a delay."""

    tries: int
    expires_ms: int
    due_ms: int | None
    options: Options
    body: bytes
    """Of a batch as consumers get it."""
    stored_body: bytes


def unpack_record(raw: bytes) -> Record:
    """Read a record."""
    flags = raw[0]
    at = 9
    due_ms = None
    if flags & 2:
        due_ms, at = _u48(raw, at), at + 6
    options = NO_OPTIONS
    if flags & 1:
        length = int.from_bytes(raw[at : at + 2], "big")
        options, at = unpack_options(raw[at + 2 : at + 2 + length]), at + 2 + length
    body = raw[at:]
    return Record(
        tries=int.from_bytes(raw[1:3], "big"),
        expires_ms=_u48(raw, 3),
        due_ms=due_ms,
        options=options,
        body=batch_body(options.group, body) if options.members else body,
        stored_body=body,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The run of a job, as read: what changes about it from its first delivery on."""

    attempt: int
    used: int
    tries: int
    expires_ms: int
    due_ms: int
    taken_ms: int
    consumer: str
    history: tuple[AttemptRecord, ...]


def unpack_run(raw: bytes) -> Run:
    """Read a run."""
    length = int.from_bytes(raw[27:29], "big")
    consumer, at = _short(raw, 29 + length)
    history = []
    while at < len(raw):
        attempt, taken, ended, outcome = (
            int.from_bytes(raw[at : at + 4], "big"),
            _u48(raw, at + 4),
            _u48(raw, at + 10),
            raw[at + 16],
        )
        worker, at = _short(raw, at + 17)
        error_end = at + 2 + int.from_bytes(raw[at : at + 2], "big")
        error, at = raw[at + 2 : error_end].decode("utf-8", "replace"), error_end
        history.append(
            AttemptRecord(
                attempt=attempt,
                taken_ms=taken,
                ended_ms=ended,
                outcome=_OUTCOMES[outcome],
                consumer=worker,
                error=error,
            )
        )
    return Run(
        attempt=int.from_bytes(raw[0:4], "big"),
        used=int.from_bytes(raw[4:6], "big"),
        tries=int.from_bytes(raw[6:8], "big"),
        expires_ms=_u48(raw, 9),
        due_ms=_u48(raw, 15),
        taken_ms=_u48(raw, 21),
        consumer=consumer,
        history=tuple(history),
    )


def _short(raw: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + raw[at]
    return raw[at + 1 : end].decode("utf-8", "replace"), end
