"""Reading query parameters: the string is parsed once, then each value is read by the rule of its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import ClassVar, Final
from urllib.parse import parse_qsl

from queues.engine.limits import SECONDS_MAX, UINT32_MAX

from .errors import ParameterError

MAX_PARAMETERS: Final = 64
REMEMBERED_MAX_BYTES: Final = 256


class Query(dict[str, str]):
    """Query parameters. Do not modify: clients send the same string over and over, and then get the same object, by
    whose identity others may remember what they made of it if it `may_be_kept`."""

    __slots__ = ()
    may_be_kept: ClassVar[bool] = True

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


class _LongQuery(Query):
    """Too long to be kept by anybody."""

    __slots__ = ()
    may_be_kept = False


_NOTHING: Final = Query()
_DIGITS = re.compile(r"[0-9]{1,19}\Z")
_INTEGER = re.compile(r"-?[0-9]{1,19}\Z")
_DECIMAL = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?\Z")
_EPOCH = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?\Z")
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def parse_query(raw: bytes) -> Query:
    """The parameters of a query string; of a repeated one the first, as Go's url.Values.Get has it."""
    if not raw:
        return _NOTHING
    return _remembered(raw) if len(raw) <= REMEMBERED_MAX_BYTES else _parse(raw, make=_LongQuery)


def _parse(raw: bytes, make: type[Query] = Query) -> Query:
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise ParameterError("too many parameters") from None
    parameters = make()
    for name, value in pairs:
        parameters.setdefault(name, value)
    return parameters


_remembered = lru_cache(maxsize=4096)(_parse)


def read_uint(query: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int = UINT32_MAX) -> int:
    """A whole number between `least` and `most`, or the default when absent. Raises ParameterError("invalid NAME")."""
    text = query.get(name)
    if text is None:
        return default
    if _DIGITS.match(text) is None or not least <= (number := int(text)) <= most:
        raise ParameterError(f"invalid {name}")
    return number


def read_optional_uint(query: Mapping[str, str], name: str, *, least: int = 0, most: int = UINT32_MAX) -> int | None:
    """As read_uint, with None when absent."""
    return read_uint(query, name, 0, least=least, most=most) if name in query else None


def read_int(query: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    """As read_uint, with a sign allowed."""
    text = query.get(name)
    if text is None:
        return default
    if _INTEGER.match(text) is None or not least <= (number := int(text)) <= most:
        raise ParameterError(f"invalid {name}")
    return number


def read_seconds_as_ms(query: Mapping[str, str], name: str, default_ms: int = 0) -> int:
    """Seconds, decimals allowed, as milliseconds. Raises ParameterError("invalid NAME")."""
    text = query.get(name)
    if text is None:
        return default_ms
    if _DECIMAL.match(text) is None or (seconds := float(text)) > SECONDS_MAX:
        raise ParameterError(f"invalid {name}")
    return round(seconds * 1000)


def read_flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean in the spellings that Go's strconv.ParseBool knows; false when absent."""
    text = query.get(name)
    if text is None or text in _FALSE:
        return False
    if text in _TRUE:
        return True
    raise ParameterError(f"invalid {name}")


def is_true(query: Mapping[str, str], name: str) -> bool:
    """As read_flag, for parameters of which lmstfy accepts whatever comes: what is no boolean counts as false."""
    return query.get(name) in _TRUE


def read_moment_ms(query: Mapping[str, str], name: str) -> int | None:
    """Epoch seconds, or ISO 8601 with a zone, as milliseconds since the epoch; None when absent."""
    text = query.get(name)
    if text is None:
        return None
    if _EPOCH.match(text) is not None:
        return round(float(text) * 1000)
    try:
        # An unescaped "+01:00" arrives as " 01:00".
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        milliseconds = round(moment.timestamp() * 1000) if moment.tzinfo is not None else -1
    except (ValueError, OverflowError):
        milliseconds = -1
    if milliseconds < 0:
        raise ParameterError(f"invalid {name}")
    return milliseconds
