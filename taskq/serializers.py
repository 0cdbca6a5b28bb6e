"""How arguments and results travel: as plain JSON, which the types in a function's signature turn back into objects.

So a producer in any language can enqueue a Python task: `{"task": "shop.close", "kwargs": {"at":
"2026-11-23T10:00:00Z"}}` is a `datetime` for `def close(at: datetime)`. Dataclasses, datetime, date, timedelta,
Decimal, UUID, enums, sets, tuples, bytes (base64), TypedDict and msgspec's Structs are read by their annotation; so are
pydantic's models.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, Protocol, get_type_hints

import msgspec

from .outcomes import SerializationError


class Serializer(Protocol):
    """Turns a value into text that JSON can carry, and back. `name` travels with each job that uses it."""

    name: str

    def dumps(self, value: Any) -> bytes:
        """Raises any exception for what it cannot write."""

    def loads(self, raw: bytes) -> Any:
        """Raises any exception for what it cannot read."""


def _write_other(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise NotImplementedError(f"{type(value).__qualname__} has no JSON form")


def _read_other(kind: type, value: Any) -> Any:
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    if isinstance(value, kind):
        return value
    raise _NoRuleError(f"no rule makes `{kind.__qualname__}` of `{type(value).__qualname__}`: use a serializer")


class _NoRuleError(Exception):
    """An annotation names a class that JSON cannot be made into."""


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_write_other)
_DECODER: Final = msgspec.json.Decoder()


def to_json(value: Any) -> bytes:
    """JSON, UTF-8. Raises SerializationError, which names the type."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, NotImplementedError, ValueError, OverflowError, RecursionError) as error:
        raise SerializationError(f"cannot be written as JSON: {error}") from error


def from_json(raw: bytes) -> Any:
    """Raises SerializationError."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SerializationError(f"not JSON: {error}") from error


class _AsItIs:
    """Marks an annotation that says nothing, or that only the function itself understands."""


def convert(value: Any, kind: Any) -> Any:
    """`value`, as JSON has it, as an instance of the annotation `kind`. Raises SerializationError."""
    if kind is Any or kind is inspect.Parameter.empty or kind is _AsItIs or kind is object:
        return value
    try:
        return msgspec.convert(value, kind, strict=False, str_keys=True, dec_hook=_read_other)
    except (msgspec.ValidationError, ValueError, _NoRuleError) as error:
        raise SerializationError(str(error)) from error
    except TypeError:  # an annotation that msgspec has no rule for
        return value


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function with their markers (Annotated); {} if they name what cannot be found."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}
