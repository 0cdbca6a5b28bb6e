"""A push endpoint that a person makes or changes."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.error_messages import input_message
from queues.engine import constants
from queues.engine.errors import InvalidArgumentError
from queues.http_client.urls import URL_MAX_CHARS
from queues.services.push.endpoints import EndpointOptions, check_url

DEFAULTS: Final = EndpointOptions(url="")
HEADERS_TEXT_MAX: Final = 64 * 1024

OVERLAPS: Final = ((86_400, _("for a day")), (3_600, _("for an hour")), (0, _("not at all: it has leaked")))
"""How long the secret before goes on signing beside a new one."""

_TEXT: Final = {"autocomplete": "off", "spellcheck": "false"}


class PushForm(forms.Form):
    """Where to, and how. `is_new`: its queue has yet to be chosen."""

    queue = forms.CharField(label=_("Queue"), max_length=constants.NAME_MAX_BYTES, widget=forms.TextInput(attrs=_TEXT))
    url = forms.CharField(
        label=_("URL"),
        max_length=URL_MAX_CHARS,
        widget=forms.TextInput(attrs={**_TEXT, "inputmode": "url", "placeholder": "https://"}),
        help_text=_("Each job is posted there, signed; a 2xx answer acknowledges it."),
    )
    enabled = forms.BooleanField(label=_("Deliver jobs"), required=False, initial=True)
    timeout_s = forms.IntegerField(
        label=_("Timeout (s)"), initial=DEFAULTS.timeout_s, help_text=_("How long the receiver may take to answer.")
    )
    concurrency = forms.IntegerField(
        label=_("At the same time"),
        initial=DEFAULTS.concurrency,
        help_text=_("Requests at the same time, of all pushers together."),
    )
    rate_per_s = forms.FloatField(
        label=_("Per second"), required=False, help_text=_("Requests per second at the most. Blank: not limited.")
    )
    headers = forms.CharField(
        label=_("Headers"),
        required=False,
        max_length=HEADERS_TEXT_MAX,
        widget=forms.Textarea(attrs={**_TEXT, "rows": 4, "placeholder": "Content-Type: application/json"}),
        help_text=_("NAME: VALUE on each line, sent with each request. A value shown as dots stays as it is."),
    )

    def __init__(self, *args: Any, is_new: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_new:
            del self.fields["queue"]

    def clean_url(self) -> str:
        """Checked here, too, so that all that is wrong is said at once."""
        url = str(self.cleaned_data["url"])
        try:
            check_url(url)
        except InvalidArgumentError as error:
            raise forms.ValidationError(str(input_message(error).words)) from None
        return url

    def clean_headers(self) -> dict[str, str]:
        """Names to values. What may stand in them the service says."""
        headers: dict[str, str] = {}
        for number, line in enumerate(self.cleaned_data["headers"].splitlines(), start=1):
            if not line.strip():
                continue
            name, colon, value = line.partition(":")
            name = name.strip()
            if not colon or not name:
                raise forms.ValidationError(gettext("Line %(number)s is not NAME: VALUE.") % {"number": number})
            if name.lower() in map(str.lower, headers):
                raise forms.ValidationError(gettext("The header %(name)s occurs twice.") % {"name": name[:64]})
            headers[name] = value.strip()
        return headers

    def endpoint_options(self) -> EndpointOptions:
        """What was asked for. Only of a valid form."""
        data = self.cleaned_data
        return EndpointOptions(
            url=data["url"],
            enabled=data["enabled"],
            timeout_s=data["timeout_s"],
            concurrency=data["concurrency"],
            rate_per_s=data["rate_per_s"],
            headers=data["headers"],
        )


def initial_of(options: EndpointOptions) -> dict[str, Any]:
    """What the form shows of an endpoint that there is."""
    return {
        "url": options.url,
        "enabled": options.enabled,
        "timeout_s": options.timeout_s,
        "concurrency": options.concurrency,
        "rate_per_s": options.rate_per_s,
        "headers": "\n".join(f"{name}: {value}" for name, value in options.headers.items()),
    }
