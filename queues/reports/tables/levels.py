"""Queues and namespaces, hours and the day: four levels at which the same is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame

KEY: Final = ("pool", "namespace", "queue", "hour")
"""A place at a level. `queue` "": the namespace. `hour` DAY: the whole day."""

DAY: Final = -1
"""Never null inside, so that keys are equal to themselves."""


def at_all_levels(rows: DataFrame, *values: Column, by: Sequence[str] = ()) -> DataFrame:
    """`values` aggregated at each level; `by`: more columns that groups have in common."""
    return each_level(rows).groupBy(*KEY, *by).agg(*values)


def each_level(rows: DataFrame) -> DataFrame:
    """Each row four times, with the KEY of each level."""
    levels = [f"struct({queue} AS queue, {hour} AS hour)" for queue in ("queue", "''") for hour in ("hour", DAY)]
    others = [name for name in rows.columns if name not in ("queue", "hour")]
    return rows.selectExpr(*others, f"inline(array({', '.join(levels)}))")
