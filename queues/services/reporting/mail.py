"""The daily summary as an e-mail, to the addresses of TASKQ_REPORT_MAIL_TO: of everything, as a superuser sees it.

It says what the page for paper says; pictures are tables there.
"""

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

from .shapes import Figures, WarningKind
from .summary.plain_text import as_text
from .summary.reading import read_summary
from .summary.words import word_summary
from .warnings import add_warning
from .wording import jobs

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
    add_warning(day, WarningKind.MAIL, text, mailed_at=None)
