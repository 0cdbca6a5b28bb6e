"""A route as a value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from queues.services.tokens.access import RateKind

from .context import ApiContext
from .documentation import Documentation
from .request import ApiRequest
from .response import ApiResponse

OperationFunction = Callable[[ApiRequest, ApiContext], Awaitable[ApiResponse]]
NameCheck = Callable[[ApiRequest], None]


SUPERUSERS_ONLY: Final = "superusers only"
"""Stands for a permission that nobody can be given."""


class AuthKind(Enum):
    """How a request is authenticated."""

    TOKEN = "a token of the namespace"  # noqa: S105 - words, not a secret
    STAFF = "a staff user"
    NONE = "everybody"


STAFF: Final = AuthKind.STAFF
"""For every request: to look up a member of an enum takes longer than the rest of a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """`name` is unique. `rate`: what the request counts as against the token's limit, if it has one."""

    name: str
    method: str
    path: str
    """`/api/{namespace}/{queue}`: segments in braces are parameters."""
    operation: OperationFunction
    check_names: NameCheck
    auth: AuthKind
    rate: RateKind | None
    permissions: tuple[str, ...]
    """What staff who are no superusers need, in Django's words: `queues.view_token`."""
    documentation: Documentation
