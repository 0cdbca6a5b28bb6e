"""The command with a server of Spark Connect: no Java of ours, no settings of a process that was started before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queues.lake.demo import DemoPlan, demo_hours, write_demo
from tests.support.waiting import wait_until

from . import expected
from .commands import command, ended, start
from .daemons import spark_process
from .made import event, in_ms, ms, read_table, write_lake

pytest.importorskip("grpc", reason="taskq is installed without its extra `connect`")

DAYS = ("2026-03-29", "2026-03-30")
WITHOUT_JAVA = {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}
STARTED = re.compile(r"Spark Connect server started at: \S*?:(\d+)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("connect")
    words = (
        *("org.apache.spark.deploy.SparkSubmit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]", "--conf", "spark.connect.grpc.binding.port=0"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1", "--conf", "spark.ui.enabled=false"),
        *("--conf", "spark.sql.shuffle.partitions=2", "spark-internal"),
    )
    with spark_process(folder, "server", *words, memory="1g") as log:
        wait_until(lambda: STARTED.search(log.read_text()) is not None, or_fail="no server", timeout_s=120)
        yield f"sc://127.0.0.1:{STARTED.findall(log.read_text())[0]}"


def test_several_days_have_the_rows_that_plain_python_gives_and_pages_are_verified(server: str, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    plan = DemoPlan(first=date.fromisoformat(DAYS[0]), days=1, jobs_per_day=500)
    write_demo(str(lake), plan, tell=lambda day, events: None)
    begun = ms(f"{DAYS[1]}T09:00")
    waits = [event("consumed", begun + each, job=f"01J{each}", wait_ms=each, attempt=1) for each in range(300)]
    write_lake(lake, [*waits, event("published", ms(DAYS[1]), job="01J", published=ms(DAYS[1]), size=1)])
    file = lake / f"date={DAYS[1]}" / "hour=09" / "made.parquet"
    flip_a_value(file)
    options = (f"--master={server}", "--conf=spark.sql.shuffle.partitions=3", "--conf=spark.hadoop.x.y=z")

    status, said, errors = ended(start(command(lake, out, *DAYS, options=options), **WITHOUT_JAVA))

    assert status == 0, (said, errors)
    rows = [row for _, _, table in demo_hours(plan) for row in table.to_pylist()]
    expected.check_report(out, DAYS[0], today=[in_ms(row) for row in rows], before=[])
    for day in DAYS:
        done = [line["done"] for line in said if line.get("date") == day and "done" in line]
        assert done == sorted(done)
        assert done[-1] == 100
    left = {row["queue"]: row["backlog"] for row in read_table(out, DAYS[0], "figures") if row["hour"] is None}
    then = {
        row["queue"]: row["backlog"]
        for row in read_table(out, DAYS[1], "figures")
        if row["hour"] is None and row["namespace"] == "demo"
    }
    assert then == {queue: backlog for queue, backlog in left.items() if backlog}
    summary = json.loads((out / f"date={DAYS[1]}" / "run=one" / "summary.json").read_text())
    assert (summary["events"], summary["master"]) == (1, server)
    assert [(one["file"], one["rows"]) for one in summary["corrupt"]] == [(f"file://{file}", 300)]


def flip_a_value(file: Path) -> None:
    """Change a value so that only the checksum of its page shows it: the file is read without an error."""
    content = file.read_bytes()
    before = pq.read_table(file)
    for place in range(len(content) // 2, 0, -1):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        try:
            after = pq.read_table(pa.BufferReader(changed))
        except Exception:  # this one is noticed without a checksum
            continue
        waits = after["wait_ms"].to_pylist()
        is_plausible = all(wait is not None and 0 <= wait < 10_000 for wait in waits)
        if is_plausible and after != before and after.drop(["wait_ms"]).equals(before.drop(["wait_ms"])):
            file.write_bytes(changed)
            return
    raise AssertionError("no such place")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--conf=spark.executor.memory=2g", "spark.executor.memory cannot be set through Spark Connect"),
        ("--memory=2g", "memory is the server's to set"),
    ],
)
def test_what_only_the_server_can_set_is_refused(server: str, tmp_path: Path, option: str, words: str) -> None:
    write_lake(tmp_path / "lake", [event("published", ms(DAYS[0]), job="01J", published=ms(DAYS[0]), size=1)])
    asked = command(tmp_path / "lake", tmp_path / "out", DAYS[0], options=(f"--master={server}", option))

    status, said, _ = ended(start(asked, **WITHOUT_JAVA))

    assert (status, said[-1]["kind"]) == (1, "bad_setting")
    assert words in said[-1]["error"]
