"""Pools, each with what its Redis says of itself at the moment."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from queues.engine import probe_store, redact_url
from queues.models import DEFAULT_POOL, Pool
from queues.services.activity import ActivityAction
from queues.services.pools.managing import PoolReport, check_rows

from .base import AuditedAdmin, Subject

MASK: Final = ":***@"


class MaskedUrlInput(forms.TextInput):
    """Shows a URL with its password masked, also one that was just typed and comes back with an error."""

    def format_value(self, value: Any) -> str | None:
        shown = super().format_value(value)
        return redact_url(shown) if shown else shown


class PoolForm(forms.ModelForm):
    """`url` is shown with its password masked, and kept when it comes back unchanged."""

    class Meta:
        model = Pool
        fields = ["name", "url", "partitions", "min_replicas", "events_memory_mb", "description"]
        widgets = {"url": MaskedUrlInput(attrs={"class": "vLargeTextField tq-mono", "autocomplete": "off"})}
        help_texts = {
            "url": _(
                "redis://[user:password@]host:port/0, rediss://… for TLS, unix:///path/to/socket, "
                "redis+sentinel://host:port,host:port/service/0 or redis+cluster://host:port,host:port. "
                "Blank, for the pool “default” only: the server in REDIS_URL. "
                "A password is never shown again; leave *** as it is to keep it."
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stored_url = self.instance.url
        if self._stored_url:
            self.initial["url"] = redact_url(self._stored_url)

    def clean_url(self) -> str:
        """A password is not carried over to another address: that would send it to a server it was not meant for."""
        url: str = self.cleaned_data["url"]
        if self._stored_url and url == redact_url(self._stored_url):
            return str(self._stored_url)
        if MASK in url:
            raise forms.ValidationError(_("Type the password again when you change the URL."), code="masked_password")
        return url

    def clean(self) -> dict[str, Any] | None:
        """A Redis that was set up with other partitions is told now, not by the first publish."""
        data = super().clean()
        if self.instance.pk is None and not self.errors and data is not None and data.get("url"):
            found = probe_store(data["url"]).partitions
            if found is not None and found != data["partitions"]:
                self.add_error("partitions", _("That Redis was set up with %(found)s partitions.") % {"found": found})
        return data


@admin.register(Pool)
class PoolAdmin(AuditedAdmin):
    created_as = ActivityAction.POOL_CREATED
    changed_as = ActivityAction.POOL_CHANGED
    deleted_as = ActivityAction.POOL_DELETED
    form = PoolForm
    list_display = ["name", "state", "shown_url", "version", "memory", "jobs", "namespace_count", "description"]
    search_fields = ["name", "description"]
    ordering = ["name"]

    def subject_of(self, obj: Pool) -> Subject:
        return Subject(pool=obj.name)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pool]:
        rows: QuerySet[Pool] = super().get_queryset(request)
        return rows.annotate(namespace_count=Count("namespaces"))

    def get_fields(self, request: HttpRequest, obj: Pool | None = None) -> list[Any]:
        """Who may only look gets no form, so the masking of the form does not help: show the masked text instead."""
        may_type = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return [
            "name",
            "url" if may_type else "shown_url",
            "partitions",
            "min_replicas",
            "events_memory_mb",
            "description",
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Pool | None = None) -> list[str]:
        return ["shown_url"] if obj is None else ["shown_url", "name", "partitions"]

    def has_delete_permission(self, request: HttpRequest, obj: Pool | None = None) -> bool:
        """The default pool stays: tokens without a prefix mean it."""
        if obj is not None and obj.name == DEFAULT_POOL:
            return False
        return super().has_delete_permission(request, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Ask the pools of this page, side by side, and show what they answer."""
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            changelist = response.context_data["cl"]
            rows = list(changelist.result_list)
            reports = check_rows(rows)
            for row, report in zip(rows, reports, strict=True):
                row.report = report
            changelist.result_list = rows
            response.context_data["reports"] = reports
        return response

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Pool | None = None,
    ) -> HttpResponse:
        if obj is not None and request.method == "GET":
            context["report"] = check_rows([Pool.objects.get(pk=obj.pk)])[0]
        return super().render_change_form(request, context, add, change, form_url, obj)

    @admin.display(description=_("URL"))
    def shown_url(self, pool: Pool) -> SafeString:
        note = "" if pool.url else _("from REDIS_URL")
        return format_html('<span class="tq-mono">{}</span> <span class="tq-muted">{}</span>', pool.shown_url, note)

    @admin.display(description=_("state"))
    def state(self, pool: Pool) -> SafeString:
        report = _report(pool)
        if not report.store.reachable:
            return format_html('<span class="tq-pill bad">{}</span>', _("does not answer"))
        if report.problems:
            return format_html('<span class="tq-pill warn">{}</span>', _("may lose jobs"))
        return format_html('<span class="tq-pill ok">{}</span>', _("fit"))

    @admin.display(description=_("version"))
    def version(self, pool: Pool) -> str:
        return _report(pool).store.version

    @admin.display(description=_("memory"))
    def memory(self, pool: Pool) -> str | None:
        used = _report(pool).store.used_memory
        return None if used is None else filesizeformat(used)

    @admin.display(description=_("jobs"))
    def jobs(self, pool: Pool) -> int | None:
        return _report(pool).store.jobs

    @admin.display(description=_("namespaces"), ordering="namespace_count")
    def namespace_count(self, pool: Pool) -> int:
        return int(getattr(pool, "namespace_count", 0))


def _report(pool: Pool) -> PoolReport:
    report = getattr(pool, "report", None)
    assert isinstance(report, PoolReport)  # changelist_view put it there
    return report
