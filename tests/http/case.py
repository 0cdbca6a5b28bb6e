"""A row of the contract's table (`cases`), and what rows are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.http.client import Client

Prepare = Callable[[Client, str], dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`want`: the JSON reply; a callable in it is asked, a compiled pattern is matched; None: the reply has no body.

    `{queue}` and whatever `prepare` answers are put into the path and the body.
    """

    route: str
    title: str
    request: str
    status: int
    want: Any = None
    body: str | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    prepare: Prepare = lambda client, queue: {}

    @property
    def name(self) -> str:
        return f"{self.route}: {self.title} → {self.status}"


def case(route: str, title: str, request: str, status: int, want: Any = None, **more: Any) -> Case:
    """A case that is told in a line or two."""
    return Case(route=route, title=title, request=request, status=status, want=want, **more)


def whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def error(words: str | re.Pattern[str]) -> dict[str, Any]:
    return {"error": words}
