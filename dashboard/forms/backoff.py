"""A backoff as a person picks it: its kind and its times, or its text; and for how many attempts it is drawn."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.engine.backoff import FAILURES_ONLY, Backoff, parse_backoff
from queues.engine.errors import InvalidArgumentError

from .durations import DurationField

KINDS: Final = (
    ("", _("inherited")),
    ("none", _("none: at once")),
    ("fixed", _("fixed: always as long")),
    ("linear", _("linear: longer by as much each time")),
    ("exponential", _("exponential: twice as long each time")),
    ("sidekiq", _("sidekiq: the fourth power, as in Sidekiq")),
)
WRONG: Final = _("Expected none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq, with S and MAX in seconds.")


class BackoffForm(forms.Form):
    """`backoff`: as text, which comes first; else kind, base, cap and whether it is for failures only."""

    backoff = forms.CharField(required=False, max_length=64)
    kind = forms.ChoiceField(choices=KINDS, required=False)
    base = DurationField(least_s=1)
    cap = DurationField(least_s=1)
    failures_only = forms.BooleanField(required=False)
    tries = forms.IntegerField(required=False, min_value=1, max_value=constants.TRIES_MAX)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        text = data["backoff"] or self._compose(data)
        try:
            data["chosen"] = parse_backoff(text) if text else None
        except InvalidArgumentError as error:
            raise ValidationError(str(WRONG)) from error
        return data

    def chosen(self) -> Backoff | None:
        """None: inherited. Only of a valid form."""
        return self.cleaned_data["chosen"]  # type: ignore[no-any-return]

    def _compose(self, data: dict[str, Any]) -> str:
        kind = str(data["kind"])
        if kind in ("fixed", "linear", "exponential"):
            if data["base"] is None:
                raise ValidationError(gettext("How long does it wait the first time?"))
            kind = f"{kind}:{data['base']}"
            if data["kind"] == "exponential" and data["cap"] is not None:
                kind = f"{kind}:{data['cap']}"
        return f"{kind}{FAILURES_ONLY}" if kind and data["failures_only"] else kind
