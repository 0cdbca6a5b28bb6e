"""A namespace that a person makes or describes."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.services.namespaces.actions import DESCRIPTION_MAX

_TEXT: Final = {"autocomplete": "off", "spellcheck": "false"}


class DescriptionForm(forms.Form):
    """Of one that there is."""

    description = forms.CharField(
        label=_("Description"), required=False, max_length=DESCRIPTION_MAX, help_text=_("Whose it is, and what for.")
    )


class NamespaceForm(DescriptionForm):
    """A new one, in one of the pools."""

    name = forms.CharField(
        label=_("Name"),
        max_length=constants.NAME_MAX_BYTES,
        widget=forms.TextInput(attrs=_TEXT),
        help_text=_("Letters, digits, -, _, . and :. It cannot be changed: jobs lie in Redis under it."),
    )
    pool = forms.ChoiceField(label=_("Pool"), help_text=_("The Redis that holds its jobs."))

    field_order = ("name", "pool", "description")

    def __init__(self, *args: Any, pools: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pool"].choices = [(pool, pool) for pool in pools]  # type: ignore[attr-defined]
