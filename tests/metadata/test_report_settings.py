"""Settings of reports and mails: read, or refused with a message that says which one and why."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import time
from pathlib import Path

import pytest

from taskq_site.connections import mail_settings
from taskq_site.env import EnvError, read_int, read_place, read_time
from tests.support.rows import in_one_test


@pytest.mark.parametrize(
    ("text", "value"), [("", time(2, 10)), ("00:00", time(0)), ("7:05", time(7, 5)), ("23:59", time(23, 59))]
)
def test_a_time_of_day_is_hours_and_minutes(monkeypatch: pytest.MonkeyPatch, text: str, value: time) -> None:
    monkeypatch.setenv("X", text)
    assert read_time("X", default="02:10") == value


def test_reports_of_today_are_a_minute_apart_at_least() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "from taskq_site import settings"],
        env=os.environ | {"TASKQ_REPORT_TODAY_EVERY_S": "59"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "TASKQ_REPORT_TODAY_EVERY_S=59: expected 0, or a number from 60 to 86400" in told.stderr


@pytest.mark.parametrize(("text", "found"), [("0", 0), ("60", 60), ("", 90)])
def test_a_number_within_bounds_or_zero(monkeypatch: pytest.MonkeyPatch, text: str, found: int) -> None:
    monkeypatch.setenv("X", text)
    assert read_int("X", default=90, minimum=60, maximum=100, or_zero=True) == found


def test_off_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "Off")
    assert read_time("X", default="02:10") is None


@in_one_test("text", ["24:00", "12:60", "2", "02:10:00", "soon", "-1:00"])
def test_what_is_no_time_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(EnvError, match=f"X={text}: expected a time of day"):
        read_time("X", default="02:10")


@pytest.mark.parametrize(
    ("scheme", "port", "tls", "ssl"),
    [("smtp", 25, False, False), ("smtp+tls", 587, True, False), ("smtps", 465, False, True)],
)
def test_a_mail_server_is_named_by_its_url(scheme: str, port: int, tls: bool, ssl: bool) -> None:
    found = mail_settings(f"{scheme}://me%40example.org:p%40ss@mail.example.org")

    assert found["EMAIL_BACKEND"].endswith("smtp.EmailBackend")
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == ("mail.example.org", port)
    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("me@example.org", "p@ss")
    assert (found["EMAIL_USE_TLS"], found["EMAIL_USE_SSL"]) == (tls, ssl)
    assert mail_settings(f"{scheme}://mail.example.org:2525")["EMAIL_PORT"] == 2525


def test_mails_may_go_to_files_the_console_or_nowhere() -> None:
    assert mail_settings("file:///tmp/my%20mails")["EMAIL_FILE_PATH"] == "/tmp/my mails"
    assert mail_settings("console:")["EMAIL_BACKEND"].endswith("console.EmailBackend")
    assert mail_settings("")["EMAIL_BACKEND"].endswith("dummy.EmailBackend")


@in_one_test("url", ["http://user:hunter2@host", "smtp://", "hunter2", "smtp://u:hunter2@host:none", "file:hunter2"])
def test_other_urls_are_refused_without_repeating_them(url: str) -> None:
    with pytest.raises(EnvError) as caught:
        mail_settings(url)
    assert "smtp://" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@in_one_test(
    ("text", "place"),
    [
        ("", "/data/lake"),
        ("/mnt/lake", "/mnt/lake"),
        ("other/lake", "/data/other/lake"),
        ("s3://bucket/lake", "s3://bucket/lake"),
        ("hdfs://host:8020/lake@home", "hdfs://host:8020/lake@home"),
        ("abfs://container@account.example.net/lake", "abfs://container@account.example.net/lake"),
    ],
)
def test_a_place_is_the_same_wherever_a_process_was_started(
    monkeypatch: pytest.MonkeyPatch, text: str, place: str
) -> None:
    monkeypatch.setenv("X", text)
    assert read_place("X", default=Path("/data/lake")) == place


@pytest.mark.parametrize(
    "url", ["s3://key:hunter2@bucket/lake", "s3://key:hunter2/x@bucket", "sftp://me:hunter2@host/x"]
)
def test_a_place_with_a_password_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("X", url)
    with pytest.raises(EnvError, match="leave the password out") as caught:
        read_place("X", default=Path("/data/lake"))
    assert "hunter2" not in str(caught.value)
