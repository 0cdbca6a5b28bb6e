"""Who may see and do what: the roles of people in namespaces.

A superuser may do everything. Anybody else sees a namespace that is shown to one of their groups; what they may do in
it is said by the permissions of those groups that it is shown to, and by permissions of their own. A permission of
another group never counts: who operates the bank's queues and may look at the shop's only looks at the shop's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, IntEnum
from typing import Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, Permission
from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When

from queues.models import Namespace
from queues.models.namespace import ADMINISTER, OPERATE
from queues.pools.database import read_metadata

from .errors import NamespaceNotFoundError, RoleTooLowError

NAMESPACES_MAX: Final = 10_000
"""How many namespaces a page knows at once. One that is named is found however many there are."""


class Role(IntEnum):
    """What a person may do in a namespace; each includes those below it."""

    READ = 1
    """Look at everything in it, job bodies included."""
    OPERATE = 2
    """Pause, resume, publish; ack, retry, release, respawn, delete and reschedule jobs."""
    ADMIN = 3
    """Empty whole queues, edit policies."""


def role_in(*, user: User, pool: str, namespace: str) -> Role:
    """What `user` may do there. Raises NamespaceNotFoundError, for what they may not see as for what is not there.

    Raises MetadataUnavailableError.
    """
    rows = Namespace.objects.visible_to(user).named(pool, namespace).order_by()
    role = read_metadata(rows.values_list(_role(user), flat=True).first)
    if role is None:
        raise NamespaceNotFoundError
    return Role(role)


def check_role(*, user: User, pool: str, namespace: str, needed: Role) -> None:
    """Raises NamespaceNotFoundError for what `user` may not see, RoleTooLowError for what they may only see."""
    if role_in(user=user, pool=pool, namespace=namespace) < needed:
        raise RoleTooLowError


def roles_of(*, user: User) -> Mapping[tuple[str, str], Role]:
    """Pool and name of each namespace that `user` may see, in order, with what they may do in it; one query.

    At most NAMESPACES_MAX. Raises MetadataUnavailableError.
    """
    rows = Namespace.objects.visible_to(user).order_by("pool__name", "name")
    found = rows.values_list("pool__name", "name", _role(user))[:NAMESPACES_MAX]
    return {(pool, name): Role(role) for pool, name, role in read_metadata(lambda: list(found))}


def places_of(*, user: User) -> list[tuple[str, str]]:
    """Pool and name of each namespace that `user` may see, in order, at most NAMESPACES_MAX: a quarter of what
    `roles_of` takes. Raises MetadataUnavailableError."""
    rows = Namespace.objects.visible_to(user).order_by("pool__name", "name").values_list("pool__name", "name")
    return read_metadata(lambda: list(rows[:NAMESPACES_MAX]))


def roles_among(*, user: User, places: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Role]:
    """What `user` may do in those of some namespaces (pool and name) that they may see; one query."""
    if not places:
        return {}
    pools, names = {pool for pool, _ in places}, {name for _, name in places}
    rows = Namespace.objects.visible_to(user).filter(pool__name__in=pools, name__in=names).order_by()
    found = read_metadata(lambda: list(rows.values_list("pool__name", "name", _role(user))))
    return {(pool, name): Role(role) for pool, name, role in found if (pool, name) in places}


class Right(Enum):
    """What a person may do in a namespace by Django's permissions, whatever their role: any one of these is enough."""

    SEE_TOKENS = ("view_token",)
    CREATE_TOKENS = ("add_token",)
    REVOKE_TOKENS = ("change_token", "delete_token")
    CHANGE_NAMESPACE = ("change_namespace",)
    DELETE_NAMESPACE = ("delete_namespace",)


def namespaces_with(*, user: User, right: Right) -> QuerySet[Namespace]:
    """The visible namespaces in which `user` has the right, in order. As with roles, a permission of a group counts in
    the namespaces that are shown to that group."""
    rows = Namespace.objects.visible_to(user).order_by("pool__name", "name")
    return rows if sees_everything(user) else rows.filter(_permitted(user, *right.value))


def places_with(*, user: User, right: Right) -> list[tuple[str, str]]:
    """Pool and name of these, at most NAMESPACES_MAX. Raises MetadataUnavailableError."""
    found = namespaces_with(user=user, right=right).values_list("pool__name", "name")[:NAMESPACES_MAX]
    return read_metadata(lambda: list(found))


def check_right(*, user: User, pool: str, namespace: str, right: Right) -> None:
    """Raises NamespaceNotFoundError for what `user` may not see, RoleTooLowError without the right."""
    if not read_metadata(Namespace.objects.visible_to(user).named(pool, namespace).exists):
        raise NamespaceNotFoundError
    allowed = namespaces_with(user=user, right=right).filter(pool__name=pool, name=namespace)
    if not read_metadata(allowed.exists):
        raise RoleTooLowError


def check_sees_everything(user: User) -> None:
    """Raises RoleTooLowError for anybody but a superuser."""
    if not sees_everything(user):
        raise RoleTooLowError


def _role(user: User) -> Case | Value:
    """What `user` may do in a visible namespace, as SQL."""
    if sees_everything(user):
        return Value(Role.ADMIN.value, output_field=IntegerField())
    return Case(
        When(_permitted(user, ADMINISTER), then=Value(Role.ADMIN.value)),
        When(_permitted(user, OPERATE), then=Value(Role.OPERATE.value)),
        default=Value(Role.READ.value),
        output_field=IntegerField(),
    )


def _permitted(user: User, *codenames: str) -> Q:
    permission = {"content_type__app_label": "queues", "codename__in": codenames}
    shown_to = Group.objects.filter(namespaces=OuterRef("pk"), user=user.pk)
    through_group = shown_to.filter(**{f"permissions__{field}": value for field, value in permission.items()})
    own = Permission.objects.filter(user=user.pk, **permission)
    return Q(Exists(through_group)) | Q(Exists(own))


User = AbstractBaseUser | AnonymousUser


def check_visible(*, user: User, pool: str, namespace: str) -> None:
    """Raise NamespaceNotFoundError unless `user` may see the namespace: another's is as good as none.

    To a superuser every name is open, also that of a namespace which is yet to be made.
    """
    if sees_everything(user):
        return
    if not read_metadata(Namespace.objects.visible_to(user).named(pool, namespace).exists):
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
