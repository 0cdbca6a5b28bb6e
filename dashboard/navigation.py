"""The pages of the bar, with the keys that lead there (`g` and then the key)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.http import HttpRequest
from django.urls import get_script_prefix, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

_PAGES: Final[tuple[tuple[str, Promise, str], ...]] = (
    ("dashboard:overview", _("Overview"), "o"),
    ("dashboard:incidents", _("Incidents"), "i"),
    ("dashboard:queues", _("Queues"), "q"),
    ("dashboard:dead", _("Dead letters"), "d"),
    ("dashboard:consumers", _("Consumers"), "c"),
    ("dashboard:workers", _("Workers"), "w"),
    ("dashboard:schedules", _("Schedules"), "s"),
    ("dashboard:workflows", _("Workflows"), "f"),
    ("dashboard:push", _("Push"), "p"),
    ("dashboard:reports", _("Reports"), "r"),
    ("dashboard:activity", _("Activity"), "a"),
    ("dashboard:namespaces", _("Namespaces"), "n"),
    ("dashboard:tokens", _("Tokens"), "t"),
)
_ADMIN: Final = ("admin:index", _("Admin"), "m")
_IN_MENU: Final = frozenset(
    {
        "dashboard:workflows",
        "dashboard:push",
        "dashboard:reports",
        "dashboard:activity",
        "dashboard:namespaces",
        "dashboard:tokens",
        "admin:index",
    }
)
"""Those that go into the menu "More" where the bar is too narrow for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    """A link of the bar. `current`: the page asked for is this one or below it.

    `in_menu`: it goes into the menu "More" where the bar is too narrow for all.
    """

    url: str
    title: Promise
    key: str
    current: bool
    in_menu: bool


def items_for(request: HttpRequest) -> tuple[NavigationItem, ...]:
    """The links, and the admin's for staff."""
    staff = getattr(getattr(request, "user", None), "is_staff", False)
    pages = (*_PAGES, *([_ADMIN] if staff else []))
    urls = _urls(get_script_prefix())
    overview = urls["dashboard:overview"]
    return tuple(
        NavigationItem(
            url=urls[name],
            title=title,
            key=key,
            current=request.path == overview if urls[name] == overview else request.path.startswith(urls[name]),
            in_menu=name in _IN_MENU,
        )
        for name, title, key in pages
    )


@lru_cache(maxsize=16)
def _urls(_prefix: str) -> Mapping[str, str]:
    """The URL of each page where the site is served below `_prefix`; `reverse` takes 0.1 ms, and each page has all."""
    return {name: reverse(name) for name, _title, _key in (*_PAGES, _ADMIN)}
