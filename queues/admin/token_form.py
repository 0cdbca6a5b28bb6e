"""The form that makes a token."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from queues.engine.errors import InvalidArgumentError
from queues.models import Token
from queues.services.tokens.managing import check_description
from queues.services.tokens.secrets import check_secret, digest_of


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
        help_texts = {"description": _("What it is for and who has it, so that one day somebody dares to revoke it.")}

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
