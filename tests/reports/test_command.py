"""The command: what it says when all is well, and when it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from queues.reports import command as reports_command
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


def test_small_files_are_merged_before_they_are_counted_and_a_stop_takes_spark_and_scratch_files_along(
    lake: Path, tmp_path: Path
) -> None:
    write_lake(lake, [event("published", ms(DAY), job="01K", published=ms(DAY), size=1)], name="other.parquet")
    process = start([*command(lake, tmp_path / "out", DAY), f"--merge={DAY}"])
    assert process.stdout is not None
    while '"counting"' not in process.stdout.readline():
        assert process.poll() is None
    (merged,) = lake.glob("date=*/hour=*/*.parquet")
    assert merged.name.startswith("compact-")
    java = _java_of(process.pid)
    process.terminate()

    assert ended(process)[0] == 143
    wait_until(lambda: not Path(f"/proc/{java}").exists(), or_fail="Java goes on")
    assert list((tmp_path / "out").glob("_scratch*")) == []


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
