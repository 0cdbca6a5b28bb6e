"""What namespaces used and what it costs: exact sums, prices, ranges, downloads, and nothing of other people's."""

from __future__ import annotations

import csv
import io
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from queues.models import QueueDay, ReportDay
from queues.services.reporting.planning.costs import GIB, Prices, Usage, read_daily_usage, read_usage
from queues.services.reporting.reading.days import yesterday
from tests.support.rows import in_one_test

from .people import BANK, POOL, SHOP, People
from .report_reading import charts_of, text_of, values_of
from .reported import Work, report_day

pytestmark = pytest.mark.django_db

DAY: Final = yesterday()
BEFORE: Final = DAY - timedelta(days=1)
PAGE: Final = "/reports/cost/"
SPAN: Final = {"from": f"{BEFORE}", "to": f"{DAY}"}
PRICED: Final = override_settings(
    TASKQ_COST_CURRENCY="EUR",
    TASKQ_COST_RUN_SECOND=Decimal("0.5"),
    TASKQ_COST_MILLION_JOBS=Decimal(2_000_000),
    TASKQ_COST_GIB=Decimal(3),
)


@pytest.fixture(autouse=True)
def reported(people: People) -> None:
    """Two days of the shop, and one of the bank."""
    report_day(BEFORE, [Work(published=3, runs=[1_000, 3_000])])
    report_day(
        DAY,
        [
            Work(published=1, runs=[7, 7, 8]),
            Work(queue="post", published=2, runs=[10_000]),
            Work(namespace=BANK, queue="vault", published=99, runs=[77_777]),
        ],
    )
    QueueDay.objects.filter(namespace=SHOP, queue="", day=DAY).update(bytes=GIB)
    QueueDay.objects.filter(namespace=SHOP, queue="post").update(bytes=GIB)


def test_a_page_reads_days_of_what_it_draws_and_no_other(people: People) -> None:
    """Fifty namespaces more, of which none is drawn."""
    user = people.root.user
    report_day(BEFORE, [Work(namespace=f"other-{number}", published=1) for number in range(50)])
    usage = read_usage(user=user, begin=BEFORE, end=DAY)
    drawn = [one for one in usage.scopes if one.namespace in (SHOP, BANK)]
    with CaptureQueriesContext(connection) as asked:
        daily = read_daily_usage(user=user, begin=BEFORE, end=DAY, scopes=drawn)
    with connection.cursor() as cursor:
        (query,) = [one["sql"] for one in asked if "queueday" in one["sql"]]
        found = cursor.execute(query).fetchall()

    assert len(found) == len(daily)
    assert {one.namespace for one in daily} == {SHOP, BANK}


def rows_of(browser: Client, **query: str) -> list[dict[str, str]]:
    answer = browser.get("/reports/cost.csv", query)
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith('attachment; filename="taskq-cost-')
    return list(csv.DictReader(io.StringIO(answer.text)))


