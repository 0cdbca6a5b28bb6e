"""The tables of reports as CSV."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any, Final

import pytest
from django.test import Client

from dashboard.views.reports.download import ROWS
from queues.services.reporting.reading.days import yesterday
from tests.support.rows import in_one_test

from .people import BANK, POOL, SHOP, People
from .reported import JOB, Work, change, error, report_day, slow

pytestmark = pytest.mark.django_db

DAY: Final = yesterday()
URL: Final = f"/reports/{DAY}/table.csv"
OF_SHOP: Final = {"pool": POOL, "namespace": SHOP}
OF_ORDERS: Final = OF_SHOP | {"queue": "orders"}


@pytest.fixture
def reported(people: People) -> None:
    """A day of the shop and of the bank, and the day before."""
    said: dict[str, dict[str, Any]] = {
        "": {
            "errors": [error("=cmd()", failed=4, dead=1, queue="orders")],
            "slowest": [slow("run", 7, queue="orders")],
        },
        "orders": {
            "errors": [error("=cmd()", failed=4, dead=1)],
            "tries": [{"attempt": 2, "outcome": "acked", "jobs": 3}],
            "changes": [change("failed", 4, 1)],
            "objective_s": 1,
        },
    }
    work = [Work(hour=5, published=8, waits=[10, 20], runs=[3], failed=4), Work(queue="post", published=1)]
    report_day(DAY - timedelta(days=1), [Work(published=2)])
    report_day(DAY, [*work, Work(namespace=BANK, queue="vault", published=99)], said=said)


def rows_of(browser: Client, table: str, **query: str) -> list[dict[str, str]]:
    answer = browser.get(URL, {"table": table} | query)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith(f'attachment; filename="taskq-{DAY}')
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.mark.usefixtures("reported")
def test_the_queues_come_as_they_are_filtered_and_sorted(people: People) -> None:
    rows = rows_of(people.bob.browser, "queues", sort="queue")

    assert [(row["queue"], row["published"], row["wait_p95"]) for row in rows] == [
        ("orders", "8", "20"),
        ("post", "1", ""),
    ]
    assert [row["queue"] for row in rows_of(people.bob.browser, "queues", q="pos")] == ["post"]


@pytest.mark.usefixtures("reported")
def test_hours_and_days_have_all_figures(people: People) -> None:
    for place in ({}, OF_SHOP):
        hours = rows_of(people.bob.browser, "hours", **place)
        assert [(row["hour"], row["published"], row["wait_max"]) for row in hours] == [
            ("5", "8", "20"),
            ("12", "1", ""),
        ]
        days = rows_of(people.bob.browser, "days", **place)
        assert [row["published"] for row in days] == ["2", "9"]


@pytest.mark.usefixtures("reported")
def test_a_strangers_text_is_no_formula(people: People) -> None:
    (row,) = rows_of(people.bob.browser, "errors", **OF_ORDERS)

    assert (row["error"], row["failed"], row["dead"], row["job"]) == ("'=cmd()", "4", "1", JOB)


@pytest.mark.usefixtures("reported")
def test_the_smaller_tables_come_too(people: People) -> None:
    browser = people.bob.browser

    assert [row["namespace"] for row in rows_of(browser, "namespaces")] == [SHOP]
    assert [(row["metric"], row["ms"]) for row in rows_of(browser, "slowest")] == [("run", "7")]
    assert rows_of(browser, "tries", **OF_ORDERS) == [
        {"attempt": "2", "outcome": "acked", "jobs": "3", "at_least": "false"}
    ]
    assert [row["usual"] for row in rows_of(browser, "changes", **OF_ORDERS)] == ["1"]
    for place in ({}, OF_SHOP, OF_ORDERS):
        times = {row["metric"]: row for row in rows_of(browser, "times", **place)}
        assert list(times) == ["wait", "run", "total", "lateness"]
        assert [times["wait"][part] for part in ("count", "mean", "p50", "max")] == ["2", "15.0", "10", "20"]
        (row,) = rows_of(browser, "objectives", **place)
        assert (row["queue"], row["objective_met"], row["objective_share"]) == ("orders", "true", "1.0")
    beside = {row["figure"]: row for row in rows_of(browser, "figures", **{"with": f"{DAY - timedelta(days=1)}"})}
    assert (beside["published"]["value"], beside["published"]["other"]) == ("9", "2")


@pytest.mark.usefixtures("reported")
@in_one_test("table", ["queues", *ROWS])
def test_anothers_namespace_is_in_no_table(people: People, table: str) -> None:
    for query in ({}, {"namespace": "vault"}, {"queue": "vault", "q": "vault"}):
        told = people.bob.browser.get(URL, {"table": table} | query).text
        assert "vault" not in told
        assert ",99," not in told
    for place in ({}, {"queue": "vault"}):
        refused = people.bob.browser.get(URL, {"table": table, "pool": POOL, "namespace": BANK} | place)
        assert refused.status_code == 404


def test_there_is_no_other_table(people: People) -> None:
    assert people.root.browser.get(URL, {"table": "users"}).status_code == 404
