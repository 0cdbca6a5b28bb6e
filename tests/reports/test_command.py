"""The command: what it says when all is well, and when it is not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from queues.reports import command as reports_command
from queues.services.reporting.making.report_process import NOISE
from tests.support.waiting import wait_until

from .commands import command, ended, start
from .made import event, ms, write_lake

DAY = "2026-03-28"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_lake(tmp_path / "lake", [event("published", ms(DAY), job="01J", published=ms(DAY), size=1)])
    return tmp_path / "lake"


def test_a_day_in_the_future_is_refused_before_anything_starts(lake: Path, tmp_path: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()

    status, said, _ = ended(start(command(lake, tmp_path / "out", tomorrow)))

    assert status == 1
    assert [line["kind"] for line in said] == ["future_date"]
    assert tomorrow in said[0]["error"]
    assert not (tmp_path / "out").exists()


def test_without_a_java_the_error_says_how_to_get_one(lake: Path, tmp_path: Path) -> None:
    without = (
        "import sys, queues.reports.java as j; j.find_spec = lambda name: None; j.shutil.which = lambda name: None;"
    )
    words = command(lake, tmp_path / "out", DAY)
    words[1:3] = ["-c", f"{without} from queues.reports.command import main; sys.exit(main())"]

    status, said, _ = ended(start(words, JAVA_HOME=str(tmp_path / "nowhere")))

    assert status == 1
    assert said[-1]["kind"] == "java_missing"
    assert f"JAVA_HOME: {tmp_path}/nowhere/bin/java does not run" in said[-1]["error"]
    assert list((tmp_path / "out").iterdir()) == []


def test_without_pyspark_the_error_says_how_to_get_it(lake: Path, tmp_path: Path) -> None:
    words = command(lake, tmp_path / "out", DAY)
    words[1:3] = [
        "-c",
        "import sys; sys.modules['pyspark'] = None; from queues.reports.command import main; sys.exit(main())",
    ]

    status, said, errors = ended(start(words))

    assert status == 1, errors
    assert said[-1]["kind"] == "spark_missing"
    assert "taskq[reports]" in said[-1]["error"]


def test_a_spark_that_is_killed_leaves_a_clear_word_and_earlier_runs_alone(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    earlier = out / f"date={DAY}" / "run=earlier" / "summary.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")

    process = start(command(lake, out, DAY))
    assert process.stdout is not None
    before = ""
    while '"counting"' not in before:
        before = process.stdout.readline()
        assert before, "it ended before it counted"
    # To count even a single event takes a Spark that has just started a second.
    os.kill(_java_of(process.pid), signal.SIGKILL)
    status, said, errors = ended(process)

    assert status == 1
    assert said[-1]["kind"] == "spark_died", errors
    assert "Java process ended" in said[-1]["error"]
    assert [path.name for path in out.rglob("*")] == [f"date={DAY}", "run=earlier", "summary.json"]


LARGE_DAY = """
import os, sys
from pathlib import Path
from queues.reports import command
from queues.reports.day import DayReport
from queues.reports.java_process import diagnose

# Python between fork and exec stands still where a thread held a lock, such as one of a client of HDFS.
os.register_at_fork(after_in_child=lambda: os._exit(1))
command.BRIEF_BYTES = -1
count = DayReport._reduce

def tell_and_count(report, run_id):
    for words in (["compilerDirectivesPrint"], ["vmFlags", "-all"]):
        Path(os.environ["TOLD"], words[0]).write_text(diagnose(report._spark, *words))
    count(report, run_id)

DayReport._reduce = tell_and_count
sys.exit(command.main())
"""
"""The command, of a day that it takes for a large one. It writes down what Java says of itself when it counts."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A command that was to merge small files, and was told to stop when it began to count. `files`: of the lake at
    that time. `said`: on standard output until then. `directives`, `flags`: of Java."""

    status: int
    said: list[str]
    errors: str
    files: list[str]
    java: int
    out: Path
    directives: str
    flags: str


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    lake, out = folder / "lake", folder / "out"
    for job in ("01J", "01K"):
        write_lake(lake, [event("published", ms(DAY), job=job, published=ms(DAY), size=1)], name=f"{job}.parquet")
    words = command(lake, out, DAY)
    words[1:3] = ["-c", LARGE_DAY]
    process = start([*words, f"--merge={DAY}"], TOLD=str(folder))
    assert process.stdout is not None
    said = [""]
    while '"counting"' not in said[-1]:
        said.append(process.stdout.readline())
        assert said[-1], "it ended before it counted"
    files = [path.name for path in lake.glob("date=*/hour=*/*.parquet")]
    java = _java_of(process.pid)
    process.terminate()
    status, _, errors = ended(process)
    told = [(folder / name).read_text() for name in ("compilerDirectivesPrint", "vmFlags")]
    return Stopped(status, said[1:], errors, files, java, out, *told)


def test_small_files_are_merged_before_they_are_counted(stopped: Stopped) -> None:
    (merged,) = stopped.files
    assert merged.startswith("compact-")


def test_a_stop_takes_spark_and_scratch_files_along(stopped: Stopped) -> None:
    assert stopped.status == 143, stopped.errors
    wait_until(lambda: not Path(f"/proc/{stopped.java}").exists(), or_fail="Java goes on")
    assert list(stopped.out.glob("_scratch*")) == []


def test_java_of_a_large_day_begins_with_what_is_to_be_compiled(stopped: Stopped) -> None:
    """An option that Java does not know would be passed over in silence."""
    assert "org/apache/spark/sql/catalyst/expressions/*.*" in stopped.directives
    assert re.search(r"MaxNodeLimit += 25000 ", stopped.flags)
    assert all(line.startswith("{") for line in stopped.said)  # where the command tells how far it is
    (told,) = (line for line in stopped.errors.splitlines() if "directives added" in line)
    assert told.startswith(NOISE)


def test_a_full_disk_is_called_one(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mount = f"mount -t tmpfs -o size=96k none {out}"
    if subprocess.run(["unshare", "-Urm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a small file system")
    words = " ".join(f"'{word}'" for word in command(lake, out, DAY))

    status, said, errors = ended(start(["unshare", "-Urm", "sh", "-c", f"{mount} && exec {words}"]))

    assert status == 1
    assert said[-1]["kind"] == "disk_full", errors


def _java_of(pid: int) -> int:
    """The Java process that a run has started."""
    found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    return next(int(line.split()[0]) for line in found.stdout.splitlines() if line.split()[1] == "java")


def test_files_that_cannot_be_merged_are_told_of_and_read_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_lake: str, _day: date, *, stop: threading.Event) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr(reports_command, "compact_day", fail)

    with reports_command._merging("lake", [date.fromisoformat(DAY)]) as merged:
        merged()

    assert capsys.readouterr().err == f"the files of {DAY} were not merged: read-only file system\n"
