"""Namespaces."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from queues.models import Namespace
from queues.services.activity import ActivityAction

from .base import ScopedAdmin, Subject


@admin.register(Namespace)
class NamespaceAdmin(ScopedAdmin):
    namespace_field = "pk"
    created_as = ActivityAction.NAMESPACE_CREATED
    changed_as = ActivityAction.NAMESPACE_CHANGED
    deleted_as = ActivityAction.NAMESPACE_DELETED
    list_display = ["name", "pool", "description", "working_tokens", "visible_to", "created"]
    list_filter = [("pool", RelatedOnlyFieldListFilter)]
    list_select_related = ["pool"]
    ordering = ["pool__name", "name"]
    search_fields = ["name", "description", "pool__name"]
    filter_horizontal = ["groups"]
    fields = ["pool", "name", "description", "groups"]

    def subject_of(self, obj: Namespace) -> Subject:
        return Subject(pool=obj.pool.name, namespace=obj.name)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Namespace]:
        working = Count("tokens", filter=Q(tokens__revoked_at=None), distinct=True)
        rows: QuerySet[Namespace] = super().get_queryset(request)
        return rows.annotate(working_tokens=working).prefetch_related("groups")

    def get_readonly_fields(self, request: HttpRequest, obj: Namespace | None = None) -> list[str]:
        """Jobs lie under these names in this Redis. Groups decide who sees what, so only superusers touch them."""
        fixed = [] if obj is None else ["pool", "name"]
        return fixed if getattr(request.user, "is_superuser", False) else [*fixed, "groups"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Superusers only: a name that is refused would tell anybody else that a hidden namespace has it."""
        return getattr(request.user, "is_superuser", False) and super().has_add_permission(request)

    @admin.display(description=_("tokens"), ordering="working_tokens")
    def working_tokens(self, namespace: Namespace) -> int:
        return int(getattr(namespace, "working_tokens", 0))

    @admin.display(description=_("visible to"))
    def visible_to(self, namespace: Namespace) -> str:
        return ", ".join(group.name for group in namespace.groups.all())
