"""How a figure is shown: medians of several runs, beside what was asked for."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured quantity. `runs`: its value in each run; `bar`: what was asked for, in words, or ""."""

    name: str
    unit: str
    runs: Sequence[float]
    bar: str = ""

    def line(self) -> str:
        """The figure as a row."""
        value = statistics.median(self.runs)
        spread = f"{min(self.runs):,.4g} … {max(self.runs):,.4g}"
        return f"  {self.name:<58} {value:>12,.4g} {self.unit:<8} {spread:<24} {self.bar}"


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print a scenario's figures."""
    print(f"\n{title}")
    print(f"  {'':<58} {'median':>12} {'unit':<8} {'min … max':<24} asked for")
    for figure in figures:
        print(figure.line(), flush=True)


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, round(len(ordered) * percent / 100 + 0.5) - 1))]
