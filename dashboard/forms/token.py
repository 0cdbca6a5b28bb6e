"""A token that a person makes."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.error_messages import input_message
from queues.services.errors import InvalidArgumentError
from queues.services.tokens.limit_settings import LIMIT_MAX, Limit
from queues.services.tokens.managing import check_description
from queues.services.tokens.secrets import SECRET_MAX_LENGTH, check_secret

from .durations import DurationField

_TEXT: Final = {"autocomplete": "off", "spellcheck": "false"}


def _count_field(label: Any, *, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=0, max_value=LIMIT_MAX, help_text=help_text)


class TokenForm(forms.Form):
    """What it is for, and how many requests it may make. `secret` blank: a random one."""

    description = forms.CharField(
        label=_("Description"),
        max_length=255,
        widget=forms.TextInput(attrs=_TEXT),
        help_text=_("What it is for and who uses it, so that you know what stops working if it is revoked."),
    )
    write = _count_field(_("Publishes at most"), help_text=_("Per interval. Blank: unlimited."))
    read = _count_field(_("Consumes at most"), help_text=_("Per interval. Blank: unlimited."))
    interval_s = DurationField(
        label=_("Interval"), least_s=1, most_s=LIMIT_MAX, help_text=_("Of both limits, such as 1m. Blank: 1 second.")
    )
    secret = forms.CharField(
        label=_("Secret"),
        required=False,
        max_length=SECRET_MAX_LENGTH,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Leave blank for a random one. To move clients over from elsewhere, give the token they use now."),
    )

    def clean_description(self) -> str:
        return str(_checked(check_description, self.cleaned_data["description"]))

    def clean_secret(self) -> str:
        secret = str(self.cleaned_data["secret"])
        if secret:
            _checked(check_secret, secret)
        return secret

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("interval_s") and not (data.get("read") or data.get("write")):
            self.add_error("interval_s", gettext("Only with a limit of publishes or consumes."))
        return data

    def limit(self) -> Limit | None:
        """What was asked for. Only of a valid form."""
        read, write = self.cleaned_data["read"] or 0, self.cleaned_data["write"] or 0
        interval_s = self.cleaned_data["interval_s"] or 1
        return Limit(read=read, write=write, interval_s=interval_s) if read or write else None


def _checked(check: Any, text: str) -> Any:
    try:
        return check(text)
    except InvalidArgumentError as error:
        raise ValidationError(str(input_message(error).words)) from error
