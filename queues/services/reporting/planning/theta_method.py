"""The theta method on daily values with a weekly rhythm: forecasts with intervals, and how far off past ones would be.

The method won the M3 competition of forecasting methods: V. Assimakopoulos and K. Nikolopoulos, "The theta model: a
decomposition approach to forecasting", International Journal of Forecasting 16 (2000). R. J. Hyndman and B. Billah,
"Unmasking the Theta method", the same journal 19 (2003), show that it is simple exponential smoothing with a drift of
half the slope of the trend line; that is what is computed here. Steps:

1. log(1 + value): rhythm and noise of counts grow with their level, and no forecast is below 0.
2. The effect of each weekday: the median distance from the mean of the seven days around it (classical decomposition,
   with medians so that a bad day does not count). It is taken out, and put back at the end.
3. Simple exponential smoothing; of the weights ALPHAS the one whose one-day-ahead errors are the least.
4. The drift: half the slope of the trend line, which is the median of the slopes between all pairs of days (Theil and
   Sen).
5. The interval: the spread of the one-day-ahead errors times sqrt(1 + (h - 1) alpha^2) for h days ahead, which holds
   were they normally spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log1p, sqrt
from statistics import fmean, median
from typing import Final

WEEK: Final = 7
LEAST_DAYS: Final = 3 * WEEK
"""Known days that a forecast takes."""

LEAST_TRAINED: Final = 2 * WEEK
"""Known days that a backtest takes to learn from."""

HORIZON: Final = 2 * WEEK
HELD_OUT_WEEKS: Final = 4
"""Weeks, at most, from whose beginnings a backtest forecasts."""

FITTED: Final = WEEK - 1
"""Degrees of freedom that the weekday effects take, which add up to 0."""

ALPHAS: Final = tuple(step / 20 for step in range(1, 20))
COVERAGE: Final = 0.8
_DEVIATIONS: Final = 1.2816
"""Standard deviations on each side that hold COVERAGE of a normal distribution."""

Known = float | None
"""A day's value; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """`expected`: as likely too low as too high. COVERAGE of the values should lie from `low` to `high`."""

    low: float
    expected: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value lies within, but for what arithmetic is off."""
        slack = 1e-9 * max(abs(value), 1.0)
        return self.low - slack <= value <= self.high + slack

    def times(self, factor: float) -> Interval:
        return Interval(low=self.low * factor, expected=self.expected * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """How forecasts made in the past would have done, over `days` days after `weeks` different beginnings.

    `mape`: mean absolute error as a share of the value, of days that are not 0. `mase`: mean absolute error beside that
    of taking the same weekday of the week before (Hyndman and Koehler, 2006): below 1 is better than that. `covered`:
    share of values within their interval; COVERAGE would be right. None: it cannot be said.
    """

    weeks: int
    days: int
    mape: float | None
    mase: float | None
    covered: float


def forecast(values: Sequence[Known], horizon: int = HORIZON) -> list[Interval] | None:
    """The `horizon` days after the last of `values`, which are of consecutive days. None: not enough of them known."""
    known = sum(value is not None for value in values)
    return _forecast(values, horizon) if known >= LEAST_DAYS else None


def backtest(values: Sequence[Known], horizon: int = HORIZON) -> Backtest | None:
    """Leave out the last week, the last two, and so on; forecast from what is before, and compare. None: not enough."""
    errors: list[float] = []
    shares: list[float] = []
    naive: list[float] = []
    covered = weeks = 0
    for week in range(1, HELD_OUT_WEEKS + 1):
        begin = len(values) - week * WEEK
        before = values[: max(begin, 0)]
        told = _forecast(before, horizon) if sum(one is not None for one in before) >= LEAST_TRAINED else None
        if told is None:
            break
        pairs = [(value, one) for value, one in zip(values[begin:], told, strict=False) if value is not None]
        weeks += bool(pairs)
        errors += [abs(value - one.expected) for value, one in pairs]
        shares += [abs(value - one.expected) / value for value, one in pairs if value]
        covered += sum(one.holds(value) for value, one in pairs)
        naive.append(_naive_error(before))
    if not errors:
        return None
    usual = fmean(naive)
    return Backtest(
        weeks=weeks,
        days=len(errors),
        mape=fmean(shares) if shares else None,
        mase=fmean(errors) / usual if usual else None,
        covered=covered / len(errors),
    )


def _forecast(values: Sequence[Known], horizon: int) -> list[Interval] | None:
    logs = [None if value is None else log1p(value) for value in values]
    effects = _weekday_effects(logs)
    if effects is None:
        return None
    plain = [None if one is None else one - effects[place % WEEK] for place, one in enumerate(logs)]
    drift = _slope(plain) / 2
    alpha, level, spread = min((_smooth(plain, drift, alpha) for alpha in ALPHAS), key=lambda fit: fit[2])
    told = []
    for ahead in range(1, horizon + 1):
        # The level lags behind a trend by (1 - alpha) / alpha days, but for what it was begun with.
        middle = level + drift * (ahead - 1 + (1 - (1 - alpha) ** len(plain)) / alpha)
        middle += effects[(len(values) + ahead - 1) % WEEK]
        reach = _DEVIATIONS * spread * sqrt(1 + (ahead - 1) * alpha**2)
        told.append(
            Interval(
                low=max(expm1(middle - reach), 0.0),
                expected=max(expm1(middle), 0.0),
                high=max(expm1(middle + reach), 0.0),
            )
        )
    return told


def _weekday_effects(logs: Sequence[Known]) -> list[float] | None:
    """By place modulo WEEK; they add up to 0. None: of some weekday there is no day with all days around it known."""
    distances: list[list[float]] = [[] for _ in range(WEEK)]
    for place in range(3, len(logs) - 3):
        around = [one for one in logs[place - 3 : place + 4] if one is not None]
        here = logs[place]
        if here is not None and len(around) == WEEK:
            distances[place % WEEK].append(here - fmean(around))
    if not all(distances):
        return None
    effects = [median(found) for found in distances]
    middle = fmean(effects)
    return [effect - middle for effect in effects]


def _slope(plain: Sequence[Known]) -> float:
    known = [(place, one) for place, one in enumerate(plain) if one is not None]
    slopes = [
        (later - earlier) / (then - before)
        for number, (before, earlier) in enumerate(known)
        for then, later in known[number + 1 :]
    ]
    return median(slopes) if slopes else 0.0


def _smooth(plain: Sequence[Known], drift: float, alpha: float) -> tuple[float, float, float]:
    """`alpha`, the last level, and the spread of the one-day-ahead errors after the first week."""
    known = [one for one in plain if one is not None]
    level = median([one for one in plain[: 2 * WEEK] if one is not None] or known[: 2 * WEEK]) - drift * WEEK
    squares = []
    for place, one in enumerate(plain):
        if one is None:  # nothing is learnt
            continue
        # As far ahead as in the forecast of the next day.
        error = one - (level + drift * (1 - (1 - alpha) ** place) / alpha)
        if place >= WEEK:
            squares.append(error * error)
        level += alpha * (one - level)
    # The weekday effects were made of the same days, which makes errors smaller than those of days to come.
    return alpha, level, sqrt(sum(squares) / max(len(squares) - FITTED, 1))


def _naive_error(values: Sequence[Known]) -> float:
    """Mean absolute error of taking the same weekday of the week before."""
    pairs = zip(values[WEEK:], values[:-WEEK], strict=True)
    errors = [abs(now - before) for now, before in pairs if now is not None and before is not None]
    return fmean(errors) if errors else 0.0
