"""Which flags the benchmark of anomalies counts as true, and which incidents as found."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from bench.anomalies import Scored, are_good, score, shares_of
from queues.lake.demo_incidents import Incident, IncidentKind

DAY = date(2026, 9, 15)
OUTAGE = Incident(kind=IncidentKind.OUTAGE, day=DAY, queue="emails", first_hour=10, last_hour=11)
DOUBLED = Incident(kind=IncidentKind.DOUBLED_TRAFFIC, day=date(2026, 9, 18), queue="webhooks")
DEPLOY = Incident(
    kind=IncidentKind.BAD_DEPLOY, day=date(2026, 9, 22), queue="video-transcode", first_hour=13, last_hour=21
)
INCIDENTS = (OUTAGE, DOUBLED, DEPLOY)


def flag(day: int, queue: str, figure: str, hour: int | None = None, **others: Any) -> dict[str, Any]:
    """By default of a figure that is higher than usual."""
    place = {"pool": "default", "namespace": "demo", "queue": queue, "date": date(2026, 9, day), "hour": hour}
    return {**place, "figure": figure, "value": 50.0, "usual": 10.0, **others}


TRUE = {
    "of an hour": flag(15, "emails", "wait_p95", 10),
    "the waiting jobs are consumed in the hour after": flag(15, "emails", "wait_p95", 11),
    "of the day": flag(15, "emails", "wait_p95"),
    "fewer than usual": flag(15, "emails", "acked", 10, value=1.0),
    "of the namespace": flag(15, "", "wait_p95"),
    "of an hour of the namespace": flag(15, "", "acked", 10, value=1.0),
    "more jobs, more failures": flag(18, "webhooks", "failed"),
    "the slow queue's jobs end after the incident": flag(22, "video-transcode", "failed", 23),
    "and after midnight": flag(23, "video-transcode", "failed", 2),
}

FALSE = {
    "another day": flag(16, "emails", "wait_p95"),
    "another queue": flag(15, "webhooks", "wait_p95"),
    "another namespace": flag(15, "emails", "wait_p95", namespace="other"),
    "another figure": flag(15, "emails", "published"),
    "another figure of the namespace": flag(15, "", "dead"),
    "the hour before": flag(15, "emails", "wait_p95", 9),
    "an hour too late": flag(15, "emails", "wait_p95", 12),
    "an hour of the namespace that is too late": flag(15, "", "acked", 17, value=1.0),
    "fewer where there are more": flag(18, "webhooks", "published", value=1.0),
    "the day after, as a whole": flag(23, "video-transcode", "failed"),
    "long after midnight": flag(23, "video-transcode", "failed", 4),
    "a quick queue's hour after midnight": flag(19, "webhooks", "published", 0),
}


@pytest.mark.parametrize("what", TRUE)
def test_a_flag_is_true_where_an_incident_changes_this_figure_of_this_queue_then(what: str) -> None:
    scored = score(INCIDENTS, [TRUE[what]])

    assert (len(scored.true), len(scored.false), scored.precision) == (1, 0, 1.0)


@pytest.mark.parametrize("what", FALSE)
def test_any_other_flag_is_false_and_finds_nothing(what: str) -> None:
    scored = score(INCIDENTS, [FALSE[what]])

    assert (len(scored.true), len(scored.false), scored.precision, scored.recall) == (0, 1, 0.0, 0.0)


def test_an_incident_is_found_by_a_true_flag_of_its_queue_not_of_its_namespace() -> None:
    scored = score(INCIDENTS, [*TRUE.values(), *FALSE.values()])
    assert (scored.precision, scored.recall) == (len(TRUE) / (len(TRUE) + len(FALSE)), 1.0)

    assert score(INCIDENTS, [TRUE["of the namespace"], TRUE["more jobs, more failures"]]).found == [DOUBLED]


def test_one_share_below_the_bar_fails_the_benchmark_whatever_the_median() -> None:
    flags = [TRUE["of the day"], TRUE["more jobs, more failures"], TRUE["and after midnight"]]
    good = score(INCIDENTS, flags)
    imprecise = score(INCIDENTS, [*flags, FALSE["another day"]])
    incomplete = score(INCIDENTS, flags[:2])

    assert are_good(shares_of([good, good, good]))
    for bad in (imprecise, incomplete):
        assert not are_good(shares_of([good, bad, good]))


def test_a_kind_that_is_never_found_fails_the_benchmark() -> None:
    many = [DOUBLED] * 19
    scored = Scored(incidents=[*many, OUTAGE], found=many, true=[], false=[])

    assert scored.recall == 0.95
    assert not are_good(shares_of([scored]))
