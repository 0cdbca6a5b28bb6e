"""The daily summary as an e-mail, to the addresses of TASKQ_REPORT_MAIL_TO: of everything, as a superuser sees it.

It says what the page for paper says; pictures are tables there."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final
from unicodedata import east_asian_width

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMultiAlternatives
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils.translation import gettext, override

from queues.models import ReportDay

from ..making.claims import add_warnings
from ..values import Figures, WarningKind
from .account import read_summary
from .figures import jobs
from .summary import Cell, Line, PaperTable, WordedSummary, word_summary

logger = logging.getLogger(__name__)

NAME_MAX: Final = 30
"""Columns of a name in a table; a longer one has a line of its own."""

GAP: Final = "  "


def as_text(summary: WordedSummary, *, url: str = "") -> str:
    """All of it, in lines; `url`: where the report is on the web, if it is known."""
    return "\n".join(_lines(summary, url)) + "\n"


def _lines(summary: WordedSummary, url: str) -> Iterator[str]:
    yield summary.title
    yield from filter(None, (summary.day, summary.scope, summary.made, *summary.remarks))
    if url:
        yield url
    if summary.warnings:
        yield from _titled(gettext("Warnings"))
        yield from (f"- {_one_line(warning)}" for warning in summary.warnings)
    if summary.nothing:
        yield from ("", summary.nothing)
        return
    yield ""
    yield from _aligned([_told(line) for line in summary.lines], 1, 2)
    for table in summary.tables:
        yield from _titled(f"{table.title} ({table.aside})" if table.aside else table.title)
        yield from _table(table)


def _titled(title: str) -> Iterator[str]:
    yield from ("", title, "-" * width(title))


def _told(line: Line) -> list[str]:
    return [line.title, line.value, f"▲ {line.note}" if line.is_flagged else line.note]


def _table(table: PaperTable) -> Iterator[str]:
    if table.rows:
        rows = [[_cell(cell) for cell in row] for row in table.rows]
        yield from _aligned([list(table.head), *rows] if table.head else rows, table.numbers_from, table.numbers_to)
    elif table.empty:
        yield table.empty
    if table.note:
        yield table.note


def _cell(cell: Cell) -> str:
    return _one_line(f"{cell.text} {cell.aside}")


def _one_line(text: str) -> str:
    """A line feed in what a stranger wrote would look like a row of its own."""
    return " ".join(text.split())


def _aligned(rows: Sequence[Sequence[str]], numbers_from: int, numbers_to: int) -> Iterator[str]:
    """Numbers to the right, words to the left."""
    widths = [max(width(row[at]) for row in rows if at or width(row[0]) <= NAME_MAX) for at in range(len(rows[0]))]
    for row in rows:
        cells = list(row)
        if width(cells[0]) > NAME_MAX:
            yield cells[0]
            cells[0] = ""
        padded = [
            " " * (most - width(text)) + text if numbers_from <= at < numbers_to else text + " " * (most - width(text))
            for at, (text, most) in enumerate(zip(cells, widths, strict=True))
        ]
        yield GAP.join(padded).rstrip()


def width(text: str) -> int:
    """Columns that it takes: Chinese characters take two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


NO_SERVER: Final = "django.core.mail.backends.dummy.EmailBackend"


def mail_report(*, day: date) -> bool:
    """Send the summary of a day, unless that was done before or nobody is to get one. Whether it was sent.

    What hinders it becomes a warning on the report. Raises database errors.
    """
    to = settings.TASKQ_REPORT_MAIL_TO
    waiting = ReportDay.objects.filter(pk=day, mailed_at=None).exclude(reported_at=None)
    if not to or not waiting.update(mailed_at=Now()):  # first, so that of several processes one sends it
        return False
    try:
        if settings.EMAIL_BACKEND == NO_SERVER:
            raise OSError("EMAIL_URL is not set: no server takes mails")
        compose(day=day, to=to).send()
    except Exception as error:  # the server's refusal, or a fault of ours: neither is worth a report
        _not_sent(day, f"the summary was not mailed: {type(error).__name__}: {error}")
        return False
    logger.info("report mailed", extra={"action": "report.mail", "day": str(day), "to": len(to)})
    return True


def compose(*, day: date, to: list[str]) -> EmailMultiAlternatives:
    """Text, and the same as HTML; in the installation's language. Raises MetadataUnavailableError."""
    everybody = get_user_model()(is_superuser=True, is_active=True)
    with override(settings.LANGUAGE_CODE):
        summary = read_summary(user=everybody, day=day)
        figures = summary.account.figures if summary.account else Figures()
        title = {"day": day, "acked": jobs(figures.acked), "dead": jobs(figures.dead)}
        subject = gettext("taskq, %(day)s: %(acked)s acked, %(dead)s dead") % title
        worded = word_summary(summary)
        url = _url(day)
        mail = EmailMultiAlternatives(subject, as_text(worded, url=url), to=to)
        context = {"subject": subject, "summary": worded, "url": url}
        mail.attach_alternative(render_to_string("mail/report.html", context), "text/html")
    return mail


def _url(day: date) -> str:
    return f"{settings.TASKQ_PUBLIC_URL}/reports/{day.isoformat()}/" if settings.TASKQ_PUBLIC_URL else ""


def _not_sent(day: date, text: str) -> None:
    logger.warning("report: %s", text, extra={"action": "report.mail", "day": str(day)})
    add_warnings(day, WarningKind.MAIL, [text], mailed_at=None)
