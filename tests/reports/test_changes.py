"""What is out of line: for the worse, for the better, of hours, and not by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from queues.reports.tables.cells import SCOPE
from queues.reports.tables.changes import FIGURES, READ, RULES, SMALL_SAMPLES, WEEKS, Verdict, changes_of

Figures = Mapping[str, float | None]
Judged = dict[tuple[str, str, int | None], dict[str, Any]]
"""Rows by queue, figure and hour."""

USUAL: Final = Verdict.USUAL
WORSE: Final = Verdict.WORSE
BETTER: Final = Verdict.BETTER
FEW: Final = Verdict.TOO_FEW_WEEKS


@dataclass(frozen=True, slots=True)
class Queue:
    """Its figures on days of past weeks, and today; None: nothing happened. An hour's have `hour`."""

    past: Sequence[Figures]
    today: Sequence[Figures]


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    types = dict.fromkeys(SCOPE, pa.string()) | {"hour": pa.int32(), "week": pa.int32(), "success_rate": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in (*SCOPE, "week", "hour", *READ)])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


def days(figure: str, values: Sequence[float], *, size: int = 10_000) -> list[Figures]:
    """One row a week; of counts, shares and times that rest on `size` jobs."""
    others = {"acked": size} if figure != "acked" else {}
    return [{**others, "wait_count": size, "run_count": size, figure: value} for value in values]


CASES: Final[dict[str, tuple[str, Sequence[float], float, Verdict]]] = {
    "fewer failures": ("failed", [100] * 8, 10, BETTER),
    "shorter waits": ("wait_p95", [10_000] * 8, 900, BETTER),
    "more success": ("success_rate", [0.8] * 8, 0.999, BETTER),
    "more acked": ("acked", [100] * 8, 400, USUAL),
    "fewer acked": ("acked", [100] * 8, 40, WORSE),
    "silent": ("published", [100] * 8, 0, WORSE),
    "doubled": ("published", [100] * 8, 200, WORSE),
    "doubled, but small": ("published", [5] * 8, 10, USUAL),
    "silent, but small": ("published", [3] * 8, 0, USUAL),
    "doubled after three weeks": ("published", [100, 110, 95], 220, WORSE),
    "doubled after two weeks": ("published", [100, 110], 220, FEW),
    "a quarter more failures than in steady weeks": ("failed", [100, 100, 100, 101, 99, 100, 100, 100], 126, USUAL),
    "many more failures": ("failed", [100, 100, 100, 101, 99, 100, 100, 100], 300, WORSE),
    "a few failures where there were none": ("failed", [0] * 8, 4, USUAL),
    "more than a few": ("failed", [0] * 8, 12, WORSE),
    "one died": ("dead", [0] * 8, 1, USUAL),
    "many died": ("dead", [0] * 8, 20, WORSE),
    "leases were lost": ("lease_lost", [1, 0, 2, 0, 1, 1, 0, 0], 40, WORSE),
    "jobs expired": ("expired", [0] * 8, 40, WORSE),
    "much less success": ("success_rate", [0.999] * 8, 0.9, WORSE),
    "a little less success": ("success_rate", [0.999] * 8, 0.996, USUAL),
    "waits of four times": ("wait_p95", [500] * 8, 2_000, WORSE),
    "waits of four times, but short": ("wait_p95", [5] * 8, 20, USUAL),
    "waits that always vary": ("wait_p95", [500, 4_000, 900, 8_000, 600, 1_500, 700, 3_000], 6_000, USUAL),
    "runs of twice": ("run_p95", [1_000] * 8, 2_000, WORSE),
    "one of the weeks had an incident": ("failed", [100, 3_000, 110, 95, 105, 98, 100, 104], 700, WORSE),
}
"""What is told → a figure of past weeks and of today, and the verdict."""


MakeQueues = Callable[[], Mapping[str, Queue]]

SCENARIOS: Final[dict[str, MakeQueues]] = {}
"""Namespace → its queues. One Spark job judges them all: of each other, scopes know nothing."""

HOW: Final[dict[str, dict[str, bool]]] = {"holiday": {"holiday": True}, "today": {"complete": False}}
"""Namespaces that are judged in another way."""


