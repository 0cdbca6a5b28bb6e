"""Figures of a day and of its hours against the same weekday of past weeks, and which of them deserve an alarm.

Values are compared on a scale on which chance alone spreads them evenly, whatever their size: counts by the square root
(Anscombe's transformation of Poisson counts), shares by the arcsine of their root, times by the logarithm. So one rule
judges the queue of ten jobs a day and that of ten million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from .cells import DAY, SCOPE

WEEKS: Final = 8
"""So many weeks back, as far as there are reports."""

LEAST_WEEKS: Final = 3
"""With fewer, nothing is judged."""

SPREADS: Final = 4.0
HOUR_SPREADS: Final = 6.0
"""Of hours, which are many more and of which less is known."""

HOUR_LEAST_JOBS: Final = 20
"""Hours in which fewer jobs were published, acked or failed, now and in all past weeks, are not looked at."""


class Scale(StrEnum):
    """How values of a figure are made comparable."""

    COUNT = "count"
    SHARE = "share"
    TIME = "time"


class Worse(StrEnum):
    """Which change of a figure is an alarm; the other one is better than usual."""

    MORE = "more"
    LESS = "less"
    BOTH = "both"


class Verdict(StrEnum):
    """What is said of a figure. WORSE is what is flagged."""

    WORSE = "worse"
    BETTER = "better"
    USUAL = "usual"
    TOO_FEW_WEEKS = "too few weeks"
    HOLIDAY = "holiday"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a figure is judged.

    `varies`: the relative spread that is taken for granted, however steady past weeks were. `least`: smaller distances
    are in line, in the figure's unit. `size`: how many jobs a share or a time rests on. `of_hours`: hours are judged,
    too. `has_better`: the other change is worth a word; that more is acked where more is published is not.
    """

    scale: Scale
    worse: Worse
    varies: float
    least: float
    size: str = "0"
    of_hours: bool = False
    has_better: bool = True


_ENDED: Final = "coalesce(acked, 0) + coalesce(dead, 0) + coalesce(expired, 0)"

RULES: Final[Mapping[str, Rule]] = {
    "published": Rule(scale=Scale.COUNT, worse=Worse.BOTH, varies=0.1, least=5, of_hours=True),
    "acked": Rule(scale=Scale.COUNT, worse=Worse.LESS, varies=0.1, least=5, of_hours=True, has_better=False),
    "failed": Rule(scale=Scale.COUNT, worse=Worse.MORE, varies=0.3, least=5, of_hours=True),
    "dead": Rule(scale=Scale.COUNT, worse=Worse.MORE, varies=0.3, least=3, of_hours=True),
    "lease_lost": Rule(scale=Scale.COUNT, worse=Worse.MORE, varies=0.3, least=5, of_hours=True),
    "expired": Rule(scale=Scale.COUNT, worse=Worse.MORE, varies=0.3, least=5),
    "success_rate": Rule(scale=Scale.SHARE, worse=Worse.LESS, varies=0.3, least=0.01, size=_ENDED),
    "wait_p95": Rule(scale=Scale.TIME, worse=Worse.MORE, varies=0.2, least=100, size="wait_count", of_hours=True),
    "run_p95": Rule(scale=Scale.TIME, worse=Worse.MORE, varies=0.1, least=100, size="run_count", of_hours=True),
}
"""The figures that are judged. docs/reports.md explains the numbers; tests hold it equal to this table."""

FIGURES: Final = tuple(RULES)
_OF_HOURS: Final = tuple(name for name, rule in RULES.items() if rule.of_hours)
READ: Final = (*FIGURES, "wait_count", "run_count")
"""What is read of reports."""

SMALL_SAMPLES: Final = {1: 1.0, 2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.2, 7: 1.14, 8: 1.129}
"""The median distance of few values is too small on average; by so much (Croux and Rousseeuw, 1992)."""

SCALE: Final = 1.4826
"""The median distance from the median, times this: the standard deviation, were values normally spread."""

_AT: Final = (*SCOPE, "hour")


