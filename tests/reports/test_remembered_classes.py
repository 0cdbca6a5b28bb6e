"""PySpark asks Java once for the classes that it names often."""

from __future__ import annotations

import pytest
from py4j.java_gateway import JVMView
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from queues.reports.java_process import OFTEN_NAMED


def test_java_looks_for_them_no_more(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = JVMView.__getattr__

    def listen(view: JVMView, name: str) -> object:
        asked.append(name)
        return ask(view, name)

    def plan_something() -> None:
        spark.range(1).groupBy("id", f.lit(1).alias("one")).agg(f.count("id"))

    monkeypatch.setattr(JVMView, "__getattr__", listen)
    plan_something()
    assert set(asked).isdisjoint(OFTEN_NAMED)

    for name in OFTEN_NAMED:
        monkeypatch.delattr(spark.sparkContext._jvm, name)
    plan_something()
    assert set(asked) >= set(OFTEN_NAMED), "PySpark names others now"
