"""Filters of the token list."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from queues.models import Token


class TokenStateFilter(admin.SimpleListFilter):
    """By whether the token works and has been used."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("working", pgettext("state of a token", "working")),
            ("unused", _("never used")),
            ("revoked", _("revoked")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Token]) -> QuerySet[Token]:
        match self.value():
            case "working":
                return queryset.filter(revoked_at=None)
            case "unused":
                return queryset.filter(revoked_at=None, last_used=None)
            case "revoked":
                return queryset.exclude(revoked_at=None)
            case _:
                return queryset
