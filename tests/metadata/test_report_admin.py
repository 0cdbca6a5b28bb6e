"""The admin shows runs of reports to superusers, and changes none."""

from __future__ import annotations

from django.test import Client

from queues.models import ReportState

from .reporting import DAY, add_day

LIST = "/admin/queues/reportday/"


def test_superusers_see_runs_and_their_errors(admin: Client) -> None:
    add_day(state=ReportState.FAILED, error="No Java was found")

    assert DAY.strftime("%Y") in admin.get(LIST).content.decode()
    page = admin.get(f"{LIST}{DAY}/change/")
    assert "No Java was found" in page.content.decode()


def test_nobody_changes_them(admin: Client) -> None:
    add_day()

    assert admin.get(f"{LIST}add/").status_code == 403
    assert admin.post(f"{LIST}{DAY}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(f"{LIST}{DAY}/change/", {"state": "done"}).status_code == 403


def test_staff_who_are_no_superusers_do_not_see_them(alice: Client, charlie: Client) -> None:
    add_day(error="of everybody")

    for browser in (alice, charlie):
        assert browser.get(LIST).status_code == 403
        assert "reportday" not in browser.get("/admin/").content.decode()
