"""The Redis command of an operation, in Redis's protocol."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from hiredis import pack_command

from ..operation import Operation

COPY_MAX_BYTES: Final = 16_384
"""An argument that is smaller is copied into the command."""


def packed(operation: Operation[Any]) -> bytes:
    """The packed command. Script and keys repeat from call to call, so their part is cached."""
    head, parts = _packed_head(operation.script.sha, operation.keys)
    arguments = pack_command(operation.args)  # type: ignore[arg-type]  # its stub knows tuples of one
    return b"*%d\r\n%b%b" % (parts + len(operation.args), head, arguments[arguments.index(b"\n") + 1 :])


def packed_in_pieces(operation: Operation[Any]) -> list[bytes]:
    """The same in pieces, for a command that is large: bodies of COPY_MAX_BYTES and more are not copied."""
    head, parts = _packed_head(operation.script.sha, operation.keys)
    small: list[Any] = []
    pieces = [b"*%d\r\n%b" % (parts + len(operation.args), head)]
    for argument in operation.args:
        if isinstance(argument, bytes) and len(argument) >= COPY_MAX_BYTES:
            pieces += (_packed_arguments(small), b"$%d\r\n" % len(argument), argument, b"\r\n")
            small = []
        else:
            small.append(argument)
    pieces.append(_packed_arguments(small))
    return pieces


def _packed_arguments(arguments: list[Any]) -> bytes:
    """Without the count in front."""
    if not arguments:
        return b""
    whole: bytes = pack_command(tuple(arguments))
    return whole[whole.index(b"\n") + 1 :]


@lru_cache(maxsize=1024)
def _packed_head(sha: str, keys: tuple[bytes, ...]) -> tuple[bytes, int]:
    """What comes before the arguments, and how many parts that is."""
    parts: tuple[Any, ...] = ("EVALSHA", sha, len(keys), *keys)
    whole = pack_command(parts)
    return whole[whole.index(b"\n") + 1 :], len(parts)
