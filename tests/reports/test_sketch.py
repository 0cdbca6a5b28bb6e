"""Histograms that add up, and how far their percentiles may be off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from queues.lake import sketch
from queues.reports.tables.cells import bucket_of

from .expected import percentile

TIMES = st.one_of(st.integers(0, 300), st.integers(0, 10**7), st.integers(0, 2**42 - 1))
BORDERS = [0, *((1 << power) + by for power in range(1, 50) for by in range(-2, 3) if (1 << power) + by >= 0)]


@given(TIMES)
def test_a_time_is_within_its_bucket_and_close_to_its_middle(ms: int) -> None:
    low, high = sketch.bounds(sketch.bucket_of(ms))

    assert low <= ms <= high
    assert abs((low + high) // 2 - ms) <= sketch.RELATIVE_ERROR * ms


def test_buckets_follow_on_each_other_without_gaps() -> None:
    ends = [sketch.bounds(bucket) for bucket in range(sketch.LAST + 1)]

    assert [high + 1 for _, high in ends[:-1]] == [low for low, _ in ends[1:]]
    assert ends[0][0] == 0


@pytest.mark.parametrize("bucket", [-1, sketch.LAST + 1])
def test_there_are_no_other_buckets(bucket: int) -> None:
    with pytest.raises(ValueError, match="no such bucket"):
        sketch.bounds(bucket)


@given(st.lists(st.lists(TIMES, max_size=30), min_size=1, max_size=4), st.sampled_from((1, 50, 90, 95, 99, 100)))
def test_a_percentile_of_merged_days_is_within_the_stated_error_of_that_of_all_values(
    days: list[list[int]], percent: int
) -> None:
    values = [ms for day in days for ms in day]
    merged = sketch.merge({bucket: buckets.count(bucket) for bucket in buckets} for buckets in map(_buckets, days))

    found = sketch.quantile(merged, percent / 100)

    if not values:
        assert found is None
    else:
        exact = percentile(values, percent)
        assert found is not None
        assert abs(found - exact) <= sketch.RELATIVE_ERROR * exact


def test_merging_keeps_every_value() -> None:
    assert sketch.merge([{1: 2, 5: 1}, {}, {5: 3}]) == {1: 2, 5: 4}


def test_the_share_within_a_limit_counts_what_is_below_it() -> None:
    assert sketch.share_within({10: 3, 20: 1}, 10) == 0.75
    assert sketch.share_within({}, 10) is None


def test_spark_and_python_agree_on_each_border(spark: SparkSession) -> None:
    times = sorted({*BORDERS, *range(2_000), *(sketch.bounds(bucket)[0] for bucket in range(sketch.LAST + 1))})
    told = spark.sql(f"select explode(array({','.join(f'{ms}L' for ms in times)})) as ms")

    rows = told.selectExpr("ms", f"{bucket_of('ms')} AS bucket")

    assert [tuple(row) for row in rows.collect()] == [(ms, sketch.bucket_of(ms)) for ms in times]


def _buckets(values: list[int]) -> list[int]:
    return [sketch.bucket_of(ms) for ms in values]
