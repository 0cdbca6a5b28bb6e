"""How a day's report stands: missing, under way, failed, incomplete; and how one comes to it."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.models import ReportDay, ReportState
from queues.services.reporting.reading.days import today

from .people import POOL, SHOP, People
from .report_reading import AT, DAY, OF_ORDERS, OF_SHOP, text_of
from .reported import Work, report_day

pytestmark = pytest.mark.django_db


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
    ids=["day", "namespace", "queue", "no day"],
)
def test_the_field_for_a_day_leads_there(people: People, query: str, location: str) -> None:
    report_day(DAY, [Work(published=1)])

    assert people.bob.browser.get(f"/reports/?{query}")["Location"] == location


def test_the_first_day_of_all_has_a_page_and_none_before(people: People) -> None:
    text = text_of(people.root.browser, "/reports/1970-01-01/")

    assert "1969" not in text


def test_what_nothing_can_be_called_is_not_found(people: People) -> None:
    report_day(DAY, [Work(published=1)])

    for path in ("", f"{DAY}/print/", f"{DAY}/table.csv"):
        for names in ("pool=a/b&namespace=c", f"pool={POOL}&namespace={SHOP}&queue=a%0Ab"):
            assert people.root.browser.get(f"/reports/{path}?{names}").status_code == 404, (path, names)


def test_there_is_no_page_of_a_day_that_is_none_or_is_yet_to_come(people: People) -> None:
    for day in ("0001-01-01", "1969-12-31", "2026-02-30", "yesterday", today() + timedelta(days=1)):
        assert people.root.browser.get(f"/reports/{day}/").status_code == 404, day


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

    assert "has stopped reporting" in text_of(people.bob.browser, AT)


def test_warnings_are_told_and_their_texts_are_for_superusers(people: People) -> None:
    kinds = ["corrupt", "gap", "backlog", "left_out", "compaction", "mail", "other"]
    told = [{"kind": kind, "text": f"secret {kind}"} for kind in kinds]
    report_day(DAY, [Work(published=1)], warnings=told, demo=True)

    for_root, for_bob = text_of(people.root.browser, AT), text_of(people.bob.browser, AT)

    page = people.bob.browser.get(AT).content.decode()
    assert '<ul class="warnings" tabindex="0">' in page, "a long list scrolls: keys must reach it"
    assert all(f"secret {kind}" in for_root for kind in kinds)
    assert "secret" not in for_bob
    for text in (for_root, for_bob):
        assert "7 warnings about this report" in text
        assert "could not be read" in text
        assert "Events were lost" in text
        assert "do not agree with the events" in text
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
    assert "An administrator can make one." in text_of(people.bob.browser, f"/reports/{missing}/")
