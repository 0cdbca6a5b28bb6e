"""System checks: whether each pool is fit to hold jobs, and the file of Spark's settings can be read.

Those of pools ask every pool's Redis, so they run only when asked for: by `migrate` and `check --database default`, and
by `check --deploy`. They only warn, whatever they find, so that a Redis that is away stops no migration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import Error as DatabaseFault

from queues.spark_settings import SparkSettingError, check_file

POOL_TAG: Final = "pools"
CHECK_IDS: Final = {
    "evicts": "queues.W001",
    "no_aof": "queues.W002",
    "unreachable": "queues.W003",
    "layout": "queues.W004",
    "partitions": "queues.W005",
    "too_few_replicas": "queues.W006",
}


@register(Tags.database)
def check_pools(*, databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """One warning per problem of a pool."""
    if not databases or "default" not in databases:
        return []
    return _warnings()


@register(POOL_TAG, deploy=True)
def check_pools_on_deploy(**_kwargs: Any) -> list[CheckMessage]:
    """The same for `check --deploy`, which leaves out what is about databases."""
    return _warnings()


@register()
def check_spark_properties(**_kwargs: Any) -> list[CheckMessage]:
    """A warning if TASKQ_SPARK_PROPERTIES names a file without settings of Spark's; processes that make no reports do
    without it."""
    if not settings.TASKQ_SPARK_PROPERTIES:
        return []
    try:
        check_file(settings.TASKQ_SPARK_PROPERTIES)
    except SparkSettingError as error:
        hint = "runreport and the nightly report need it; other processes do not."
        return [Warning(f"TASKQ_SPARK_PROPERTIES: {error}", hint=hint, id="queues.W010")]
    return []


def _warnings() -> list[CheckMessage]:
    from queues.services.pools.managing import check_pools  # models are not loaded yet when Django imports this module

    try:
        reports = check_pools()
    except DatabaseFault:
        return []  # before the first migration there are no pools to ask; a database that is away fails other checks
    return [
        Warning(f"Pool {report.pool}: {problem.text}", hint=problem.hint, id=CHECK_IDS[problem.kind])
        for report in reports
        for problem in report.problems
    ]
