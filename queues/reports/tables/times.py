"""Times of each metric at each level: number, mean, greatest, exact percentiles, and histograms that add up over days.

Scope, metric and hour are one number here, the *key*, so that what is shuffled and sorted is three whole numbers: where
there are many queues, nearly each event has a time of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from ..session import cut_off
from .cells import DAY, LISTED, METRICS, SCOPE, TOP, bucket_of

PERCENTS: Final = (50, 90, 95, 99)

_HOURS: Final = 32
_WHOLE_DAY: Final = _HOURS - 1
"""In the place of an hour."""

_METRICS: Final = tuple(METRICS)
_HOUR: Final = f"key % {_HOURS}"
_METRIC: Final = f"key DIV {_HOURS} % {len(_METRICS)}"
_ID: Final = f"key DIV {_HOURS * len(_METRICS)}"


LISTED_EVENTS: Final = 300_000
"""The times of a queue or namespace with so many events are put in order as one list, 8 bytes each; of one with more
they are counted by bucket first."""


PASS_EVENTS: Final = 1_000_000
"""So many events of small ones are worth a pass of their own beside large ones."""

EVENTS_OF_TASK: Final = 250_000
"""Of which a task has the lists: while they grow, Java has some 30 bytes for each time."""


def scopes_of(counts: DataFrame) -> DataFrame:
    """(scope, id, events, namespace_id, namespace_events) of each queue and namespace, ids from 1."""
    queues = counts.groupBy(*SCOPE).agg(f.sum("events").alias("events"))
    namespaces = queues.groupBy("pool", "namespace").agg(f.sum("events").alias("events"))
    both = queues.unionByName(namespaces.withColumn("queue", f.lit("")))
    numbered = both.withColumn("id", f.row_number().over(Window.orderBy(*SCOPE)).cast("long"))
    within = Window.partitionBy("pool", "namespace")
    # A namespace comes before its queues, and has the events of all of them.
    return numbered.withColumns(
        {"namespace_id": f.min("id").over(within), "namespace_events": f.max("events").over(within)}
    )


Keep = Callable[[DataFrame], DataFrame]
"""Has a table computed once, though it is used several times."""


def measures_of(values: DataFrame, scopes: DataFrame, *, add_up: bool, keep: Keep, is_local: bool) -> DataFrame:
    """(key, jobs, sum_ms, max_ms, p50, …, longest, buckets) at each level, to be added up. A key's percentile is the
    least that its rows have.

    `longest`: of a day, the TOP-th longest time; of less than TOP times 1.
    `buckets`: the parts of the day's histogram that a row stands for, a list of (bucket, jobs) in order; of most rows
    null. `scopes`: as `scopes_of` says.
    `add_up`: equal times become one first where there are many: they have not been added up yet.
    """
    sizes = (
        f"coalesce(sum(IF(events <= {LISTED_EVENTS}, events, 0)), 0)",
        f"coalesce(sum(IF(events > {LISTED_EVENTS}, events, 0)), 0)",
        "coalesce(max(IF(queue != '', events, 0)), 0)",
    )
    places, in_small, in_large, most_of_queue = scopes.selectExpr("count(*)", *sizes).collect()[0]
    names = f.broadcast(scopes) if places <= BROADCAST_ROWS else scopes
    most = LISTED_EVENTS if not in_large or in_small > PASS_EVENTS else 0
    cut: Keep = cut_off if is_local else keep
    parts = []
    if most:
        tasks = 1 + in_small // EVENTS_OF_TASK
        lists = cut(_lists_of(_of_hours(values, names, f"<= {most}"), tasks=tasks))
        parts.append(_in_lists(lists, tasks=tasks))
    if in_large:
        # Where only namespaces are large, the lists of their queues have all of it, and with fewer names.
        only_namespaces = 0 < most_of_queue <= most
        large = _of_namespaces(lists, names, most=most) if only_namespaces else _of_hours(values, names, f"> {most}")
        if add_up or only_namespaces:
            large = cut(large.groupBy("key", "ms").agg(f.sum("n").alias("n")))
        parts.append(_by_bucket(large, keep, cut))
    return reduce(_union, parts)


def are_single(values: int, *, events: int) -> bool:
    """Whether most rows of values stand for one event each."""
    return 2 * values > events


def _lists_of(values: DataFrame, *, tasks: int) -> DataFrame:
    """(day, key, times, jobs, sum_ms, max_ms) of hours, times in order."""
    each = values.selectExpr(f"key | {_WHOLE_DAY}L AS day", "key", "explode(array_repeat(ms, CAST(n AS int))) AS ms")
    together = each.repartition(tasks, "day").groupBy("day", "key")
    return together.agg(*map(f.expr, ("sort_array(collect_list(ms)) AS times", *_sums("1L"))))


def _of_namespaces(lists: DataFrame, scopes: DataFrame, *, most: int) -> DataFrame:
    """(key, ms, n) of the hours of namespaces with more than so many events, from the lists of all of their queues."""
    large = scopes.where(f"queue != '' AND namespace_events > {most}").select("id", "namespace_id")
    queues = lists.withColumn("id", f.expr(_ID)).join(large, "id")
    key = f"key + (namespace_id - id) * {_HOURS * len(_METRICS)} AS key"
    return queues.selectExpr(key, "explode(times) AS ms", "1L AS n")


def _in_lists(hours: DataFrame, *, tasks: int) -> DataFrame:
    """Each key's times as one list, in which a percentile has its place."""
    summed = [f"{how}({name}) AS {name}" for name, how in _SUMMED.items()]
    of_hours = ("sort_array(flatten(collect_list(times))) AS times", *summed)
    # As many tasks as there are for hours: lists are not spilled while they grow.
    days = hours.repartition(tasks, "day").groupBy(f.col("day").alias("key")).agg(*map(f.expr, of_hours))
    # Nearest rank: the least value that at least this share of the values does not exceed.
    ranks = [f"times[CAST((size(times) * {percent}L + 99) DIV 100 AS int) - 1] AS p{percent}" for percent in PERCENTS]
    told = ("key", *_SUMMED, *ranks)
    longest = f"IF(size(times) < {TOP}, 1L, times[size(times) - {TOP}]) AS longest"
    return _union(hours.selectExpr(*told), days.selectExpr(*told, longest, f"{_HISTOGRAM} AS buckets"))


