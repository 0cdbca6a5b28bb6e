"""Medians, ratios and bars: what a table says of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import results, settings
from bench.__main__ import SCENARIOS
from bench.report import Bar, Figure, Section, percentile

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def test_the_median_of_the_runs_is_held_against_the_bar() -> None:
    assert Figure(name="p50", unit="ms", runs=[9.0, 3.0, 1.0], bar=Bar(sense="≤", value=3)).passed is True
    assert Figure(name="p50", unit="ms", runs=[9.0, 3.1, 1.0], bar=Bar(sense="≤", value=3)).passed is False
    assert Figure(name="p50", unit="ms", runs=[9.0]).passed is None


@pytest.mark.parametrize(("by", "passed"), [("unix", False), ("tcp", True)])
def test_a_bar_in_parts_of_s_means_the_chosen_yardstick_of_the_same_run(by: str, passed: bool) -> None:
    figure = Figure(
        name="throughput",
        unit="req/s",
        runs=[20.0, 50.0, 20.0],
        bar=Bar(sense="≥", value=0.2, of_s=True),
        s_unix=[200.0, 250.0, 200.0],
        s_tcp=[100.0, 200.0, 100.0],
        by=by,
    )

    assert (figure.ratio(figure.s_unix), figure.ratio(figure.s_tcp)) == (0.1, 0.2)
    assert figure.passed is passed


def test_a_row_shows_median_spread_ratio_and_mark() -> None:
    row = Figure(
        name="throughput",
        unit="req/s",
        runs=[1_000.0, 3_000.0, 2_000.0],
        bar=Bar(sense="≥", value=0.18, of_s=True),
        s_tcp=[10_000.0, 10_000.0, 10_000.0],
    ).line()

    assert row.split() == ["throughput", "2,000", "req/s", "1,000", "…", "3,000", "0.200", "≥", "0.18", "S", "pass"]


def test_percentiles_are_nearest_ranks() -> None:
    values = [float(value) for value in range(100, 0, -1)]

    assert [percentile(values, percent) for percent in (0, 50, 99, 100)] == [1.0, 50.0, 99.0, 100.0]


def test_results_are_kept_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path / "bench")
    figure = Figure(name="p50", unit="ms", runs=[1.0, 2.0, 4.0], bar=Bar(sense="≤", value=3))

    path = results.save(
        {"lateness": Section(title="Lateness", figures=[figure])}, settings.quick(yardstick="tcp", workers=None)
    )

    kept = json.loads(path.read_text())
    assert (kept["settings"]["quick"], kept["settings"]["yardstick"]) == (True, "tcp")
    (row,) = kept["scenarios"]["lateness"]["figures"]
    assert (row["runs"], row["median"], row["bar"], row["passed"]) == ([1.0, 2.0, 4.0], 2.0, "≤ 3", True)


def test_every_scenario_is_described() -> None:
    rows = [line.split("`")[1] for line in DOCS.read_text().splitlines() if line.startswith("| `")]

    assert rows == list(SCENARIOS)
