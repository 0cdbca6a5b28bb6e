"""The pages of reports: what they tell of a day, how a day stands, and what is shown beside it."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import Any, Final

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from queues.models import Namespace, Pool, ReportDay, ReportState
from queues.services.recent import forget_recent
from queues.services.reporting.days import today, yesterday

from .people import BANK, POOL, SHOP, People
from .reported import JOB, Work, change, error, report_day, slow

pytestmark = pytest.mark.django_db

DAY: Final = yesterday()
AT: Final = f"/reports/{DAY}/"
OF_SHOP: Final = f"{AT}{POOL}/{SHOP}/"
OF_ORDERS: Final = f"{OF_SHOP}orders/"


def text_of(browser: Client, url: str, **query: str) -> str:
    """What people read on a page: without tags, blanks as one."""
    answer = browser.get(url, query)
    assert answer.status_code == 200, answer.status_code
    words = re.sub(r"<script.*?</script>|<[^>]*>", " ", answer.text, flags=re.S)
    return re.sub(r"\s+", " ", words)


def charts_of(browser: Client, url: str, **query: str) -> dict[str, dict[str, Any]]:
    """Title of each picture → its numbers."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', browser.get(url, query).text, re.S)
    charts = [json.loads(one) for one in found]
    return {chart["title"]: chart for chart in charts}


def values_of(chart: dict[str, Any], name: str) -> list[Any]:
    return next(one["values"] for one in chart["series"] if one["name"] == name)


def test_before_the_first_report_the_page_says_how_to_get_one(people: People) -> None:
    text = text_of(people.root.browser, "/reports/")

    assert "No reports yet" in text
    assert "at 02:10 UTC" in text
    assert "manage.py runreport" in text
    assert "manage.py demodata" in text
    assert "manage.py" not in text_of(people.bob.browser, "/reports/")


def test_reports_begin_with_the_newest_that_can_be_read(people: People) -> None:
    report_day(DAY - timedelta(days=1), [Work(published=3)])
    report_day(DAY, [], state=ReportState.FAILED, reported_at=None)

    answer = people.bob.browser.get("/reports/")

    assert (answer.status_code, answer["Location"]) == (302, f"/reports/{DAY - timedelta(days=1)}/")


@pytest.mark.parametrize(
    ("query", "location"),
    [
        (f"day={DAY}", AT),
        (f"day={DAY}&pool={POOL}&namespace={SHOP}", OF_SHOP),
        (f"day={DAY}&pool={POOL}&namespace={SHOP}&queue=orders", OF_ORDERS),
        ("day=never", f"/reports/{DAY}/"),
    ],
)
def test_the_field_for_a_day_leads_there(people: People, query: str, location: str) -> None:
    report_day(DAY, [Work(published=1)])

    assert people.bob.browser.get(f"/reports/?{query}")["Location"] == location


@pytest.mark.parametrize("day", ["2026-02-30", "yesterday", f"{today() + timedelta(days=1)}"])
def test_there_is_no_page_of_a_day_that_is_none_or_is_yet_to_come(people: People, day: str) -> None:
    assert people.root.browser.get(f"/reports/{day}/").status_code == 404


@pytest.mark.parametrize("url", [AT, OF_SHOP, OF_ORDERS])
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
    assert values_of(charts["Wait by hour: due → handed out"], "p99")[9:11] == [900, 30]
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


def test_sums_of_everything_stand_beside_the_median_of_past_weeks(people: People) -> None:
    for weeks, published in ((1, 10), (2, 20), (3, 60)):
        report_day(DAY - timedelta(weeks=weeks), [Work(published=published)])
    report_day(DAY, [Work(published=30)])

    assert "Published 30 50 % more (usual 20)" in text_of(people.bob.browser, AT)


def test_objectives_missed_come_first_and_are_named_missed(people: People) -> None:
    work = [Work(queue="slow", waits=[500] * 10 + [9_000] * 10), Work(queue="fast", waits=[1] * 5), Work(queue="idle")]
    said = {"slow": {"objective_s": 2}, "fast": {"objective_s": 2}, "idle": {"objective_s": 2}}
    report_day(DAY, work, said=said)

    text = text_of(people.bob.browser, OF_SHOP)

    assert "Objectives 1 of 2 met" in text
    assert "slow missed ≤ 2 s 9 s 50 % fast met ≤ 2 s 1 ms 100 % idle nothing handed out ≤ 2 s" in text
    assert "95 of 100 hand-outs within 2 s" in text_of(people.bob.browser, f"{OF_SHOP}slow/")


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


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["b", "c", "a"]),
        ({"sort": "queue"}, ["a", "b", "c"]),
        ({"sort": "-queue"}, ["c", "b", "a"]),
        ({"sort": "-wait_p95"}, ["a", "c", "b"]),
        ({"sort": "; drop"}, ["b", "c", "a"]),
        ({"q": "B"}, ["b"]),
        ({"only": "failing"}, ["c"]),
        ({"only": "missed"}, ["a"]),
        ({"page": "9"}, ["b", "c", "a"]),
    ],
)
def test_the_table_is_sorted_and_filtered_by_the_address(
    people: People, query: dict[str, str], names: list[str]
) -> None:
    work = [
        Work(queue="a", published=1, waits=[9_000]),
        Work(queue="b", published=3, waits=[1]),
        Work(queue="c", published=2, waits=[5], failed=1),
    ]
    report_day(DAY, work, said={"a": {"objective_s": 1}})

    page = people.bob.browser.get(OF_SHOP, query).text
    table = page[page.index('id="queues"') :]

    assert re.findall(rf'<th scope="row"><a href="{OF_SHOP}([a-z])/">', table) == names


