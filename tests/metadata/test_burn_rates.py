"""Burn rates of windows, the pairs of windows that alert, and what is left of an error budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.api.metrics.exposition import Page
from queues.api.metrics.page import add_objectives
from queues.models import Namespace, ObjectiveWindow, Pool, QueuePolicy
from queues.services.objectives.budgets import budget_of
from queues.services.objectives.burn_rates import (
    CELL_S,
    HOUR_S,
    PAIRS,
    WINDOWS,
    Deliveries,
    Severity,
    Windows,
    burn_rates,
    windows_of,
)
from queues.services.objectives.reading import LISTED_FOR_S, BurningQueue, list_burn_rates
from queues.services.reporting.values import Figures, Objective, QueueRow, SeriesDay, Spread
from tests.support.rows import in_one_test

NOW_S = 1_772_000_000 // HOUR_S * HOUR_S
TARGET = 0.99


def windows(late: Callable[[int], int], *, total: int = 100, seconds: int = WINDOWS["3d"]) -> Windows:
    """`late`: of `total` deliveries in five minutes, by how many seconds ago these ended."""
    found = Windows()
    for ago in range(seconds - CELL_S, -CELL_S, -CELL_S):
        found.record(NOW_S - ago - CELL_S, Deliveries(late(ago), total))
    return found


def test_a_burn_rate_is_the_share_of_late_deliveries_by_what_the_target_allows() -> None:
    rates = burn_rates(windows(lambda ago: 2), target=TARGET, end_s=NOW_S).rates

    assert rates == pytest.approx(dict.fromkeys(WINDOWS, 2.0))
    assert Deliveries(0, 0).burn_rate(TARGET) == 0


def test_windows_reach_back_as_far_as_they_say() -> None:
    found = burn_rates(windows(lambda ago: 1), target=TARGET, end_s=NOW_S)

    assert {window: one.total for window, one in found.deliveries.items()} == {
        window: 100 * seconds // CELL_S for window, seconds in WINDOWS.items()
    }


@in_one_test(
    ("late", "pair"),
    [
        (lambda ago: 0, None),
        (lambda ago: 1 if ago < HOUR_S else 0, None),
        (lambda ago: 15 if ago < HOUR_S else 0, 0),  # an hour at 15
        (lambda ago: 15 if CELL_S <= ago < 2 * HOUR_S else 0, None),  # which is over
        (lambda ago: 100 if ago < CELL_S else 0, None),  # five minutes: too little of the hour
        (lambda ago: 7 if ago < 6 * HOUR_S else 0, 1),  # six hours at 7
        (lambda ago: 2, 2),  # three days at 2
        (lambda ago: 2 if ago >= 6 * HOUR_S else 0, None),  # which are over
    ],
)  # fmt: skip
def test_an_alert_needs_both_windows_of_a_pair(late: Callable[[int], int], pair: int | None) -> None:
    alert = burn_rates(windows(late), target=TARGET, end_s=NOW_S).alert

    assert alert == (None if pair is None else PAIRS[pair])


def test_the_pairs_are_those_of_the_sre_workbook() -> None:
    assert [(one.long, one.short, one.rate, one.severity) for one in PAIRS] == [
        ("1h", "5m", 14.4, Severity.PAGE),
        ("6h", "30m", 6.0, Severity.PAGE),
        ("3d", "6h", 1.0, Severity.TICKET),
    ]


def test_a_few_late_deliveries_are_no_alert() -> None:
    """Two of two jobs in three days were late."""
    few = windows(lambda ago: 1 if ago in (0, CELL_S) else 0, total=1, seconds=2 * CELL_S)

    rates = burn_rates(few, target=TARGET, end_s=NOW_S)

    assert rates.rates["1h"] == pytest.approx(100)
    assert rates.alert is None


def test_what_is_recorded_again_counts_once_and_what_is_old_goes() -> None:
    found = windows(lambda ago: 3)
    before = found.as_json()

    for ago in (0, CELL_S, 2 * CELL_S):
        found.record(NOW_S - ago - CELL_S, Deliveries(3, 100))

    assert found.as_json()["cells"].keys() <= before["cells"].keys()
    assert burn_rates(found, target=TARGET, end_s=NOW_S) == burn_rates(
        windows(lambda ago: 3), target=TARGET, end_s=NOW_S
    )
    for step in range(1, 4 * WINDOWS["3d"] // CELL_S):
        found.record(NOW_S + step * CELL_S, Deliveries(1, 10))
    assert len(found.cells) <= 7 * 12
    assert len(found.hours) <= 74
    assert len(json.dumps(found.as_json())) < 5_000


def test_counts_come_back_from_json_as_they_were() -> None:
    found = windows(lambda ago: 1 if ago % HOUR_S else 2)

    assert windows_of(json.loads(json.dumps(found.as_json()))) == found


DAY = date(2026, 3, 4)


def day(back: int, share: float | None, total: int = 1_000, target: float = TARGET) -> SeriesDay:
    objective = Objective(seconds=5, target=target, is_met=None, share=share)
    row = QueueRow(
        day=DAY - timedelta(days=back),
        pool="default",
        namespace="ns",
        queue="q",
        figures=Figures(wait=Spread(count=total)),
        objective=objective,
        flagged=0,
    )
    return SeriesDay(day=row.day, has_report=True, row=row)


def test_a_budget_is_what_late_deliveries_of_its_days_have_left() -> None:
    """Of 30,000 deliveries 300 may be late; 5 of 1,000 were on each day, and 50 more on one of them."""
    series = [day(back, 0.945 if back == 10 else 0.995) for back in reversed(range(57))]

    budget = budget_of(series, target=TARGET, shown=28)

    assert [budget.total, budget.late, budget.allowed] == [30_000, 200, 300]
    assert budget.left == pytest.approx(1 / 3)
    left = {one.day: one.left for one in budget.series}
    assert len(left) == 28
    assert left[DAY - timedelta(days=11)] == pytest.approx(1 / 2)
    assert left[DAY - timedelta(days=10)] == pytest.approx(1 / 3)
    assert budget.series[-1].burned == pytest.approx(5 / 300)


def test_past_days_are_judged_by_the_target_that_they_had() -> None:
    """Twenty days of 1,000 deliveries with 0.9, ten with 0.99: 2,000 and 100 may be late, whatever holds now."""
    series = [day(back, 0.995, target=0.9 if back >= 10 else 0.99) for back in reversed(range(30))]

    for today in (0.9, 0.99):
        budget = budget_of(series, target=today, shown=1)
        assert (budget.late, budget.allowed) == (150, 2_100)
        assert budget.series[-1].left == pytest.approx(1 - 150 / 2_100)


def test_days_without_deliveries_or_reports_burn_nothing() -> None:
    missing = SeriesDay(day=DAY - timedelta(days=1), has_report=False, row=None)

    budget = budget_of([missing, day(0, None, 0)], target=TARGET, shown=2)

    assert budget.left is None
    assert [(one.left, one.burned) for one in budget.series] == [(None, None)] * 2


def test_burn_rates_are_on_the_page_of_metrics_for_those_who_may_see_the_namespace() -> None:
    burning = [
        BurningQueue(
            pool="default",
            namespace=namespace,
            queue="q",
            objective_s=1,
            rates=burn_rates(windows(lambda ago: 2), target=TARGET, end_s=NOW_S),
            until=datetime.fromtimestamp(NOW_S, UTC),
        )
        for namespace in ("ns", "secret")
    ]
    page = Page(visible={("default", "ns")})

    add_objectives(page, burning)

    lines = [line for line in page.text().splitlines() if line.startswith("taskq_objective_burn_rate{")]
    assert [line.partition("window=")[2].partition("}")[0] for line in lines] == [f'"{window}"' for window in WINDOWS]
    assert [float(line.rpartition(" ")[2]) for line in lines] == pytest.approx([2] * len(WINDOWS))
    assert "secret" not in page.text()


@pytest.mark.django_db
def test_burn_rates_are_computed_once_until_somebody_has_counted_again() -> None:
    shop = Namespace.objects.create(pool=Pool.objects.get(name="default"), name="shop")
    QueuePolicy.objects.create(namespace=shop, queue="orders", objective_s=5)
    now = datetime.fromtimestamp(NOW_S, UTC)
    counts = windows(lambda ago: 2).as_json()
    row = ObjectiveWindow.objects.create(namespace=shop, queue="orders", counts=counts, recorded_until=now)

    def look(seconds: int) -> tuple[list[float], int]:
        with CaptureQueriesContext(connection) as asked:
            found = list_burn_rates(pool="default", now=now + timedelta(seconds=seconds))
        return [round(one.rates.rates["1h"], 6) for one in found], sum(
            "counts" in query["sql"] for query in asked.captured_queries
        )

    assert look(1) == ([0.4], 1)
    assert [look(seconds) for seconds in (6, 11, 16)] == [([0.4], 0)] * 3
    row.counts = windows(lambda ago: 4).as_json()
    row.recorded_until = now + timedelta(seconds=CELL_S)
    row.save()
    assert look(CELL_S + 1) == ([0.8], 1)
    assert look(3 * CELL_S + CELL_S + 1) == ([], 0), "nobody has counted since"
    assert LISTED_FOR_S < CELL_S


@pytest.mark.parametrize(
    ("cells", "hours", "window", "since"),
    [
        ({0: (0, 9), 300: (2, 9), 600: (3, 9)}, {}, "1h", 600),
        ({0: (0, 9)}, {}, "1h", None),
        ({600: (1, 9)}, {0: (4, 99)}, "3d", 900),
        ({}, {0: (4, 99)}, "3d", HOUR_S),
    ],
)
def test_a_window_is_late_since_its_first_late_stretch_was_over(
    cells: dict[int, tuple[int, int]], hours: dict[int, tuple[int, int]], window: str, since: int | None
) -> None:
    windows = Windows(
        cells={begin: Deliveries(*counts) for begin, counts in cells.items()},
        hours={begin: Deliveries(*counts) for begin, counts in hours.items()},
    )

    assert windows.late_since(window, end_s=HOUR_S) == since
