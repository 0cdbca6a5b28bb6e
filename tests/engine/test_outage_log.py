"""An outage is said once, counted, mentioned again while it lasts, and summed up when it is over."""

from __future__ import annotations

import logging

import pytest

from queues.engine.transport.failures import OUTAGE_QUIET_S, OUTAGE_REPEAT_S, OUTAGES_MAX, OutageLog
from tests.support.clock import ManualClock

LOGGER = logging.getLogger("tests.outage")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def outages(clock: ManualClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> OutageLog:
    monkeypatch.setattr(OutageLog, "_watch", lambda _self: None)  # the test looks
    caplog.set_level(logging.INFO, logger=LOGGER.name)
    return OutageLog(LOGGER, clock=clock)


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, object, object]]:
    lines = [
        (line.getMessage(), getattr(line, "failures", None), getattr(line, "lasted_s", None)) for line in caplog.records
    ]
    caplog.clear()
    return lines


def test_an_outage_takes_two_lines_however_many_calls_it_fails(
    outages: OutageLog, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1_000):
        outages.note("refused", {"cause": "READONLY"}, {"request": number})
        clock.now += 0.01
    assert said(caplog) == [("refused", None, None)]

    clock.now += OUTAGE_QUIET_S
    assert not outages.look()
    assert said(caplog) == [("outage is over", 1_000, 10.0)]
    outages.note("refused", {"cause": "READONLY"})
    assert said(caplog) == [("refused", None, None)]


def test_kinds_are_told_apart_and_one_failure_is_not_summed_up(
    outages: OutageLog, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for cause in ("READONLY", "MISCONF", "READONLY"):
        outages.note("refused", {"cause": cause})
    assert len(said(caplog)) == 2
    clock.now += OUTAGE_QUIET_S
    outages.look()

    assert said(caplog) == [("outage is over", 2, 0.0)]


def test_a_long_outage_is_mentioned_again(
    outages: OutageLog, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(int(OUTAGE_REPEAT_S) + 1):
        outages.note("refused", {})
        assert outages.look()
        clock.now += 1
    outages.flush()

    assert said(caplog) == [
        ("refused", None, None),
        ("outage goes on", OUTAGE_REPEAT_S + 1, OUTAGE_REPEAT_S),
        ("outage goes on as the process ends", OUTAGE_REPEAT_S + 1, OUTAGE_REPEAT_S),
    ]


def test_kinds_are_bounded(outages: OutageLog, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(2 * OUTAGES_MAX):
        outages.note("refused", {"cause": number})

    assert len(said(caplog)) == OUTAGES_MAX
