"""Views of lists that users keep: each user's own, seen and changed by nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from queues.models.saved_view import NAME_MAX, QUERY_MAX, VIEWS_MAX, SavedView
from queues.pools.database import read_metadata

from .errors import InvalidArgumentError
from .permissions import User

__all__ = ["NAME_MAX", "VIEWS_MAX", "NamedQuery", "delete_view", "list_views", "save_view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """A saved view: its name, and the query string that shows it."""

    name: str
    query: str


def _views_of(user: User, page: str) -> QuerySet[SavedView]:
    return SavedView.objects.filter(user_id=user.pk or 0, page=page)


def list_views(*, user: User, page: str) -> Sequence[NamedQuery]:
    """The user's views of a list, by name. Raises MetadataUnavailableError."""
    rows = _views_of(user, page).values_list("name", "query")[:VIEWS_MAX]
    return [NamedQuery(name=name, query=query) for name, query in read_metadata(lambda: list(rows))]


def save_view(*, user: User, page: str, name: str, query: str) -> str:
    """Keep `query` under a name, instead of what was kept under it before; the name as it is kept.

    Raises InvalidArgumentError.
    """
    name = " ".join(name.replace("\0", "").split())
    if not 1 <= len(name) <= NAME_MAX or len(query) > QUERY_MAX:
        raise InvalidArgumentError("invalid name of a view")
    with transaction.atomic():
        others = _views_of(user, page).exclude(name=name)
        if others.count() >= VIEWS_MAX:
            raise InvalidArgumentError("too many views")
        SavedView.objects.update_or_create(user_id=user.pk or 0, page=page, name=name, defaults={"query": query})
    return name


def delete_view(*, user: User, page: str, name: str) -> bool:
    """Forget it. Whether there was one."""
    deleted, _by_model = _views_of(user, page).filter(name=name.replace("\0", "")).delete()
    return deleted > 0
