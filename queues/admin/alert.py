"""Alert channels: seen, changed and deleted here; made on the dashboard, which shows their secret once."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from queues.engine.errors import InvalidArgumentError
from queues.models import AlertChannel, AlertTransport
from queues.services.activity import ActivityAction
from queues.services.incidents.alerts.channels import ChannelOptions, check_channel

from .base import ScopedAdmin, Subject


class AlertChannelForm(forms.ModelForm):
    """Refuses what no alert can be sent to."""

    class Meta:
        model = AlertChannel
        fields = ["name", "url", "addresses", "kinds", "min_severity", "enabled"]

    def clean_addresses(self) -> list[str]:
        return _as_texts(self.cleaned_data["addresses"])

    def clean_kinds(self) -> list[str]:
        return _as_texts(self.cleaned_data["kinds"])

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if self.errors:
            return data
        try:
            check_channel(
                ChannelOptions(
                    name=data["name"],
                    transport=self.instance.transport,
                    url=data.get("url", ""),
                    addresses=tuple(data.get("addresses", ())),
                    kinds=tuple(data["kinds"]),
                    min_severity=data["min_severity"],
                )
            )
        except InvalidArgumentError as error:
            words = str(error).removeprefix("invalid ")
            raise forms.ValidationError(f"{words[:1].upper()}{words[1:]}.", code="invalid_channel") from error
        return data


def _as_texts(value: Any) -> list[str]:
    """What was typed; None, of an empty field, is none."""
    texts = [] if value is None else value
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise forms.ValidationError(_('Expected a list of texts, such as ["one", "two"].'), code="invalid_list")
    return texts


@admin.register(AlertChannel)
class AlertChannelAdmin(ScopedAdmin):
    """Those of all namespaces are for superusers."""

    form = AlertChannelForm
    changed_as = ActivityAction.CHANNEL_CHANGED
    deleted_as = ActivityAction.CHANNEL_DELETED
    list_display = ["name", "namespace", "transport", "min_severity", "enabled", "last_sent_at", "last_error"]
    list_filter = ["transport", "enabled", ("namespace", RelatedOnlyFieldListFilter)]
    list_select_related = ["namespace__pool"]
    search_fields = ["name", "url", "namespace__name"]
    readonly_fields = ["namespace", "transport", "last_sent_at", "last_error"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: AlertChannel | None = None) -> list[Any]:
        """Where alerts go is asked for as the transport has it; the service keeps nothing else."""
        is_email = obj is not None and obj.transport == AlertTransport.EMAIL
        place = "addresses" if is_email else "url"
        return [
            *("name", "namespace", "transport", place, "kinds", "min_severity", "enabled"),
            *("last_sent_at", "last_error"),
        ]

    def subject_of(self, obj: AlertChannel) -> Subject:
        if obj.namespace is None:
            return Subject(target=obj.name)
        return Subject(pool=obj.namespace.pool.name, namespace=obj.namespace.name, target=obj.name)
