"""Lengths of time as forms take them."""

from __future__ import annotations

from typing import Literal

from django import template

from dashboard.durations import write_duration
from dashboard.formatting import NOTHING

register = template.Library()


@register.filter
def in_units(seconds: int | Literal[""] | None) -> str:
    """`300` → `5m`; a dash for None."""
    return NOTHING if seconds is None or seconds == "" else write_duration(seconds)
