"""How arguments and results travel: as plain JSON, which the types in a function's signature turn back into objects.

So a producer in any language can enqueue a Python task: `{"task": "shop.close", "kwargs": {"at":
"2026-11-23T10:00:00Z"}}` is a `datetime` for `def close(at: datetime)`. Dataclasses, datetime, date, timedelta,
Decimal, UUID, enums, sets, tuples, bytes (base64), TypedDict and msgspec's Structs are read by their annotation; so are
pydantic's models. With `encryption_keys`, both are encrypted (`FernetCipher`, which needs `taskq[encryption]`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, get_type_hints

import msgspec

from .errors import NotConfiguredError, SerializationError


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


class FernetCipher:
    """Encrypts with the first key, decrypts with any.

    To rotate: add the new key as the last one everywhere, then put it first, and drop the old one later.
    """

    def __init__(self, keys: Sequence[str | bytes]) -> None:
        try:
            from cryptography.fernet import Fernet, MultiFernet
        except ImportError as error:
            raise NotConfiguredError(
                "encryption_keys need the package cryptography: pip install 'taskq[encryption]'"
            ) from error
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise NotConfiguredError(f"an encryption key is not 32 bytes in URL-safe base64: {error}") from error

    def encrypt(self, raw: bytes) -> bytes:
        return self._fernet.encrypt(raw)

    def decrypt(self, token: bytes) -> bytes:
        """Raises SerializationError if no key fits."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(token)
        except InvalidToken:
            raise SerializationError("the body cannot be decrypted with any of the encryption_keys") from None
