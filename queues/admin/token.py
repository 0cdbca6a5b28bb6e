"""Tokens: made here, their secret shown once; revoked here."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext

from queues.engine.errors import InvalidArgumentError
from queues.models import Token, TokenLimit
from queues.services.activity import ActivityAction
from queues.services.tokens.managing import NewToken, add_token, check_description, revoke_token
from queues.services.tokens.secrets import check_secret, digest_of

from .base import ScopedAdmin, Subject


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


class NewTokenForm(forms.ModelForm):
    """`secret` blank: a random one."""

    secret = forms.CharField(
        label=_("Secret"),
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "vTextField"}),
        help_text=_("Leave blank for a random one. To move clients over from elsewhere, give the token they use now."),
    )

    class Meta:
        model = Token
        fields = ["namespace", "description"]
        help_texts = {
            "description": _("What it is for and who uses it, so that you know what stops working if it is revoked.")
        }

    def clean_description(self) -> str:
        try:
            return check_description(self.cleaned_data["description"])
        except InvalidArgumentError as error:
            raise forms.ValidationError(str(error), code="invalid_description") from error

    def clean_secret(self) -> str:
        secret: str = self.cleaned_data["secret"]
        if secret:
            try:
                check_secret(secret)
            except InvalidArgumentError as error:
                raise forms.ValidationError(str(error), code="invalid_secret") from error
        return secret

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        secret, namespace = self.cleaned_data.get("secret"), self.cleaned_data.get("namespace")
        if secret and namespace and Token.objects.filter(namespace=namespace, digest=digest_of(secret)).exists():
            self.add_error("secret", _("This namespace has a token with that secret already, perhaps a revoked one."))
        return data


class TokenLimitInline(admin.StackedInline):
    model = TokenLimit
    extra = 0


@admin.register(Token)
class TokenAdmin(ScopedAdmin):
    created_as = ActivityAction.TOKEN_CREATED
    changed_as = ActivityAction.TOKEN_CHANGED
    deleted_as = ActivityAction.TOKEN_DELETED
    list_display = ["public_id", "namespace", "description", "state", "rate_limit", "used"]
    list_display_links = ["public_id"]
    list_filter = [TokenStateFilter, ("namespace__pool", RelatedOnlyFieldListFilter)]
    list_select_related = ["namespace__pool", "limit"]
    search_fields = ["public_id", "description", "namespace__name"]
    search_help_text = _("Id, description or namespace")
    inlines = [TokenLimitInline]
    actions = ["revoke_selected"]

    def subject_of(self, obj: Token) -> Subject:
        return Subject(pool=obj.namespace.pool.name, namespace=obj.namespace.name, target=obj.public_id)

    def record_change(self, request: HttpRequest, obj: Token, changes: list[dict[str, Any]]) -> None:
        """Limits, which stand on the page of their token, are noted as such."""
        super().record_change(request, obj, changes)
        for change in changes:
            for kind, of in change.items():
                if "name" in of:
                    gone = kind == "deleted"
                    action = ActivityAction.LIMIT_DELETED if gone else ActivityAction.LIMIT_CHANGED
                    self.record(request, action, self.subject_of(obj), detail=of["object"])

    def get_form(self, request: HttpRequest, obj: Token | None = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            kwargs["form"] = NewTokenForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Token | None = None) -> list[Any]:
        if obj is None:
            return ["namespace", "description", "secret"]
        return ["public_id", "namespace", "description", "state", "created", "last_used", "revoked_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: Token | None = None) -> list[str]:
        return [] if obj is None else ["public_id", "namespace", "state", "created", "last_used", "revoked_at"]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **one_button, "title": _("Create token")})

    def save_model(self, request: HttpRequest, obj: Token, form: ModelForm[Token], change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        new = add_token(owner=obj.namespace, description=obj.description, secret=form.cleaned_data["secret"] or None)
        obj.pk = Token.objects.get(public_id=new.public_id).pk
        obj.refresh_from_db()
        obj.__dict__["new"] = new  # for response_add, which ends this request

    def response_add(self, request: HttpRequest, obj: Token, post_url_continue: str | None = None) -> HttpResponse:
        """Show the secret in the answer itself: a redirect would have to store it somewhere."""
        new: NewToken = obj.__dict__["new"]
        context = {
            **self.admin_site.each_context(request),
            "title": _("Token created"),
            "opts": self.opts,
            "token": obj,
            "display": new.display,
        }
        response = TemplateResponse(request, "admin/queues/token/created.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description=_("Revoke selected tokens"), permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[Token]) -> HttpResponse | None:
        """Ask first, then revoke those that still work."""
        tokens = list(queryset.filter(revoked_at=None).select_related("namespace__pool"))
        if not tokens:
            self.message_user(request, _("Nothing to revoke: revoked already."), messages.WARNING)
            return None
        if "confirmed" not in request.POST:
            context = {
                **self.admin_site.each_context(request),
                "title": _("Revoke tokens?"),
                "opts": self.opts,
                "tokens": tokens,
            }
            return TemplateResponse(request, "admin/queues/token/revoke_confirmation.html", context)
        for token in tokens:
            owner = token.namespace
            revoke_token(pool=owner.pool.name, namespace=owner.name, public_id_or_secret=token.public_id)
            self.log_change(request, token, str(_("Revoked.")))
            self.record(request, ActivityAction.TOKEN_REVOKED, self.subject_of(token))
        done = ngettext("%d token revoked.", "%d tokens revoked.", len(tokens)) % len(tokens)
        self.message_user(request, done, messages.SUCCESS)
        return None

    @admin.display(description=_("state"), ordering="revoked_at")
    def state(self, token: Token) -> SafeString:
        if token.revoked_at is not None:
            return format_html('<span class="tq-pill bad">{}</span>', _("revoked"))
        if token.last_used is None:
            return format_html('<span class="tq-pill">{}</span>', _("never used"))
        return format_html('<span class="tq-pill ok">{}</span>', pgettext("state of a token", "working"))

    @admin.display(description=_("last used"), ordering="last_used")
    def used(self, token: Token) -> str | None:
        return None if token.last_used is None else f"{token.last_used:%Y-%m-%d %H:%M}"

    @admin.display(description=_("limit"))
    def rate_limit(self, token: Token) -> str | None:
        limit = getattr(token, "limit", None)
        if limit is None:
            return None
        words = _("%(read)s read, %(write)s write per %(interval)s s")
        return str(words % {"read": limit.read, "write": limit.write, "interval": limit.interval_s})
