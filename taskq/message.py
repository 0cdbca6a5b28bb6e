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

from .errors import SerializationError
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
    """Encrypts bodies (`taskq.serializers`)."""

    def encrypt(self, raw: bytes) -> bytes: ...

    def decrypt(self, token: bytes) -> bytes: ...


class Member(msgspec.Struct):
    """A job that has become part of a batch. Further fields are ignored."""

    job_id: str
    data: bytes


class Batch(msgspec.Struct):
    """The body of a batch, which the queue makes of the members of a group (docs/groups.md)."""

    group: str
    members: list[Member]


_DECODER: Final = msgspec.json.Decoder(Message)
_BATCH_DECODER: Final = msgspec.json.Decoder(Batch)


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
    """Raises SerializationError for what is no message, or needs a serializer or key that is not here.

    Of a batch: the message of its members' task, with one argument, the lists of all of them as one.
    """
    if (batch := _read_batch(body)) is not None:
        read = [
            read_message(member.data, serializers=serializers, cipher=cipher, accept_plaintext=accept_plaintext)
            for member in batch.members
        ]
        return _joined(read)
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
    """The task that a body names, also if the rest is encrypted; "" if the body is no message."""
    if (batch := _read_batch(body)) is not None:
        return read_task_name(batch.members[0].data)
    try:
        return _DECODER.decode(body).task
    except (msgspec.DecodeError, RecursionError):
        return ""


def _read_batch(body: bytes) -> Batch | None:
    """The batch that the body is, or None. A message of a task has no `group`."""
    if not body.startswith(b'{"group":'):
        return None
    try:
        batch = _BATCH_DECODER.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        return None
    return batch if batch.members else None


def _joined(members: Sequence[Message]) -> Message:
    """The message of a batch. Raises SerializationError for members that are no calls of one task with a list."""
    first = members[0]
    values: list[Any] = []
    for member in members:
        if (member.task, member.version) != (first.task, first.version):
            raise SerializationError(f"a batch has members of two tasks or versions: {first.task}, {member.task}")
        if member.kwargs or len(member.args) != 1 or not isinstance(member.args[0], list | tuple):
            raise SerializationError(f"a member of a batch has other arguments than one list: {member.task}")
        values += member.args[0]
    keeps = any(member.result for member in members) or first.result
    return Message(task=first.task, args=[values], version=first.version, result=keeps, trace=first.trace)


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