def test_a_long_table_has_pages(people: People) -> None:
    report_day(DAY, [Work(queue=f"q{number:02}", published=100 - number) for number in range(60)])

    text = text_of(people.bob.browser, AT, page="2", q="q")

    assert "51–60 of 60 queues" in text
    assert 'href="?page=1&amp;q=q#queues"' in people.bob.browser.get(AT, {"page": "2", "q": "q"}).text


def test_two_days_stand_side_by_side(people: People) -> None:
    other = DAY - timedelta(days=3)
    report_day(other, [Work(published=50, waits=[7] * 3), Work(queue="gone", published=1)])
    report_day(DAY, [Work(published=100, waits=[14] * 3), Work(queue="new", published=2)])
    browser = people.bob.browser

    text = text_of(browser, OF_SHOP, **{"with": f"{other}"})
    charts = charts_of(browser, OF_SHOP, **{"with": f"{other}"})

    assert f"{DAY} beside {other}" in text
    assert "Published 102 51 100 % more" in text
    both = charts["Published by hour"]["series"]
    assert [(one["name"], one["values"][12]) for one in both] == [(f"{DAY}", 102), (f"{other}", 51)]
    assert "orders 100 50" in text
    assert "new 2 –" in text
    assert "gone – 1" in text


def test_a_day_of_which_nothing_is_known_can_be_compared_with(people: People) -> None:
    report_day(DAY, [Work(published=100)])

    text = text_of(people.bob.browser, AT, **{"with": "2020-01-01"})

    assert "Nothing is known of the other day" in text


def test_days_are_merged_and_not_averaged(people: People) -> None:
    report_day(DAY - timedelta(days=1), [Work(published=1, waits=[10] * 99)])
    report_day(DAY, [Work(published=1, waits=[100] * 1)])

    text = text_of(people.bob.browser, OF_ORDERS)

    assert "Published 1 2 2" in text
    assert "Wait p95 100 ms 10 ms 10 ms" in text
    assert "5 without reports" in text


def test_a_heat_map_shows_what_was_asked_for(people: People) -> None:
    report_day(DAY, [Work(hour=3, published=5, failed=2, waits=[8])])

    def shown(heat: str, title: str) -> list[Any]:
        chart = charts_of(people.bob.browser, OF_SHOP, heat=heat)[f"{title} by queue and hour"]
        return values_of(chart, "orders")[2:4]

    assert shown("failed", "Failed") == [0, 2]
    assert shown("wait", "Wait p95") == [None, 8]
    assert shown("everything", "Published") == [0, 5]


def test_the_picker_tells_how_each_day_stands(people: People) -> None:
    failed, demo, running = (DAY - timedelta(days=back) for back in (1, 2, 3))
    report_day(DAY, [Work(published=1)])
    report_day(failed, [], state=ReportState.FAILED, reported_at=None)
    report_day(demo, [Work(published=1)], demo=True)
    report_day(running, [], state=ReportState.RUNNING, reported_at=None, beat_at=timezone.now())

    page = people.bob.browser.get(AT).text

    marks = dict(re.findall(r'title="(\d{4}-\d\d-\d\d): ([^"]+)"', page))
    assert marks[f"{DAY}"] == "reported"
    assert marks[f"{failed}"] == "failed"
    assert marks[f"{demo}"] == "reported, from demo data"
    assert marks[f"{running}"] == "being computed"
    assert marks[f"{DAY - timedelta(days=4)}"] == "no report"
    assert len(re.findall(r'<li class="', page[page.index('<ol class="days">') : page.index("</ol>")])) == 35


def test_a_run_that_failed_says_why_to_superusers_and_leaves_the_report(people: People) -> None:
    report_day(DAY, [Work(published=77)], state=ReportState.FAILED, error="java.io.IOException: No space left")

    for_root, for_bob = text_of(people.root.browser, AT), text_of(people.bob.browser, AT)

    assert "No space left" in for_root
    assert "No space left" not in for_bob
    for text in (for_root, for_bob):
        assert "The nightly run for this day failed." in text
        assert "is still shown" in text
        assert "Published 77" in text


