"""The summary of a day on paper and as a mail: two dresses of one thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import pytest
from django.core.mail import EmailMultiAlternatives
from django.test import override_settings
from django.utils.html import escape

from queues.models import QueueDay
from queues.services.reporting.presenting.figures import brief, jobs
from queues.services.reporting.presenting.mail import compose

from .people import BANK, POOL, SHOP, People
from .report_reading import AT, DAY, charts_of
from .reported import Work, change, error, report_day
from .summary_reading import Read, read_html

pytestmark = pytest.mark.django_db

HOSTILE: Final = '<script>alert("1")</script>\u202egnp.exe & a\nsecond line'
WARNINGS: Final = [{"kind": "corrupt", "text": f"a.parquet: {HOSTILE}"}, {"kind": "gap", "text": "12 events"}]


def make_report(*, with_bank: bool) -> None:
    """Of the shop, and of the bank, whose percentiles by hour are told beside the shop's."""
    work = [
        Work(hour=3, published=12_345, waits=[10] * 19 + [90_000], runs=[20] * 11, failed=9, dead=4, backlog=7),
        Work(hour=9, published=1, waits=[30], runs=[61_000], retried=1, expired=2, backlog=5),
        *(Work(queue=f"q{number:02}", hour=9, published=2) for number in range(14)),
    ]
    if with_bank:
        work.append(Work(namespace=BANK, queue="vault", hour=4, published=7, waits=[777], runs=[1] * 5))
    errors = [error(HOSTILE, failed=9, dead=4, queue="orders"), *(error(f"e{n}", queue="q01") for n in range(6))]
    said: dict[str, dict[str, Any]] = {
        "": {
            "errors": errors,
            "changes": [change("failed", 80, 10, queue="orders"), change("success_rate", 0.5, 0.99)],
        },
        "orders": {"objective_s": 2},
    }
    report_day(DAY - timedelta(weeks=1), [Work(published=10_000, runs=[1] * 11)])
    report_day(DAY, work, said=said, warnings=WARNINGS, demo=True)


def both(people: People) -> tuple[Read, Read, EmailMultiAlternatives]:
    """What a superuser reads on paper and in the mail."""
    mail = compose(day=DAY, to=["ops@example.org"])
    return read_html(people.root.browser.get(f"{AT}print/").text), read_html(str(mail.alternatives[0][0])), mail


@pytest.mark.parametrize("with_bank", [False, True], ids=["one namespace", "several namespaces"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_both_have_the_same_sections_with_the_same_figures(people: People, with_bank: bool, language: str) -> None:
    make_report(with_bank=with_bank)
    with override_settings(LANGUAGE_CODE=language):
        paper, mail, _ = both(people)

    drawn = [name for name in mail.sections if name not in paper.sections]
    assert len(drawn) == 1 + with_bank, "tables of hours, of which paper has pictures"
    assert [name for name in mail.sections if name not in drawn] == list(paper.sections)
    told = {name: section for name, section in mail.sections.items() if name not in drawn}
    assert told == paper.sections
    assert mail.lines == paper.lines
    assert len(mail.lines) == 12
    assert mail.items == paper.items
    assert len(mail.items) == len(WARNINGS)
    assert mail.title == paper.title == {"en": "Daily summary", "zh-hans": "每日摘要"}[language]


@pytest.mark.parametrize("with_bank", [False, True], ids=["one namespace", "several namespaces"])
def test_the_tables_of_hours_have_the_numbers_of_the_pictures(people: People, with_bank: bool) -> None:
    make_report(with_bank=with_bank)
    charts = charts_of(people.root.browser, f"{AT}print/")
    _, mail, _ = both(people)

    names = ["Published", "Acked", "Failed", "Dead"]
    head, *rows, note = mail.sections["Hour by hour"]
    assert note == ["Hours are UTC; in those that are not listed nothing happened."]
    assert head[:5] == ["Hour", *names]
    assert [row[:5] for row in rows] == rows_of(charts["Jobs by hour"], jobs)
    if with_bank:
        head, *rows = mail.sections["Wait p95 by hour, of the busiest namespaces"]
        assert head == ["Hour", SHOP, BANK]
        assert rows == rows_of(charts["Wait p95 by hour, of the busiest namespaces"], brief)
    else:
        waits = rows_of(charts["Wait by hour: due → delivered"], brief)
        assert [[row[0], *row[5:]] for row in rows] == waits


def rows_of(chart: dict[str, Any], write: Any) -> list[list[str]]:
    """The numbers of a picture as a table, without hours of which it shows nothing."""
    hours = zip(*(one["values"] for one in chart["series"]), strict=True)
    return [[f"{hour:02}:00", *map(write, values)] for hour, values in enumerate(hours) if any(values)]


def test_the_text_of_the_mail_says_all_that_its_html_says(people: People) -> None:
    make_report(with_bank=True)
    _, html, mail = both(people)

    text = str(mail.body)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for row in [row for section in html.sections.values() for row in section]:
        assert any(found.endswith(" ".join(row[1:])) for found in lines), row
        assert row[0] in text or " ".join(row[0].split()) in text
    for title, value, note in html.lines:
        assert " ".join(filter(None, (title, value, note))) in lines
    for item in html.items:
        assert f"- {item}" in text


def test_what_strangers_wrote_is_told_harmlessly(people: People) -> None:
    make_report(with_bank=False)
    QueueDay.objects.filter(queue="q00").update(queue="<b>bold</b>")
    mail = compose(day=DAY, to=["ops@example.org"])

    for html in (str(mail.alternatives[0][0]), people.root.browser.get(f"{AT}print/").text):
        assert "<script>alert" not in html
        assert html.count(escape('<script>alert("1")</script>[U+202E]gnp.exe & a')) == 2
        assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "\u202e" not in str(mail.body)


def test_a_mail_needs_nothing_from_elsewhere_and_runs_nothing(people: People) -> None:
    make_report(with_bank=True)
    html = str(compose(day=DAY, to=["ops@example.org"]).alternatives[0][0])

    assert re.findall(r"<(?:script|link|img|style|iframe|svg)\b", html) == []
    assert re.findall(r"url\(|@import|\bon\w+=", html) == []
    assert re.findall(r'(?:src|href)="', html) == [], "no address is set, so there is nothing to follow"


@pytest.mark.parametrize("place", ["", f"?pool={POOL}&namespace={SHOP}", f"?pool={POOL}&namespace={SHOP}&queue=orders"])
def test_a_person_is_told_that_something_was_amiss_but_not_whose_files(people: People, place: str) -> None:
    make_report(with_bank=True)

    paper = read_html(people.bob.browser.get(f"{AT}print/{place}").text)

    assert paper.items == [
        "A file of the event lake could not be read; what it holds is not counted.",
        "Events were lost before they reached the event lake: figures are too low.",
    ]
    assert "vault" not in cells_of(paper.sections)


def cells_of(sections: dict[str, list[list[str]]]) -> Sequence[str]:
    return [cell for section in sections.values() for row in section for cell in row]
