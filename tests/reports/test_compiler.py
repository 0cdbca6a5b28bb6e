"""Java's second compiler is told what to leave alone, for as long as that holds.

What it is told when it begins is a test of test_command.py.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from queues.reports.compiler import FOR_EVENTS, FOR_TABLES, directed
from queues.reports.java_process import diagnose


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
