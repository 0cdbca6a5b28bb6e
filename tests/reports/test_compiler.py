"""Java's second compiler is told what to leave alone, for as long as that holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from queues.reports.compiler import FOR_EVENTS, FOR_TABLES, directed
from queues.reports.java_process import diagnose
from queues.services.reporting.making.report_process import NOISE


def test_directives_hold_for_as_long_as_the_block_lasts(spark: SparkSession) -> None:
    def told() -> str:
        return diagnose(spark, "compilerDirectivesPrint")

    before = told()
    with directed(spark, FOR_EVENTS):
        of_events = told()
        assert "org/apache/parquet/" in of_events
        with directed(spark, FOR_TABLES):
            assert told().count("Exclude:true") > of_events.count("Exclude:true")
        assert told() == of_events
    assert told() == before


def test_without_directives_java_goes_on_as_it_is(spark: SparkSession) -> None:
    before = diagnose(spark, "compilerDirectivesPrint")

    with directed(spark, [{"match": "no pattern at all", "c2": {"Exclude": 7}}]):
        assert diagnose(spark, "compilerDirectivesPrint") == before

    assert diagnose(spark, "compilerDirectivesPrint") == before


BEGINNING = """
import os, sys
from pathlib import Path
from queues.reports.java_process import diagnose
from queues.reports.session import SparkOptions, spark_session

# Python between fork and exec stands still where a thread held a lock, such as one of a client of HDFS.
os.register_at_fork(after_in_child=lambda: os._exit(1))
with spark_session(SparkOptions(master="local[1]", memory="512m"), scratch=Path(sys.argv[1])) as session:
    print(diagnose(session, "compilerDirectivesPrint"), diagnose(session, "vmFlags", "-all"))
"""


def test_java_of_a_large_day_begins_with_what_is_to_be_compiled(tmp_path: Path) -> None:
    """An option that Java does not know would be passed over in silence."""
    command = [sys.executable, "-c", BEGINNING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)

    assert "org/apache/spark/sql/catalyst/expressions/*.*" in done.stdout
    assert re.search(r"MaxNodeLimit += 25000 ", done.stdout)
    assert "directives added" not in done.stdout  # where the process that computes tells how far it is
    (told,) = (line for line in done.stderr.splitlines() if "directives added" in line)
    assert told.startswith(NOISE)
