"""Percentiles of very many values are found by bucket, and are those that come of putting all values in order."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from queues.reports.tables.times import are_many, histograms_of, measures_of, metrics_of, scopes_of

KEY = ("pool", "namespace", "queue", "hour", "metric", "ms")

VALUES = (
    "'default' AS pool",
    "element_at(array('shop', 'mail'), CAST(id % 2 AS int) + 1) AS namespace",
    "concat('queue-', id % 5) AS queue",
    "CAST(pmod(hash(id), 3) + 7 AS int) AS hour",
    "element_at(array('wait', 'run', 'total', 'lateness'), CAST(id % 7 % 4 AS int) + 1) AS metric",
    # From 0 to beyond the last bucket; often the same, often in one bucket with others.
    "CAST(pow(2, pmod(hash(id, 1), 450) / 10) - 1 AS long) DIV (1 + id % 3) * (1 + id % 3) AS ms",
)


def _values(spark: SparkSession) -> DataFrame:
    rows = spark.range(6_000).selectExpr(*VALUES, "1 + id % 11 AS n")
    return rows.groupBy(*KEY).agg(f.sum("n").alias("n"))


def _sorted(rows: DataFrame) -> list[Row]:
    return sorted(rows.select(*sorted(rows.columns)).collect(), key=str)


def test_many_values_have_the_percentiles_and_histograms_that_few_have(spark: SparkSession) -> None:
    values = _values(spark).persist()
    scopes = scopes_of(values).persist()
    all_in_order = measures_of(values, scopes, number=6_000, keep=DataFrame.persist)
    by_bucket = measures_of(values, scopes, number=1_000_000, keep=DataFrame.persist)
    of_a_cluster = measures_of(values, scopes, number=1_000_000, keep=None)
    for table in (metrics_of, histograms_of):
        expected = _sorted(table(all_in_order, scopes))
        assert len(expected) > 40
        for measures in (by_bucket, of_a_cluster):
            assert _sorted(table(measures, scopes)) == expected


def test_values_are_counted_by_bucket_where_a_queue_has_many() -> None:
    assert are_many(840_000, scopes=16)
    assert not are_many(200_000, scopes=16)
    assert not are_many(11_000_000, scopes=10_002), "nearly each has a bucket of its own"
