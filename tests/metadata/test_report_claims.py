"""Who computes a day: one process at a time, and whoever was taken over has no more say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from queues.models import ReportDay, ReportState, ReportTrigger
from queues.services.reporting.failures import ClaimLostError, DayTakenError
from queues.services.reporting.making.claims import (
    Claim,
    ClaimHeartbeat,
    beat,
    claim_day,
    fail_day,
    finish_day,
    new_run,
    report_claimed,
)
from tests.support.waiting import wait_until

from .reporting import DAY, add_day

ASKED = ReportTrigger.ASKED


def fall_silent(minutes: float = 3) -> None:
    ReportDay.objects.update(beat_at=timezone.now() - timedelta(minutes=minutes))


@contextmanager
def kept(claim: Claim) -> Iterator[ClaimHeartbeat]:
    heartbeat = ClaimHeartbeat(claim, beat_s=0.05, news_s=0.01)
    heartbeat.start()
    try:
        yield heartbeat
    finally:
        heartbeat.stop()


def claim() -> Claim:
    return claim_day(day=DAY, run_id=new_run(), trigger=ASKED)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_known", [False, True])
def test_of_many_at_once_one_gets_the_day(is_known: bool) -> None:
    if is_known:
        add_day()
    together = threading.Barrier(6)
    got: list[Claim] = []
    refused: list[DayTakenError] = []

    def try_it() -> None:
        together.wait()
        try:
            got.append(claim())
        except DayTakenError as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=try_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(got), len(refused)) == (1, 5)
    assert ReportDay.objects.get().run == got[0].run_id


def test_who_is_refused_is_told_who_has_the_day(db: None) -> None:
    claim()

    with pytest.raises(DayTakenError, match=rf"{DAY}: .+:\d+ is computing this report since"):
        claim()


def test_a_claim_without_a_beat_is_taken_over_after_two_minutes(db: None) -> None:
    first = claim()
    fall_silent(minutes=1.9)
    with pytest.raises(DayTakenError):
        claim()

    fall_silent(minutes=2.1)
    second = claim()

    day = ReportDay.objects.get()
    assert (day.run, day.state, day.failures) == (second.run_id, ReportState.RUNNING, 1)
    assert first.run_id != second.run_id


def test_nothing_counts_that_was_taken_over(db: None) -> None:
    first = claim()
    fall_silent()
    second = claim()
    before = ReportDay.objects.values().get()

    acts: tuple[Callable[[], object], ...] = (
        lambda: beat(first, stage="counting", share=0.5),
        lambda: finish_day(first, warnings=[]),
        lambda: fail_day(first, error="too late"),
        lambda: report_claimed(first, events=5),
    )
    for act in acts:
        with pytest.raises(ClaimLostError):
            act()

    assert ReportDay.objects.values().get() == before
    finish_day(second, warnings=[])
    assert ReportDay.objects.get().state == ReportState.DONE


def test_a_failure_leaves_what_was_reported(db: None) -> None:
    add_day(events=7, warnings=[{"kind": "gap", "text": "x"}])
    fail_day(claim(), error="no room")

    day = ReportDay.objects.get()
    assert (day.state, day.error, day.failures) == (ReportState.FAILED, "no room", 1)
    assert (day.events, day.reported_run, day.warnings) == (7, "earlier", [{"kind": "gap", "text": "x"}])


def test_of_a_long_error_the_end_is_kept(db: None) -> None:
    fail_day(claim(), error="first\0" + "x" * 20_000 + "Caused by: no room")

    error = ReportDay.objects.get().error
    assert len(error) == 8_000
    assert error.endswith("Caused by: no room")


def test_unless_reported_leaves_a_good_report_alone_but_not_half_of_one(db: None) -> None:
    day = add_day()
    with pytest.raises(DayTakenError, match="made by another process"):
        claim_day(day=DAY, run_id=new_run(), trigger=ReportTrigger.SCHEDULED, unless_reported=True)

    ReportDay.objects.filter(pk=day.pk).update(complete=False)
    claim_day(day=DAY, run_id=new_run(), trigger=ReportTrigger.SCHEDULED, unless_reported=True)


@pytest.mark.django_db(transaction=True)
def test_a_keeper_beats_and_passes_on_what_it_is_told() -> None:
    mine = claim()
    fall_silent(minutes=1)
    with kept(mine) as heartbeat:
        heartbeat.tell(stage="counting", share=0.5)
        wait_until(
            lambda: ReportDay.objects.filter(
                stage="counting", share=0.5, beat_at__gt=timezone.now() - timedelta(seconds=30)
            ),
            or_fail="no beat",
        )
        assert not heartbeat.is_lost


@pytest.mark.django_db(transaction=True)
def test_a_keeper_notices_that_the_day_is_lost() -> None:
    mine = claim()
    with kept(mine) as heartbeat:
        ReportDay.objects.update(run="another's")
        wait_until(lambda: heartbeat.is_lost, or_fail="not noticed")
