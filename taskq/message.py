"""The body of a task's job: one JSON object. docs/sdk/message.md describes it for producers in other languages.

    {"task": "shop.close_order", "args": [7], "kwargs": {"reason": "unpaid"}, "version": 1, "result": true,
     "trace": {"traceparent": "00-..."}, "workflow": {"id": "invoice-7", "node": "send", "takes": "result"},
     "payload": "...", "serializer": "pickle", "encrypted": "..."}

Only `task` is required. `version` (1): of the task's signature. `result`: whether the job keeps its result; without it,
as the task declares. `trace`: headers of the producer's trace context. `workflow`: that the job belongs to, and its
node. With `takes` "result", what the one node returned that it depends on comes before the arguments; with "results" a
list of what all of them returned. With `serializer`, `payload` is base64 of what
that serializer made of `[args, kwargs]`. With `encrypted`, it is all that there is but for `task` and `version`: a
Fernet token of the same object.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from .outcomes import SerializationError
from .serializers import Serializer, to_json


class Message(msgspec.Struct, omit_defaults=True):
    """A job's body, read. `args` and `kwargs` are as JSON has them, or as the serializer read them."""

    task: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    version: int = 1
    result: bool | None = None
    trace: dict[str, str] = {}
    workflow: dict[str, str] = {}
    payload: str = ""
    serializer: str = ""
    encrypted: str = ""


class Cipher(Protocol):
    """Encrypts bodies (`taskq.encryption`)."""

    def encrypt(self, raw: bytes) -> bytes: ...

    def decrypt(self, token: bytes) -> bytes: ...


_DECODER: Final = msgspec.json.Decoder(Message)


def write_message(
    task: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    version: int = 1,
    result: bool | None = None,
    trace: dict[str, str] | None = None,
    workflow: Mapping[str, str] | None = None,
    serializer: Serializer | None = None,
    cipher: Cipher | None = None,
) -> bytes:
    """The body. Raises SerializationError for arguments that cannot be written."""
    content: dict[str, Any] = {"task": task}
    if serializer is not None:
        content |= {"payload": _dump(serializer, [list(args), dict(kwargs)]), "serializer": serializer.name}
    else:
        if args:
            content["args"] = args
        if kwargs:
            content["kwargs"] = kwargs
    if version != 1:
        content["version"] = version
    if result is not None:
        content["result"] = result
    if trace:
        content["trace"] = trace
    if workflow:
        content["workflow"] = workflow
    if cipher is None:
        return to_json(content)
    outside = {"task": task, "encrypted": cipher.encrypt(to_json(content)).decode("ascii")}
    if version != 1:
        outside["version"] = version  # type: ignore[assignment]
    return to_json(outside)


def read_message(
    body: bytes,
    *,
    serializers: Mapping[str, Serializer] | None = None,
    cipher: Cipher | None = None,
    accept_plaintext: bool = False,
) -> Message:
    """Raises SerializationError for what is no message, or needs a serializer or key that is not here."""
    try:
        message = _DECODER.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise SerializationError(f"the body is not a task's message: {error}") from error
    if message.encrypted:
        if cipher is None:
            raise SerializationError("the body is encrypted, and this app has no encryption_keys")
        return read_message(cipher.decrypt(message.encrypted.encode()), serializers=serializers)
    if cipher is not None and not message.encrypted and not accept_plaintext:
        raise SerializationError(
            "the body is not encrypted, and this app takes encrypted ones only (accept_plaintext=)"
        )
    if message.serializer:
        message.args, message.kwargs = _load(message, serializers or {})
    return message


def read_task_name(body: bytes) -> str:
    """The task that a body names, which stands beside what is encrypted; "" if it is none of a message."""
    try:
        return _DECODER.decode(body).task
    except (msgspec.DecodeError, RecursionError):
        return ""


def _dump(serializer: Serializer, value: Any) -> str:
    try:
        return base64.b64encode(serializer.dumps(value)).decode("ascii")
    except Exception as error:
        raise SerializationError(f"{serializer.name} cannot write the arguments: {error}") from error


def _load(message: Message, serializers: Mapping[str, Serializer]) -> tuple[list[Any], dict[str, Any]]:
    serializer = serializers.get(message.serializer)
    if serializer is None:
        raise SerializationError(
            f"the arguments need the serializer {message.serializer!r}, which this app does not have"
        )
    try:
        args, kwargs = serializer.loads(base64.b64decode(message.payload, validate=True))
    except binascii.Error as error:
        raise SerializationError(f"the payload is not base64: {error}") from error
    except Exception as error:
        raise SerializationError(f"{serializer.name} cannot read the arguments: {error}") from error
    return args, kwargs