def scenario(name: str) -> Callable[[MakeQueues], MakeQueues]:
    """Have the queues that the function makes judged; `judged` has what comes of it under this name."""

    def add(make: MakeQueues) -> MakeQueues:
        SCENARIOS[name] = make
        return make

    return add


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    """What is said of each scenario."""
    folder = tmp_path_factory.mktemp("figures")
    rows: dict[str, list[dict[str, Any]]] = {"today": [], "past": []}
    for namespace, make in SCENARIOS.items():
        for queue, one in make().items():
            scope: dict[str, Any] = {"pool": "default", "namespace": namespace, "queue": queue}
            rows["today"] += ({**scope, **figures} for figures in one.today)
            rows["past"] += ({**scope, **figures} for figures in one.past)
    today, past = (spark.read.parquet(write(folder / f"{name}.parquet", rows[name])) for name in rows)

    def judge(of: Column, *, complete: bool = True, holiday: bool = False) -> DataFrame:
        return changes_of(today.where(of), past.where(of), complete=complete, holiday=holiday)

    place = f.col("namespace")
    told = [judge(place == name, **how) for name, how in HOW.items()]
    found: dict[str, Judged] = {name: {} for name in SCENARIOS}
    for row in reduce(DataFrame.unionAll, told, judge(~place.isin(*HOW))).collect():
        found[row["namespace"]][row["queue"], row["figure"], row["hour"]] = row.asDict()
    return found


@scenario("cases")
def _cases() -> Mapping[str, Queue]:
    return {name: Queue(days(figure, past), days(figure, [today])) for name, (figure, past, today, _) in CASES.items()}


def test_a_figure_is_flagged_where_it_is_worse_by_more_than_chance(judged: dict[str, Judged]) -> None:
    told = judged["cases"]
    found = {name: told[name, case[0], None]["verdict"] for name, case in CASES.items()}
    assert found == {name: case[3].value for name, case in CASES.items()}
    assert all(row["flagged"] == (row["verdict"] == WORSE) for row in told.values())


@scenario("shares")
def _shares() -> Mapping[str, Queue]:
    return {
        f"{size}": Queue(days("success_rate", [0.99] * 8, size=size), days("success_rate", [0.9], size=size))
        for size in (10, 1_000)
    }


def test_a_share_of_few_jobs_is_no_news(judged: dict[str, Judged]) -> None:
    told = judged["shares"]
    assert told["10", "success_rate", None]["verdict"] == USUAL
    assert told["1000", "success_rate", None]["verdict"] == WORSE


@scenario("holiday")
@scenario("today")
def _silent() -> Mapping[str, Queue]:
    return {"q": Queue(days("published", [100] * 8), days("published", [0]))}


@pytest.mark.parametrize(("how", "verdict"), [("holiday", Verdict.HOLIDAY), ("today", Verdict.INCOMPLETE)])
def test_holidays_and_days_that_are_not_over_are_not_judged(
    judged: dict[str, Judged], how: str, verdict: Verdict
) -> None:
    assert {row["verdict"] for row in judged[how].values()} == {verdict.value}
    assert not any(row["flagged"] for row in judged[how].values())


@scenario("hours")
def _hours() -> Mapping[str, Queue]:
    usual = [{"hour": hour, "published": 200, "acked": 200} for hour in (9, 10, 11)]
    quiet = {"hour": 3, "published": 4, "acked": 4}
    week = [{"published": 4_000, "acked": 4_000, "failed": 20}, *usual, quiet]
    out_at_ten = [one for one in usual if one["hour"] != 10]
    return {
        "out at ten": Queue(week * 8, [{"published": 3_800, "acked": 3_800, "failed": 20}, *out_at_ten]),
        "out all day": Queue(week * 8, [{"published": 0, "acked": 0, "failed": 0}]),
        "new at three": Queue(week * 8, [*week[:-1], {"hour": 3, "published": 90, "acked": 90}]),
    }


def test_a_bad_hour_of_a_normal_day_is_flagged(judged: dict[str, Judged]) -> None:
    """And only it: not the hours beside it, not the hour of a figure whose day is flagged, not a quiet hour."""
    hours = {key: row["value"] for key, row in judged["hours"].items() if key[2] is not None}
    assert hours == {
        ("out at ten", "published", 10): 0,
        ("out at ten", "acked", 10): 0,
        ("new at three", "published", 3): 90,
    }
    assert judged["hours"]["out all day", "published", None]["flagged"]


