"""A report is made by a process of its own, and loaded as a whole or not at all: then an earlier one stays."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from queues.lake.compact import CompactionCounts
from queues.models import Namespace, Pool, QueueDay, QueuePolicy, ReportDay, ReportState, ReportTrigger
from queues.pools.ttl_cache import forget_everything
from queues.services.reporting.failures import BadRangeError, ClaimLostError, ReportFailedError
from queues.services.reporting.making import day_rows as making_rows
from queues.services.reporting.making import files as making_files
from queues.services.reporting.making import loading, upkeep
from queues.services.reporting.making.claims import claim_day
from queues.services.reporting.making.loading import Made, Progress
from queues.services.reporting.making.running import Listener, Order, make_report, make_reports
from queues.services.reporting.reading.days import today
from queues.spark_settings import SparkSettings
from tests.support.reports import figures
from tests.support.waiting import wait_until

from .reporting import DAY, Place, add_day

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(root=tmp_path)
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake"), TASKQ_REPORTS_URL=str(place.out)):
        yield place


@pytest.fixture
def orders() -> Namespace:
    pool = Pool.objects.get_or_create(name="default", defaults={"url": settings.REDIS_URL})[0]
    return Namespace.objects.create(pool=pool, name="orders")


def order(place: Place, **options: Any) -> Order:
    known: dict[str, Any] = {"stop": threading.Event(), "command": place.command}
    return Order(**known | options)


def make(
    place: Place, *, day: date = DAY, tell: Callable[[Progress], None] = lambda _told: None, **options: Any
) -> Made:
    return make_report(day=day, order=order(place, **options), tell=tell)


def failing(place: Place, **options: Any) -> ReportFailedError:
    with pytest.raises(ReportFailedError) as caught:
        make(place, **options)
    return caught.value


def rows() -> dict[str, QueueDay]:
    return {row.queue: row for row in QueueDay.objects.all()}


def runs(place: Place) -> list[str]:
    return sorted(path.name for path in place.out.glob("date=*/run=*"))


def test_a_report_becomes_rows_of_namespaces_and_queues(place: Place, orders: Namespace) -> None:
    place.plan_report(events=10, files=2)

    made = make(place)

    assert (made.events, made.rows) == (10, 2)
    row = rows()["emails"]
    assert (row.published, row.acked, row.wait_p95, row.run_p95, row.wait_mean) == (3, 2, 6_000, None, 2_000.0)
    assert row.hours == [
        {"hour": 9, "published": 3, "consumed": 4, "wait_count": 4, "wait_p95": 6_000, "wait_exact": False}
        | {"backlog": 0, "backlog_base_known": True}
    ]
    assert row.histograms == {"wait": {"100": 3, "485": 1}}
    assert row.tries == [{"attempt": 1, "outcome": "acked", "jobs": 2}]
    assert row.errors[0]["pattern"] == "timeout after <n> ms"


def test_a_histogram_that_is_read_in_parts_is_whole(
    place: Place, orders: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making_files, "HISTOGRAM_ROWS", 1)
    place.plan_report(events=10, files=2)

    make(place)

    assert rows()["emails"].histograms == {"wait": {"100": 3, "485": 1}}


def test_a_namespace_has_the_errors_of_its_queues(place: Place, orders: Namespace) -> None:
    place.plan_report()

    make(place)

    whole = rows()[""]
    assert [(one["queue"], one["failed"]) for one in whole.errors] == [("emails", 1)]
    assert whole.tries == [{"attempt": 1, "outcome": "acked", "jobs": 2}]


BALANCE: dict[str, Any] = {"pool": "default", "appended": 10, "in_lake": 7, "damaged": None, "dropped": 0} | {
    "dropped_around": 0,
    "difference": 3,
}


def test_the_day_says_how_the_lake_stands_beside_redis(place: Place) -> None:
    place.plan_report(reconciliation=[BALANCE], warnings=[{"kind": "missing", "text": "3 events"}])

    make(place)

    day = ReportDay.objects.get()
    assert day.reconciliation == [BALANCE]
    assert day.warnings == [{"kind": "missing", "text": "3 events"}]


def test_a_summary_that_says_something_else_of_that_is_no_report(place: Place) -> None:
    place.plan_report(reconciliation=[BALANCE | {"what": 1}])
    assert failing(place).kind == "bad_results"


def test_the_day_says_what_its_report_rests_on(place: Place) -> None:
    found = [{"kind": "corrupt", "text": "x.parquet was left out"}, {"kind": "unheard-of", "text": "hm"}]
    place.plan_report(events=10, files=2, warnings=found)

    make(place, spark=SparkSettings(master="spark://there:7077"))

    day = ReportDay.objects.get()
    assert (day.state, day.share, day.events, day.files, day.complete) == (ReportState.DONE, 1.0, 10, 2, True)
    assert day.master == "spark://there:7077"
    assert day.run == day.reported_run
    assert day.warnings == [{"kind": "corrupt", "text": "x.parquet was left out"}, {"kind": "other", "text": "hm"}]


def test_the_process_gets_sparks_settings_those_asked_for_before_those_of_the_environment(place: Place) -> None:
    place.plan_report()
    asked = SparkSettings(memory="4g", conf={"spark.a": "asked"})
    configured = {
        "TASKQ_SPARK_MASTER": "sc://there:15002",
        "TASKQ_SPARK_MEMORY": "1g",
        "TASKQ_SPARK_PROPERTIES": "/etc/spark.properties",
        "TASKQ_SPARK_CONF": {"spark.a": "no", "spark.secret": "hunter2"},
    }

    with override_settings(**configured):
        make(place, spark=asked)

    (summary,) = place.out.glob("date=*/run=*/summary.json")
    told = json.loads(summary.read_text())["asked"]
    assert (told["--master"], told["--memory"]) == ("sc://there:15002", "4g")
    assert told["--properties-file"] == "/etc/spark.properties"
    assert json.loads(told.pop("conf")) == {"spark.a": "asked", "spark.secret": "hunter2"}
    assert "hunter2" not in str(told), "command lines can be read by all users of the machine"


def test_what_the_process_wrote_to_its_standard_error_is_in_the_log(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.plan_report()
    place.plan(**json.loads((place.root / "plan.json").read_text()), errors=["Picked up JAVA_TOOL_OPTIONS: -x", "hm"])

    make(place)

    said = [record.getMessage() for record in caplog.records if "standard error" in record.getMessage()]
    assert said == ["report: standard error: hm"]


def test_of_very_many_warnings_some_are_kept(place: Place) -> None:
    place.plan_report(warnings=[{"kind": "corrupt", "text": f"{number}.parquet"} for number in range(1_000)])

    make(place)

    warnings = ReportDay.objects.get().warnings
    assert (len(warnings), warnings[-1]) == (101, {"kind": "corrupt", "text": "and 900 more"})


def test_made_again_it_takes_the_place_of_the_earlier_one(place: Place) -> None:
    place.plan_report()
    make(place)
    place.plan_report({"figures": [figures(published=5)]})

    make(place)

    assert {queue: row.published for queue, row in rows().items()} == {"": 5}
    day = ReportDay.objects.get()
    assert runs(place) == [f"run={day.reported_run}"]
    assert (place.out / f"date={DAY}" / "current.json").read_text() == f'{{"run": "{day.reported_run}"}}'


def test_the_same_input_gives_the_same_rows(place: Place) -> None:
    place.plan_report()
    make(place)
    columns = [field.name for field in QueueDay._meta.fields if field.name != "id"]
    first = list(QueueDay.objects.order_by("queue").values(*columns))

    make(place)

    assert list(QueueDay.objects.order_by("queue").values(*columns)) == first


def test_an_empty_day_has_a_report_without_rows(place: Place) -> None:
    place.plan_report({})

    assert make(place).rows == 0

    assert ReportDay.objects.get().reported_at is not None


def test_a_day_that_is_gone_from_the_lake_keeps_its_report(place: Place) -> None:
    place.plan_report(events=10)
    make(place)
    place.plan_report({}, events=0)

    error = failing(place)

    assert error.kind == "events_gone"
    assert f"the lake has no events of {DAY} (any more), but its report counts 10" in str(error)
    assert set(rows()) == {"", "emails"}
    assert (ReportDay.objects.get().state, ReportDay.objects.get().events) == (ReportState.FAILED, 10)


def test_a_day_of_which_the_lake_has_less_than_before_says_so(place: Place) -> None:
    place.plan_report(events=1_000)
    make(place)
    place.plan_report(events=10)

    (warning,) = make(place).warnings

    assert "counted 1,000 events, this one 10" in warning


def test_made_up_data_may_go(place: Place) -> None:
    place.plan_report(events=10, demo=True)
    make(place)
    place.plan_report({}, events=0)

    assert make(place).warnings == ()
    assert not rows()


@pytest.mark.parametrize(
    ("plan", "kind", "words"),
    [
        ({"error": "No Java was found", "kind": "java_missing"}, "java_missing", "No Java was found"),
        ({"error": "Spark failed", "kind": "x", "errors": ["ERROR why"]}, "x", "of its standard error:\nERROR why"),
        ({"die": "silent"}, "process_died", "ended with status 3"),
        ({"die": "silent"}, "process_died", "java.lang.OutOfMemoryError: Java heap space"),
        ({"die": "killed"}, "process_died", "was ended by SIGKILL"),
    ],
)
def test_what_goes_wrong_is_said_and_the_earlier_report_stays(
    place: Place, plan: dict[str, str], kind: str, words: str
) -> None:
    place.plan_report()
    make(place)
    before, reported = rows(), ReportDay.objects.get().reported_run
    place.plan(**plan)

    error = failing(place)

    assert error.kind == kind
    assert words in str(error)
    day = ReportDay.objects.get()
    assert (day.state, day.failures, day.error) == (ReportState.FAILED, 1, str(error))
    assert day.reported_run == reported
    assert {queue: row.pk for queue, row in rows().items()} == {queue: row.pk for queue, row in before.items()}
    assert runs(place) == [f"run={reported}"]


def test_a_command_that_is_not_there_is_said(place: Place) -> None:
    with pytest.raises(ReportFailedError, match=r"ended with status|cannot be started"):
        make(place, command=["/nowhere/at/all"])


@pytest.mark.parametrize("column", ["published", "queue", "wait_p95"])
def test_a_table_without_a_column_is_no_report(place: Place, column: str) -> None:
    place.plan_report(leave_out=column)

    error = failing(place)

    assert error.kind == "bad_results"
    assert f"has no column {column}" in str(error)
    assert not rows()


def test_a_figure_that_is_missing_is_no_report(place: Place) -> None:
    place.plan_report({"figures": [figures("emails", published=None)]})

    assert "says nothing of published for default/orders/emails" in str(failing(place))


def test_a_damaged_file_is_no_report(place: Place) -> None:
    place.plan_report()
    plan = (place.root / "plan.json").read_text()
    for path in place.root.glob("prepared-*/date=*/run=*/figures.parquet/*"):
        path.write_bytes(b"no Parquet")
    assert "report" in plan

    assert "the report's table figures cannot be read" in str(failing(place))


def test_a_failure_in_the_middle_of_loading_leaves_the_earlier_rows(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.plan_report()
    make(place)
    reported = ReportDay.objects.get().reported_run

    def fail(*_args: Any, **_options: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(QueueDay.objects, "bulk_create", fail)

    assert "disk full" in str(failing(place))

    assert set(rows()) == {"", "emails"}
    assert ReportDay.objects.get().reported_run == reported


def test_a_compaction_that_fails_is_a_warning(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_url: str, _day: date) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr(upkeep, "compact_day", fail)
    place.plan_report()

    make(place)

    day = ReportDay.objects.get()
    text = "the day's files were not compacted: OSError: read-only file system"
    assert (day.state, day.warnings) == (ReportState.DONE, [{"kind": "compaction", "text": text}])


def test_a_file_that_compaction_finds_damaged_is_named_once_unless_the_report_did_so(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    hour = place.root / "lake" / f"date={DAY}" / "hour=03"
    url = f"file://{hour}"
    named = {"kind": "corrupt", "text": f"{url}/a.parquet was left out, and with it 3 events: is damaged"}
    place.plan_report(warnings=[named])
    make(place)
    hour.mkdir(parents=True)
    for name in ("a", "b"):
        (hour / f"{name}.parquet").write_bytes(b"no Parquet")

    upkeep.compact_days([DAY])
    upkeep.compact_days([DAY])

    text = f"{url}/b.parquet was not compacted: not readable as Parquet: no Parquet footer at the end of 10 bytes"
    assert ReportDay.objects.get().warnings == [named, {"kind": "compaction", "text": text}]
    assert [record.getMessage() for record in caplog.records if "not compacted" in record.getMessage()] == [
        f"report: {text}"
    ]


def test_the_files_of_a_day_that_goes_on_are_not_compacted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[date] = []

    def compact(_url: str, day: date) -> CompactionCounts:
        asked.append(day)
        return CompactionCounts()

    monkeypatch.setattr(upkeep, "compact_day", compact)
    place.plan_report(complete=False)
    make(place)
    assert not ReportDay.objects.get().complete
    assert asked == []

    place.plan_report()
    make(place)
    assert asked == [DAY]


def test_progress_is_told_and_kept(place: Place) -> None:
    told: list[Progress] = []
    place.plan_report()

    make(place, tell=told.append)

    assert [(one.stage, round(one.share, 2)) for one in told] == [
        ("counting", 0.36),
        ("loading", 0.9),
    ]


def test_noise_between_the_lines_does_no_harm(place: Place) -> None:
    place.plan_report()
    plan = (place.root / "plan.json").read_text()
    (place.root / "plan.json").write_text(plan.replace("{", '{"say": ["WARN no JSON", "[1]", "\\"text\\"", "{}"], ', 1))

    assert make(place).rows == 2


def test_told_to_stop_it_stops_the_process_and_counts_no_failure(place: Place) -> None:
    waits = place.root / "waits"
    place.plan(hang=str(waits))
    stop = threading.Event()

    def stop_it() -> None:
        wait_until(waits.exists, or_fail="it does not run")
        stop.set()

    watcher = threading.Thread(target=stop_it, daemon=True)
    watcher.start()

    error = failing(place, stop=stop)

    assert error.kind == "stopped"
    pid = int(waits.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    day = ReportDay.objects.get()
    assert (day.state, day.failures) == (ReportState.FAILED, 0)


def test_a_day_that_has_not_begun_is_refused(place: Place) -> None:
    with pytest.raises(BadRangeError, match="has not begun yet"):
        make(place, day=today() + timedelta(days=1))
    assert not ReportDay.objects.exists()


def test_an_objective_is_judged_by_the_policy_that_holds(place: Place, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="", objective_s=5)
    place.plan_report()
    make(place)
    row = rows()["emails"]
    assert (row.objective_s, row.objective_met, row.objective_share) == (5, False, 0.75)
    assert rows()[""].objective_s is None

    QueuePolicy.objects.create(namespace=orders, queue="emails", objective_s=60)
    place.plan_report()
    forget_everything()
    make(place)
    row = rows()["emails"]
    assert (row.objective_s, row.objective_met, row.objective_share) == (60, True, 1.0)


def test_an_objective_of_a_queue_that_handed_nothing_out_is_not_judged(place: Place, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="", objective_s=5)
    place.plan_report({"figures": [figures("emails", published=1)]})
    make(place)
    row = rows()["emails"]
    assert (row.objective_s, row.objective_met, row.objective_share) == (5, None, None)


def test_the_past_of_a_namespace_that_was_made_later_is_nobodys(place: Place, orders: Namespace) -> None:
    place.plan_report()
    make(place)
    assert [row.scope for row in rows().values()] == [None, None]

    place.plan_report(demo=True)
    make(place)
    assert [row.scope for row in rows().values()] == [orders, orders]

    make(place, day=today())
    assert {row.scope for row in QueueDay.objects.filter(day_id=today())} == {orders}


def test_of_too_many_queues_the_busiest_and_those_with_a_policy_are_kept(
    place: Place, orders: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making_rows, "QUEUES_MAX", 2)
    monkeypatch.setattr(loading, "QUEUES_MAX", 2)
    QueuePolicy.objects.create(namespace=orders, queue="rare", tries=3)
    busy = [figures(f"busy{number}", published=number) for number in range(5)]
    place.plan_report({"figures": [figures(published=10), figures("rare"), *busy]})

    made = make(place)

    assert set(rows()) == {"", "rare", "busy4"}
    assert made.warnings == ("4 queues have no figures of their own: a report keeps those of 2",)
    assert ReportDay.objects.get().warnings[0]["kind"] == "left_out"


def test_a_report_of_an_earlier_failure_counts_anew(place: Place) -> None:
    add_day(state=ReportState.FAILED, failures=2, error="what was wrong")
    place.plan_report(events=7)

    make(place)

    day = ReportDay.objects.get()
    assert (day.state, day.failures, day.error) == (ReportState.DONE, 0, "")


class Heard:
    """What a caller is told."""

    def __init__(self, *, goes_on: bool = True) -> None:
        self.made: list[date] = []
        self.failed: list[tuple[date, str]] = []
        self._goes_on = goes_on

    @property
    def listener(self) -> Listener:
        return Listener(tell=lambda _told: None, made=lambda made: self.made.append(made.day), failed=self._note)

    def _note(self, day: date, failure: ReportFailedError) -> bool:
        self.failed.append((day, failure.kind))
        return self._goes_on


DAYS = [DAY + timedelta(days=number) for number in range(3)]


def test_several_days_are_computed_by_one_process(place: Place) -> None:
    place.plan_report()
    heard = Heard()

    make_reports(days=DAYS, order=order(place), listener=heard.listener)

    assert (heard.made, heard.failed) == (DAYS, [])
    assert len({day.run for day in ReportDay.objects.all()}) == 1
    assert {day.state for day in ReportDay.objects.all()} == {ReportState.DONE}
    assert QueueDay.objects.count() == 6


def test_after_a_day_that_fails_the_others_are_made_by_another_process(place: Place) -> None:
    place.plan_report()
    place.change_plan(DAYS[1], error="no room", kind="failed")
    heard = Heard()

    make_reports(days=DAYS, order=order(place), listener=heard.listener)

    assert (heard.made, heard.failed) == ([DAYS[0], DAYS[2]], [(DAYS[1], "failed")])
    assert [day.state for day in ReportDay.objects.order_by("date")] == ["done", "failed", "done"]
    assert len({day.run for day in ReportDay.objects.all()}) == 2


def test_it_ends_after_a_failure_when_it_is_told_to(place: Place) -> None:
    place.plan_report()
    place.change_plan(DAYS[1], die="killed")
    heard = Heard(goes_on=False)

    make_reports(days=DAYS, order=order(place), listener=heard.listener)

    assert (heard.made, heard.failed) == ([DAYS[0]], [(DAYS[1], "process_died")])
    assert not ReportDay.objects.filter(pk=DAYS[2]).exists()


def test_a_day_that_another_process_has_is_left_to_it(place: Place) -> None:
    claim_day(day=DAYS[1], run_id="another's", trigger=ReportTrigger.ASKED)
    place.plan_report()
    heard = Heard()

    make_reports(days=DAYS, order=order(place), listener=heard.listener)

    assert (heard.made, heard.failed) == ([DAYS[0], DAYS[2]], [(DAYS[1], "day_taken")])
    assert ReportDay.objects.get(pk=DAYS[1]).run == "another's"
    assert list(place.out.glob(f"date={DAYS[1]}/run=*")) == []


def test_a_day_that_is_lost_while_it_is_computed_is_not_loaded(place: Place) -> None:
    place.plan_report()

    def take_over(_told: Progress) -> None:
        ReportDay.objects.update(run="another's")

    with pytest.raises(ClaimLostError):
        make(place, tell=take_over)

    day = ReportDay.objects.get()
    assert (day.run, day.state, day.reported_at) == ("another's", ReportState.RUNNING, None)
    assert not rows()
    assert runs(place) == []


def test_a_run_that_ended_before_it_wrote_anything_leaves_no_directory(place: Place) -> None:
    nothing = place.root / "nothing"
    nothing.mkdir()
    place.plan(report=str(nothing))

    failing(place)

    assert runs(place) == []


def test_a_queue_that_fell_silent_has_a_row_that_says_so(place: Place) -> None:
    said = {"pool": "default", "namespace": "orders", "figure": "published", "value": 0.0, "usual": 90.0, "spread": 2.0}
    changes = [
        said | {"queue": "silent", "weeks": 4, "flagged": True},
        said | {"queue": "never-busy", "weeks": 4, "flagged": False},
    ]
    place.plan_report({"figures": [figures(published=10)], "changes": changes})

    make(place)

    assert set(rows()) == {"", "silent"}
    assert (rows()["silent"].published, rows()["silent"].flagged, rows()["silent"].wait_p95) == (0, 1, None)
    assert [(change["queue"], change["usual"]) for change in rows()[""].changes] == [("silent", 90.0)]


def test_the_process_is_told_which_of_its_days_and_those_before_are_holidays(place: Place) -> None:
    told = place.root / "told.json"
    write = f"import json, pathlib, sys; pathlib.Path({str(told)!r}).write_text(json.dumps(sys.argv[1:]))"
    asked = [DAY, DAY - timedelta(weeks=1), DAY - timedelta(weeks=9), DAY + timedelta(days=1)]

    with override_settings(TASKQ_HOLIDAYS=asked):
        failing(place, command=[sys.executable, "-c", write])

    words = json.loads(told.read_text())
    assert [words[at + 1] for at, word in enumerate(words) if word == "--holiday"] == [
        f"{DAY - timedelta(weeks=1)}",
        f"{DAY}",
    ]


def test_what_is_better_in_a_queue_is_told_of_its_namespace_and_not_counted(place: Place) -> None:
    said = {"pool": "default", "namespace": "orders", "figure": "failed", "value": 2.0, "usual": 90.0, "weeks": 4}
    changes = [
        said | {"queue": "emails", "verdict": "better", "flagged": False},
        said | {"queue": "sms", "verdict": "worse", "flagged": True, "hour": 10},
        said | {"queue": "faxes", "verdict": "usual", "flagged": False},
    ]
    place.plan_report({"figures": [figures(published=10), figures("emails", published=10)], "changes": changes})

    make(place)

    assert [(one["queue"], one["hour"], one["verdict"]) for one in rows()[""].changes] == [
        ("sms", 10, "worse"),
        ("emails", None, "better"),
    ]
    assert (rows()[""].flagged, rows()["emails"].flagged) == (1, 0)


def test_a_target_decides_whether_an_objective_was_met(place: Place, orders: Namespace) -> None:
    """Of four deliveries, three within 5 s."""
    QueuePolicy.objects.create(namespace=orders, queue="", objective_s=5, objective_target=0.7)
    place.plan_report()

    make(place)

    row = rows()["emails"]
    assert (row.objective_target, row.objective_met, row.objective_share) == (0.7, True, 0.75)
