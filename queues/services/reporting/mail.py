"""The daily summary as an e-mail, to the addresses of TASKQ_REPORT_MAIL_TO: of everything, as a superuser sees it."""

from __future__ import annotations

import logging
from datetime import date
from typing import Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMultiAlternatives
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils.translation import gettext, override

from queues.models import ReportDay

from .shapes import WarningKind
from .summary import DaySummary, read_summary
from .warnings import add_warning
from .wording import count, duration, percent

logger = logging.getLogger(__name__)

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
        context = {"summary": summary, "facts": _facts(summary), "tables": _tables(summary), "url": _url(day)}
        ended = count(summary.totals.figures.acked)
        title = {"day": day, "acked": ended, "dead": count(summary.totals.figures.dead)}
        subject = gettext("taskq, %(day)s: %(acked)s acked, %(dead)s dead") % title
        context["subject"] = subject
        mail = EmailMultiAlternatives(subject, render_to_string("mail/report.txt", context), to=to)
        mail.attach_alternative(render_to_string("mail/report.html", context), "text/html")
    return mail


def _facts(summary: DaySummary) -> list[tuple[str, str]]:
    """Names and values of the day as a whole."""
    day = summary.totals.figures
    return [
        (gettext("Published"), count(day.published)),
        (gettext("Consumed"), count(day.consumed)),
        (gettext("Acked"), count(day.acked)),
        (gettext("Failed attempts"), count(day.failed)),
        (gettext("Dead"), count(day.dead)),
        (gettext("Expired"), count(day.expired)),
        (gettext("Success rate"), percent(day.success_rate)),
        (gettext("Wait, 95 % within"), duration(day.wait.p95)),
        (gettext("Run, 95 % within"), duration(day.run.p95)),
    ]


def _tables(summary: DaySummary) -> list[dict[str, object]]:
    """Title, how many more there are, head and rows of each table that has any."""
    namespaces = [
        (
            f"{row.pool}:{row.namespace}",
            count(row.figures.acked),
            count(row.figures.dead),
            duration(row.figures.wait.p95),
        )
        for row in summary.namespaces
    ]
    head = (gettext("Namespace"), gettext("Acked"), gettext("Dead"), gettext("Wait p95"))
    tables: list[dict[str, object]] = [{"title": gettext("Namespaces"), "head": head, "rows": namespaces, "more": 0}]
    for title, table in (
        (gettext("Objectives missed"), summary.missed),
        (gettext("Failing"), summary.failing),
        (gettext("Out of line with past weeks"), summary.flagged),
    ):
        rows = [
            (
                f"{row.namespace}/{row.queue}",
                count(row.figures.acked),
                count(row.figures.dead),
                duration(row.figures.wait.p95)
                + (
                    f" > {duration(row.objective.seconds * 1_000)}" if row.objective and table is summary.missed else ""
                ),
            )
            for row in table.rows
        ]
        head = (gettext("Queue"), gettext("Acked"), gettext("Dead"), gettext("Wait p95"))
        tables.append({"title": title, "head": head, "rows": rows, "more": table.found - len(rows)})
    return [table for table in tables if table["rows"]]


def _url(day: date) -> str:
    return f"{settings.TASKQ_PUBLIC_URL}/reports/{day.isoformat()}/" if settings.TASKQ_PUBLIC_URL else ""


def _not_sent(day: date, text: str) -> None:
    logger.warning("report: %s", text, extra={"action": "report.mail", "day": str(day)})
    add_warning(day, WarningKind.MAIL, text, mailed_at=None)
