"""The forecast of the coming days: what it is made of, its error, not enough history, downloads, and whose it is."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any, Final

import pytest
from pytest_django import DjangoAssertNumQueries

from queues.models import Namespace, QueueDay, ReportDay
from queues.services.reporting.planning.forecasts import RECORD_BYTES
from queues.services.reporting.reading.days import yesterday

from .people import BANK, POOL, SHOP, People
from .report_reading import charts_of, text_of, values_of
from .reported import Work, report_day

pytestmark = pytest.mark.django_db

DAY: Final = yesterday()
PAGE: Final = "/reports/forecast/"
OF_SHOP: Final = {"pool": POOL, "namespace": SHOP}
OF_ORDERS: Final = OF_SHOP | {"queue": "orders"}


def jobs_of(back: int) -> int:
    """So many days ago: fewer on two days of the week."""
    return 40 if (DAY - timedelta(days=back)).weekday() >= 5 else 100


def report_weeks(weeks: int) -> None:
    """A job of `orders` runs 36 s; three quarters of them in the hour 12, at whose end 10 are left."""
    for back in range(7 * weeks):
        most, rest = jobs_of(back) * 3 // 4, jobs_of(back) // 4
        work = [
            Work(hour=12, published=most, waits=[5], runs=[36_000] * most, backlog=10),
            Work(hour=15, published=rest, runs=[36_000] * rest, backlog=0),
        ]
        report_day(DAY - timedelta(days=back), work)
    QueueDay.objects.filter(queue="orders").update(bytes=80_000)


def json_of(people: People, **query: str) -> list[dict[str, Any]]:
    answer = people.bob.browser.get("/reports/forecast.json", query)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["forecasts"]
    return found


def test_the_rhythm_of_weeks_goes_on(people: People) -> None:
    report_weeks(5)

    (told,) = json_of(people, **OF_ORDERS)

    expected = [jobs_of(-ahead) for ahead in range(1, 15)]
    assert [one["day"] for one in told["ahead"]] == [f"{DAY + timedelta(days=ahead)}" for ahead in range(1, 15)]
    assert [round(one["jobs"]["expected"], 6) for one in told["ahead"]] == expected
    assert [round(one["run_s"]["expected"], 3) for one in told["ahead"]] == [jobs * 36 for jobs in expected]
    # 75 jobs of 36 s in an hour are 0.75 of a consumer's; 30 of them 0.3.
    assert {one["consumers"]["expected"] for one in told["ahead"]} == {1}
    assert [one["backlog"]["expected"] for one in told["ahead"]] == pytest.approx([10] * 14)
    body = 80_000 * 14 / sum(jobs_of(back) for back in range(14))
    assert told["ahead"][0]["memory_bytes"]["expected"] == pytest.approx(10 * (body + RECORD_BYTES))
    assert told["backtest"]["jobs"]["mape"] == pytest.approx(0)
    assert told["backtest"]["jobs"]["covered"] == 1
    assert told["peak_share"] == 0.75


def test_the_page_draws_the_past_and_what_is_expected_with_its_error(people: People) -> None:
    report_weeks(5)

    text = text_of(people.bob.browser, PAGE, **OF_ORDERS)
    chart = charts_of(people.bob.browser, PAGE, **OF_ORDERS)["Jobs published by day"]

    assert "How far off forecasts were" in text
    assert "Jobs &lt; 0.01 % – 100 % 35 days, from 3 weeks" in text
    assert values_of(chart, "actual") == [jobs_of(back) for back in reversed(range(35))] + [None] * 14
    assert values_of(chart, "expected")[:35] == [None] * 35
    assert values_of(chart, "at most")[35:] == pytest.approx([jobs_of(-ahead) for ahead in range(1, 15)])


def test_a_namespace_lists_its_queues_and_all_of_them_the_namespaces(people: People) -> None:
    report_weeks(4)

    assert f"{SHOP} {POOL} 83 " in text_of(people.bob.browser, PAGE)
    assert "orders 83 " in text_of(people.bob.browser, PAGE, **OF_SHOP)
    rows = list(csv.DictReader(io.StringIO(people.bob.browser.get("/reports/forecast.csv").text)))
    assert len(rows) == 14
    assert {row["namespace"] for row in rows} == {SHOP}
    assert float(rows[0]["jobs_expected"]) == pytest.approx(jobs_of(-1))
    assert rows[0]["backlog_high"] == ""
    assert float(rows[0]["jobs_mape"]) == pytest.approx(0)


@pytest.mark.parametrize("lack", ["two weeks", "events", "unfinished"])
def test_less_than_three_weeks_are_said_to_be_too_little(people: People, lack: str) -> None:
    report_weeks(2 if lack == "two weeks" else 3)
    if lack == "events":
        ReportDay.objects.filter(date=DAY).update(warnings=[{"kind": "gap", "text": "12 events"}])
    if lack == "unfinished":
        ReportDay.objects.filter(date=DAY).update(complete=False)
    known = 14 if lack == "two weeks" else 20

    text = text_of(people.bob.browser, PAGE, **OF_ORDERS)

    assert "Not enough history" in text
    assert f"There are {known}." in text
    assert f"not enough history: {known} of 21 days" in text_of(people.bob.browser, PAGE)
    assert json_of(people, **OF_ORDERS)[0]["error"] == f"not enough history: {known} of 21 days"


def test_of_three_weeks_there_is_a_forecast_with_an_error_of_one(people: People) -> None:
    report_weeks(3)

    (told,) = json_of(people, **OF_ORDERS)

    assert told["days_known"] == 21
    assert (told["backtest"]["jobs"]["weeks"], told["backtest"]["jobs"]["days"]) == (1, 7)


def test_a_queue_that_is_silent_for_days_has_no_jobs_then(people: People) -> None:
    report_weeks(5)
    QueueDay.objects.filter(queue="orders", day__in=[DAY - timedelta(days=7 * back) for back in range(5)]).delete()

    (told,) = json_of(people, **OF_ORDERS)

    assert [round(one["jobs"]["expected"]) for one in told["ahead"]][6::7] == [0, 0]


def test_there_is_an_answer_where_nothing_is_known(people: People) -> None:
    assert "There are no reports yet." in text_of(people.bob.browser, PAGE)
    assert "There are 0." in text_of(people.bob.browser, PAGE, **OF_ORDERS)
    assert json_of(people, **OF_ORDERS) == []


def test_demo_data_is_called_so(people: People) -> None:
    report_weeks(3)
    assert "Demo data" not in text_of(people.bob.browser, PAGE)

    ReportDay.objects.filter(date=DAY).update(demo=True)

    assert "Demo data" in text_of(people.bob.browser, PAGE)
    assert json_of(people, **OF_ORDERS)[0]["has_demo"] is True


def test_nobody_learns_what_others_expect(people: People) -> None:
    report_day(DAY, [Work(namespace=BANK, queue="vault", published=99)])

    for url in (PAGE, "/reports/forecast.csv", "/reports/forecast.json"):
        assert "vault" not in people.bob.browser.get(url).text
        assert BANK not in people.bob.browser.get(url).text
        for queue in ({}, {"queue": "vault"}):
            query = {"pool": POOL, "namespace": BANK} | queue
            assert people.bob.browser.get(url, query).status_code == 404


def test_many_namespaces_cost_no_more_queries(
    people: People, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    home = Namespace.objects.get(pool__name=POOL, name=SHOP)
    for number in range(30):
        Namespace.objects.create(pool=home.pool, name=f"ns-{number}").groups.set(home.groups.all())
    work = [Work(namespace=f"ns-{number}", published=number + 1) for number in range(30)]
    ReportDay.objects.all().delete()
    for back in range(3):
        report_day(DAY - timedelta(days=back), work)

    with django_assert_max_num_queries(20):
        text = text_of(people.bob.browser, PAGE)

    assert "ns-29" in text
    assert "ns-3 " not in text  # the 20 busiest
