"""Days of the lake into the Iceberg table that settings name: by command, and every night after compaction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from django.conf import settings

from queues.lake.files import list_days
from queues.lake.iceberg import OWN_CATALOG, ExportedDay, IcebergTarget, export_day
from queues.lake.storage import LakeError

logger = logging.getLogger(__name__)


def is_export_on() -> bool:
    """Whether settings name a catalog, so that the nightly run exports, too."""
    return bool(settings.TASKQ_ICEBERG_CATALOG)


def iceberg_target() -> IcebergTarget:
    """The table that settings name. Without a catalog: one of its own, in a SQLite file."""
    return IcebergTarget(
        catalog=settings.TASKQ_ICEBERG_CATALOG or OWN_CATALOG,
        warehouse=settings.TASKQ_ICEBERG_WAREHOUSE,
        table=settings.TASKQ_ICEBERG_TABLE,
    )


def export_days(days: Iterable[date] | None = None) -> Iterator[ExportedDay]:
    """Have the table hold these days, or all that the lake has, as the lake has them now. Raises LakeError."""
    lake = settings.TASKQ_LAKE_URL
    for day in list_days(lake) if days is None else days:
        yield export_day(lake, day, iceberg_target())


def export_recent_days(days: Iterable[date]) -> None:
    """The same after compaction, if it is on. What hinders it is logged, and tried again in the next night."""
    if not is_export_on():
        return
    try:
        for done in export_days(days):
            log_export(done)
    except LakeError as error:
        logger.error("days not exported to Iceberg", extra={"action": "iceberg.export", "reason": str(error)})


def log_export(done: ExportedDay) -> None:
    """What has become of a day, if anything has; and files whose events are not in the table."""
    fields: dict[str, Any] = {"action": "iceberg.export", "day": str(done.day)}
    if done.snapshot is not None:
        told = {"snapshot": done.snapshot, "rows": done.rows, "files": done.files}
        logger.info("day exported to Iceberg", extra=fields | told)
    for file in done.damaged:
        left_out = {"file": file.url, "reason": file.reason}
        logger.warning("file left out of the Iceberg table", extra=fields | left_out)
