"""What the files of a report must look like. `queues.reports` writes them; nothing but files passes between the two."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import pyarrow as pa

from queues.models.report import COUNTS, METRICS, QUANTILES

from .failures import BadResultsError


class Kind(StrEnum):
    """What a column holds; how wide a number is does not matter."""

    TEXT = "text"
    WHOLE = "whole number"
    REAL = "number"
    FLAG = "yes or no"
    TIME = "time"


_IS: Final = {
    Kind.TEXT: lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    Kind.WHOLE: pa.types.is_integer,
    Kind.REAL: lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind),
    Kind.FLAG: pa.types.is_boolean,
    Kind.TIME: pa.types.is_timestamp,
}

PLACE: Final = ("pool", "namespace", "queue")
"""Columns of every table that say what a row is about; never null."""

_PLACE: Final = dict.fromkeys(PLACE, Kind.TEXT)


def _measured(metric: str) -> dict[str, Kind]:
    whole = [f"{metric}_{part}" for part in ("count", *QUANTILES, "max")]
    return {**dict.fromkeys(whole, Kind.WHOLE), f"{metric}_mean": Kind.REAL, f"{metric}_exact": Kind.FLAG}


TABLES: Final[Mapping[str, Mapping[str, Kind]]] = {
    "figures": {
        **_PLACE,
        "hour": Kind.WHOLE,
        **dict.fromkeys(COUNTS, Kind.WHOLE),
        **{column: kind for metric in METRICS for column, kind in _measured(metric).items()},
        "success_rate": Kind.REAL,
        "backlog": Kind.WHOLE,
        "backlog_base_known": Kind.FLAG,
        "first_at": Kind.TIME,
        "last_at": Kind.TIME,
    },
    "histograms": {**_PLACE, "metric": Kind.TEXT, "bucket": Kind.WHOLE, "jobs": Kind.WHOLE},
    "tries": {**_PLACE, "attempt": Kind.WHOLE, "outcome": Kind.TEXT, "jobs": Kind.WHOLE},
    "errors": {
        **_PLACE,
        "pattern": Kind.TEXT,
        "failed": Kind.WHOLE,
        "dead": Kind.WHOLE,
        "first_at": Kind.TIME,
        "last_at": Kind.TIME,
        "job": Kind.TEXT,
    },
    "slow": {
        **_PLACE,
        "metric": Kind.TEXT,
        "rank": Kind.WHOLE,
        "job": Kind.TEXT,
        "attempt": Kind.WHOLE,
        "ms": Kind.WHOLE,
        "at": Kind.TIME,
        "worker": Kind.TEXT,
    },
    "changes": {
        **_PLACE,
        "figure": Kind.TEXT,
        "value": Kind.REAL,
        "usual": Kind.REAL,
        "spread": Kind.REAL,
        "weeks": Kind.WHOLE,
        "flagged": Kind.FLAG,
    },
}


def check_columns(table: str, schema: pa.Schema) -> None:
    """Raises BadResultsError if a column is missing or holds something else. More columns than known do no harm."""
    for name, kind in TABLES[table].items():
        index = schema.get_field_index(name)
        if index < 0:
            raise BadResultsError(f"the report's table {table} has no column {name}")
        if not _IS[kind](schema.field(index).type):
            raise BadResultsError(f"the report's table {table}: {name} is {schema.field(index).type}, not a {kind}")
