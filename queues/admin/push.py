"""Push endpoints: made here, their secret shown once."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from queues.engine.errors import InvalidArgumentError
from queues.models import PushEndpoint
from queues.models.validators import validate_push_headers
from queues.services.activity import ActivityAction
from queues.services.push.endpoints import check_url, new_entry
from queues.services.push.secrets import key_of, new_secret

from .base import ScopedAdmin, Subject


class PushEndpointForm(forms.ModelForm):
    """Refuses what is known to be no public address; the rest is found out at each connection."""

    class Meta:
        model = PushEndpoint
        fields = ["namespace", "queue", "url", "enabled", "timeout_s", "concurrency", "rate_per_s", "headers"]
        widgets = {"url": forms.TextInput(attrs={"class": "vTextField", "inputmode": "url"})}

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            check_url(url)
        except InvalidArgumentError as error:
            words = str(error).removeprefix("invalid url: ")
            raise forms.ValidationError(f"{words[:1].upper()}{words[1:]}.", code="invalid_url") from error
        return url

    def clean_headers(self) -> dict[str, str]:
        headers: dict[str, str] | None = self.cleaned_data["headers"]
        if headers is None:  # an empty field
            return {}
        validate_push_headers(headers)  # the model's fields ask no validator about "" and []
        return headers


@admin.register(PushEndpoint)
class PushEndpointAdmin(ScopedAdmin):
    form = PushEndpointForm
    created_as = ActivityAction.PUSH_CREATED
    changed_as = ActivityAction.PUSH_CHANGED
    deleted_as = ActivityAction.PUSH_DELETED
    list_display = ["queue", "namespace", "url", "state", "concurrency", "rate_per_s"]
    list_filter = [("namespace__pool", RelatedOnlyFieldListFilter), "enabled"]
    list_select_related = ["namespace__pool"]
    search_fields = ["queue", "url", "namespace__name"]
    fieldsets = [
        (None, {"fields": ["namespace", "queue", "url", "enabled", "state", "paused_reason"]}),
        (_("Delivery"), {"fields": ["timeout_s", "concurrency", "rate_per_s", "headers"]}),
    ]

    def subject_of(self, obj: PushEndpoint) -> Subject:
        return Subject(pool=obj.namespace.pool.name, namespace=obj.namespace.name, queue=obj.queue)

    def get_readonly_fields(self, request: HttpRequest, obj: PushEndpoint | None = None) -> list[str]:
        return ["state", "paused_reason"] if obj is None else ["namespace", "queue", "state", "paused_reason"]

    def get_fieldsets(self, request: HttpRequest, obj: PushEndpoint | None = None) -> Any:
        if obj is not None:
            return super().get_fieldsets(request, obj)
        return [(None, {"fields": ["namespace", "queue", "url", "enabled"]}), self.fieldsets[1]]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **one_button})

    def save_model(self, request: HttpRequest, obj: PushEndpoint, form: ModelForm[PushEndpoint], change: bool) -> None:
        if not change:
            secret = new_secret()
            obj.secrets = [new_entry(key_of(secret))]
            obj.__dict__["new_secret"] = secret  # for response_add, which ends this request
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: HttpRequest, obj: PushEndpoint, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the secret in the answer itself: a redirect would have to store it somewhere."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("Push endpoint created"),
            "opts": self.opts,
            "endpoint": obj,
            "secret": obj.__dict__["new_secret"],
        }
        response = TemplateResponse(request, "admin/queues/pushendpoint/created.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.display(description=_("state"), ordering="paused_at")
    def state(self, endpoint: PushEndpoint) -> SafeString:
        if not endpoint.enabled:
            return format_html('<span class="tq-pill">{}</span>', _("disabled"))
        if endpoint.paused_at is not None:
            return format_html('<span class="tq-pill warn">{}</span>', _("paused"))
        return format_html('<span class="tq-pill ok">{}</span>', _("active"))
