"""The outbox in the project's admin: what waits, and what was refused and why."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from .models import Outbox


class StateFilter(admin.SimpleListFilter):
    """Waiting rows, or refused ones."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("waiting", "waiting"), ("refused", "refused")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(refused_at__isnull=self.value() == "waiting")


@admin.register(Outbox)
class OutboxAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Read only, but that refused rows can be tried again, and rows deleted."""

    list_display = ("id", "queue", "namespace", "created_at", "refused_at", "reason")
    list_filter = (StateFilter,)
    search_fields = ("queue", "idempotency_key")
    ordering = ("id",)
    show_full_result_count = False
    actions = ("try_again",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [field.name for field in self.model._meta.fields if field.name != "body"]

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("body",)

    @admin.action(description="Try again", permissions=["change"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Have refused rows published by the relay's next tick."""
        queryset.update(refused_at=None, reason="")
