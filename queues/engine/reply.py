"""What all decoders share: tagged replies, and values out of them."""

from __future__ import annotations

from typing import Any

from . import record
from .errors import ScriptError
from .keys import QueueKeys
from .names import clean_line
from .operation import Argument, Reply
from .scripts import Script
from .values import Delivery


def clock_argument(now_ms: int | None) -> Argument:
    """The `now_ms` argument of every script: "" means the Redis server's clock."""
    return "" if now_ms is None else now_ms


def tag_of(reply: Reply) -> str:
    """The word that a reply begins with."""
    return str(reply[0], "ascii")


def unexpected(script: Script, reply: Reply) -> ScriptError:
    """The error for a reply that the script's header does not list."""
    return ScriptError(f"{script.name}: unexpected reply {reply!r:.200}")


def expect_ok(script: Script, reply: Reply) -> list[Any]:
    """The rest of an `ok` reply."""
    if reply[0] != b"ok":
        raise unexpected(script, reply)
    return reply[1:]  # type: ignore[no-any-return]


def is_ok(reply: Reply) -> bool:
    """Whether a reply is `ok`, for a `Relay`."""
    return bool(reply[0] == b"ok")


def is_ok_above_zero(reply: Reply) -> bool:
    """Whether a reply is `ok` with a number above 0, for a `Relay`."""
    return is_ok(reply) and reply[1] > 0


def delivery_of(queue: QueueKeys, now_ms: int, fields: list[Any]) -> Delivery:
    """A job as consume and peek reply it: id attempt used tries expires options body."""
    job_id, attempt, used, tries, expires_ms, options, body = fields
    if options and record.is_batch(options):
        body = record.batch_body(record.unpack_options(options).group, body)
    return Delivery(
        queue.namespace,
        queue.queue,
        str(job_id, "ascii"),
        body,
        attempt,
        used,
        tries,
        expires_ms,
        now_ms,
        record.unpack_attributes(options) if options else None,
    )


def attempt_argument(attempt: int | None) -> Argument:
    """The `attempt` argument of the verbs that end an attempt: "" means whichever holds the job."""
    return "" if attempt is None else attempt


def consumer_argument(consumer: str) -> bytes:
    """A consumer's name, fit for an event line."""
    return clean_line(consumer)
