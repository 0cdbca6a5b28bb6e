"""Who may see and do what: the roles of people in namespaces.

A superuser may do everything. Anybody else sees a namespace that is shown to one of their groups; what they may do in
it is said by the permissions of those groups that it is shown to, and by permissions of their own. A permission of
another group never counts: who operates the bank's queues and may look at the shop's only looks at the shop's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, IntEnum
from typing import Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import connection
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from queues.models import Namespace
from queues.models.namespace import ADMINISTER, OPERATE, SHOWN_TO_USER
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
    if "\0" in pool or "\0" in namespace:  # PostgreSQL refuses such a parameter
        raise NamespaceNotFoundError
    condition = "queues_pool.name = %(pool)s AND queues_namespace.name = %(namespace)s"
    found = _read_roles(user, condition, {"pool": pool, "namespace": namespace})
    if not found:
        raise NamespaceNotFoundError
    return found[pool, namespace]


def check_role(*, user: User, pool: str, namespace: str, needed: Role) -> None:
    """Raises NamespaceNotFoundError for what `user` may not see, RoleTooLowError for what they may only see."""
    if role_in(user=user, pool=pool, namespace=namespace) < needed:
        raise RoleTooLowError


def roles_of(*, user: User) -> Mapping[tuple[str, str], Role]:
    """Pool and name of each namespace that `user` may see, in order, with what they may do in it; one query.

    At most NAMESPACES_MAX. Raises MetadataUnavailableError.
    """
    return _read_roles(user, "1 = 1", {}, limit=NAMESPACES_MAX)


def places_of(*, user: User) -> list[tuple[str, str]]:
    """Pool and name of each namespace that `user` may see, in order: less work than `roles_of` where there are many.

    At most NAMESPACES_MAX. Raises MetadataUnavailableError.
    """
    return [(pool, name) for pool, name, _ in _read_namespaces(user, "0", "1 = 1", {}, limit=NAMESPACES_MAX)]


def roles_among(*, user: User, places: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Role]:
    """What `user` may do in those of some namespaces (pool and name) that they may see; one query."""
    if not places:
        return {}
    pools = {f"pool{number}": pool for number, pool in enumerate({pool for pool, _ in places})}
    names = {f"name{number}": name for number, name in enumerate({name for _, name in places})}
    condition = f"queues_pool.name IN ({_placeholders(pools)}) AND queues_namespace.name IN ({_placeholders(names)})"
    found = _read_roles(user, condition, pools | names)
    return {place: role for place, role in found.items() if place in places}


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
    role_in(user=user, pool=pool, namespace=namespace)
    allowed = namespaces_with(user=user, right=right).filter(pool__name=pool, name=namespace)
    if not read_metadata(allowed.exists):
        raise RoleTooLowError


def check_sees_everything(user: User) -> None:
    """Raises RoleTooLowError for anybody but a superuser."""
    if not sees_everything(user):
        raise RoleTooLowError


# SQL that is written once: Django takes four times as long to build it as the database to run it (decision 129).
_GRANTED_BY_GROUPS: Final = """
SELECT queues_namespace_groups.namespace_id
FROM queues_namespace_groups
JOIN auth_user_groups ON auth_user_groups.group_id = queues_namespace_groups.group_id
JOIN auth_group_permissions ON auth_group_permissions.group_id = queues_namespace_groups.group_id
JOIN auth_permission ON auth_permission.id = auth_group_permissions.permission_id
JOIN django_content_type ON django_content_type.id = auth_permission.content_type_id
WHERE auth_user_groups.user_id = {user} AND django_content_type.app_label = 'queues'
AND auth_permission.codename IN ({codenames})
"""
_GRANTED_TO_USER: Final = """
EXISTS (
  SELECT 1
  FROM auth_user_user_permissions
  JOIN auth_permission ON auth_permission.id = auth_user_user_permissions.permission_id
  JOIN django_content_type ON django_content_type.id = auth_permission.content_type_id
  WHERE auth_user_user_permissions.user_id = {user} AND django_content_type.app_label = 'queues'
  AND auth_permission.codename IN ({codenames})
)
"""


def _granted(codename: str) -> str:
    """The SQL of whether the user `%(user)s` has this permission in the namespace of a row."""
    fields = {"user": "%(user)s", "codenames": f"'{codename}'"}
    by_groups, to_user = _GRANTED_BY_GROUPS.format(**fields), _GRANTED_TO_USER.format(**fields)
    return f"(queues_namespace.id IN ({by_groups}) OR {to_user})"


_SELECT_NAMESPACES: Final = """
SELECT queues_pool.name, queues_namespace.name, {column}
FROM queues_namespace JOIN queues_pool ON queues_pool.id = queues_namespace.pool_id
WHERE {visible} AND {condition}
ORDER BY queues_pool.name, queues_namespace.name
"""
_ROLE: Final = f"""
CASE
  WHEN {_granted(ADMINISTER)} THEN {Role.ADMIN.value}
  WHEN {_granted(OPERATE)} THEN {Role.OPERATE.value}
  ELSE {Role.READ.value}
END
"""
_VISIBLE: Final = f"queues_namespace.id IN ({SHOWN_TO_USER % '%(user)s'})"


def _read_roles(
    user: User, condition: str, values: Mapping[str, str], *, limit: int | None = None
) -> dict[tuple[str, str], Role]:
    """The roles of `user` in the visible namespaces of which the SQL `condition` is true, which names `values`."""
    role = str(Role.ADMIN.value) if sees_everything(user) else _ROLE
    return {
        (pool, name): Role(found) for pool, name, found in _read_namespaces(user, role, condition, values, limit=limit)
    }


def _read_namespaces(
    user: User, column: str, condition: str, values: Mapping[str, str], *, limit: int | None
) -> list[tuple[str, str, int]]:
    """Pool, name and the SQL `column` of each."""
    if not user.is_active:
        return []
    visible = "1 = 1" if sees_everything(user) else _VISIBLE
    sql = _SELECT_NAMESPACES.format(column=column, visible=visible, condition=condition)
    if limit is not None:
        sql += f"LIMIT {limit}"

    def read() -> list[tuple[str, str, int]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, {"user": user.pk, **values})
            return list(cursor.fetchall())

    return read_metadata(read)


def _placeholders(values: Collection[str]) -> str:
    return ", ".join(f"%({name})s" for name in values)


def _permitted(user: User, *codenames: str) -> Q:
    fields = {"user": "%s", "codenames": ", ".join(["%s"] * len(codenames))}
    values = [user.pk, *codenames]
    through_group = RawSQL(_GRANTED_BY_GROUPS.format(**fields), values)  # noqa: S611 - no value is in the text
    own = RawSQL(_GRANTED_TO_USER.format(**fields), values, output_field=BooleanField())  # noqa: S611
    return Q(pk__in=through_group) | Q(own)


User = AbstractBaseUser | AnonymousUser


def check_visible(*, user: User, pool: str, namespace: str) -> None:
    """Raise NamespaceNotFoundError unless `user` may see the namespace: another's is as good as none.

    To a superuser every name is open, also that of a namespace which is yet to be made.
    """
    if not sees_everything(user):
        role_in(user=user, pool=pool, namespace=namespace)


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
