"""A day's table of queues as CSV, for spreadsheets and programs: names of columns are those of QueueDay.

Names of queues hold letters, digits, - and _ only, so no cell is a formula that could do anything.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any, Final

from queues.models.report import COUNTS, METRIC_PARTS, METRICS
from queues.pools.database import read_metadata

from ..permissions import User
from .tables import QueueFilter, chosen_rows

BATCH: Final = 500

COLUMNS: Final = (
    "day_id",
    "pool",
    "namespace",
    "queue",
    *COUNTS,
    "success_rate",
    "backlog",
    "objective_s",
    "objective_met",
    "objective_share",
    *(f"{metric}_{part}" for metric in METRICS for part in METRIC_PARTS),
    "first_at",
    "last_at",
)

HEAD: Final = ("day", *COLUMNS[1:])


def queues_as_csv(*, user: User, day: date, chosen: QueueFilter) -> Iterator[str]:
    """The queues that `user` may see and `chosen` means, in its order; pieces of text of many lines each.

    Times in ms and UTC, shares 0 to 1; what is unknown is empty. Raises MetadataUnavailableError.
    """
    rows = chosen_rows(user=user, day=day, chosen=chosen).values_list(*COLUMNS)
    found = read_metadata(lambda: list(rows))  # at once, so that all are of one report: rows.QUEUES_MAX at most
    yield _lines([HEAD])
    for begin in range(0, len(found), BATCH):
        yield _lines(found[begin : begin + BATCH])


def _lines(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return str(value).lower() if isinstance(value, bool) else value