def changes_of(
    today: DataFrame, past: DataFrame, *, complete: bool, holiday: bool = False, by: Sequence[str] = ()
) -> DataFrame:
    """(scope, figure, hour, value, usual, spread, weeks, verdict, flagged) of scopes that were there in past weeks.

    `today`, `past`: figures of days, and of their hours; `past`: of the same weekday in past weeks, without holidays.
    `hour` null: the day. `complete`: whether the day is over; before that, and on a holiday, nothing is
    judged. `by`: more columns that tell days apart, to judge many in one job. A scope that was there in past weeks and
    is not today has counts of 0. Of hours there are only rows that are flagged, of figures that are not flagged for the
    whole day.
    """
    key = [*by, *_AT]
    values = [f.expr(f"collect_list(CAST({name} AS double)) AS past_{name}") for name in FIGURES]
    rows = _keyed(past).groupBy(*key).agg(f.expr("CAST(count(*) AS int) AS weeks"), *values)
    rows = rows.join(_keyed(today).select(*key, *READ), key, "full")
    scope = ", ".join((*by, *SCOPE))
    # Work that comes an hour earlier or later than in past weeks is no spike.
    near = f"PARTITION BY {scope}, hour = {DAY} ORDER BY hour RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING"
    highs = {f"high_{name}": f.expr(f"max(array_max(past_{name})) OVER ({near})") for name in _OF_HOURS}
    # A day's row is there in each week in which its hours are. (After the other window, whose order serves this one.)
    rows = rows.withColumns(highs).withColumn("weeks", f.expr(f"max(weeks) OVER (PARTITION BY {scope})"))
    judged = _distances(_long(rows.where("weeks > 0").where(_IS_BUSY), by)).withColumn(
        "verdict", _verdict(complete=complete, holiday=holiday)
    )
    day = f"max(verdict) FILTER (WHERE hour = {DAY}) OVER (PARTITION BY {scope}, figure)"
    told = judged.withColumn("of_day", f.expr(day)).where(
        f"hour = {DAY} OR verdict = '{Verdict.WORSE}' AND of_day IN ('{Verdict.USUAL}', '{Verdict.BETTER}')"
    )
    return told.selectExpr(
        *by,
        *SCOPE,
        "figure",
        f"nullif(hour, {DAY}) AS hour",
        "value",
        "usual",
        f"{_median('distances')} * {SCALE} AS spread",
        "seen AS weeks",
        "verdict",
        f"verdict = '{Verdict.WORSE}' AS flagged",
    )


def _keyed(figures: DataFrame) -> DataFrame:
    """With hour DAY instead of null, which is equal to nothing."""
    return figures.withColumn("hour", f.expr(f"coalesce(hour, {DAY})"))


_JOBS: Final = ("published", "acked", "failed")
_IS_BUSY: Final = (
    f"hour = {DAY} OR greatest(0, {', '.join((*_JOBS, *(f'array_max(past_{name})' for name in _JOBS)))})"
    f" >= {HOUR_LEAST_JOBS}"
)


def _long(rows: DataFrame, by: Sequence[str]) -> DataFrame:
    """A row for each figure: (value, past, jobs, high) and its rule. `high`: the most that there was at this hour or
    one beside it in any past week. Of hours, only figures that may be flagged."""
    structs = []
    for name, rule in RULES.items():
        past = f"coalesce(past_{name}, array())"
        value = f"CAST({name} AS double)"
        if rule.scale is Scale.COUNT:  # what is not told of a week was none
            past = f"concat({past}, array_repeat(0D, weeks - size({past})))"
            value = f"coalesce({value}, 0D)"
        said = f"'{name}' AS figure, '{rule.scale}' AS scale, '{rule.worse}' AS worse, {rule.varies}D AS varies"
        numbers = f"CAST({rule.least} AS double) AS least, CAST(coalesce({rule.size}, 0) AS double) AS jobs"
        flags = f"{_sql(rule.of_hours)} AS of_hours, {_sql(rule.has_better)} AS has_better"
        high = f"coalesce(CAST(high_{name} AS double), 0D)" if rule.of_hours else "0D"
        structs.append(f"struct({said}, {numbers}, {flags}, {high} AS high, {value} AS value, {past} AS past)")
    judged = f"filter(array({', '.join(structs)}), one -> size(one.past) > 0 AND (hour = {DAY} OR {_MAY_BE_FLAGGED}))"
    return rows.selectExpr(*by, *_AT, f"inline({judged})")


def _sql(flag: bool) -> str:
    return str(flag).lower()


