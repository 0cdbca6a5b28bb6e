"""Bodies that must be a JSON object."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from queues.engine.limits import BULK_MAX_JOBS, SECONDS_MAX

from .errors import ParameterError
from .request import ApiRequest

JSON_BODY_MAX_BYTES: Final = 64 * 1024

ARRAYS_MAX: Final = 65_536
"""Brackets in a body, those within texts included. Arrays take longest to decode: 60 ms for 1 MiB of `[],`."""


async def read_object(request: ApiRequest, limit: int = JSON_BODY_MAX_BYTES) -> dict[str, Any]:
    """The body as a JSON object; an empty body is an empty object. Raises ParameterError, BodyTooLargeError."""
    body = bytes(await request.read_body(limit))
    if not body.strip():
        return {}
    if body.count(b"[") > ARRAYS_MAX:
        raise ParameterError("too many values")
    value = _decode(body)
    if not isinstance(value, dict):
        raise ParameterError("request body should be an object")
    return value


def _decode(body: bytes) -> Any:
    """The value, or None if it is no JSON.

    A text that JavaScript cut within a character ends in a lone surrogate, which orjson refuses. A consumer that
    reports such an error must not be left with its job until its lease runs out: the half character becomes a "?".
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def text_of(fields: dict[str, Any], name: str) -> str:
    """A text, "" when absent. Raises ParameterError("invalid NAME")."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ParameterError(f"invalid {name}")
    return value


def flag_of(fields: dict[str, Any], name: str) -> bool:
    """A boolean, false when absent."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise ParameterError(f"invalid {name}")
    return value


def seconds_as_ms_of(fields: dict[str, Any], name: str) -> int | None:
    """Seconds, decimals allowed, as ms; None when absent."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= SECONDS_MAX:
        raise ParameterError(f"invalid {name}")
    return round(value * 1000)


def number_of(fields: dict[str, Any], name: str, default: int) -> int:
    """A whole number that is not negative."""
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(f"invalid {name}")
    return value


def ids_of(fields: dict[str, Any]) -> list[str]:
    """The job ids under `ids`: a list of 1 to BULK_MAX_JOBS texts."""
    ids = fields.get("ids")
    if not isinstance(ids, list) or not 0 < len(ids) <= BULK_MAX_JOBS or not all(isinstance(one, str) for one in ids):
        raise ParameterError("invalid ids")
    return ids
