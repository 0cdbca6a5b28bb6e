"""Forecasts: a weekly rhythm and a trend go on, intervals hold what they promise, backtests tell the truth."""

from __future__ import annotations

import random
from math import exp
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.services.reporting.planning.theta_method import (
    COVERAGE,
    HORIZON,
    LEAST_DAYS,
    Interval,
    backtest,
    forecast,
)

WEEK = (1.0, 1.05, 1.08, 1.04, 0.97, 0.45, 0.4)


def series(days: int, *, growth: float = 0.0, noise: float = 0.0, seed: int = 1) -> list[float]:
    """A week's rhythm around 20,000 a day, growing by a share a day."""
    source = random.Random(seed)
    return [20_000 * WEEK[day % 7] * exp(growth * day + source.gauss(0, noise)) for day in range(days)]


def made(values: list[float | None] | list[float]) -> list[Interval]:
    told = forecast(values)
    assert told is not None
    return told


def test_a_rhythm_without_noise_is_continued() -> None:
    whole = series(35 + HORIZON)

    told = made(whole[:35])

    assert [one.expected for one in told] == pytest.approx(whole[35:], rel=1e-6)


def test_days_without_any_jobs_stay_so() -> None:
    working_days = [0.0 if day % 7 > 4 else 100.0 for day in range(28)]

    assert [round(one.expected, 6) for one in made(working_days)] == [*(100.0,) * 5, 0.0, 0.0] * 2
    assert {one.high for one in made([0.0] * 28)} == {0.0}


def test_growth_goes_on_at_half_its_pace() -> None:
    """That is what theta means: the trend's whole slope would overshoot."""
    whole = series(84 + HORIZON, growth=0.01)

    told = made(whole[:84])
    ahead = sum(one.expected for one in told[7:]) / sum(whole[77:84])

    assert 1 < ahead < sum(whole[91:]) / sum(whole[77:84])


def test_one_bad_day_is_not_taken_for_the_rhythm() -> None:
    values = series(56, noise=0.02)
    values[30] *= 20

    told, undisturbed = made(values), made(series(56, noise=0.02))

    assert [one.expected for one in told] == pytest.approx([one.expected for one in undisturbed], rel=0.15)


def test_intervals_hold_about_what_they_promise() -> None:
    held = []
    for seed in range(40):
        whole = series(56 + HORIZON, noise=0.2, seed=seed)
        held += [one.holds(value) for one, value in zip(made(whole[:56]), whole[56:], strict=True)]

    assert fmean(held) == pytest.approx(COVERAGE, abs=0.07)


def test_three_weeks_are_needed() -> None:
    assert forecast(series(LEAST_DAYS - 1)) is None
    assert forecast([*series(14), *[None] * 14]) is None
    assert forecast(series(LEAST_DAYS)) is not None
    without_sundays = [None if day % 7 == 6 else value for day, value in enumerate(series(56))]
    assert forecast(without_sundays) is None


def test_the_first_two_weeks_may_be_unknown() -> None:
    """As after a first day with a gap, and a server that was off."""
    assert made([*[None] * 14, *series(35)])


def test_days_that_are_not_known_are_bridged() -> None:
    whole = series(56 + HORIZON)
    values: list[float | None] = [*whole[:56]]
    values[20] = values[33] = values[55] = None

    assert [one.expected for one in made(values)] == pytest.approx(whole[56:], rel=1e-6)


def test_a_backtest_knows_nothing_of_the_weeks_that_it_forecasts() -> None:
    """A jump in the last week is an error of half of the values; all weeks before were right."""
    values = series(56)
    values[49:] = [2 * value for value in values[49:]]

    told = backtest(values)

    assert told is not None
    assert told.weeks == 4
    assert told.days == 7 + 3 * 14
    # 14 of the 49 days are of the last week, as seen from one and from two weeks before it.
    assert told.mape == pytest.approx(0.5 * 14 / 49, rel=0.01)
    assert told.covered == pytest.approx(1 - 14 / 49)


def test_beside_last_weeks_weekday() -> None:
    steady, noisy = backtest(series(56)), backtest(series(84, noise=0.1))

    assert steady is not None
    assert noisy is not None
    assert steady.mase is None  # nothing to be better than: last week's weekday was right, too
    assert noisy.mase is not None
    assert noisy.mase < 1
    assert backtest(series(20)) is None


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e15)), max_size=90))
def test_whatever_is_known_the_forecast_is_an_interval(values: list[float | None]) -> None:
    for one in forecast(values) or []:
        assert 0 <= one.low <= one.expected <= one.high
