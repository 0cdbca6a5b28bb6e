"""How times and tries were distributed, as charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from django.utils.translation import gettext as _

from queues.lake.sketch import bounds
from queues.services.reporting.values import Metric, TryCount

from .parts import Chart, nothing_measured

EDGES_MS: Final = (
    *(step * 10**power for power in range(4) for step in (1, 2, 5)),
    *(10_000, 20_000, 60_000, 120_000, 300_000, 600_000, 1_800_000),
    *(3_600_000, 7_200_000, 18_000_000, 43_200_000, 86_400_000, 604_800_000),
)
"""Upper ends of a histogram's bars; what is longer falls into the last one."""


def distribution(histogram: Mapping[int, int], metric: Metric) -> Chart:
    """How many jobs waited or ran how long; bars within 1 % of where they are drawn."""
    counts = [0] * len(EDGES_MS)
    for bucket, jobs in histogram.items():
        middle = sum(bounds(bucket)) // 2
        place = next((i for i, edge in enumerate(EDGES_MS) if middle <= edge), len(EDGES_MS) - 1)
        counts[place] += jobs
    known = [i for i, count in enumerate(counts) if count]
    first, last = (max(known[0] - 1, 0), known[-1]) if known else (0, -1)
    titles = {Metric.WAIT: _("How long jobs waited"), Metric.RUN: _("How long jobs ran")}
    return {
        "title": titles[metric],
        "x": {"unit": "ms", "values": [*EDGES_MS[first : last + 1]]},
        "y": {"unit": "jobs"},
        "series": [{"name": _("jobs"), "values": counts[first : last + 1], "style": "bar"}],
        "empty": nothing_measured(metric),
    }


def tries(found: Iterable[TryCount]) -> Chart:
    """At which attempt jobs ended, and how."""
    jobs = {(one.attempt, one.outcome): one.jobs for one in found}
    attempts = sorted({attempt for attempt, _outcome in jobs})
    return {
        "title": _("Jobs by the attempt at which they ended"),
        "x": {"unit": "attempt", "values": attempts},
        "y": {"unit": "jobs"},
        "series": [
            {"name": name, "values": [jobs.get((attempt, outcome), 0) for attempt in attempts]}
            for outcome, name in (("acked", _("acked")), ("dead", _("dead")))
        ],
        "empty": _("No job was acked or died on this day."),
    }
