"""Schedules. The form shows the next fires before it saves: the button *Preview* saves nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from queues.engine import InvalidArgumentError
from queues.models import Schedule
from queues.services.activity import ActivityAction
from queues.services.schedules.checking import check_fields
from queues.services.schedules.editing import preview, put_schedule
from queues.services.schedules.rows import optional_ms
from queues.services.schedules.values import CatchUp, Overlap, ScheduleFields, ScheduleKind, ScheduleSource

from .base import ScopedAdmin, Subject

PREVIEW = "_preview"


class ScheduleAdminForm(forms.ModelForm):
    """The body is edited as text; one that is none stays as it is."""

    body_text = forms.CharField(label=_("body"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 6}))

    class Meta:
        model = Schedule
        exclude = ("body",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self.initial.setdefault("body_text", bytes(self.instance.body).decode("utf-8"))
        except UnicodeDecodeError:
            self.fields["body_text"].disabled = True
            self.fields["body_text"].help_text = _("It is not text, and stays unchanged.")

    def clean_attributes(self) -> dict[str, str] | None:
        attributes = self.cleaned_data["attributes"]
        if attributes is None:
            return None
        if not isinstance(attributes, dict) or not all(isinstance(text, str) for text in attributes.values()):
            raise ValidationError(_('Expected names and texts, such as {"tenant": "acme"}.'))
        return attributes or None

    def clean(self) -> dict[str, Any]:
        """Asks the rules of the API. With *Preview*, the next fires are said as an error of the form."""
        data = super().clean() or {}
        if self.errors:
            return data
        try:
            fields = check_fields(self.schedule_fields())
            fires = preview(fields=fields)
        except InvalidArgumentError as error:
            raise ValidationError(str(error)) from error
        if PREVIEW in self.data:
            times = ", ".join(f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}" for ms in fires)
            raise ValidationError(_("Nothing is saved yet. Next fires (UTC): %(times)s"), params={"times": times})
        return data

    def schedule_fields(self) -> ScheduleFields:
        """What was asked for."""
        data = self.cleaned_data
        is_text = not self.fields["body_text"].disabled
        return ScheduleFields(
            queue=data["queue"],
            kind=ScheduleKind(data["kind"]),
            cron=data["cron"],
            interval_ms=data["interval_ms"],
            starts_ms=optional_ms(data["starts_at"]),
            at_ms=optional_ms(data["at"]),
            zone=data["zone"],
            body=data["body_text"].replace("\r\n", "\n").encode() if is_text else bytes(self.instance.body),
            tries=data["tries"],
            ttl_s=data["ttl_s"],
            priority=data["priority"],
            backoff=data["backoff"],
            retention_s=data["retention_s"],
            attributes=data["attributes"],
            limit_key=data["limit_key"],
            catch_up=CatchUp(data["catch_up"]),
            catch_up_max=data["catch_up_max"],
            jitter_s=data["jitter_s"],
            overlap=Overlap(data["overlap"]),
            paused=data["paused"],
        )


@admin.register(Schedule)
class ScheduleAdmin(ScopedAdmin):
    created_as = ActivityAction.SCHEDULE_CREATED
    changed_as = ActivityAction.SCHEDULE_CHANGED
    deleted_as = ActivityAction.SCHEDULE_DELETED
    form = ScheduleAdminForm
    change_form_template = "admin/queues/schedule/change_form.html"
    list_display = ["name", "namespace", "queue", "kind", "cron", "zone", "fire_at", "paused", "source"]
    list_filter = ["paused", "kind", "source", ("namespace__pool", RelatedOnlyFieldListFilter)]
    list_select_related = ["namespace__pool"]
    search_fields = ["name", "queue", "namespace__name"]
    fieldsets = [
        (None, {"fields": ["namespace", "name", "paused"]}),
        (_("When"), {"fields": ["kind", "cron", "zone", "interval_ms", "starts_at", "at", "jitter_s"]}),
        (
            _("Its job"),
            {
                "fields": [
                    *("queue", "body_text", "tries", "ttl_s", "priority", "backoff", "retention_s"),
                    *("attributes", "limit_key"),
                ]
            },
        ),
        (_("Rules"), {"fields": ["catch_up", "catch_up_max", "overlap"]}),
    ]

    def subject_of(self, obj: Schedule) -> Subject:
        return Subject(pool=obj.namespace.pool.name, namespace=obj.namespace.name, queue=obj.queue, target=obj.name)

    def get_readonly_fields(self, request: HttpRequest, obj: Schedule | None = None) -> list[str]:
        """Its history and its jobs belong to the name."""
        return [] if obj is None else ["namespace", "name"]

    def has_change_permission(self, request: HttpRequest, obj: Schedule | None = None) -> bool:
        """What code declares is changed there."""
        of_code = obj is not None and obj.source == ScheduleSource.CODE
        return not of_code and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Through the service, which computes when it is due."""
        put_schedule(
            pool=obj.namespace.pool.name, namespace=obj.namespace.name, name=obj.name, fields=form.schedule_fields()
        )
        obj.pk = Schedule.objects.get(namespace=obj.namespace, name=obj.name).pk
