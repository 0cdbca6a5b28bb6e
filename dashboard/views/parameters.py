"""Reads what many pages have in their address or their form: texts, an act, a namespace."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

from django.http import HttpRequest, QueryDict

from dashboard.forms.jobs import without_nul
from queues.services.errors import InvalidArgumentError

TEXT_MAX: Final = 255

A = TypeVar("A", bound=StrEnum)


def read_text(request: HttpRequest, name: str) -> str:
    """A text of the query string, cut to TEXT_MAX characters; "" when absent. U+0000, which some databases refuse, is
    replaced: it still matches nothing.
    """
    return read_text_of(request.GET, name)


def read_text_of(parameters: QueryDict, name: str) -> str:
    """The same of any query string."""
    return without_nul(parameters.get(name, "")[:TEXT_MAX]).strip()


def read_act(request: HttpRequest, acts: type[A]) -> A:
    """The button that was pressed: `act` of the form. Raises InvalidArgumentError."""
    try:
        return acts(request.POST.get("act", ""))
    except ValueError:
        raise InvalidArgumentError("invalid act") from None


def read_namespace(request: HttpRequest) -> tuple[str, str] | None:
    """`?namespace=POOL/NAME`: pool and name; None for what is none."""
    pool, _slash, namespace = request.GET.get("namespace", "").partition("/")
    return (pool, namespace) if pool and namespace and "/" not in namespace else None
