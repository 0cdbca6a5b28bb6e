"""Tokens as their page lists them, for what a person may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.db.models import Exists, OuterRef, Q

from queues.models import Token
from queues.pools.database import read_metadata

from ..permissions import Right, User, namespaces_with, places_with
from .managing import TokenInfo, token_info

PAGE: Final = 100
"""Tokens that one page lists."""


class TokenState(StrEnum):
    """Which tokens the page lists."""

    WORKING = "working"
    UNUSED = "unused"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFilter:
    """`text`: part of the id or description, or the name of a namespace. An empty pool and namespace mean all."""

    pool: str = ""
    namespace: str = ""
    text: str = ""
    state: TokenState = TokenState.WORKING


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token, and whether the person may revoke it."""

    pk: int
    token: TokenInfo
    may_revoke: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    """`namespaces`: pool and name of those whose tokens the person sees; `open_to`: in which they may make some.

    `before`: what the next page begins after; None: there is none.
    """

    tokens: Sequence[TokenRow]
    namespaces: Sequence[tuple[str, str]]
    open_to: Sequence[tuple[str, str]]
    before: int | None


def show_tokens(*, user: User, chosen: TokenFilter, before: int | None = None) -> TokensView:
    """A page of tokens, the newest first. Raises MetadataUnavailableError."""
    visible = namespaces_with(user=user, right=Right.SEE_TOKENS)
    revocable = namespaces_with(user=user, right=Right.REVOKE_TOKENS).filter(pk=OuterRef("namespace"))
    rows = Token.objects.filter(namespace__in=visible.order_by()).select_related("namespace__pool", "limit")
    rows = rows.filter(_matches(chosen)).annotate(may_revoke=Exists(revocable.order_by()))
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = read_metadata(lambda: list(rows.order_by("-pk")[: PAGE + 1]))
    shown = found[:PAGE]
    return TokensView(
        tokens=[TokenRow(pk=row.pk, token=token_info(row), may_revoke=row.may_revoke) for row in shown],
        namespaces=places_with(user=user, right=Right.SEE_TOKENS),
        open_to=places_with(user=user, right=Right.CREATE_TOKENS),
        before=shown[-1].pk if len(found) > PAGE else None,
    )


def _matches(chosen: TokenFilter) -> Q:
    """As SQL."""
    match chosen.state:
        case TokenState.REVOKED:
            wanted = Q(revoked_at__isnull=False)
        case TokenState.UNUSED:
            wanted = Q(revoked_at=None, last_used=None)
        case _:
            wanted = Q(revoked_at=None)
    if chosen.namespace:
        wanted &= Q(namespace__name=chosen.namespace, namespace__pool__name=chosen.pool)
    if chosen.text:
        contains = Q(public_id__startswith=chosen.text.lower()) | Q(description__icontains=chosen.text)
        wanted &= contains | Q(namespace__name=chosen.text)
    return wanted