@scenario("late work")
def _late_work() -> Mapping[str, Queue]:
    day = {"published": 5_000, "acked": 5_000}
    week = [day, {"hour": 2, "published": 5_000, "acked": 5_000}]
    irregular = [*[day, {"hour": 4, "published": 5_000, "acked": 5_000}], *week * 7]
    late = [day, {"hour": 3, "published": 5_000, "acked": 5_000}]
    later = [day, {"hour": 4, "published": 5_000, "acked": 5_000}]
    return {"late": Queue(week * 8, late), "later": Queue(week * 8, later), "irregular": Queue(irregular, later)}


def test_work_that_comes_an_hour_later_is_no_spike(judged: dict[str, Judged]) -> None:
    """That it did not come at its hour is told, if it always did; two hours later it is one."""
    published = {key[::2] for key in judged["late work"] if key[1] == "published" and key[2] is not None}
    assert published == {("late", 2), ("later", 2), ("later", 4)}


@scenario("times")
def _times() -> Mapping[str, Queue]:
    week = [{"published": 4_000, "wait_p95": 500, "wait_count": 4_000}]
    hour = {"hour": 10, "published": 200, "acked": 200, "wait_count": 200}
    past = [*week, {**hour, "wait_p95": 500}] * 8
    today = [*week, {**hour, "published": 0, "wait_p95": 50_000}]
    return {"": Queue(past, today), "q": Queue(past, today)}


def test_times_of_a_namespace_are_not_judged_by_the_hour(judged: dict[str, Judged]) -> None:
    """Unlike those of its queues, and its counts."""
    assert {key[:2] for key in judged["times"] if key[2] is not None} == {
        ("", "published"),
        ("q", "published"),
        ("q", "wait_p95"),
    }


def poisson(draw: Random, mean: float) -> int:
    product, count = draw.random(), 0
    while product > math.exp(-mean):
        product *= draw.random()
        count += 1
    return count


def p95(draw: Random, *, median: float, jobs: int) -> int:
    waits = sorted(draw.lognormvariate(math.log(median), 0.9) for _ in range(jobs))
    return round(waits[math.ceil(0.95 * jobs) - 1])


MEANS: Final = (0.3, 1, 3, 10, 30, 100, 300)


def noisy_day(draw: Random, mean: float) -> Figures:
    """Of a queue that fares as always, but for chance: counts are Poisson's, traffic varies by 8 % from day to day."""
    busy = math.exp(draw.gauss(0, 0.08))
    flaws = {name: poisson(draw, mean / 3 * busy) for name in ("failed", "dead", "lease_lost", "expired")}
    acked = poisson(draw, mean * busy)
    ended = acked + flaws["dead"] + flaws["expired"]
    jobs = max(acked, 1)
    times = {name: p95(draw, median=2_000, jobs=jobs) for name in ("wait_p95", "run_p95")}
    rate = {"success_rate": acked / ended if ended else None}
    counts = {"published": poisson(draw, mean * busy), "acked": acked, "wait_count": jobs, "run_count": jobs}
    return counts | flaws | times | rate


FEW_OR_MANY: Final = (3, WEEKS)


def noisy_days(weeks: int) -> Mapping[str, Queue]:
    """The same seeds give the same days."""
    queues = {}
    for seed in range(40):
        for mean in MEANS:
            draw = Random(f"{seed} {mean} {weeks}")
            queues[f"{mean} {seed}"] = Queue([noisy_day(draw, mean) for _ in range(weeks)], [noisy_day(draw, mean)])
    return queues


for _weeks in FEW_OR_MANY:
    scenario(f"chance in {_weeks} weeks")(partial(noisy_days, _weeks))


@pytest.mark.parametrize("weeks", FEW_OR_MANY)
def test_chance_alone_is_hardly_ever_flagged(judged: dict[str, Judged], weeks: int) -> None:
    """One flag in a thousand figures is a flag a day for a hundred queues."""
    told = judged[f"chance in {weeks} weeks"]
    flagged = [key for key, row in told.items() if row["flagged"]]
    assert len(told) > 40 * len(MEANS) * len(FIGURES) * 0.9
    assert len(flagged) <= len(told) / 1_000, flagged


def test_the_documentation_has_the_rules_as_they_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()

    for name, rule in RULES.items():
        least = f"{rule.least:g}" + (" ms" if name.endswith("p95") else "")
        hours = "yes" if rule.of_hours else "no"
        assert f"| {name} | {rule.worse} | {rule.varies:g} | {least} | {hours} |" in text
    assert set(SMALL_SAMPLES) == set(range(1, WEEKS + 1))