def _distances(long: DataFrame) -> DataFrame:
    """With `usual`, the `distances` of past weeks from it, and `score`: that of today, in spreads."""
    usual = long.withColumns({"usual": f.expr(_median("past")), "seen": f.expr("size(past)")})
    scaled = usual.withColumns(
        {
            "distances": f.expr("transform(past, each -> abs(each - usual))"),
            "scaled": f.expr(f"transform(past, each -> abs({_scaled('each')} - {_scaled('usual')}))"),
            "away": f.expr(f"{_scaled('value')} - {_scaled('usual')}"),
        }
    )
    small = " ".join(f"WHEN {weeks} THEN {factor}D" for weeks, factor in SMALL_SAMPLES.items())
    past_spread = f"{_median('scaled')} * {SCALE} * CASE seen {small} ELSE 1D END"
    # That of the median itself comes on top.
    spread = f"greatest({past_spread}, {_CHANCE}, {_TAKEN_FOR_GRANTED}) * sqrt(1 + {1.5708} / seen)"
    return scaled.withColumn("score", f.expr(f"away / ({spread})"))


def _scaled(value: str, scale: str = "scale") -> str:
    return (
        f"CASE {scale} WHEN '{Scale.COUNT}' THEN 2 * sqrt({value} + 0.375D)"
        f" WHEN '{Scale.TIME}' THEN ln(greatest({value}, 1D))"
        f" ELSE 2 * asin(sqrt({value})) END"
    )


_MAY_BE_FLAGGED: Final = f"""
    one.of_hours
    AND (one.scale != '{Scale.TIME}' OR queue != '')
    AND abs(one.value - IF(one.value > one.high, array_min(one.past), array_max(one.past))) >= one.least
    AND (one.value > one.high OR one.value < array_min(one.past))
    AND abs({_scaled("one.value", "one.scale")}
        - {_scaled("IF(one.value > one.high, array_min(one.past), array_max(one.past))", "one.scale")})
        > {HOUR_SPREADS}D * IF(one.scale = '{Scale.COUNT}', 1D, one.varies)
"""
"""Of an hour: whether it is out of line with all past weeks, and far enough from the farthest of them. Cheap, and true
of few, so that few are judged. Times of several queues together jump where one has a few jobs more: left out."""

_CHANCE: Final = (
    f"CASE scale WHEN '{Scale.COUNT}' THEN 1D WHEN '{Scale.TIME}' THEN 2 / sqrt(greatest(jobs, 1D))"
    " ELSE 1 / sqrt(greatest(jobs, 1D)) END"
)
"""The spread by chance alone, on the scale; that of a p95 if values are spread as widely as the logarithmic normal
distribution with 1 as its standard deviation: sqrt(0.95 × 0.05 / n) / 0.103."""

_TAKEN_FOR_GRANTED: Final = (
    f"varies * CASE scale WHEN '{Scale.COUNT}' THEN sqrt(usual) WHEN '{Scale.TIME}' THEN 1D ELSE sqrt(1 - usual) END"
)
"""`varies` on the scale; that of a share is of what is missing to all."""


def _median(array: str) -> str:
    ordered, size = f"sort_array({array})", f"size({array})"
    return f"(get({ordered}, ({size} - 1) DIV 2) + get({ordered}, {size} DIV 2)) / 2"


def _verdict(*, complete: bool, holiday: bool) -> Column:
    if not complete:
        return f.lit(Verdict.INCOMPLETE.value)
    if holiday:
        return f.lit(Verdict.HOLIDAY.value)
    spreads = f"IF(hour = {DAY}, {SPREADS}D, {HOUR_SPREADS}D)"
    is_worse = f"worse = '{Worse.BOTH}' OR (worse = '{Worse.MORE}') = (score > 0)"
    return f.expr(
        f"CASE WHEN seen < {LEAST_WEEKS} THEN '{Verdict.TOO_FEW_WEEKS}'"
        f" WHEN value IS NULL OR abs(score) <= {spreads} OR abs(value - usual) < least THEN '{Verdict.USUAL}'"
        f" WHEN {is_worse} THEN '{Verdict.WORSE}' WHEN has_better THEN '{Verdict.BETTER}' ELSE '{Verdict.USUAL}' END"
    )
