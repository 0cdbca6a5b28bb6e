"""Incidents of the demo data: where and when they are drawn, and what they do to the events of an hour."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.core.management import call_command

from queues.lake.demo import DemoPlan
from queues.lake.demo_conditions import HOLIDAY, Conditions, conditions_of
from queues.lake.demo_incidents import ALL_DAY, HISTORY_DAYS, MORE_TRAFFIC, SLOWER, Incident, IncidentKind
from queues.lake.demo_jobs import events_of_hour
from queues.lake.demo_shape import QUEUES

DAY = date(2026, 8, 5)
HOUR = 10
EMAILS = QUEUES[0]
LAST = date(2026, 10, 1)


def conditions(*kinds: IncidentKind, hour: int = HOUR, holidays: tuple[date, ...] = ()) -> Conditions:
    return conditions_of(
        EMAILS,
        first=DAY,
        day=DAY,
        hour=hour,
        jobs_per_day=20_000,
        seed=1,
        incidents=[Incident(kind=kind, day=DAY, queue="emails", first_hour=HOUR, last_hour=HOUR + 1) for kind in kinds],
        holidays=holidays,
    )


def events_of(found: Conditions, hour: int = HOUR) -> list[dict[str, Any]]:
    start = datetime(DAY.year, DAY.month, DAY.day, hour, tzinfo=UTC)
    made = events_of_hour(conditions=found, hour=hour, start_ms=round(start.timestamp() * 1_000), seed=1)
    events: list[dict[str, Any]] = pa.concat_tables(list(made), promote_options="permissive").to_pylist()
    return events


def shares(found: Conditions) -> dict[str, float]:
    """Of each kind of event, how many there are for each job."""
    kinds = Counter(one["kind"] for one in events_of(found))
    return {kind: number / found.jobs for kind, number in kinds.items()}


def test_an_hour_without_an_incident_is_as_the_queue_says() -> None:
    found = shares(conditions())

    assert 0.9 < found["acked"] <= 1
    assert found["failed"] < 0.06
    assert "dead" not in found


def test_each_kind_does_what_it_says() -> None:
    usual = conditions()

    bad_deploy, dead, lost = (
        shares(conditions(kind)) for kind in (IncidentKind.BAD_DEPLOY, IncidentKind.DEAD_JOBS, IncidentKind.LOST_LEASES)
    )
    assert bad_deploy["failed"] > 1
    assert bad_deploy["dead"] > 0.25
    assert 0.1 < dead["dead"] < 0.2
    assert lost["lease_lost"] > 0.3
    assert conditions(IncidentKind.SLOW_CONSUMERS).wait_ms > SLOWER * usual.wait_ms
    assert conditions(IncidentKind.SILENT_QUEUE).jobs == 0
    assert conditions(IncidentKind.DOUBLED_TRAFFIC).jobs == pytest.approx(MORE_TRAFFIC * usual.jobs, rel=0.2)
    assert conditions(holidays=(DAY,)).jobs == pytest.approx(HOLIDAY * usual.jobs, rel=0.2)


def test_in_an_outage_nothing_is_taken_until_it_is_over() -> None:
    found = conditions(IncidentKind.OUTAGE)

    consumed = [one for one in events_of(found) if one["kind"] == "consumed"]
    end_ms = round(datetime(DAY.year, DAY.month, DAY.day, HOUR + 1, tzinfo=UTC).timestamp() * 1_000)
    assert min(one["at_ms"] for one in consumed) >= end_ms
    assert max(one["wait_ms"] for one in consumed) > 3_000_000


def test_hours_before_and_after_an_incident_are_as_they_would_have_been() -> None:
    for hour in (HOUR - 1, HOUR + 1):
        for kind in IncidentKind:
            if kind is not IncidentKind.OUTAGE:
                assert conditions(kind, hour=hour) == conditions(hour=hour)


def test_incidents_are_drawn_late_enough_and_of_all_kinds() -> None:
    plan = DemoPlan(first=DAY, days=60, jobs_per_day=100, with_incidents=True)
    days = [one.day for one in plan.incidents]

    assert days == sorted(set(days))
    assert min(days) >= DAY + timedelta(days=HISTORY_DAYS)
    assert {one.kind for one in plan.incidents} == set(IncidentKind)
    assert all((one.first_hour, one.last_hour) == (0, 24) for one in plan.incidents if one.kind in ALL_DAY)
    (holiday,) = plan.holidays
    assert holiday not in days
    assert plan.incidents == DemoPlan(first=DAY, days=60, jobs_per_day=9, with_incidents=True).incidents
    assert plan.incidents != DemoPlan(first=DAY, days=60, jobs_per_day=100, seed=2, with_incidents=True).incidents


def test_the_command_lists_what_it_has_made(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a day needed no others to be compared with: to make four weeks of them takes long."""
    monkeypatch.setattr("queues.lake.demo_incidents.HISTORY_DAYS", 0)
    settings.TASKQ_LAKE_URL = str(tmp_path / "lake")
    told = StringIO()

    call_command(
        "demodata",
        *("--days", "4", "--jobs-per-day", "30", "--until", f"{LAST}", "--incidents"),
        *("--incidents-to", str(tmp_path / "truth.json")),
        stdout=told,
    )

    listed = json.loads((tmp_path / "truth.json").read_text())
    assert len(listed["incidents"]) == 1
    (one,) = listed["incidents"]
    assert f"{one['day']}  {one['first_hour']:02}:00-{one['last_hour']:02}:00  {one['queue']}: {one['kind']}" in (
        told.getvalue()
    )
    assert f"{listed['holidays'][0]}  holiday: TASKQ_HOLIDAYS=" in told.getvalue()
