"""Queues and namespaces, hours and the day: four levels at which the same is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

KEY: Final = ("pool", "namespace", "queue", "hour")
"""A place at a level. `queue` "": the namespace. `hour` DAY: the whole day."""

DAY: Final = -1
"""Never null inside, so that keys are equal to themselves."""


def at_all_levels(rows: DataFrame, *values: Column, by: Sequence[str] = ()) -> DataFrame:
    """`values` aggregated at each level; `by`: more columns that groups have in common."""
    of_queue = ["pool", "namespace", "queue"]
    of_namespace = ["pool", "namespace"]
    sets = [[*of_queue, "hour", *by], [*of_queue, *by], [*of_namespace, "hour", *by], [*of_namespace, *by]]
    grouped = rows.groupingSets(sets, *KEY, *by).agg(*values)
    return grouped.withColumns({"queue": f.coalesce("queue", f.lit("")), "hour": f.coalesce("hour", f.lit(DAY))})


def each_level(rows: DataFrame) -> DataFrame:
    """Each row four times, with the KEY of each level."""
    levels = f.array(
        *(
            f.struct(queue.alias("queue"), hour.alias("hour"))
            for queue in (f.col("queue"), f.lit(""))
            for hour in (f.col("hour"), f.lit(DAY))
        )
    )
    others = [name for name in rows.columns if name not in ("queue", "hour")]
    return rows.select(*others, f.explode(levels).alias("level")).select(*others, "level.*")


def as_told(rows: DataFrame) -> DataFrame:
    """As reports have it: `hour` null for the whole day."""
    return rows.withColumn("hour", f.when(f.col("hour") != DAY, f.col("hour")))