# `transform(array(x), name -> ...)[0]` gives x a name, so that it is worked out once.
_RUN_ENDS: Final = f"""
    transform(array(transform(times, ms -> {bucket_of("ms")})), buckets -> filter(transform(buckets, (bucket, at) ->
        IF(bucket = get(buckets, at + 1), NULL, struct(bucket, at + 1 AS place))), one -> one IS NOT NULL))[0]"""
_HISTOGRAM: Final = f"""
    transform(array({_RUN_ENDS}), run_ends -> transform(run_ends, (one, number) ->
        struct(one.bucket, CAST(one.place - IF(number = 0, 0, run_ends[number - 1].place) AS long) AS jobs)))[0]"""
"""Of `times` in order, at least one and none of them null: (bucket, jobs) in order. Grouping each time with its bucket
took twice as long: where queues are many, nearly each has a bucket of its own."""


def _by_bucket(values: DataFrame, keep: Keep, cut: Keep) -> DataFrame:
    """Where there are so many values that sorting takes long: they are counted by bucket first, and only those in whose
    bucket a percentile lies are sorted."""
    hours = values.withColumn("bucket", f.expr(bucket_of("ms")))
    of_hours = hours.groupBy("key", "bucket").agg(*map(f.expr, (*_sums("n"), "min(ms) AS min_ms")))
    added = _SUMMED | {"min_ms": "min"}
    levels = _with_days(of_hours, "bucket", *added).groupBy("key", "bucket")
    buckets = keep(levels.agg(*(f.expr(f"{how}({name}) AS {name}") for name, how in added.items())))
    ranked = _ranked(buckets, "bucket", "jobs").withColumn("below", f.expr("upto - jobs"))
    lies_here = [f"below * 100 < total * {percent} AND total * {percent} <= upto * 100" for percent in PERCENTS]
    lies_here += [f"{_HOUR} = {_WHOLE_DAY} AND below <= total - {TOP} AND total - {TOP} < upto"]
    chosen = ranked.where(" OR ".join(f"({one})" for one in lies_here)).withColumn("place", f.expr(_PLACE))
    chosen = cut(chosen)
    told = chosen.where("min_ms = max_ms").selectExpr("key", "min_ms AS ms", "upto", "total")
    unclear = chosen.where("min_ms != max_ms").select("place", "below", "total")
    # Broadcast: at most a row for each percentile of a key, and there are many times as many values as keys.
    found = _with_days(hours, "ms", "n", "bucket").withColumn("place", f.expr(_PLACE))
    found = found.join(f.broadcast(unclear), "place")
    upward = Window.partitionBy("place").orderBy("ms")
    upto = f.sum("n").over(upward.rowsBetween(Window.unboundedPreceding, Window.currentRow)) + f.col("below")
    both = told.unionAll(found.select("key", "ms", upto.alias("upto"), "total"))
    nearest = [f"min(IF(upto * 100 >= total * {percent}, ms, NULL)) AS p{percent}" for percent in PERCENTS]
    nearest += [f"min(IF(total < {TOP}, 1L, IF(upto > total - {TOP}, ms, NULL))) AS longest"]
    percentiles = both.groupBy("key").agg(*map(f.expr, nearest))
    of_day = f"IF({_HOUR} = {_WHOLE_DAY}, array(struct(bucket, jobs)), NULL) AS buckets"
    return _union(buckets.selectExpr("key", *_SUMMED, of_day), percentiles)


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)


_SUMMED: Final = {"jobs": "sum", "sum_ms": "sum", "max_ms": "max"}
"""How rows are added up."""

_PERCENTILES: Final = tuple(f"p{percent}" for percent in PERCENTS)


