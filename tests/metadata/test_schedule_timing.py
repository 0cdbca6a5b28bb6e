"""When schedules are due: expressions, zones, daylight saving, jitter; and which of the times that passed are fired."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from queues.engine import constants
from queues.models import CatchUp, FireOutcome, Overlap, ScheduleKind
from queues.services.errors import InvalidArgumentError
from queues.services.schedules.checking import check_fields
from queues.services.schedules.planning import GRACE_MS, KEY_TTL_MAX_S, KEY_TTL_MIN_S, Plan, plan_fires
from queues.services.schedules.timing import Timing, check_cron, check_zone
from queues.services.schedules.values import ScheduleFields
from tests.support.rows import in_one_test

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def cron(expression: str, zone: str = "UTC", jitter_ms: int = 0) -> Timing:
    return Timing(
        kind=ScheduleKind.CRON, cron=check_cron(expression), zone=check_zone(zone), jitter_ms=jitter_ms, salt="7"
    )


def times(timing: Timing, after: str, count: int) -> list[str]:
    found = timing.following(ms(after), count)
    return [datetime.fromtimestamp(due / 1000, ZoneInfo(timing.zone)).isoformat() for due in found]


@in_one_test(
    ("expression", "first"),
    [
        ("*/5 * * * *", "2026-01-01T00:05:00+00:00"),
        ("0 9 * * MON-FRI", "2026-01-01T09:00:00+00:00"),
        ("0 9 * jun sun", "2026-06-07T09:00:00+00:00"),
        ("30 */15 * * * *", "2026-01-01T00:00:30+00:00"),
        ("@daily", "2026-01-02T00:00:00+00:00"),
        ("@Hourly", "2026-01-01T01:00:00+00:00"),
        ("@weekly", "2026-01-04T00:00:00+00:00"),
        ("0 0 L * *", "2026-01-31T00:00:00+00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00:00+00:00"),
    ],
)
def test_expressions_of_five_and_six_fields_names_and_nicknames(expression: str, first: str) -> None:
    assert times(cron(expression), "2026-01-01T00:00:00+00:00", 1) == [first]


@in_one_test(
    ("expression", "words"),
    [
        ("61 * * * *", 'minute "61" cannot be read (0-59)'),
        ("* 24 * * *", 'hour "24" cannot be read (0-23)'),
        ("* * 0 * *", 'day-of-month "0" cannot be read'),
        ("* * * foo *", 'month "foo" cannot be read'),
        ("* * * * MON-", 'day-of-week "MON-" cannot be read'),
        ("60 * * * * *", 'second "60" cannot be read (0-59)'),
        ("*/0 * * * *", 'minute "*/0" cannot be read'),
        ("* * * *", "5 fields, or 6 with seconds first, not 4"),
        ("", "5 fields, or 6 with seconds first, not 0"),
        ("@reboot", 'unknown "@reboot"; there are @yearly'),
        ("0 0 31 2,4 *", "it is never due"),
        ("0 0 30 2 *", "it is never due"),
        ("0 " * 200, "longer than 200 characters"),
    ],
)
def test_nonsense_is_refused_with_the_field_that_is_wrong(expression: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        check_cron(expression)

    assert str(refused.value).startswith("invalid cron: ")
    assert words in str(refused.value)


@in_one_test("zone", ["Mars/Olympus", "../../etc/passwd", "Europe", "", "/etc/localtime", "x" * 300])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid zone: there is no time zone"):
        check_zone(zone)


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *"])
def test_a_time_of_day_that_the_clocks_skip_is_due_once_when_they_have_gone_forward(expression: str) -> None:
    assert times(cron(expression, "Europe/Berlin"), "2026-03-28T12:00:00+01:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_two_times_of_day_in_the_gap_are_one() -> None:
    assert times(cron("0,30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00:00+01:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *"])
def test_a_time_of_day_that_clocks_show_twice_is_due_the_first_time(expression: str) -> None:
    daily = cron(expression, "Europe/Berlin")

    assert times(daily, "2026-10-24T12:00:00+02:00", 2) == ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    # Also when it is computed from within the hour that comes twice.
    assert times(daily, "2026-10-25T02:15:00+01:00", 1) == ["2026-10-26T02:30:00+01:00"]
    assert times(daily, "2026-10-25T02:45:00+02:00", 1) == ["2026-10-26T02:30:00+01:00"]


def test_an_hourly_schedule_is_due_each_hour_that_passes() -> None:
    hourly = cron("0 * * * *", "Europe/Berlin")

    for after in ("2026-03-28T22:30:00+01:00", "2026-10-24T22:30:00+02:00"):
        found = hourly.following(ms(after), 10)
        assert [later - earlier for earlier, later in pairwise(found)] == [HOUR] * 9


def test_a_gap_of_half_an_hour_ends_where_it_ends() -> None:
    assert times(cron("10 2 * * *", "Australia/Lord_Howe"), "2026-10-03T12:00:00+10:30", 1) == [
        "2026-10-04T02:30:00+11:00"
    ]


def test_an_interval_counts_from_its_anchor() -> None:
    every = Timing(kind=ScheduleKind.INTERVAL, interval_ms=90_000, anchor_ms=1_000_000)

    assert every.next_after(0) == 1_000_000
    assert every.next_after(1_000_000) == 1_090_000
    assert every.next_after(1_089_999) == 1_090_000
    assert every.latest(0, 1_300_000) == 1_270_000
    assert every.latest(0, 999_999) is None
    assert every.count_within(1_000_000, 1_270_000, most=100) == 4


def test_what_is_due_once_is_due_once() -> None:
    once = Timing(kind=ScheduleKind.ONCE, at_ms=5_000)

    assert (once.next_after(4_999), once.next_after(5_000)) == (5_000, None)
    assert once.latest(0, 9_000) == 5_000


@in_one_test("expression", ["*/7 * * * *", "0 0 29 2 *", "* * * 1 *", "0 */6 * * 1-5", "15 3 * * *"])
def test_looking_back_finds_what_looking_forward_does(expression: str) -> None:
    timing, now = cron(expression, "America/New_York"), ms("2026-12-24T18:30:10+00:00")

    newest = timing.newest(0, now, 5)

    assert timing.following(newest[0] - 1, 5) == newest
    assert (timing.next_after(newest[-1]) or 0) > now


def test_jitter_is_the_same_for_everybody_and_stays_in_its_bounds() -> None:
    timing = cron("*/5 * * * *", jitter_ms=30_000)
    other = Timing(kind=ScheduleKind.CRON, cron="*/5 * * * *", jitter_ms=30_000, salt="8")
    due = timing.following(ms("2026-01-01T00:00:00+00:00"), 200)

    delays = [timing.jitter(one) for one in due]

    assert delays == [timing.jitter(one) for one in due]
    assert all(0 <= one <= 30_000 for one in delays)
    assert max(delays) > 25_000
    assert min(delays) < 5_000
    assert delays != [other.jitter(one) for one in due]


def plan(timing: Timing, due: int, now: int, catch_up: CatchUp, **given: object) -> Plan:
    options = {"catch_up_max": 100, "overlap": Overlap.ALLOW, "is_job_there": False, **given}
    return plan_fires(timing=timing, due_ms=due, now_ms=now, catch_up=catch_up, **options)  # type: ignore[arg-type]


def told(planned: Plan) -> list[tuple[str, int, int]]:
    return [(fire.outcome.value, fire.due_ms // MINUTE, fire.count) for fire in planned.fires]


EVERY_MINUTE = cron("* * * * *")


def test_in_time_every_rule_fires_once() -> None:
    for rule in CatchUp:
        done = plan(EVERY_MINUTE, 10 * MINUTE, 10 * MINUTE + 5, rule)
        assert told(done) == [("pending", 10, 1)]
        assert done.next_due_ms == 11 * MINUTE


def test_catch_up_with_none_fires_what_is_not_later_than_the_grace() -> None:
    hourly = cron("0 * * * *")

    late = plan(hourly, HOUR, 3 * HOUR + GRACE_MS + 1, CatchUp.NONE)
    in_time = plan(hourly, HOUR, 3 * HOUR + GRACE_MS, CatchUp.NONE)

    assert told(late) == [("missed", 60, 3)]
    assert late.next_due_ms == 4 * HOUR
    assert late.fires[0].until_ms == 3 * HOUR
    assert told(in_time) == [("missed", 60, 2), ("pending", 180, 1)]


def test_catch_up_with_the_last_fires_it_however_late() -> None:
    done = plan(EVERY_MINUTE, 10 * MINUTE, 12 * MINUTE + 59_000, CatchUp.LAST)

    assert told(done) == [("missed", 10, 2), ("pending", 12, 1)]


def test_catch_up_with_all_fires_each_up_to_its_bound() -> None:
    three = plan(EVERY_MINUTE, 10 * MINUTE, 12 * MINUTE, CatchUp.ALL)
    bounded = plan(EVERY_MINUTE, 10 * MINUTE, 300 * MINUTE, CatchUp.ALL, catch_up_max=2)

    assert told(three) == [("pending", 10, 1), ("pending", 11, 1), ("pending", 12, 1)]
    assert told(bounded) == [("missed", 10, 100), ("pending", 299, 1), ("pending", 300, 1)]
    assert bounded.fires[0].until_ms == 298 * MINUTE


def test_skip_leaves_out_the_fire_while_the_job_before_is_there() -> None:
    done = plan(EVERY_MINUTE, 10 * MINUTE, 10 * MINUTE, CatchUp.LAST, overlap=Overlap.SKIP, is_job_there=True)
    gone = plan(EVERY_MINUTE, 10 * MINUTE, 10 * MINUTE, CatchUp.LAST, overlap=Overlap.SKIP)

    assert (told(done), told(gone)) == ([("skipped", 10, 1)], [("pending", 10, 1)])


def test_of_several_at_once_those_that_must_not_overlap_fire_the_last() -> None:
    done = plan(EVERY_MINUTE, 10 * MINUTE, 13 * MINUTE, CatchUp.ALL, overlap=Overlap.REPLACE, is_job_there=True)

    assert told(done) == [("skipped", 10, 3), ("pending", 13, 1)]


def test_a_fire_whose_jitter_has_not_passed_is_left_for_later() -> None:
    timing = cron("* * * * *", jitter_ms=50_000)
    second = timing.following(timing.following(0, 1)[0], 1)[0]
    assert timing.jitter(second) > 1_000
    first = second - MINUTE

    done = plan(timing, first, timing.fire_at(second) - 1, CatchUp.LAST)

    assert [fire.due_ms for fire in done.fires] == [first]
    assert done.next_due_ms == second


def test_the_key_is_kept_for_sixty_periods_within_bounds() -> None:
    assert plan(EVERY_MINUTE, 0, 0, CatchUp.LAST).key_ttl_s == KEY_TTL_MIN_S
    assert plan(cron("0 * * * *"), 0, 0, CatchUp.LAST).key_ttl_s == 60 * 3_600
    assert plan(cron("@daily"), 0, 0, CatchUp.LAST).key_ttl_s == KEY_TTL_MAX_S


def test_years_of_missed_seconds_are_counted_up_to_a_hundred() -> None:
    done = plan(cron("* * * * * *"), 0, ms("2026-01-01T00:00:00+00:00"), CatchUp.LAST)

    assert [(fire.outcome, fire.count) for fire in done.fires] == [
        (FireOutcome.MISSED, 100),
        (FireOutcome.PENDING, 1),
    ]
    assert datetime.fromtimestamp((done.fires[0].until_ms or 0) / 1000, UTC) == datetime(
        2025, 12, 31, 23, 59, 59, tzinfo=UTC
    )


def fields(**changes: Any) -> ScheduleFields:
    return ScheduleFields(**{"queue": "reports", "kind": ScheduleKind.CRON, "cron": "@daily", **changes})


@in_one_test(
    ("wrong", "words"),
    [
        ({"queue": "no/queue"}, "invalid queue: "),
        ({"body": b"x" * (constants.BODY_MAX_BYTES + 1)}, "invalid body: body too large"),
        ({"catch_up_max": 0}, "invalid catch_up_max: 1 to "),
        ({"jitter_s": -1}, "invalid jitter: 0 to "),
        ({"jitter_s": 10**9}, "invalid jitter: 0 to "),
        ({"kind": ScheduleKind.ONCE}, "invalid at: expected a moment"),
        ({"kind": ScheduleKind.ONCE, "at_ms": -1}, "invalid at: expected a moment"),
        ({"kind": ScheduleKind.INTERVAL}, "invalid every: 1 to "),
        ({"kind": ScheduleKind.INTERVAL, "interval_ms": 999}, "invalid every: 1 to "),
        ({"kind": ScheduleKind.INTERVAL, "interval_ms": 5_000, "starts_ms": -1}, "invalid start: expected a moment"),
        ({"zone": "Middle/Earth"}, "Middle/Earth"),
    ],
)
def test_what_cannot_be_a_schedule_is_refused_by_the_name_of_its_field(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        check_fields(fields(**wrong))


def test_a_schedule_keeps_the_fields_of_its_kind_only() -> None:
    mixed = {"cron": check_cron("@daily"), "interval_ms": 5_000, "starts_ms": 1, "at_ms": 2}
    empty = {"cron": "", "interval_ms": None, "starts_ms": None, "at_ms": None}
    by_kind = {"cron": ("cron",), "interval": ("interval_ms", "starts_ms"), "once": ("at_ms",)}

    for kind in ScheduleKind:
        checked = check_fields(fields(**mixed, kind=kind))
        assert {name: getattr(checked, name) for name in mixed} == empty | {
            name: mixed[name] for name in by_kind[kind.value]
        }
