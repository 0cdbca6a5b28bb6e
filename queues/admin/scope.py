"""Staff who are no superusers see the namespaces of their groups and what belongs to these; nothing tells of others."""

from __future__ import annotations

from typing import Any

from django.db.models import ForeignKey, QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest

from queues.models import Namespace

from .noting import NotedAdmin


class ScopedAdmin(NotedAdmin):
    """Limits the rows to visible namespaces, and so are the choices of a field `namespace`."""

    namespace_field = "namespace"
    """The field that leads from a row to its namespace; "pk" for namespaces themselves."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if getattr(request.user, "is_superuser", False):
            return rows
        return rows.filter(**{f"{self.namespace_field}__in": Namespace.objects.visible_to(request.user)})

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        if db_field.related_model is Namespace:
            kwargs["queryset"] = Namespace.objects.visible_to(request.user).select_related("pool")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)
