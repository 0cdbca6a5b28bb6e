"""What pages, paper, mail and CSV show of one day, word for word: the files in `report_outputs` hold it.

After a change that is meant, `TASKQ_WRITE_REPORT_OUTPUTS=1 make test ARGS=tests/dashboard/test_report_outputs.py`
writes the files anew; `git diff` shows what became different.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from django.test import override_settings

from queues.services.reporting.presenting.mail import compose

from .people import BANK, POOL, SHOP, People
from .reported import JOB, Work, change, error, report_day, slow

pytestmark = pytest.mark.django_db

FOLDER: Final = Path(__file__).parent / "report_outputs"
WRITE: Final = bool(os.environ.get("TASKQ_WRITE_REPORT_OUTPUTS"))

DAY: Final = date(2026, 3, 4)
OTHER: Final = DAY - timedelta(days=1)
AT: Final = datetime(2026, 3, 4, 9, 30, 1, 250_000, UTC)
HOSTILE: Final = '=cmd() <script>alert("1")</script>\u202egnp.exe & a\nsecond line'
WARNINGS: Final = [{"kind": "corrupt", "text": f"a.parquet: {HOSTILE}"}, {"kind": "gap", "text": "12 events"}]

PLACES: Final = {
    "everything": {},
    "namespace": {"pool": POOL, "namespace": SHOP},
    "queue": {"pool": POOL, "namespace": SHOP, "queue": "orders"},
}
TABLES: Final = (
    *("queues", "namespaces", "hours", "times", "days", "errors", "slowest"),
    *("changes", "tries", "objectives", "figures"),
)
QUERIES: Final = {
    "alone": {},
    "beside": {"with": f"{OTHER}"},
    "sorted": {"sort": "-wait_p95", "only": "failing", "heat": "wait"},
}


ONE: Final = "one namespace"
SEVERAL: Final = "several namespaces"
CASES: Final = [(ONE, "everything"), *((SEVERAL, place) for place in PLACES)]


@pytest.fixture(params=[ONE, SEVERAL])
def reported(people: People, request: pytest.FixtureRequest) -> str:
    """Three days, with all that a report may tell."""
    namespaces = str(request.param)
    ms = int(AT.timestamp() * 1_000)
    notes: dict[str, dict[str, Any]] = {
        "orders": {
            "errors": [error(HOSTILE, failed=9, dead=4, first_at=ms, last_at=ms + 5), error("", failed=2, job="")],
            "slowest": [
                slow("wait", 90_000, at=ms),
                slow("run", 61_000, job=f"{JOB[:-1]}W", attempt=3, worker="<w>\u202e"),
                slow("run", 20, rank=2, attempt=None, worker=""),
            ],
            "tries": [{"attempt": 1, "outcome": "acked", "jobs": 8}, {"attempt": 3, "outcome": "dead", "jobs": 4}],
            "changes": [
                *(change("failed", 9, 2), change("wait_p95", 90_000, 45.5, weeks=7), change("dead", 4, 0)),
                change("success_rate", 0.5, 0.99),
                change("published", 12_345, 12_345, flagged=False),
            ],
            "objective_s": 2,
        },
        "q01": {"objective_s": 60},
        "q02": {"objective_s": 3_600},
    }
    of_shop = {
        name: [{"queue": "orders"} | one for one in notes["orders"].get(name, ())] for name in ("errors", "slowest")
    }
    of_shop["errors"] += [error(f"kind {number}", failed=1, queue="q01") for number in range(11)]
    of_shop["changes"] = [*notes["orders"]["changes"][:3], *(change("expired", 2, 0, queue="q01"),)]
    notes[""] = of_shop | {"tries": notes["orders"]["tries"]}
    work = [
        Work(hour=3, published=12_345, waits=[10] * 19 + [90_000], runs=[20] * 11, failed=9, dead=4, backlog=7),
        Work(hour=9, published=1, waits=[30], runs=[61_000], retried=1, expired=2, backlog=5),
        Work(queue="q01", hour=9, published=2, waits=[100, 200], runs=[1_500], failed=11),
        *(Work(queue=f"q{number:02}", hour=9, published=2) for number in range(2, 15)),
    ]
    if namespaces == SEVERAL:
        work.append(Work(namespace=BANK, queue="vault", hour=4, published=7, waits=[777], runs=[1] * 5, backlog=3))
    report_day(DAY - timedelta(weeks=1), [Work(published=10_000, runs=[1] * 11)])
    report_day(OTHER, [Work(published=3, waits=[5], runs=[7], failed=1), Work(queue="gone", published=2)])
    report_day(DAY, work, said=notes, warnings=WARNINGS, demo=True)
    return namespaces


@pytest.mark.parametrize(("reported", "place"), CASES, indirect=["reported"])
def test_csv_is_the_same_byte_for_byte(people: People, reported: str, place: str) -> None:
    browser = people.root.browser
    found = []
    for table in TABLES:
        query = PLACES[place] | {"table": table, "with": f"{OTHER}"}
        answer = browser.get(f"/reports/{DAY}/table.csv", query)
        found.append(f"== {table}, {answer.status_code}, {answer['Content-Disposition']}\n{answer.text}")
    check(f"{reported}, {place}.csv", "".join(found))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(("reported", "place"), CASES, indirect=["reported"])
def test_tables_of_pages_have_the_same_cells(people: People, reported: str, place: str, language: str) -> None:
    names = "".join(f"{name}/" for name in PLACES[place].values())
    urls = {name: f"/reports/{DAY}/{names}?{urlencode(query)}" for name, query in QUERIES.items()}
    urls["print"] = f"/reports/{DAY}/print/?{urlencode(PLACES[place])}"
    found = []
    for name, url in urls.items():
        answer = people.root.browser.get(url, headers={"Accept-Language": language})
        found.append(f"== {name}, {answer.status_code}\n{cells_of(answer.text)}")
    check(f"{reported}, {place}, {language}.txt", "".join(found))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_mails_are_the_same(people: People, reported: str, language: str) -> None:
    with override_settings(LANGUAGE_CODE=language, TASKQ_PUBLIC_URL="https://jobs.example.org"):
        mail = compose(day=DAY, to=["ops@example.org"])
    html = str(mail.alternatives[0][0])
    check(f"{reported}, mail, {language}.txt", f"{mail.subject}\n\n{mail.body}\n{cells_of(html)}")


def check(name: str, found: str) -> None:
    """Compare with the file, or write it."""
    path = FOLDER / name.replace(", ", "-").replace(" ", "-")
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(found.encode())
    assert found.encode() == path.read_bytes()


class _Tables(HTMLParser):
    """Reads the tables: a line for each row. What is said on hover follows in brackets, a link in angle brackets."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._is_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "table":
            self.rows.append(["---"])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self._is_cell = True
            span = f"({values['colspan']} columns) " if "colspan" in values else ""
            label = f"{values['data-label']}: " if "data-label" in values else ""
            self.rows[-1].append(span + label)
        if self._is_cell and values.get("title"):
            self.rows[-1][-1] += f"[{values['title']}] "
        if self._is_cell and values.get("href"):
            self.rows[-1][-1] += f"<{values['href']}> "

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._is_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            self.rows[-1][-1] += data


def cells_of(html: str) -> str:
    """The rows of all tables, a line each."""
    reader = _Tables()
    reader.feed(html)
    rows = (" | ".join(re.sub(r"\s+", " ", cell).strip() for cell in row) for row in reader.rows)
    return "".join(f"{row}\n" for row in rows)
