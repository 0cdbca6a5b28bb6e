"""Runs of reports, to look at: the pages of the dashboard show what they report."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from queues.models import ReportDay


@admin.register(ReportDay)
class ReportDayAdmin(admin.ModelAdmin):
    """For superusers: events, errors and file names tell of every namespace."""

    list_display = ["date", "state", "trigger", "reported_at", "took_s", "events", "complete", "demo", "claimed_by"]
    list_filter = ["state", "trigger", "demo"]
    date_hierarchy = "date"

    def has_view_permission(self, request: HttpRequest, obj: ReportDay | None = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ReportDay | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ReportDay | None = None) -> bool:
        return False
