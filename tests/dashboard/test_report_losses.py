"""A day that lacks events says "at least" wherever its numbers are told."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any, Final

import pytest

from queues.services.reporting.presenting.mail import compose
from queues.services.reporting.reading.days import yesterday
from tests.support.rows import in_one_test

from .people import BANK, POOL, SHOP, People
from .reported import Work, report_day

pytestmark = pytest.mark.django_db

DAY: Final = yesterday()
BEFORE: Final = DAY - timedelta(days=1)
MISSING: Final = "Events of this day are missing: numbers of jobs are at least those given here"
GAP: Final = [{"kind": "gap", "text": "up to 12 events of pool default"}]
TABLES: Final = ("queues", "namespaces", "hours", "times", "errors", "slowest", "changes", "tries", "figures")


@pytest.fixture
def lossy(people: People) -> None:
    report_day(BEFORE, [Work(published=3)])
    work = [Work(published=1_234, waits=[5], backlog=7), Work(namespace=BANK, queue="vault", published=9)]
    report_day(DAY, work, warnings=GAP)


@pytest.mark.usefixtures("lossy")
def test_pages_and_paper_say_at_least_of_counts_and_of_nothing_else(people: People) -> None:
    page = people.bob.browser.get(f"/reports/{DAY}/").text
    paper = people.bob.browser.get(f"/reports/{DAY}/print/").text

    assert MISSING in page
    assert re.search(r'<small class="muted">at least</small> 1[,.]2', page)
    assert page.count(">at least</small>") == 7
    assert MISSING in paper
    assert "<dd>at least 1,234</dd>" in paper
    assert paper.count("<dd>at least ") == 7
    for url in (f"/reports/{BEFORE}/", f"/reports/{BEFORE}/print/"):
        whole = people.bob.browser.get(url).text
        assert MISSING not in whole
        assert "at least" not in whole.partition("<main")[2]


def test_days_as_one_and_days_beside_each_other_say_it_of_the_columns_that_lack_events(people: People) -> None:
    report_day(BEFORE, [Work(published=3)], warnings=GAP)
    report_day(DAY, [Work(published=4)])
    orders = f"{POOL}/{SHOP}/orders/"

    def heads(address: str, kind: str) -> list[str]:
        """The columns of a table that say so."""
        page = people.bob.browser.get(address).text
        table = page.partition(kind)[2].partition("</thead>")[0]
        return [head.partition("<")[0] for head in table.split('class="number">')[1:] if "at least</small>" in head]

    assert heads(f"/reports/{DAY}/{orders}", 'dense merged"') == ["7 days", "28 days"]
    assert heads(f"/reports/{BEFORE}/{orders}", 'dense merged"') == ["this day", "7 days", "28 days"]
    assert heads(f"/reports/{DAY}/?with={BEFORE}", 'id="beside"') == [f"{BEFORE}"]
    assert heads(f"/reports/{BEFORE}/?with={DAY}", 'id="beside"') == [f"{BEFORE}"]


@pytest.mark.usefixtures("lossy")
def test_the_mail_says_so(people: People) -> None:
    mail = compose(day=DAY, to=["ops@example.org"])
    html = str(mail.alternatives[0][0])

    for text in (str(mail.body), html):
        assert MISSING in text
        assert "at least 1,243" in text


@pytest.mark.usefixtures("lossy")
@in_one_test("table", TABLES)
def test_every_csv_has_a_column_that_says_so(people: People, table: str) -> None:
    for day, expected in ((DAY, "true"), (BEFORE, "false")):
        answer = people.bob.browser.get(f"/reports/{day}/table.csv", {"table": table})
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert answer.text.splitlines()[0].endswith(",at_least")
        assert {row["at_least"] for row in rows} <= {expected}
        assert rows or table in ("errors", "slowest", "changes", "tries")


@pytest.mark.usefixtures("lossy")
def test_a_csv_of_several_days_says_it_of_each(people: People) -> None:
    answer = people.bob.browser.get(f"/reports/{DAY}/table.csv", {"table": "days"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["day"], row["at_least"]) for row in rows] == [(f"{BEFORE}", "false"), (f"{DAY}", "true")]


BALANCES: Final = [
    {"pool": "default", "appended": 1_250, "in_lake": 1_234, "damaged": 3, "dropped": 1, "dropped_around": 7}
    | {"difference": 5},
    {"pool": "p2", "appended": 4, "in_lake": 6, "damaged": None, "dropped": 0, "dropped_around": 0, "difference": -2},
    {"pool": "new", "appended": None, "in_lake": 9, "damaged": 0, "dropped": 0, "dropped_around": 0, "difference": 0},
]


def cells_of(page: str) -> list[list[str]]:
    table = page.partition('class="reconciliation"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2])
    return [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


def test_the_page_holds_the_lake_against_redis_for_superusers(people: People) -> None:
    missing = [{"kind": "missing", "text": "pool default: 5 events are missing"}]
    report_day(DAY, [Work(published=3)], reconciliation=BALANCES, warnings=missing)
    report_day(BEFORE, [Work(published=3)], reconciliation=[BALANCES[2]])

    page = people.root.browser.get(f"/reports/{DAY}/").text

    assert "By Redis&#x27;s own count there were more events than the event lake has" in page
    assert MISSING in page  # numbers are "at least"
    assert cells_of(page) == [
        ["default", "1,250", "1,234", "3", "1 and 7 on this day or beside it", "5 missing"],
        ["p2", "4", "6", "unknown", "0", "2 too many"],
        ["new", "not noted", "9", "0", "0", "0"],
    ]
    assert "they differ" in page
    assert "they agree" in people.root.browser.get(f"/reports/{BEFORE}/").text
    assert cells_of(people.bob.browser.get(f"/reports/{DAY}/").text) == []


def test_the_download_has_it_too(people: People) -> None:
    report_day(DAY, [Work(published=3)], reconciliation=BALANCES)

    def rows(person: Any) -> list[dict[str, str]]:
        answer = person.browser.get(f"/reports/{DAY}/table.csv", {"table": "reconciliation"})
        return list(csv.DictReader(io.StringIO(answer.text)))

    found = rows(people.root)
    assert [(row["pool"], row["appended"], row["damaged"], row["difference"]) for row in found] == [
        ("default", "1250", "3", "5"), ("p2", "4", "", "-2"), ("new", "", "0", "0"),
    ]  # fmt: skip
    assert rows(people.bob) == []
