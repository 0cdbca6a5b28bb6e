"""An alert channel that a person makes or changes."""

from __future__ import annotations

import re
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.error_messages import input_message
from queues.http_client.urls import URL_MAX_CHARS
from queues.services.errors import InvalidArgumentError
from queues.services.incidents.alerts.channels import NAME_MAX, ChannelOptions, check_channel
from queues.services.incidents.wording import kinds, severities

TRANSPORTS: Final = (
    ("webhook", _("Webhook (signed JSON)")),
    ("slack", _("Slack-compatible webhook")),
    ("email", _("E-mail")),
)
_TEXT: Final = {"autocomplete": "off", "spellcheck": "false"}
_SEPARATORS: Final = re.compile(r"[\s,;]+")


class ChannelForm(forms.Form):
    """Whom to tell of what."""

    name = forms.CharField(label=_("Name"), max_length=NAME_MAX, widget=forms.TextInput(attrs=_TEXT))
    transport = forms.ChoiceField(label=_("Transport"), choices=TRANSPORTS)
    url = forms.CharField(
        label=_("URL"),
        required=False,
        max_length=URL_MAX_CHARS,
        widget=forms.TextInput(attrs={**_TEXT, "inputmode": "url", "placeholder": "https://"}),
        help_text=_("Of a webhook. Alerts are posted there."),
    )
    addresses = forms.CharField(
        label=_("E-mail addresses"),
        required=False,
        max_length=4_000,
        widget=forms.TextInput(attrs=_TEXT),
        help_text=_("Separated by commas, at most 20."),
    )
    min_severity = forms.ChoiceField(label=_("From which severity"), choices=severities, initial="warning")
    kinds = forms.MultipleChoiceField(
        label=_("Kinds of incidents"), choices=kinds, required=False, widget=forms.CheckboxSelectMultiple
    )
    enabled = forms.BooleanField(label=_("Send alerts"), required=False, initial=True)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                check_channel(self.channel_options())
            except InvalidArgumentError as error:
                field = "addresses" if data["transport"] == "email" else "url"
                self.add_error(field, str(input_message(error).words))
        return data

    def channel_options(self) -> ChannelOptions:
        """What was asked for. Only of a valid form."""
        data = self.cleaned_data
        return ChannelOptions(
            name=data["name"],
            transport=data["transport"],
            url=data["url"],
            addresses=tuple(filter(None, _SEPARATORS.split(data["addresses"]))),
            kinds=tuple(data["kinds"]),
            min_severity=data["min_severity"],
            enabled=data["enabled"],
        )


def initial_of(options: ChannelOptions) -> dict[str, Any]:
    """What the form shows of a channel that there is."""
    return {
        "name": options.name,
        "transport": options.transport,
        "url": options.url,
        "addresses": ", ".join(options.addresses),
        "min_severity": options.min_severity,
        "kinds": list(options.kinds),
        "enabled": options.enabled,
    }
