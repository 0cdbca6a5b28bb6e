"""Figures, and how they are shown: medians of several runs beside what is asked for."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What is asked for: at least, or at most, `value`, in the figure's unit or, with `of_s`, in parts of S."""

    sense: str
    value: float
    of_s: bool = False

    def passed_by(self, value: float) -> bool:
        """Whether `value` is good enough."""
        return value >= self.value if self.sense == "≥" else value <= self.value

    def __str__(self) -> str:
        return f"{self.sense} {self.value:,g}{' S' if self.of_s else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured quantity. `runs`: its value in each run.

    `s_unix`, `s_tcp`: the yardsticks of the same runs, where the figure is to be seen beside them; `by` says which of
    them the bar means.
    """

    name: str
    unit: str
    runs: Sequence[float]
    bar: Bar | None = None
    s_unix: Sequence[float] = ()
    s_tcp: Sequence[float] = ()
    by: str = "tcp"

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    def ratio(self, yardstick: Sequence[float]) -> float | None:
        """Median over runs of value ÷ yardstick; None without a yardstick."""
        if not yardstick:
            return None
        return statistics.median(value / s for value, s in zip(self.runs, yardstick, strict=True))

    @property
    def passed(self) -> bool | None:
        """Whether the median reaches the bar; None without a bar."""
        if self.bar is None:
            return None
        if not self.bar.of_s:
            return self.bar.passed_by(self.median)
        ratio = self.ratio(self.s_tcp if self.by == "tcp" else self.s_unix)
        assert ratio is not None, "a bar in parts of S needs S"
        return self.bar.passed_by(ratio)

    def line(self) -> str:
        """The figure as a row."""
        spread = f"{_short(min(self.runs))} … {_short(max(self.runs))}"
        ratios = [f"{ratio:.3f}" if (ratio := self.ratio(s)) is not None else "" for s in (self.s_tcp, self.s_unix)]
        mark = {None: "", True: "pass", False: "FAIL"}[self.passed]
        asked = f"{self.bar}  {mark}" if self.bar else ""
        left = f"  {self.name:<56} {_short(self.median):>10} {self.unit:<9} {spread:<20}"
        return f"{left} {ratios[0]:>7} {ratios[1]:>8}  {asked}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One scenario's figures."""

    title: str
    figures: Sequence[Figure]


def show(section: Section) -> None:
    """Print a scenario's figures."""
    print(f"\n{section.title}\n{head()}")
    for figure in section.figures:
        print(figure.line())
    print(end="", flush=True)


def head() -> str:
    """The row above figures."""
    return f"  {'':<56} {'median':>10} {'unit':<9} {'min … max':<20} {'÷ S':>7} {'÷ S unix':>8}  asked for"


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def _short(value: float) -> str:
    """Four significant digits, whole above a thousand."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
