"""Which labels get series of their own, and that what several workers count is one sum."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from queues.api.metrics import counters as series_module
from queues.api.metrics import process
from queues.api.metrics.counters import JOB_BOUNDS_MS, QUEUE_WIDTH, Counters, Series
from queues.api.metrics.exposition import ELAPSED, PUBLISHED, Page
from queues.api.metrics.worker_files import IDLE_S, LOOK_AGAIN_S, Slots, Workers, add, locked, replace_file
from tests.support.exposition import read_page


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(series_module, "monotonic", clock)
    return clock


def series_of(clock: Clock, *, limit: int = 2, path: Path | None = None, **options: Any) -> Series:
    slots = Slots(limit=limit, clock=clock, **options)
    if path is not None:
        slots.share(path)
    return Series(slots=slots, width=1)


def count(series: Series, *labels: str) -> None:
    for label in labels:
        series.of((label,))[0] += 1


def shown(series: Series) -> dict[str, float]:
    """Label → its count, for those that have a series."""
    counted = series.counted()
    return {key[0]: counted[str(number)][0] for key, number in series.labels().items() if str(number) in counted}


def test_labels_get_series_while_there_are_any(clock: Clock) -> None:
    series = series_of(clock)
    count(series, "a", "a", "b", "c", "c", "c")
    series.settle()
    count(series, "a", "c")
    series.settle()

    assert shown(series) == {"a": 3, "b": 1}
    assert series.other == [4]


def test_a_label_that_is_not_used_makes_room_after_a_while(clock: Clock) -> None:
    series = series_of(clock)
    count(series, "a", "b")
    series.settle()
    clock.now += IDLE_S - 1
    count(series, "b")
    series.settle()
    count(series, "c")
    series.settle()
    assert shown(series) == {"a": 1, "b": 2}
    clock.now += LOOK_AGAIN_S

    count(series, "c")
    series.settle()

    assert shown(series) == {"b": 2, "c": 1}
    assert series.other == [1], "what c counted before it had a series"


def test_a_label_that_comes_back_starts_anew(clock: Clock) -> None:
    series = series_of(clock, limit=1)
    for label in ("a", "b", "a"):
        count(series, label)
        series.settle()
        clock.now += IDLE_S

    assert shown(series) == {"a": 1}
    assert series.other == [0]


def test_more_newcomers_than_there_are_slots_take_no_memory(clock: Clock) -> None:
    series = series_of(clock)
    count(series, *[f"q{number}" for number in range(100_000)])

    assert len(series._known) == 2
    assert series.other == [99_998]


def test_workers_give_a_label_the_same_slot(clock: Clock, tmp_path: Path) -> None:
    one, other = (series_of(clock, path=tmp_path / "queues.json") for _ in range(2))
    count(one, "a")
    count(other, "a", "b")
    for series in (one, other, one):
        series.settle()

    assert one.labels() == other.labels()
    assert shown(one) == {"a": 1}
    assert shown(other) == {"a": 1, "b": 1}


def test_what_another_worker_uses_keeps_its_slot(clock: Clock, tmp_path: Path) -> None:
    in_use: dict[str, float] = {}
    one = series_of(clock, path=tmp_path / "queues.json", others_in_use=lambda: in_use)
    count(one, "a", "b")
    one.settle()
    clock.now += IDLE_S
    in_use[str(one.labels()["a",])] = clock.now
    count(one, "c")
    one.settle()

    assert set(shown(one)) == {"a", "c"}


def test_a_worker_whose_label_lost_its_slot_to_another_stops_counting_it(clock: Clock, tmp_path: Path) -> None:
    one, other = (series_of(clock, limit=1, path=tmp_path / "queues.json") for _ in range(2))
    count(one, "a")
    one.settle()
    other.settle()
    clock.now += IDLE_S
    count(other, "b")
    other.settle()
    count(one, "a")
    one.settle()

    assert shown(one) == {}
    assert shown(other) == {"b": 1}
    count(one, "b")
    one.settle()
    assert one.labels() == other.labels()


def test_while_another_worker_changes_the_slots_newcomers_wait(clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "queues.json"
    series = series_of(clock, path=path)
    count(series, "a")
    with locked(path) as mine:
        assert mine
        series.settle()
        count(series, "a")
        assert shown(series) == {}
    series.settle()

    assert shown(series) == {"a": 2}


def test_without_the_directory_nobody_gets_a_series(clock: Clock, tmp_path: Path) -> None:
    series = series_of(clock, path=tmp_path / "gone" / "queues.json")
    count(series, "a")
    series.settle()

    assert shown(series) == {}
    assert series.of(("a",)) == [1]


def snapshot(number: int) -> dict[str, Any]:
    return {
        "counts": {"queues": {"1": [number, 0]}, "n": number},
        "gauges": {"waiting": number},
        "in_use": {"queues": {}},
    }


@pytest.fixture
def dead_pid() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.fixture
def join(tmp_path: Path) -> Callable[[], Workers]:
    def make() -> Workers:
        workers = Workers()
        workers.join(tmp_path)
        return workers

    return make


def leave_behind(directory: Path, pid: int, number: int) -> None:
    """The file of another process."""
    replace_file(directory / f"worker-{pid}-x{number}.json", {"pid": pid, **snapshot(number)})


def test_a_worker_alone_answers_with_its_own(tmp_path: Path) -> None:
    assert Workers().add_others(snapshot(3)) == {"counts": snapshot(3)["counts"], "gauges": {"waiting": 3}}


def test_counts_of_the_dead_stay_their_gauges_go(tmp_path: Path, join: Callable[[], Workers], dead_pid: int) -> None:
    leave_behind(tmp_path, os.getpid(), 10)
    leave_behind(tmp_path, dead_pid, 100)
    workers = join()
    before = workers.add_others(snapshot(1))

    workers.merge_ended({"queues": {"1"}})

    assert before == workers.add_others(snapshot(1))
    assert before == {"counts": {"queues": {"1": [111, 0]}, "n": 111}, "gauges": {"waiting": 11}}
    assert len(list(tmp_path.glob("worker-*"))) == 1


def test_a_burial_that_was_cut_short_counts_nobody_twice(
    tmp_path: Path, join: Callable[[], Workers], dead_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_behind(tmp_path, dead_pid, 100)
    workers = join()
    with monkeypatch.context() as patch:
        patch.setattr(Workers, "_remove", lambda _self, _names: None)
        workers.merge_ended({"queues": {"1"}})
    assert len(list(tmp_path.glob("worker-*"))) == 1
    assert workers.add_others(snapshot(1))["counts"]["n"] == 101

    join().merge_ended({"queues": {"1"}})

    assert list(tmp_path.glob("worker-*")) == []
    assert workers.add_others(snapshot(1))["counts"]["n"] == 101


def test_of_the_dead_only_slots_that_are_given_are_kept(
    tmp_path: Path, join: Callable[[], Workers], dead_pid: int
) -> None:
    leave_behind(tmp_path, dead_pid, 100)
    join().merge_ended({"queues": {"2"}})

    assert orjson.loads((tmp_path / "ended.json").read_bytes())["counts"] == {"queues": {}, "n": 100}


def test_files_that_look_old_are_touched(tmp_path: Path, join: Callable[[], Workers]) -> None:
    path = tmp_path / "queues.json"
    path.write_text("{}")
    os.utime(path, (1, 1))

    join().write(snapshot(1))

    assert path.stat().st_mtime > 1


def test_when_the_directory_is_gone_it_is_said_once_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    workers = Workers()
    workers.join(tmp_path / "gone")
    monkeypatch.setattr(process, "WORKERS", workers)

    process.flush()
    process.flush()
    (tmp_path / "gone").mkdir()
    process.flush()
    (tmp_path / "gone").rename(tmp_path / "gone again")
    process.flush()

    assert [record.__dict__["action"] for record in caplog.records] == ["metrics.share", "metrics.share"]


def test_adding_changes_neither_part() -> None:
    one, other = {"a": [1, 2], "b": {"c": 1}}, {"a": [3, 4], "b": {"d": 2}, "e": 5}

    assert add(one, other) == {"a": [4, 6], "b": {"c": 1, "d": 2}, "e": 5}
    assert (one, other) == ({"a": [1, 2], "b": {"c": 1}}, {"a": [3, 4], "b": {"d": 2}, "e": 5})


def test_what_falls_on_a_bound_belongs_to_its_bucket(clock: Clock) -> None:
    counters = Counters(queues=Slots(limit=5), namespaces=Slots(limit=5))
    for ms in (0, *JOB_BOUNDS_MS, JOB_BOUNDS_MS[-1] + 1):
        counters.consumed("p", "n", "q", [ms])
    counters.queues.settle()
    (numbers,) = counters.queues.counted().values()

    assert len(numbers) == QUEUE_WIDTH
    assert numbers[2 : 2 + len(JOB_BOUNDS_MS) + 1] == [2, *[1] * len(JOB_BOUNDS_MS)]


def test_label_values_are_escaped() -> None:
    page = Page()
    page.add(PUBLISHED, ("p", 'a"b\\c\nd', "q"), 1)
    page.add_histogram(ELAPSED, ("p", 'a"b', "q"), bounds=(0.005, 1), buckets=(1, 0, 2), total=2.5)

    found = read_page(page.text())

    assert found["taskq_jobs_published_total"].value(namespace=r"a\"b\\c\nd") == 1
    assert found["taskq_job_elapsed_seconds"].values(le="0.005") == [1]
    assert found["taskq_job_elapsed_seconds"].values(le="+Inf") == [3]
