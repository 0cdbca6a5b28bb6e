"""The form of a pool: its password goes in and never comes out."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from queues.engine import probe_store, redact_url
from queues.models import Pool

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
        """A password is not carried over to another address: that would hand it to whoever listens there."""
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