def _sums(n: str) -> tuple[str, ...]:
    """`n`: how often there is a row's time."""
    return f"sum({n}) AS jobs", f"sum(ms * {n}) AS sum_ms", "max(ms) AS max_ms"


_BUCKETS: Final = 4_096
"""More than there are."""

_PLACE: Final = f"key * {_BUCKETS} + bucket"


def _of_hours(values: DataFrame, scopes: DataFrame, size: str) -> DataFrame:
    """(key, ms, n) of the hours of queues, and of namespaces, whose times may come several times. `size`: of those with
    so many events, such as "<= 100"."""
    number = " ".join(f"WHEN '{metric}' THEN {number}" for number, metric in enumerate(_METRICS))
    rest = f"* {len(_METRICS)} + CASE metric {number} END) * {_HOURS} + hour"
    keys = f"IF(events {size}, (id {rest}, NULL)", f"IF(namespace_events {size}, (namespace_id {rest}, NULL)"
    known = values.join(scopes, [*SCOPE]).selectExpr("ms", "n", *(f"{key} AS of_{at}" for at, key in enumerate(keys)))
    return (
        known.unpivot(["ms", "n"], ["of_0", "of_1"], "level", "key").where("key IS NOT NULL").select("key", "ms", "n")
    )


def _with_days(of_hours: DataFrame, *others: str) -> DataFrame:
    """(key, others) of the hours, and once more of the day in which they are."""
    both = of_hours.select("key", f.expr(f"key | {_WHOLE_DAY}L").alias("day"), *others)
    return both.unpivot([*others], ["key", "day"], "level", "key").select("key", *others)


def _ranked(rows: DataFrame, value: str, n: str) -> DataFrame:
    """With `upto`: how many of its key have at most this value, or stand before it; and with the `total` of its key.

    One order for both, so that rows are gone through once.
    """
    upward = Window.partitionBy("key").orderBy(value)
    ends = {"upto": Window.currentRow, "total": Window.unboundedFollowing}
    return rows.withColumns(
        {name: f.sum(n).over(upward.rowsBetween(Window.unboundedPreceding, end)) for name, end in ends.items()}
    )


BROADCAST_ROWS: Final = 2_000_000
"""Up to so many rows of names or numbers are sent to each executor (some 100 bytes each)."""


def metrics_of(measures: DataFrame, scopes: DataFrame) -> DataFrame:
    """(KEY, wait_count, wait_sum, wait_max, wait_p50, …), times in ms."""
    parts = {"count": "sum(IF({here}, jobs, 0))", "sum": "sum(IF({here}, sum_ms, NULL))"}
    parts["max"] = "max(IF({here}, max_ms, NULL))"
    parts |= {f"p{percent}": f"min(IF({{here}}, p{percent}, NULL))" for percent in PERCENTS}
    columns = [
        how.format(here=f"{_METRIC} = {number}") + f" AS {metric}_{part}"
        for number, metric in enumerate(_METRICS)
        for part, how in parts.items()
    ]
    means = [f"{metric}_sum / nullif({metric}_count, 0) AS {metric}_mean" for metric in _METRICS]
    grouped = measures.groupBy(f.expr(f"{_ID} AS id"), f.expr(f"{_HOUR} AS hour_number")).agg(*map(f.expr, columns))
    hour = f.expr(f"CAST(IF(hour_number = {_WHOLE_DAY}, {DAY}, hour_number) AS int)")
    joined = grouped.join(scopes, "id").withColumn("hour", hour)
    return joined.drop("id", "namespace_id", "events", "namespace_events", "hour_number").selectExpr("*", *means)


def longest_of(measures: DataFrame, scopes: DataFrame) -> DataFrame:
    """What `single_events.limits_of` says of all values of the day; not null where all took 0 ms."""
    limits = (
        f"min(IF({_METRIC} = {_METRICS.index(metric)}, greatest(longest, 1L), NULL)) AS {metric}_from"
        for metric in LISTED
    )
    of_days = (
        measures.where(f"{_HOUR} = {_WHOLE_DAY} AND longest IS NOT NULL")
        .groupBy(f.expr(f"{_ID} AS id"))
        .agg(*map(f.expr, limits))
    )
    return of_days.join(scopes.where("queue != ''"), "id").select(*SCOPE, *(f"{metric}_from" for metric in LISTED))


def histograms_of(measures: DataFrame, scopes: DataFrame) -> DataFrame:
    """(scope, metric, buckets) of the day, buckets in order, each (bucket, jobs); `queue` "" for a namespace.

    Where there are many, a row for each bucket would repeat the names in all that is put in order.
    """
    names = ", ".join(f"'{metric}'" for metric in _METRICS)
    of_days = measures.where("buckets IS NOT NULL")
    lists = of_days.groupBy("key").agg(f.expr("sort_array(flatten(collect_list(buckets))) AS buckets"))
    named = lists.selectExpr(
        f"{_ID} AS id", f"element_at(array({names}), CAST({_METRIC} AS int) + 1) AS metric", "buckets"
    )
    return named.join(scopes, "id").select(*SCOPE, "metric", "buckets")
