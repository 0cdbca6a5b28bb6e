"""Fields that several forms have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from queues.engine import limits

UNITS: Final = (("1", _("seconds")), ("60", _("minutes")), ("3600", _("hours")), ("86400", _("days")))
"""Seconds of each unit in which people give lengths of time."""

DIGITS_MAX: Final = 16


def seconds_field(label: Any, *, help_text: Any = "", least: int = 0) -> forms.IntegerField:
    """Whole seconds, or nothing said."""
    return forms.IntegerField(
        label=label, help_text=help_text, required=False, min_value=least, max_value=limits.SECONDS_MAX
    )


def moment_field(label: Any) -> forms.DateTimeField:
    """A moment in UTC, or nothing said. Where scripts run, moments.js lets people type their own time."""
    return forms.DateTimeField(
        label=label,
        help_text=_("in UTC"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1", "data-moment": True}),
        input_formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"],
    )


def moment_ms(moment: datetime | None) -> int | None:
    """What such a field holds, in ms since the epoch: its numbers are UTC, whatever Django's zone is."""
    return None if moment is None else round(moment.replace(tzinfo=UTC).timestamp() * 1000)


def whole_number(text: str) -> int | None:
    """A number from 0 on, as addresses and hidden fields hold it; None for what is none, or longer than any of ours."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < DIGITS_MAX else None
