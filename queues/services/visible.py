"""Which namespaces a staff user may see: a superuser all of them, others those of their groups."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from queues.models import Namespace
from queues.pools.reading import read_metadata

from .errors import NamespaceNotFoundError

User = AbstractBaseUser | AnonymousUser


def check_visible(*, user: User, pool: str, namespace: str) -> None:
    """Raise NamespaceNotFoundError unless `user` may see the namespace: another's is as good as none.

    To a superuser every name is open, also that of a namespace which is yet to be made.
    """
    if sees_everything(user):
        return
    rows = Namespace.objects.visible_to(user).filter(pool__name=pool, name=namespace)
    if not read_metadata(rows.exists):
        raise NamespaceNotFoundError


def list_visible(*, user: User, pool: str, limit: int) -> list[str]:
    """Names of a pool's namespaces that `user` may see, in order, at most `limit`."""
    rows = Namespace.objects.visible_to(user).filter(pool__name=pool).order_by("name").values_list("name", flat=True)
    return read_metadata(lambda: list(rows[:limit]))


def visible_names(*, user: User) -> frozenset[tuple[str, str]] | None:
    """Pool and name of each namespace that `user` may see; None: of all."""
    if sees_everything(user):
        return None
    rows = Namespace.objects.visible_to(user).values_list("pool__name", "name")
    return read_metadata(lambda: frozenset(rows))


def sees_everything(user: User) -> bool:
    """Whether `user` is a superuser whose account works."""
    return bool(user.is_active and getattr(user, "is_superuser", False))
