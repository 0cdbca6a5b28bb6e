"""Every figure of every table, of generated days, against plain Python."""

from __future__ import annotations

import random
import tempfile
from datetime import date
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from queues.lake.compact import compact_day
from queues.reports import day_tables, reduction, session
from queues.reports.tables import times

from . import expected
from .conftest import RunDay
from .made import Event, arrive, event, ms, pointers

DAYS = ("2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2024-02-29")
"""Clocks change on the first four, in Europe and in New York."""

TIMES = st.one_of(
    st.sampled_from((0, 1, 127, 128, 129, 130, 255, 256, 1_000, 1_001, 65_535, 65_536, 90_000_000, -5, 2**33)),
    st.integers(0, 5_000),
    st.none(),
)
"""Values with ties, at the borders of buckets and beyond."""

ERRORS = st.sampled_from(
    (None, "timeout after 31 ms", "timeout after 7 ms", "Boom: 0xdeadbeef", " ", "Übel: 3 Äpfel", "lease lost")
)
KINDS = (
    "published", "ready", "consumed", "acked", "rescheduled", "failed", "lease_lost", "released", "dead", "expired",
    "respawned", "purged",
)  # fmt: skip


@st.composite
def events_of_queue(draw: st.DrawFn, day: str) -> list[Event]:
    """Events of a few jobs of one queue, on the day and on the one before, some of them at its very edges."""
    scope = {"pool": draw(st.sampled_from("ab")), "namespace": draw(st.sampled_from("mn"))}
    scope["queue"] = draw(st.sampled_from(("q1", "q2", "q3", "Ünïcode")))
    midnight = ms(day)
    hours = draw(st.lists(st.sampled_from((0, 1, 2, 3, 12, 22, 23)), min_size=1, max_size=3))
    made: list[Event] = []
    for _ in range(draw(st.integers(0, 40))):
        hour = draw(st.sampled_from(hours))
        at = midnight + hour * expected.HOUR + draw(st.sampled_from((0, 1, 3_599_999, 1_800_000)))
        at -= draw(st.sampled_from((0, 0, 0, 86_400_000)))
        made.append(_one(draw, at) | scope)
    return made


def _one(draw: st.DrawFn, at: int) -> Event:
    kind = draw(st.sampled_from((*KINDS, "consumed", "acked", "acked", "deleted", "destroyed")))
    attempt = draw(st.sampled_from((1, 1, 2, 3)))
    if kind == "destroyed":
        jobs = draw(st.integers(0, 20))
        return event(kind, at, size=jobs, attempt=draw(st.integers(0, jobs)))
    job = f"01JDB{draw(st.integers(0, 3)):021d}"
    one = event(kind, at, job=job, published=at - draw(st.sampled_from((0, 5, 200, 90_000_000))), attempt=attempt)
    if kind == "deleted":
        return one | {"error": draw(st.sampled_from((None, "was dead", "was completed", "dead-letter bound: age")))}
    if kind in ("failed", "dead"):
        one["error"] = draw(ERRORS)
    if kind in ("published", "consumed"):
        one["size"] = draw(st.integers(0, 100))
    worker = draw(st.sampled_from((None, "w-1"))) if kind in ("consumed", "acked", "failed") else None
    return one | {"wait_ms": draw(TIMES), "run_ms": draw(TIMES), "worker": worker}


@st.composite
def days(draw: st.DrawFn) -> tuple[str, list[Event]]:
    day = draw(st.sampled_from(DAYS))
    queues = draw(st.lists(events_of_queue(day), min_size=8, max_size=14))
    return day, [one for queue in queues for one in queue]


def is_rich(made: tuple[str, list[Event]]) -> bool:
    """Whether a day is worth a Spark run. Hypothesis begins with one that is as poor as can be."""
    day, events = made
    today = [one for one in events if one["at"] >= ms(day)]
    hours = {one["at"] // expected.HOUR for one in today}
    return len(events) >= 120 and len(hours) >= 6 and len({one["kind"] for one in today}) >= 12


# A Spark run takes seconds: a day, much in it, and no time to look for a smaller example of what fails.
@settings(
    max_examples=1, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.explicit, Phase.generate]
)
@given(days().filter(is_rich), st.randoms(use_true_random=False))
def test_each_figure_of_a_generated_day_is_what_plain_python_says_in_whatever_order_its_events_come(
    run_day: RunDay, made: tuple[str, list[Event]], dice: random.Random
) -> None:
    """In two steps, after each of which it is reported, and perhaps compacted. The first step, which has most, is
    computed as large days are, the second one as small ones; it brings new hours, and late events of those before."""
    day, events = made
    today = [one for one in events if one["at"] >= ms(day)]
    before = [one for one in events if one["at"] < ms(day)]
    dice.shuffle(today)
    late = dice.randrange(1, 10)
    arrives_late, rest = today[:late], today[late:]
    hours = list({one["at"] // expected.HOUR for one in rest})
    dice.shuffle(hours)
    third = len(hours) // 3
    of_first = set(hours[third:])
    steps = [
        [one for one in rest if one["at"] // expected.HOUR in of_first],
        [*(one for one in rest if one["at"] // expected.HOUR not in of_first), *arrives_late],
    ]
    with tempfile.TemporaryDirectory() as folder:
        lake, out = Path(folder) / "lake [x] {y}", Path(folder) / "out"
        arrive(lake, before, 0)
        for number, (step, arrived) in enumerate(zip(steps, accumulate(steps), strict=True), 1):
            arrive(lake, step, number)
            if dice.random() < 0.5:
                compact_day(str(lake), date.fromisoformat(day))
            with pytest.MonkeyPatch.context() as patch:
                if number == 1:
                    for module in (session, reduction, day_tables):
                        patch.setattr(module, "FEW_ROWS", -1)
                    patch.setattr(session, "INTERPRETED_ROWS", -1)
                    patch.setattr(times, "LISTED_EVENTS", 20)
                    patch.setattr(times, "PASS_EVENTS", 20)
                    patch.setattr(reduction, "EVENTS_OF_GROUP", 0)
                summary = run_day(lake, out, day, run=f"run{number}")

            assert summary["events"] == len(arrived)
            expected.check_report(out, day, today=arrived, before=before, run=f"run{number}")
        redone = {(one["at"] // expected.HOUR) % 24 for one in arrives_late}
        kept = {hour for hour, run in pointers(out, day).items() if not run.startswith("run2")}
        assert kept == {hour % 24 for hour in of_first} - redone
