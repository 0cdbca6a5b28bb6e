"""The daily summary as an e-mail: sent once, of everything; what hinders it is a warning on the report."""

from __future__ import annotations

import re
import smtplib
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import override_settings

from queues.models import Namespace, ReportDay
from queues.services.reporting.presenting.mail import NO_SERVER, as_text, mail_report
from queues.services.reporting.presenting.summary import Line, PaperTable, WordedSummary, cells

from .reporting import DAY, add_day, add_row

TO = override_settings(TASKQ_REPORT_MAIL_TO=["ops@example.org", "boss@example.org"])


@pytest.fixture
def report(orders: Namespace) -> ReportDay:
    day = add_day(warnings=[{"kind": "corrupt", "text": "x.parquet: <not> readable"}])
    add_row(day, scope=orders, published=12_345, acked=12_000, dead=3, success_rate=0.9987, wait_p95=1_500)
    add_row(
        day,
        "sms",
        scope=orders,
        acked=2_000,
        wait_p95=5_020,
        published=9,
        objective_s=5,
        objective_met=False,
        objective_share=0.984,
    )
    for number in range(20):
        add_row(day, f"failing-{number:02}", scope=orders, dead=number + 1, published=1)
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
    told = re.sub(" +", " ", body)
    for words in (
        "\nPublished at least 12,345\n",
        "\nSuccess rate 99.98 %\n",
        "\nObjectives (0 of 1 met)\n",
        "\nsms ✕ missed 5 s / 5 s 98.4 %\n",
        "\nfailing-03 1 0 0 4 – – – –\n",
        "\n12 of 21.\n",
    ):
        assert words in told
    unread = "A file of the event lake could not be read; what it holds is not counted. x.parquet: "
    assert f"\n- {unread}<not> readable\n" in body
    assert "\nhttps://taskq.example/reports/2026-03-29/\n" in body
    html = str(sent.alternatives[0][0])
    assert f"<li>{unread}&lt;not&gt; readable</li>" in html
    assert '<a href="https://taskq.example/reports/2026-03-29/"' in html


@TO
def test_a_mail_is_in_the_language_of_the_installation(report: ReportDay) -> None:
    with override_settings(LANGUAGE_CODE="zh-hans"):
        assert mail_report(day=DAY)

    (sent,) = mail.outbox
    assert isinstance(sent, mail.EmailMultiAlternatives)
    assert "每日摘要" in str(sent.body)
    assert '<html lang="zh-hans">' in str(sent.alternatives[0][0])


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
    assert "are made up" in body


@TO
@pytest.mark.django_db
def test_of_a_day_on_which_nothing_happened_that_is_said() -> None:
    add_day()

    assert mail_report(day=DAY)

    assert str(mail.outbox[0].body).endswith("\n\nNothing happened\n")
    assert mail.outbox[0].subject == "taskq, 2026-03-29: 0 acked, 0 dead"


def test_columns_of_text_are_equally_wide_whatever_is_in_them() -> None:
    table = PaperTable(
        key="t",
        title="标题",
        aside="1",
        head=("名称", "n"),
        rows=[cells("a", "12"), cells("长" * 16, "3"), cells("two\nlines", "4")],
    )
    empty = PaperTable(key="e", title="Empty", head=(), rows=(), empty="Nothing.", note="Really.")
    lines = [Line(title="Acked", value="5", note="", is_flagged=False)]
    lines += [Line(title="Dead", value="12", note="usually none", is_flagged=True)]
    summary = WordedSummary(
        title="T", scope="", day="D", made="", remarks=(), warnings=(), nothing="", lines=lines, tables=[table, empty]
    )

    assert as_text(summary).splitlines() == [
        *("T", "D", ""),
        *("Acked   5", "Dead   12  ▲ usually none", ""),
        *("标题 (1)", "--------", "名称        n", "a          12", "长" * 16, "            3", "two lines   4", ""),
        *("Empty", "-----", "Nothing.", "Really."),
    ]
