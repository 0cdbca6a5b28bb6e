"""Members of JSON objects that clients send. None stands for a member that is missing, or null.

Each raises ParameterError, which names the member and says what was expected.
"""

from __future__ import annotations

from base64 import b64decode
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeVar

import orjson

from ..http.errors import ParameterError

K = TypeVar("K", bound=Enum)

NAME_SHOWN: Final = 40


def check_known(content: dict[str, Any], known: frozenset[str]) -> None:
    """Raises ParameterError for the first member that is not known: a misspelt option would else be ignored."""
    unknown = next((name for name in content if name not in known), None)
    if unknown is not None:
        raise ParameterError(f"unknown {unknown[:NAME_SHOWN]!r}; there are {', '.join(sorted(known))}")


def read_body(content: dict[str, Any]) -> bytes:
    """`body`: a text as it is, an object or array as its JSON; `data`: any bytes in base64."""
    body, data = content.get("body"), content.get("data")
    if body is not None and data is not None:
        raise ParameterError("body and data exclude each other")
    if data is not None:
        try:
            return b64decode(data if isinstance(data, str) else "?", validate=True)
        except ValueError:
            raise ParameterError("invalid data: it is not base64") from None
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, dict | list):
        return orjson.dumps(body)
    raise ParameterError("invalid body: expected a text, an object or an array; any bytes go into data, in base64")


def read_attributes(content: dict[str, Any]) -> dict[str, str] | None:
    value = content.get("attributes")
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ParameterError("invalid attributes: expected an object of texts")
    if any("\0" in text for pair in value.items() for text in pair):  # which PostgreSQL does not keep
        raise ParameterError("invalid attributes: they have no character U+0000")
    return value


def read_text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ParameterError(f"invalid {name}: expected a text")
    return value


def read_flag(content: dict[str, Any], name: str) -> bool | None:
    value = content.get(name)
    if value is not None and not isinstance(value, bool):
        raise ParameterError(f"invalid {name}: expected true or false")
    return value


def read_whole(content: dict[str, Any], name: str, *, least: int, most: int) -> int | None:
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(f"invalid {name}: expected a whole number from {least} to {most}")
    return value


def read_number(content: dict[str, Any], name: str, *, least: float, most: float) -> float | None:
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ParameterError(f"invalid {name}: expected a number of seconds")
    return value


def read_moment(content: dict[str, Any], name: str) -> int | None:
    """Epoch seconds, or ISO 8601 with a zone, in ms."""
    value = content.get(name)
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None:
                return round(moment.timestamp() * 1000)
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e12:
            return round(value * 1000)
    except (ValueError, OverflowError):
        pass
    raise ParameterError(f"invalid {name}: expected a moment, epoch seconds or ISO 8601 with a zone")


def read_choice(content: dict[str, Any], name: str, kind: type[K], default: K) -> K:
    value = content.get(name)
    if value is None:
        return default
    try:
        return kind(value if isinstance(value, str) else "")
    except ValueError:
        names = ", ".join(str(one.value) for one in kind)
        raise ParameterError(f"invalid {name}: expected {names}") from None