def json_of(browser: Client, **query: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.get("/reports/cost.json", query).json()
    return found


@PRICED
def test_a_range_adds_up_to_the_last_millisecond(people: People) -> None:
    told = json_of(people.bob.browser, **SPAN)

    # 14.022 s at 0.5, 6 jobs at 2, 1 GiB at 3
    assert told["total"] == {"jobs": 6, "bytes": GIB, "run_s": 14.022, "cost": 7.011 + 12 + 3}
    assert told["rows"] == [{"pool": POOL, "namespace": SHOP, **told["total"]}]
    assert (told["currency"], told["prices"]) == ("EUR", {"run_second": 0.5, "million_jobs": 2e6, "gib": 3.0})
    assert told["days_without_report"] == told["days_at_least"] == []


@PRICED
def test_a_namespace_is_told_queue_by_queue(people: People) -> None:
    rows = rows_of(people.bob.browser, **SPAN, pool=POOL, namespace=SHOP)

    assert [(row["queue"], row["jobs"], row["run_s"], row["cost"], row["currency"]) for row in rows] == [
        ("post", "2", "10.0", "12.0", "EUR"),
        ("orders", "4", "4.022", "10.011", "EUR"),
    ]


def test_day_by_day(people: People) -> None:
    rows = rows_of(people.bob.browser, **SPAN, by="day")

    assert [(row["day"], row["namespace"], row["jobs"], row["run_s"], row["cost"]) for row in rows] == [
        (f"{BEFORE}", SHOP, "3", "4.0", ""),
        (f"{DAY}", SHOP, "3", "10.022", ""),
    ]
    assert [one["day"] for one in json_of(people.bob.browser, **SPAN, by="day")["rows"]] == [f"{BEFORE}", f"{DAY}"]


@PRICED
def test_the_page_tells_what_it_costs_and_draws_it(people: People) -> None:
    text = text_of(people.bob.browser, PAGE, **SPAN)
    chart = charts_of(people.bob.browser, PAGE, **SPAN, pool=POOL, namespace=SHOP)["Run time by day"]

    assert "22.01 EUR 0.5 per second · 2000000 per million jobs · 3 per GiB" in text
    assert f"{SHOP} {POOL} 14 s 100 % 6 1 GiB 22.01 EUR" in text
    assert values_of(chart, "orders") == [4_000, 22]
    assert values_of(chart, "post") == [0, 10_000]


def test_without_prices_only_what_was_used_is_told(people: People) -> None:
    text = text_of(people.bob.browser, PAGE, **SPAN)

    assert "no prices are set (TASKQ_COST_…)" in text
    assert json_of(people.bob.browser, **SPAN)["total"]["cost"] is None


def test_days_without_a_report_and_days_that_lack_events_are_named(people: People) -> None:
    ReportDay.objects.filter(date=BEFORE).update(warnings=[{"kind": "gap", "text": "12 events"}])
    query = SPAN | {"from": f"{DAY - timedelta(days=3)}"}

    told = json_of(people.bob.browser, **query)
    text = text_of(people.bob.browser, PAGE, **query)
    rows = rows_of(people.bob.browser, **query, by="day")

    assert told["days_without_report"] == [f"{DAY - timedelta(days=3)}", f"{DAY - timedelta(days=2)}"]
    assert told["days_at_least"] == [f"{BEFORE}"]
    assert "2 days of this time have no report" in text
    assert "Of 1 day events are missing" in text
    assert "Jobs at least 6" in text
    assert [row["at_least"] for row in rows] == ["true", "false"]


@pytest.mark.parametrize(
    "query", [{}, {"from": "yesterday"}, {"from": f"{DAY}", "to": f"{BEFORE}"}, {"to": "9999-01-01"}]
)
def test_a_range_that_is_none_becomes_the_last_four_weeks(people: People, query: dict[str, str]) -> None:
    told = json_of(people.bob.browser, **query)

    assert date.fromisoformat(told["to"]) - date.fromisoformat(told["from"]) == timedelta(days=27)
    assert told["total"]["jobs"] in (3, 6)


def test_nobody_learns_what_others_use(people: People) -> None:
    for url in (PAGE, "/reports/cost.csv", "/reports/cost.json"):
        for by in ("", "day"):
            told = people.bob.browser.get(url, SPAN | {"by": by}).text
            assert BANK not in told
            assert "77.777" not in told
        assert people.bob.browser.get(url, SPAN | {"pool": POOL, "namespace": BANK}).status_code == 404
    assert json_of(people.root.browser, **SPAN)["total"]["jobs"] == 105


def test_days_without_reports_have_an_answer(people: People) -> None:
    text = text_of(people.bob.browser, PAGE, **{"from": "2020-01-01", "to": "2020-01-31"})

    assert "No report of these days" in text


@pytest.fixture
def one_row(people: People) -> QueueDay:
    QueueDay.objects.exclude(queue="").delete()
    row = QueueDay.objects.filter(namespace=SHOP, day=DAY).get()
    QueueDay.objects.exclude(pk=row.pk).delete()
    return row


@in_one_test(
    ("total", "count"), [(1, 3), (2**51 - 1, 7), (2**51 - 1, 999_999_937), (10**15 + 1, 10**9 + 7), (22, 3), (0, 1)]
)
def test_the_sum_comes_back_from_mean_and_count(people: People, one_row: QueueDay, total: int, count: int) -> None:
    """A mean is kept as a double, from which the sum is computed by the database."""
    QueueDay.objects.filter(pk=one_row.pk).update(run_mean=total / count, run_count=count)

    usage = read_usage(user=people.root.user, begin=DAY, end=DAY)

    assert usage.total.run_ms == total


@given(st.integers(0, 2**51 - 1), st.integers(1, 2**40))
def test_no_sum_is_lost_in_a_mean(total: int, count: int) -> None:
    assert round(total / count * count) == total


def test_what_has_no_price_costs_nothing() -> None:
    usage = Usage(jobs=2_000_000, bytes=GIB, run_ms=1_500)

    assert Prices().cost_of(usage) is None
    assert Prices(run_second=Decimal("0.1")).cost_of(usage) == Decimal("0.15")
    assert Prices(million_jobs=Decimal("0.4"), gib=Decimal(0)).cost_of(usage) == Decimal("0.8")
