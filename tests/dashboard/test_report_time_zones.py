"""Pages, paper and CSV of a namespace with a time zone: its day, its hours, and which zone that is."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from queues.models import Namespace, QueueDay
from queues.services.reporting.reading import days

from .people import BANK, POOL, SHOP, People
from .reported import Work, report_day

pytestmark = pytest.mark.django_db

DAY = date(2026, 3, 29)
ZONE = "Europe/Berlin"
PAGE = f"/reports/{DAY}/{POOL}/{SHOP}/"


@pytest.fixture
def zoned(people: People) -> People:
    """Of `shop` a day of UTC with 3 jobs, and one of its own with 8 at 04:00, on which clocks were set forward."""
    shop = Namespace.objects.get(name=SHOP)
    shop.time_zone, shop.time_zone_changes = ZONE, [["0001-01-01", ZONE]]
    shop.save()
    report_day(DAY, [Work(hour=4, published=8), Work(namespace=BANK, hour=1, published=20)])
    first = datetime(2026, 3, 29, 2, 0, 5, tzinfo=UTC)
    QueueDay.objects.filter(namespace=SHOP).update(local_date=DAY, time_zone=ZONE, complete=True, first_at=first)
    report_day(DAY, [Work(hour=2, published=3)])
    QueueDay.objects.filter(namespace=SHOP, local_date=None).update(is_own=False)
    return people


def text_of(people: People, url: str) -> str:
    answer = people.alice.browser.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def test_its_pages_are_of_its_day_and_say_so(zoned: People) -> None:
    page, of_queue = text_of(zoned, PAGE), text_of(zoned, f"{PAGE}orders/")

    for text in (page, of_queue):
        assert "days and hours of Europe/Berlin" in text
        assert "Clocks were set forward: the day has 23 hours. That of 02:00 is missing or shorter." in text
        assert "days and hours are UTC" not in text
    assert "04:00:05" in of_queue
    paper = text_of(zoned, f"/reports/{DAY}/print/?pool={POOL}&namespace={SHOP}")
    assert "midnight to midnight, Europe/Berlin" in paper
    hours = text_of(zoned, f"/reports/{DAY}/table.csv?table=hours&pool={POOL}&namespace={SHOP}").splitlines()
    assert hours[0].endswith("at_least,time_zone")
    assert hours[1].startswith("2026-03-29,4,8,")
    assert hours[1].endswith("false,Europe/Berlin")
    queues = text_of(zoned, f"/reports/{DAY}/table.csv?pool={POOL}&namespace={SHOP}").splitlines()
    assert queues[1].startswith("2026-03-29,default,shop,orders,8,")
    assert queues[1].endswith("false,Europe/Berlin")


def test_what_is_told_of_everything_is_of_utc(zoned: People) -> None:
    page = text_of(zoned, f"/reports/{DAY}/")

    assert "days and hours are UTC" in page
    queues = text_of(zoned, f"/reports/{DAY}/table.csv").splitlines()
    assert [line.split(",")[:5] for line in queues[1:]] == [["2026-03-29", "default", "shop", "orders", "3"]]
    assert "time_zone" not in queues[0]


def test_events_that_either_day_of_utc_lacks_may_be_lacking(zoned: People) -> None:
    assert "At least." not in text_of(zoned, PAGE)
    report_day(date(2026, 3, 28), [], warnings=[{"kind": "gap", "text": "12 events"}])

    assert "At least." in text_of(zoned, PAGE)
    assert "At least." not in text_of(zoned, f"/reports/{DAY}/")
    queues = text_of(zoned, f"/reports/{DAY}/table.csv?pool={POOL}&namespace={SHOP}").splitlines()
    assert queues[1].endswith("true,Europe/Berlin")


def test_what_is_said_of_the_report_is_about_the_local_day(zoned: People) -> None:
    """The day of UTC with which it was made had no events, and the one before it is made up."""
    report_day(DAY, [], warnings=[{"kind": "other", "text": "nothing happened on this day"}], events=0, files=0)
    report_day(date(2026, 3, 28), [], demo=True)
    answer = zoned.root.browser.get(PAGE).content.decode()

    assert "nothing happened on this day" not in answer
    assert "0 events in 0 files" not in answer
    assert "Some or all of the events of this day are made up" in answer
    everything = zoned.root.browser.get(f"/reports/{DAY}/").content.decode()
    assert "nothing happened on this day" in everything
    assert "are made up" not in everything


def test_a_day_begins_where_it_is_that_day_first(zoned: People, monkeypatch: pytest.MonkeyPatch) -> None:
    tomorrow = date(2026, 3, 30)
    monkeypatch.setattr(days, "datetime", _At(datetime(2026, 3, 29, 22, 30, tzinfo=UTC)))

    assert zoned.alice.browser.get(f"/reports/{tomorrow}/{POOL}/{SHOP}/").status_code == 200
    assert zoned.alice.browser.get(f"/reports/{tomorrow}/").status_code == 404
    assert zoned.charlie.browser.get(f"/reports/{tomorrow}/{POOL}/{BANK}/").status_code == 404


class _At:
    """A `datetime` whose now is that moment."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self, zone: object) -> datetime:
        return self._moment.astimezone(zone)  # type: ignore[arg-type]
