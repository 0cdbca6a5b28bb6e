"""A line in a row of a table, drawn on the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from .series import Meaning

_SPARK_WIDTH: Final = 84
_SPARK_HEIGHT: Final = 20


def sparkline(values: Sequence[float | None], label: str = "", meaning: str = Meaning.READY) -> SafeString | str:
    """A small line of at least two values, oldest first, from zero to the greatest; `label` says what it is, `meaning`
    (`dashboard.series.Meaning`) its colour."""
    known = [value or 0 for value in values]
    if len(known) < 2:
        return ""
    top = max(*known, 1)
    step = _SPARK_WIDTH / (len(known) - 1)
    points = " ".join(
        f"{index * step:.1f},{_SPARK_HEIGHT - 1 - value / top * (_SPARK_HEIGHT - 2):.1f}"
        for index, value in enumerate(known)
    )
    said = format_html('role="img" aria-label="{}"', label) if label else SafeString('aria-hidden="true"')
    return format_html(
        '<svg class="sparkline m-{4}" viewBox="0 0 {0} {1}" preserveAspectRatio="none" {2}>'
        '<polygon points="0,{1} {3} {0},{1}"/><polyline points="{3}"/></svg>',
        _SPARK_WIDTH,
        _SPARK_HEIGHT,
        said,
        points,
        Meaning(meaning).value,
    )
