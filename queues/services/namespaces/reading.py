"""Namespaces that a person may see, with what is in them and what the person may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from queues.models import Namespace, Pool, QueuePolicy
from queues.models.policy import WHOLE_NAMESPACE
from queues.pools.database import read_metadata

from ..errors import NamespaceNotFoundError
from ..permissions import Right, Role, User, namespaces_with, roles_among, sees_everything
from ..policies import EffectivePolicy, effective_policies
from ..queues.visible_queues import NOTHING, Totals, visible_pools

ROWS_SHOWN: Final = 200
POLICIES_SHOWN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceRow:
    """A namespace. `tokens`: those that work; None: the person may not see tokens. `totals` None: not known."""

    pool: str
    name: str
    description: str
    created: datetime
    role: Role
    tokens: int | None
    policies: int
    totals: Totals | None
    may_change: bool
    may_delete: bool
    may_make_tokens: bool

    @property
    def may_administer(self) -> bool:
        return self.role >= Role.ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacesView:
    """`more`: there are others that match."""

    namespaces: Sequence[NamespaceRow]
    more: bool
    may_add: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """A policy that was set, and what holds with what it inherits. `queue` "": all queues of the namespace."""

    pool: str
    namespace: str
    queue: str
    policy: EffectivePolicy
    may_administer: bool


def show_namespaces(*, user: User, text: str = "") -> NamespacesView:
    """The first that match, by pool and name. Raises MetadataUnavailableError."""
    rows = _annotated(user)
    if text:
        rows = rows.filter(Q(name__icontains=text) | Q(description__icontains=text))
    found = read_metadata(lambda: list(rows[: ROWS_SHOWN + 1]))
    shown = _complete(user, found[:ROWS_SHOWN])
    return NamespacesView(namespaces=shown, more=len(found) > ROWS_SHOWN, may_add=sees_everything(user))


def show_namespace(*, user: User, pool: str, namespace: str) -> NamespaceRow:
    """One of them. Raises NamespaceNotFoundError, MetadataUnavailableError."""
    rows = _annotated(user).filter(pk__in=Namespace.objects.named(pool, namespace).values("pk"))
    found = read_metadata(lambda: list(rows[:1]))
    if not found:
        raise NamespaceNotFoundError
    return _complete(user, found)[0]


def list_pool_names() -> list[str]:
    """Of all pools, for the form of a new namespace."""
    return read_metadata(lambda: list(Pool.objects.order_by("name").values_list("name", flat=True)))


def show_policies(*, user: User, pool: str = "", namespace: str = "", text: str = "") -> list[PolicyRow]:
    """Policies of the namespaces that the person sees, or of one, with parts of names that contain `text`.

    Raises MetadataUnavailableError.
    """
    rows = QueuePolicy.objects.filter(namespace__in=Namespace.objects.visible_to(user).order_by())
    if namespace:
        rows = rows.filter(namespace__pool__name=pool, namespace__name=namespace)
    if text:
        wanted = Q(queue__icontains=text) | Q(namespace__name__icontains=text)
        rows = rows.filter(wanted | Q(queue=WHOLE_NAMESPACE))  # from which the others inherit
    ordered = rows.select_related("namespace__pool").order_by("namespace__pool__name", "namespace__name", "queue")
    found = read_metadata(lambda: list(ordered[:POLICIES_SHOWN]))
    effective = effective_policies(found)
    roles = roles_among(user=user, places={(row.namespace.pool.name, row.namespace.name) for row in found})
    listed = [
        PolicyRow(
            pool=row.namespace.pool.name,
            namespace=row.namespace.name,
            queue=row.queue,
            policy=effective[row.namespace_id, row.queue],
            may_administer=roles.get((row.namespace.pool.name, row.namespace.name), Role.READ) >= Role.ADMIN,
        )
        for row in found
    ]
    needle = text.casefold()
    return [row for row in listed if needle in row.queue.casefold() or needle in row.namespace.casefold()]


def _annotated(user: User) -> QuerySet[Any]:
    """The visible ones, each with its counts and the person's rights."""

    def has(right: Right) -> Exists:
        return Exists(namespaces_with(user=user, right=right).order_by().filter(pk=OuterRef("pk")))

    rows = Namespace.objects.visible_to(user).select_related("pool").order_by("pool__name", "name")
    return rows.annotate(
        working_tokens=Count("tokens", filter=Q(tokens__revoked_at=None), distinct=True),
        policy_count=Count("policies", distinct=True),
        sees_tokens=has(Right.SEE_TOKENS),
        makes_tokens=has(Right.CREATE_TOKENS),
        may_change=has(Right.CHANGE_NAMESPACE),
        may_delete=has(Right.DELETE_NAMESPACE),
    )


def _complete(user: User, rows: Sequence[Any]) -> list[NamespaceRow]:
    """With the role, and the sums of the latest survey."""
    roles = roles_among(user=user, places={(row.pool.name, row.name) for row in rows})
    surveys = {view.pool: view for view in visible_pools(user=user).pools}
    return [
        NamespaceRow(
            pool=row.pool.name,
            name=row.name,
            description=row.description,
            created=row.created,
            role=roles.get((row.pool.name, row.name), Role.READ),
            tokens=row.working_tokens if row.sees_tokens else None,
            policies=row.policy_count,
            totals=_totals(surveys.get(row.pool.name), row.name),
            may_change=row.may_change,
            may_delete=row.may_delete,
            may_make_tokens=row.makes_tokens,
        )
        for row in rows
    ]


def _totals(view: Any, name: str) -> Totals | None:
    if view is None or not view.is_known:
        return None
    return view.survey.totals.get(name, NOTHING)  # type: ignore[no-any-return]
