"""The command: what it says when all is well, and when it is not."""

from __future__ import annotations

import os
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

from .commands import command, ended, start
from .made import event, ms, read_table, write_lake

DAYS = ("2026-03-28", "2026-03-29")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_lake(tmp_path / "lake", [event("published", ms(day), job="01J", published=ms(day), size=1) for day in DAYS])
    return tmp_path / "lake"


def test_several_days_share_a_spark_and_follow_on_each_other(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    path = _path_without_java(tmp_path)  # so that the wheel's has to do
    status, said, errors = ended(start(command(lake, out, *reversed(DAYS)), JAVA_HOME="", PATH=path))

    assert status == 0, (said, errors)
    assert [line["date"] for line in said if line.get("stage") == "finished"] == list(DAYS)
    for day in DAYS:
        done = [line["done"] for line in said if line.get("date") == day and "done" in line]
        assert done == sorted(done)
        assert done[-1] == 100
    rows = read_table(out, DAYS[1], "figures")
    assert {(row["hour"], row["backlog"], row["backlog_base_known"]) for row in rows} == {(0, 2, True), (None, 2, True)}
    assert sorted(path.name for path in out.iterdir()) == [f"date={day}" for day in DAYS]


def _path_without_java(folder: Path) -> str:
    """The PATH, and all that lies beside a Java in it."""
    places = [Path(one) for one in os.environ["PATH"].split(os.pathsep) if one]
    tools = folder / "tools"
    tools.mkdir()
    for place in places:
        if (place / "java").exists():
            for tool in place.iterdir():
                if tool.name != "java" and not (tools / tool.name).exists():
                    (tools / tool.name).symlink_to(tool.resolve())
    return os.pathsep.join([str(tools), *(str(place) for place in places if not (place / "java").exists())])


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
    words = command(lake, tmp_path / "out", DAYS[0])
    words[1:3] = ["-c", f"{without} from queues.reports.command import main; sys.exit(main())"]

    status, said, _ = ended(start(words, JAVA_HOME=str(tmp_path / "nowhere")))

    assert status == 1
    assert said[-1]["kind"] == "java_missing"
    assert f"JAVA_HOME: {tmp_path}/nowhere/bin/java does not run" in said[-1]["error"]
    assert list((tmp_path / "out").iterdir()) == []


def test_without_pyspark_the_error_says_how_to_get_it(lake: Path, tmp_path: Path) -> None:
    words = command(lake, tmp_path / "out", DAYS[0])
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
    earlier = out / f"date={DAYS[0]}" / "run=earlier" / "summary.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")

    process = start(command(lake, out, DAYS[0]))
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
    assert [path.name for path in out.rglob("*")] == [f"date={DAYS[0]}", "run=earlier", "summary.json"]


def test_a_run_that_is_asked_to_stop_takes_spark_and_its_scratch_files_along(lake: Path, tmp_path: Path) -> None:
    process = start(command(lake, tmp_path / "out", DAYS[0]))
    assert process.stdout is not None
    while '"counting"' not in process.stdout.readline():
        assert process.poll() is None
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
    words = " ".join(f"'{word}'" for word in command(lake, out, DAYS[0]))

    status, said, errors = ended(start(["unshare", "-Urm", "sh", "-c", f"{mount} && exec {words}"]))

    assert status == 1
    assert said[-1]["kind"] == "disk_full", errors


def _java_of(pid: int) -> int:
    """The Java process that a run has started."""
    found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    return next(int(line.split()[0]) for line in found.stdout.splitlines() if line.split()[1] == "java")
