"""A stand-alone Spark cluster of a master and two workers gives the same rows."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyspark
import pytest

from queues.lake.demo import DemoPlan, write_demo
from queues.reports.java import find_java
from tests.support.waiting import wait_until

from .commands import command, ended, start
from .conftest import RunDay
from .made import read_table

DAY = "2026-03-29"
TABLES = ("figures", "histograms", "tries", "errors", "slow", "changes")
SMALL = ("--memory=512m", "--conf=spark.driver.memory=512m", "--conf=spark.sql.shuffle.partitions=2")
DEPLOY = "org.apache.spark.deploy"
URL = re.compile(r"spark://127\.0\.0\.1:\d+")


@contextlib.contextmanager
def spark_process(folder: Path, name: str, *words: str) -> Iterator[Path]:
    """A daemon of Spark's own; the file that it writes its log to."""
    home = find_java(scratch=folder)
    log = folder / f"{name}.log"
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    env = {**os.environ, "JAVA_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("w") as said:
        process = subprocess.Popen([program, *words], env=env, stdout=said, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a master with two workers, all on loopback, on ports that were free."""
    words = (f"{DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(spark_process(tmp_path, "master", *words))
        wait_until(lambda: URL.search(log.read_text()) is not None, or_fail="no master", timeout_s=120)
        url = URL.findall(log.read_text())[0]
        for number in (1, 2):
            place = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(tmp_path / f"work-{number}"))
            size = ("--cores", "1", "--memory", "600m")
            stack.enter_context(
                spark_process(tmp_path, f"worker-{number}", f"{DEPLOY}.worker.Worker", *place, *size, url)
            )
        registered = "Registering worker"
        wait_until(lambda: log.read_text().count(registered) == 2, or_fail="workers do not come", timeout_s=120)
        yield url


def test_a_cluster_gives_the_same_rows(run_day: RunDay, master: str, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    plan = DemoPlan(first=date.fromisoformat(DAY), days=1, jobs_per_day=500)
    write_demo(str(lake), plan, tell=lambda day, events: None)
    run_day(lake, out, DAY, run="local")

    status, said, errors = ended(start(command(lake, out, DAY, options=(f"--master={master}", *SMALL))))

    assert status == 0, (said, errors)
    for table in TABLES:
        assert read_table(out, DAY, table) == read_table(out, DAY, table, "local"), table
    assert [len(list((tmp_path / f"work-{number}").glob("app-*"))) for number in (1, 2)] == [1, 1]
