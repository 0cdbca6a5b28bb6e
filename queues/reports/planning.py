"""How Spark is asked for tables that are little work each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

_PLAIN: Final = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}


@contextmanager
def plain_plans(spark: SparkSession, *, wanted: bool) -> Iterator[None]:
    """For as long as the block lasts, plan all at once and for one task at a time, if `wanted`.

    Where a table has a few thousand rows, planning each stage anew by what came out of the one before takes longer than
    the stages.
    """
    changes = _PLAIN if wanted else {}
    before = {name: spark.conf.get(name) for name in changes}
    try:
        for name, value in changes.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def side_by_side(spark: SparkSession, *works: Callable[[], None]) -> None:
    """Do all of it, the first one first, on as many threads as the machine has cores.

    Raises what the first one raises that fails, once none of the others is at work any more. A wish to exit does not
    wait for them: they fail when Spark ends.
    """
    pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="report")
    try:
        for future in [pool.submit(inheritable_thread_target(spark)(work)) for work in works]:
            future.result()
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
