"""Reads an Iceberg table with Spark, and prints what it finds as JSON. Run by test_iceberg.py, perhaps with the Python
of another Spark than the one that taskq uses: it needs pyspark and nothing of taskq.

    python read_iceberg.py METADATA SNAPSHOT RUNTIME
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main(metadata: str, snapshot: str, runtime: str) -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    with (
        builder.config("spark.jars.packages", runtime)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate() as spark
    ):
        events = spark.read.format("iceberg").load(metadata)
        then = spark.read.format("iceberg").option("versionAsOf", snapshot).load(metadata)
        day = events.where("at < timestamp '2026-11-21 00:00:00'")
        found = {
            "rows": events.count(),
            "of_day": day.count(),
            "then": then.count(),
            "types": dict(events.dtypes),
            "jobs": sorted(row["job"] for row in events.select("job").collect()),
            "first": day.selectExpr("unix_millis(min(at)) AS at", "sum(wait_ms) AS waits").collect()[0].asDict(),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
