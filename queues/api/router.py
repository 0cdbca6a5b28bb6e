"""Routes as values, and the router that finds the route of a request from the path as it was sent.

Django is given the path decoded, in which `/api/ns/a%2Fb` and `/api/ns/a/b` look the same; here a segment is decoded
after the path is cut, so a slash in a name is what it is: a forbidden character in a name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from queues.services.tokens.limit_settings import RateKind

from .context import ApiContext
from .http.errors import MethodNotAllowedError, RouteNotFoundError
from .http.request import ApiRequest
from .http.response import ApiResponse
from .route_docs.documentation import Documentation

OperationFunction = Callable[[ApiRequest, ApiContext], Awaitable[ApiResponse]]
NameCheck = Callable[[ApiRequest], None]


SUPERUSERS_ONLY: Final = "superusers only"
"""Stands for a permission that only superusers have."""


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
    alternative: Alternative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """The route of the same method and path that a request means which has one of these query parameters.

    `path`: path parameters that it gets besides.
    """

    parameters: frozenset[str]
    route: Route
    path: Mapping[str, str]


REMEMBERED_PATHS: Final = 4096
REMEMBERED_MAX_BYTES: Final = 256

_JOB: Final = 4
_JOB_ID: Final = 5
_SOME_JOB_ID: Final = b"0"


@dataclass(slots=True)
class _Node:
    """A place in the tree of segments."""

    literal: dict[str, _Node] = field(default_factory=dict)
    any: _Node | None = None
    refused: frozenset[str] = frozenset()
    """What the parameter is not."""
    routes: dict[str, Route] = field(default_factory=dict)


class Router:
    """Literal segments win over parameters, for those methods that they have: `GET /api/ns/queues` lists the queues,
    while `PUT /api/ns/queues` publishes to one of that name. `refused`: by the name of a parameter, what it never is;
    another route may have such a path."""

    def __init__(self, routes: Iterable[Route], *, refused: Mapping[str, frozenset[str]] | None = None) -> None:
        self._refused = refused or {}
        self._root = _Node()
        self._remembered = lru_cache(maxsize=REMEMBERED_PATHS)(self._search)
        for route in routes:
            self._add(route)

    def match(self, method: str, raw_path: bytes) -> tuple[Route, Mapping[str, str]]:
        """The route and its path parameters, which are shared: do not modify.

        Raises RouteNotFoundError, MethodNotAllowedError.
        """
        if len(raw_path) > REMEMBERED_MAX_BYTES:
            return self._search(method, raw_path)
        if raw_path.find(b"/job/") < 0:  # "in" takes longer
            return self._remembered(method, raw_path)
        # Every job has a path of its own, but the same way leads to all jobs of a queue.
        segments = raw_path.split(b"/")
        if len(segments) <= _JOB_ID or segments[_JOB] != b"job" or not segments[_JOB_ID].isalnum():
            return self._remembered(method, raw_path)
        job_id = segments[_JOB_ID]
        segments[_JOB_ID] = _SOME_JOB_ID
        route, parameters = self._remembered(method, b"/".join(segments))
        return route, {**parameters, "job_id": job_id.decode("ascii")}

    def _search(self, method: str, raw_path: bytes) -> tuple[Route, Mapping[str, str]]:
        segments = [decode_segment(segment) for segment in raw_path.removeprefix(b"/").split(b"/")]
        allowed: list[str] = []
        route = _find(self._root, segments, 0, method, allowed)
        if route is None:
            if allowed:
                raise MethodNotAllowedError(tuple(sorted(set(allowed))))
            raise RouteNotFoundError("api not found")
        return route, _parameters(route, segments)

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in _split(route.path):
            if segment.startswith("{"):
                node.any = node.any or _Node()
                node = node.any
                node.refused = self._refused.get(segment[1:-1], frozenset())
            else:
                node = node.literal.setdefault(segment, _Node())
        assert route.method not in node.routes, f"two routes for {route.method} {route.path}"
        node.routes[route.method] = route
        if route.method == "GET" and route.auth is AuthKind.NONE:
            node.routes["HEAD"] = route


def decode_segment(segment: bytes) -> str:
    """A path segment without its percent signs. Bytes that are not UTF-8 become U+FFFD, which no name may contain."""
    raw = unquote_to_bytes(segment) if b"%" in segment else segment
    return raw.decode("utf-8", "replace")


def _find(node: _Node, segments: list[str], at: int, method: str, allowed: list[str]) -> Route | None:
    if at == len(segments):
        allowed.extend(node.routes)
        return node.routes.get(method)
    literal = node.literal.get(segments[at])
    if literal is not None:
        found = _find(literal, segments, at + 1, method, allowed)
        if found is not None:
            return found
    if node.any is not None and segments[at] and segments[at] not in node.any.refused:
        return _find(node.any, segments, at + 1, method, allowed)
    return None


def _split(path: str) -> list[str]:
    return path.removeprefix("/").split("/")


def _parameters(route: Route, segments: list[str]) -> dict[str, str]:
    return {
        pattern[1:-1]: segment
        for pattern, segment in zip(_split(route.path), segments, strict=True)
        if pattern.startswith("{")
    }
