"""The query parameters of a publish."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from queues.engine import limits
from queues.engine.backoff import Backoff, parse_backoff
from queues.engine.values import KeyMode
from queues.services.jobs.publishing import PublishRequest

from .errors import ParameterError
from .query import Query, read_int, read_moment_ms, read_optional_uint, read_seconds_as_ms, read_uint

NOT_YET: Final = ("group", "depends_on", "wait")
"""Parameters that the contract has and this version does not: refused rather than silently ignored."""

_ADDED: Final = frozenset(
    {"at", "priority", "key", "key_ttl", "key_mode", "key_max_wait", "backoff", "retention", *NOT_YET}
)


def read_publish_options(query: Query, attributes: Mapping[str, str] | None) -> PublishRequest:
    """What the client asked for; what it left open stays None for the queue's policy. Raises ParameterError.

    The order of the checks is lmstfy's, so that a request with several faults gets the same answer.
    """
    return _read_plain(query) if attributes is None and query.may_be_kept else _read(query, attributes)


def _read(query: Query, attributes: Mapping[str, str] | None = None) -> PublishRequest:
    delay_ms = read_seconds_as_ms(query, "delay")
    ttl_s = read_optional_uint(query, "ttl")
    if ttl_s and ttl_s * 1000 < delay_ms:
        raise ParameterError("ttl is shorter than delay")
    tries = read_optional_uint(query, "tries", most=limits.TRIES_MAX)
    if tries == 0:
        raise ParameterError("tries shouldn't be zero")
    if _ADDED.isdisjoint(query):
        return PublishRequest(delay_ms=delay_ms, ttl_s=ttl_s, tries=tries, attributes=attributes)
    for name in NOT_YET:
        if name in query:
            raise ParameterError(f"{name} is not supported yet")
    at_ms = read_moment_ms(query, "at")
    if at_ms is not None and "delay" in query:
        raise ParameterError("at and delay exclude each other")
    return PublishRequest(
        delay_ms=delay_ms,
        at_ms=at_ms,
        ttl_s=ttl_s,
        tries=tries,
        priority=read_int(query, "priority", 0, least=limits.PRIORITY_MIN, most=limits.PRIORITY_MAX),
        key=_read_key(query),
        key_ttl_ms=_read_key_ttl_ms(query),
        key_mode=_read_key_mode(query),
        key_max_wait_ms=_read_key_max_wait_ms(query),
        backoff=_read_backoff(query),
        retention_ms=read_uint(query, "retention", 0) * 1000,
        attributes=attributes,
    )


_read_plain = lru_cache(maxsize=1024)(_read)
"""A producer sends the same query over and over."""


def _read_key(query: Mapping[str, str]) -> str | None:
    key = query.get("key")
    if key is not None and not 0 < len(key.encode("utf-8", "surrogatepass")) <= limits.KEY_MAX_BYTES:
        raise ParameterError("invalid key")
    return key


def _read_key_ttl_ms(query: Mapping[str, str]) -> int | None:
    if "key_ttl" in query and "key" not in query:
        raise ParameterError("key_ttl needs key")
    key_ttl_s = read_optional_uint(query, "key_ttl", least=1)
    return None if key_ttl_s is None else key_ttl_s * 1000


def _read_key_mode(query: Mapping[str, str]) -> KeyMode:
    text = query.get("key_mode")
    if text is None:
        return KeyMode.WINDOW
    try:
        mode = KeyMode(text)
    except ValueError:
        raise ParameterError("invalid key_mode") from None
    if "key" not in query:
        raise ParameterError("key_mode needs key")
    return mode


def _read_key_max_wait_ms(query: Mapping[str, str]) -> int:
    max_wait_ms = read_seconds_as_ms(query, "key_max_wait")
    if max_wait_ms and query.get("key_mode") != KeyMode.REPLACE:
        raise ParameterError("key_max_wait needs key_mode=replace")
    return max_wait_ms


def _read_backoff(query: Mapping[str, str]) -> Backoff | None:
    text = query.get("backoff")
    return None if text is None else parse_backoff(text)