def test_a_run_under_way_is_followed_and_a_new_report_is_offered(people: People) -> None:
    running: dict[str, Any] = {
        "state": ReportState.RUNNING,
        "stage": "figures",
        "share": 0.428,
        "beat_at": timezone.now(),
    }
    report_day(DAY, [Work(published=1)], **running)
    page = people.bob.browser.get(AT).text
    found = re.search(r'data-live="([^"]+)"', page[page.index("<main") :])
    assert found is not None
    asked = found[1].replace("&amp;", "&")

    meanwhile = people.bob.browser.get(asked, headers={"X-Live": "1"}).text
    ReportDay.objects.update(state=ReportState.DONE, reported_at=timezone.now())
    afterwards = people.bob.browser.get(asked, headers={"X-Live": "1"}).text

    assert "This report is being computed: 42 %" in meanwhile
    assert "figures" in meanwhile
    assert "A newer report" not in meanwhile
    assert "A newer report of this day is there." in afterwards
    assert "<h1" not in afterwards


def test_a_run_that_fell_silent_is_not_taken_for_work(people: People) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    report_day(DAY, [], state=ReportState.RUNNING, reported_at=None, beat_at=long_ago, stage="reading")

    assert "is silent" in text_of(people.bob.browser, AT)


def test_warnings_are_told_and_their_texts_are_for_superusers(people: People) -> None:
    kinds = ["corrupt", "gap", "left_out", "compaction", "mail", "other"]
    told = [{"kind": kind, "text": f"secret {kind}"} for kind in kinds]
    report_day(DAY, [Work(published=1)], warnings=told, demo=True)

    for_root, for_bob = text_of(people.root.browser, AT), text_of(people.bob.browser, AT)

    assert all(f"secret {kind}" in for_root for kind in kinds)
    assert "secret" not in for_bob
    for text in (for_root, for_bob):
        assert "6 warnings about this report" in text
        assert "could not be read" in text
        assert "Events were lost" in text
        assert "Demo data" in text


def test_a_queue_without_events_leads_to_its_latest_day(people: People) -> None:
    report_day(DAY - timedelta(days=2), [Work(published=1)])
    report_day(DAY, [Work(queue="others", published=1)])

    page = people.bob.browser.get(OF_ORDERS).text

    assert "No event of this queue was recorded on this day." in page
    assert f'href="/reports/{DAY - timedelta(days=2)}/{POOL}/{SHOP}/orders/"' in page


def test_a_day_without_a_report_says_how_to_make_it(people: People) -> None:
    report_day(DAY, [Work(published=1)])
    missing: date = DAY - timedelta(days=1)

    assert f"runreport --date {missing}" in text_of(people.root.browser, f"/reports/{missing}/")
    assert "An administrator can." in text_of(people.bob.browser, f"/reports/{missing}/")


def test_the_summary_for_paper_holds_what_matters(people: People) -> None:
    said = {"": {"errors": [error("boom", failed=7, queue="orders")], "changes": [change("failed", 80, 10)]}}
    report_day(DAY, [Work(published=12, waits=[1], runs=[1], failed=7)], said=said)

    for url in (f"{AT}print/", f"{AT}print/?pool={POOL}&namespace={SHOP}"):
        text = text_of(people.bob.browser, url)
        for told in ("Daily summary", f"{DAY}", "Published 12", "boom orders 7", "Failed attempts 80", "orders"):
            assert told in text, told
    assert "Daily summary" in text_of(people.bob.browser, f"{AT}print/?pool={POOL}&namespace={SHOP}&queue=orders")


def test_the_page_of_a_queue_shows_percentiles_of_past_days(people: People) -> None:
    report_day(DAY - timedelta(days=1), [Work(waits=[5] * 3, runs=[9] * 3)])
    report_day(DAY, [Work(waits=[50] * 3, runs=[90] * 3)])

    for metric, values in (("wait", [5, 50]), ("run", [9, 90])):
        url = f"/reports/percentiles/{POOL}/{SHOP}/orders/{metric}"
        chart = people.bob.browser.get(url).json()
        assert values_of(chart, "p95")[-3:] == [*values, None]
        assert len(chart["x"]["values"]) == 28
    assert people.bob.browser.get(f"/reports/percentiles/{POOL}/{SHOP}/orders/total").status_code == 404


@pytest.mark.parametrize(("namespaces", "queues"), [(1, 2), (30, 10)])
def test_queries_do_not_depend_on_how_much_there_is(
    people: People, namespaces: int, queues: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    pool = Pool.objects.get(name=POOL)
    names = [SHOP, *(f"n{number}" for number in range(namespaces - 1))]
    for name in names[1:]:
        Namespace.objects.create(pool=pool, name=name).groups.add(*people.bob.user.groups.all())
    work = [Work(namespace=name, queue=f"q{number}", published=1) for name in names for number in range(queues)]
    report_day(DAY, [*work, Work(published=1)])

    for url in (AT, OF_SHOP, OF_ORDERS, f"{AT}?with={DAY - timedelta(days=1)}"):
        forget_recent()
        with django_assert_max_num_queries(30):
            people.bob.browser.get(url)
