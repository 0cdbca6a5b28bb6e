"""The daily summary as an e-mail: sent once, of everything; what hinders it is a warning on the report."""

from __future__ import annotations

import smtplib
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import override_settings

from queues.models import Namespace, ReportDay
from queues.services.reporting.mail import NO_SERVER, mail_report
from queues.services.reporting.wording import count, duration, percent

from .reporting import DAY, add_day, add_row

TO = override_settings(TASKQ_REPORT_MAIL_TO=["ops@example.org", "boss@example.org"])


@pytest.fixture
def report(orders: Namespace) -> ReportDay:
    day = add_day(warnings=[{"kind": "corrupt", "text": "x.parquet: <not> readable"}])
    add_row(day, scope=orders, published=12_345, acked=12_000, dead=3, success_rate=0.99975, wait_p95=1_500)
    add_row(day, "sms", scope=orders, acked=2_000, wait_p95=5_020, objective_s=5, objective_met=False)
    for number in range(20):
        add_row(day, f"failing-{number}", scope=orders, dead=number + 1)
    return day


@TO
def test_the_summary_is_sent_as_text_and_html(report: ReportDay) -> None:
    with override_settings(TASKQ_PUBLIC_URL="https://taskq.example"):
        assert mail_report(day=DAY)

    (sent,) = mail.outbox
    assert isinstance(sent, mail.EmailMultiAlternatives)
    assert sent.to == ["ops@example.org", "boss@example.org"]
    assert sent.subject == "taskq, 2026-03-29: 12,000 acked, 3 dead"
    body = str(sent.body)
    for words in (
        "Published: 12,345",
        "99.97 %",
        "default:orders  12,000  3  1.5 s",
        "orders/sms  2,000  0  5.02 s > 5 s",
    ):
        assert words in body
    assert "x.parquet: <not> readable" in body
    assert "and 5 more" in body
    assert "https://taskq.example/reports/2026-03-29/" in body
    html = str(sent.alternatives[0][0])
    assert "x.parquet: &lt;not&gt; readable" in html
    assert '<a href="https://taskq.example/reports/2026-03-29/">' in html


@TO
def test_a_report_is_mailed_once(report: ReportDay) -> None:
    assert mail_report(day=DAY)
    assert not mail_report(day=DAY)
    assert len(mail.outbox) == 1


def test_without_addresses_or_a_report_nothing_is_sent(report: ReportDay) -> None:
    assert not mail_report(day=DAY)
    ReportDay.objects.update(reported_at=None)
    with TO:
        assert not mail_report(day=DAY)
    assert mail.outbox == []


@TO
def test_a_server_that_refuses_is_a_warning_and_it_may_be_tried_again(
    report: ReportDay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any) -> int:
        raise smtplib.SMTPRecipientsRefused({})

    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", refuse)
        assert not mail_report(day=DAY)
    report.refresh_from_db()
    assert [warning["kind"] for warning in report.warnings] == ["corrupt", "mail"]
    assert "SMTPRecipientsRefused" in report.warnings[1]["text"]

    assert mail_report(day=DAY)


@TO
def test_addresses_without_a_server_are_a_warning(report: ReportDay) -> None:
    with override_settings(EMAIL_BACKEND=NO_SERVER):
        assert not mail_report(day=DAY)
    report.refresh_from_db()
    assert "EMAIL_URL is not set" in report.warnings[1]["text"]


def test_a_mail_is_about_the_day_as_it_was(orders: Namespace) -> None:
    add_day(complete=False, demo=True)
    with TO:
        assert mail_report(day=DAY)
    body = str(mail.outbox[0].body)
    assert "The day is not over" in body
    assert "Made-up data" in body


def test_numbers_as_a_mail_writes_them() -> None:
    assert [duration(ms) for ms in (None, 0, 999, 1_000, 5_020, 61_000, 3_660_000, 90_061_000)] == [
        *("–", "0 ms", "999 ms", "1 s", "5.02 s", "1 min 1 s", "1 h 1 min", "1 d 1 h")
    ]
    assert [percent(share) for share in (None, 0.0, 0.99999, 1.0)] == ["–", "0 %", "99.99 %", "100 %"]
    assert count(1_234_567) == "1,234,567"
