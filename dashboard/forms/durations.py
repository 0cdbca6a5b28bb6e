"""A field for a length of time, with its unit: `5m`, `1d`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from dashboard.durations import TEXT_MAX, DurationError, parse_duration, write_duration
from queues.engine import constants


class DurationField(forms.CharField):
    """Whole seconds, or None for nothing."""

    def __init__(self, *, least_s: int = 0, most_s: int = constants.SECONDS_MAX, **options: Any) -> None:
        self.least_s, self.most_s = least_s, most_s
        attrs = {"autocomplete": "off", "spellcheck": "false", "maxlength": TEXT_MAX}
        super().__init__(required=False, widget=forms.TextInput(attrs=attrs), **options)

    def clean(self, value: Any) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_duration(text, least_s=self.least_s, most_s=self.most_s)
        except DurationError as error:
            raise ValidationError(str(error)) from error

    def prepare_value(self, value: Any) -> Any:
        return write_duration(value) if isinstance(value, int) else value
