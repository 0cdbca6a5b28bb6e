"""The four times that are measured of jobs, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .shapes import Figures, Metric, Spread

TITLES: Final[Mapping[Metric, tuple[Promise, Promise]]] = {
    Metric.WAIT: (_("Wait"), _("due → handed out")),
    Metric.RUN: (_("Run"), _("handed out → acked")),
    Metric.TOTAL: (_("End to end"), _("published → acked")),
    Metric.LATENESS: (_("Lateness"), _("due → ready")),
}
"""Name, and from when to when."""

COLUMNS: Final[tuple[tuple[str, Promise | str], ...]] = (
    ("mean", _("Mean")),
    ("p50", "p50"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("max", _("Longest")),
)
"""What is told of each, in ms: field of Spread and title. How often it was measured comes before."""


def times_of(figures: Figures) -> list[tuple[Promise, Promise, Spread]]:
    """Name, from when to when, and what was measured, also of those that were not."""
    return [(*TITLES[metric], figures.spread(metric)) for metric in Metric]


def note_on_times(figures: Figures) -> str:
    """Where percentiles come from that are not exact; "" if all are."""
    if all(figures.spread(metric).is_exact for metric in Metric):
        return ""
    return gettext(
        "Percentiles of several namespaces come from their merged histograms, within 1 %; they are no averages."
    )
