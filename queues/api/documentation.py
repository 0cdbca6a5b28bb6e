"""What a route says of itself; the OpenAPI document and the docs page are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

ParameterKind = Literal["integer", "number", "string", "boolean"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter."""

    name: str
    kind: ParameterKind
    text: str
    default: str | int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: its status, what it means, and an example of its JSON body (None: no body; a text: not JSON)."""

    status: int
    text: str
    example: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """`body`: what the request body is, "" for none; `body_type`: its content type, */* for any bytes."""

    group: str
    summary: str
    replies: tuple[Reply, ...]
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    body_type: str = "*/*"
