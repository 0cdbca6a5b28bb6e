"""What a report's pages tell of a day."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.models import Namespace, QueueDay
from queues.services.reporting.reading.days import today, yesterday

from .people import BANK, POOL, SHOP, People
from .report_reading import AT, DAY, OF_ORDERS, OF_SHOP, charts_of, text_of, values_of
from .reported import JOB, Work, change, error, report_day, slow
from .test_security_headers import INLINE

pytestmark = pytest.mark.django_db

# Named without their day: processes that collect before and after midnight have to agree on the names of tests.
at_each_scope = pytest.mark.parametrize("url", [AT, OF_SHOP, OF_ORDERS], ids=["all", "namespace", "queue"])


@at_each_scope
def test_the_figures_of_a_day_are_told(people: People, url: str) -> None:
    work = [
        Work(hour=9, published=1_000, waits=[10] * 95 + [900] * 5, runs=[20] * 90, failed=10, dead=7, backlog=900),
        Work(hour=10, published=234, waits=[30] * 100, runs=[40] * 99, expired=4, backlog=1_034),
    ]
    report_day(DAY, work)
    browser = people.bob.browser

    text = text_of(browser, url)
    charts = charts_of(browser, url)

    for told in ("Published 1.2 k", "Acked 189", "Success rate 94.5 %", "Dead 7", "Expired 4", "Wait p95 30 ms"):
        assert told in text
    published = values_of(charts["Jobs by hour"], "published")
    assert published == [0] * 9 + [1_000, 234] + [0] * 13
    assert values_of(charts["Wait by hour: due → delivered"], "p99")[9:11] == [900, 30]
    backlog = values_of(charts["Backlog at the end of each hour"], "jobs that are there")
    assert backlog == [None] * 9 + [900] + [1_034] * 14
    assert sum(values_of(charts["How long jobs waited"], "jobs")) == 200


def test_of_a_day_that_is_not_over_hours_to_come_are_not_drawn_as_quiet(people: People) -> None:
    report_day(today(), [Work(hour=0, published=5)], complete=False)

    text = text_of(people.bob.browser, f"/reports/{today()}/")
    published = values_of(charts_of(people.bob.browser, f"/reports/{today()}/")["Jobs by hour"], "published")

    assert "Not the whole day." in text
    begun = timezone.now().hour + 1
    assert published[0] == 5
    assert all(value is None for value in published[begun:])


def test_all_that_one_may_see_is_added_up_and_percentiles_come_from_all_values(people: People) -> None:
    Namespace.objects.get(name=BANK).groups.add(*people.bob.user.groups.all())
    work = [
        Work(published=10, waits=[100] * 90, runs=[1] * 5),
        Work(namespace=BANK, queue="book", published=5, waits=[5_000] * 10, runs=[1] * 5),
    ]
    report_day(DAY, work)

    text = text_of(people.bob.browser, AT)
    charts = charts_of(people.bob.browser, AT)

    assert "Published 15" in text
    assert "Wait p95 5 s" in text
    by_namespace = charts["Wait p95 by hour, of the busiest namespaces"]
    assert {one["name"]: one["values"][12] for one in by_namespace["series"]} == {SHOP: 100, BANK: 5_000}
    rows = [one["name"] for one in charts["Published by queue and hour"]["series"]]
    assert rows == [f"{SHOP}/orders", f"{BANK}/book"]


def test_what_is_out_of_line_is_said_in_words_and_beside_what_is_usual(people: People) -> None:
    told = [change("failed", 80, 10), change("success_rate", 0.871, 0.994), change("acked", 5, 5, flagged=False)]
    report_day(DAY, [Work(published=9, runs=[1] * 5, failed=80)], said={"orders": {"changes": told}})

    text = text_of(people.bob.browser, OF_ORDERS)

    assert "Failed attempts 80 ▲ out of line 8.0 times as much (usual 10)" in text
    assert "Success rate 87.1 % 99.4 % 12.3 points less" in text
    assert "Acked 5 the same (usual 5)" in text
    assert "Published 9 ▲" not in text


def test_what_usually_does_not_happen_is_said_not_to(people: People) -> None:
    told = [change("dead", 95, 0), change("acked", 5, 5, flagged=False)]
    report_day(DAY, [Work(runs=[1] * 5, dead=95)], said={"": {"changes": told}})

    text = text_of(people.bob.browser, AT)

    assert "Dead 95 ▲ out of line usually none" in text
    assert "Acked 5 the same (usual 5)" in text
    assert "Dead 95 ▲ usually none" in text_of(people.bob.browser, f"{AT}print/")


@pytest.mark.parametrize("weeks", [0, 1, 2, 3])
def test_nothing_is_called_usual_before_three_weeks(people: People, weeks: int) -> None:
    """Of several namespaces, whose sums have no verdicts."""
    Namespace.objects.get(name=BANK).groups.add(*people.bob.user.groups.all())
    work = [Work(runs=[1] * 5), Work(namespace=BANK, runs=[1])]
    for back in range(weeks):
        report_day(DAY - timedelta(weeks=back + 1), work)
    told = [change("acked", 5, 5, flagged=False, weeks=weeks)] if weeks else []
    report_day(DAY, [*work, Work(dead=95)], said={"": {"changes": told}})

    text = text_of(people.bob.browser, AT)

    assert "usually none" not in text
    if weeks < 3:
        assert "(usual" not in text
        assert f"it takes 3 past weeks of the same weekday, and there are {weeks}." in text
        assert "Nothing stands out" not in text
    else:
        assert "Acked 6 the same (usual 6)" in text
        assert "Nothing stands out against the same weekday of 3 past weeks." in text


def test_too_little_history_is_said_of_the_queue_that_lacks_it(people: People) -> None:
    of_shop = [change("published", 10, 10, flagged=False, weeks=8)]
    new = [change("published", 10, 1, flagged=False, weeks=1, verdict="too few weeks")]
    report_day(DAY, [Work(published=10)], said={"": {"changes": of_shop}, "orders": {"changes": new}})

    of_queue, of_namespace = (text_of(people.bob.browser, url) for url in (OF_ORDERS, OF_SHOP))

    assert "it takes 3 past weeks of the same weekday, and there are 1." in of_queue
    assert "(usual 1)" not in of_queue
    assert "Nothing stands out against the same weekday of 8 past weeks." in of_namespace
    assert "(usual 10)" in of_namespace


def test_what_is_better_than_usual_is_said_without_an_alarm(people: People) -> None:
    told = [change("failed", 2, 100, flagged=False, verdict="better")]
    report_day(DAY, [Work(runs=[1] * 5, failed=2)], said={"orders": {"changes": told}})

    text = text_of(people.bob.browser, OF_ORDERS)

    assert "Failed attempts 2 better than usual: 98 % less (usual 100)" in text
    assert "▼ Better than usual orders Failed attempts: 2 (usual 100)" in text
    assert "out of line" not in text
    assert "Better than usual: orders Failed attempts: 2 (usual 100)" in text_of(
        people.bob.browser, f"{AT}print/?pool=default&namespace={SHOP}&queue=orders"
    )


def test_a_bad_hour_is_named(people: People) -> None:
    told = [change("acked", 40, 40, flagged=False), change("acked", 0, 20, hour=10)]
    report_day(DAY, [Work(runs=[1] * 40)], said={"orders": {"changes": told}})

    text = text_of(people.bob.browser, OF_ORDERS)

    assert "Acked, 10:00 0 20 100 % less" in text
    assert "Acked 40 the same (usual 40)" in text


@pytest.mark.parametrize(
    ("of_day", "verdict", "words"),
    [
        ({}, "holiday", "A holiday: it is not compared with the same weekday of past weeks."),
        ({"complete": False}, "incomplete", "The day is not over; then it is compared with past weeks."),
    ],
)
def test_why_a_day_was_not_compared_is_said(people: People, of_day: dict[str, Any], verdict: str, words: str) -> None:
    told = [change("acked", 5, 50, flagged=False, verdict=verdict)]
    report_day(DAY, [Work(runs=[1] * 5)], said={"orders": {"changes": told}}, **of_day)

    text = text_of(people.bob.browser, OF_ORDERS)

    assert words in text
    assert "Nothing stands out" not in text


def test_a_queue_with_an_objective_shows_what_is_left_of_its_budget(people: People) -> None:
    said = {"orders": {"objective_s": 1, "objective_target": 0.9}}
    for back in range(40):
        late = 1 if back < 20 else 2
        report_day(DAY - timedelta(days=back), [Work(waits=[10] * (20 - late) + [5_000] * late)], said=said)

    text = text_of(people.bob.browser, OF_ORDERS)

    assert "90 % of deliveries within 1 s" in text
    assert "Error budget left 33.3 %" in text
    assert "Of its 30 days: 40 late deliveries, 60 allowed." in text
    budget = charts_of(people.bob.browser, OF_ORDERS)["Error budget by day"]
    assert len(budget["x"]["values"]) == 28
    assert [one["values"][-1] for one in budget["series"]] == [pytest.approx(100 / 3), pytest.approx(100 / 60)]


@at_each_scope
def test_all_that_is_known_of_times_stands_in_one_table(people: People, url: str) -> None:
    report_day(DAY, [Work(waits=[10] * 9 + [1_500], runs=[2_000, 4_000])])
    QueueDay.objects.update(lateness_count=3, lateness_mean=1.5, lateness_p90=2, lateness_max=7)

    text = text_of(people.bob.browser, url)

    assert "Measure Count Mean p50 p90 p95 p99 Longest" in text
    assert "Wait due → delivered 10 159 ms 10 ms 10 ms 1.5 s 1.5 s 1.5 s" in text
    assert "Run delivered → acked 2 3 s 2 s 4 s 4 s 4 s 4 s" in text
    assert "End to end published → acked 0 – – – – – –" in text
    assert "Lateness due → ready 3 2 ms – 2 ms – – 7 ms" in text


def test_the_first_and_last_event_are_told_in_the_zone_of_the_day(people: People) -> None:
    report_day(DAY, [Work(published=1)])
    midnight = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
    QueueDay.objects.update(first_at=midnight, last_at=midnight + timedelta(hours=23, minutes=59))

    assert "00:00:00 – 23:59:00 UTC" in text_of(people.bob.browser, OF_ORDERS)


def test_objectives_missed_come_first_and_are_named_missed(people: People) -> None:
    work = [Work(queue="slow", waits=[500] * 10 + [9_000] * 10), Work(queue="fast", waits=[1] * 5), Work(queue="idle")]
    said = {"slow": {"objective_s": 2}, "fast": {"objective_s": 2}, "idle": {"objective_s": 2}}
    report_day(DAY, work, said=said)

    text = text_of(people.bob.browser, OF_SHOP)

    assert "Objectives 1 of 2 met" in text
    assert "slow missed 95 % ≤ 2 s 9 s 50 % fast met 95 % ≤ 2 s 1 ms 100 % idle nothing delivered 95 % ≤ 2 s" in text
    assert "95 % of deliveries within 2 s" in text_of(people.bob.browser, f"{OF_SHOP}slow/")


def test_errors_and_slow_jobs_lead_to_the_job(people: People) -> None:
    said = {
        "": {
            "errors": [error("boom <n>", failed=41, dead=3, queue="orders")],
            "slowest": [slow("wait", 125_000, queue="orders"), slow("run", 61_000, queue="orders")],
        }
    }
    report_day(DAY, [Work(failed=41, dead=3, waits=[1])], said=said)

    for url in (AT, OF_SHOP):
        page = people.bob.browser.get(url).text
        assert page.count(f'href="/queues/{POOL}/{SHOP}/orders/jobs/{JOB}/"') == 3
        text = text_of(people.bob.browser, url)
        assert "boom <n>" in text.replace("&lt;", "<").replace("&gt;", ">")
        assert "2.1 min" in text


def test_what_strangers_wrote_is_shown_harmlessly(people: People) -> None:
    hostile = "<script>alert(1)</script>\u202egnp.exe"
    said = {
        "orders": {"errors": [error(hostile)], "slowest": [slow("run", 5, worker=hostile), slow("wait", 5)]},
        "": {"errors": [error(hostile, queue="orders")]},
    }
    report_day(DAY, [Work(failed=1, waits=[1])], said=said, warnings=[{"kind": "corrupt", "text": hostile}])

    for url in (AT, OF_SHOP, OF_ORDERS, f"{AT}print/"):
        page = people.root.browser.get(url).text
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert not re.search(r'="[^"]*<mark', page), "a mark stands in an attribute, which it ends"


def test_a_heat_map_shows_what_was_asked_for(people: People) -> None:
    report_day(DAY, [Work(hour=3, published=5, failed=2, waits=[8])])

    def shown(heat: str, title: str) -> list[Any]:
        chart = charts_of(people.bob.browser, OF_SHOP, heat=heat)[f"{title} by queue and hour"]
        return values_of(chart, "orders")[2:4]

    assert shown("failed", "Failed") == [0, 2]
    assert shown("wait", "Wait p95") == [None, 8]
    assert shown("everything", "Published") == [0, 5]


def test_the_summary_for_paper_holds_what_matters(people: People) -> None:
    said = {"": {"errors": [error("boom", failed=7, queue="orders")], "changes": [change("failed", 80, 10)]}}
    report_day(DAY, [Work(published=12, waits=[1], runs=[1], failed=7)], said=said)

    for url in (f"{AT}print/", f"{AT}print/?pool={POOL}&namespace={SHOP}"):
        text = text_of(people.bob.browser, url)
        for told in ("Daily summary", f"{DAY}", "Published 12", "boom orders", "Failed attempts 80", "orders"):
            assert told in text, told
    assert "Daily summary" in text_of(people.bob.browser, f"{AT}print/?pool={POOL}&namespace={SHOP}&queue=orders")


def test_the_page_of_a_queue_shows_percentiles_of_past_days(people: People) -> None:
    report_day(yesterday() - timedelta(days=1), [Work(waits=[5] * 3, runs=[9] * 3)])
    report_day(yesterday(), [Work(waits=[50] * 3, runs=[90] * 3)])

    for metric, values in (("wait", [5, 50]), ("run", [9, 90])):
        url = f"/reports/percentiles/{POOL}/{SHOP}/orders/{metric}"
        chart = people.bob.browser.get(url).json()
        assert values_of(chart, "p95")[-3:] == [*values, None]
        assert len(chart["x"]["values"]) == 28
    assert people.bob.browser.get(f"/reports/percentiles/{POOL}/{SHOP}/orders/total").status_code == 404


def test_nothing_stands_inline(people: People) -> None:
    report_day(DAY, [Work(published=1, waits=[1], runs=[1])])

    for path in ("", f"{POOL}/{SHOP}/", f"{POOL}/{SHOP}/orders/", "print/", "?with=2020-01-01"):
        assert INLINE.findall(people.root.browser.get(AT + path).text) == [], path
