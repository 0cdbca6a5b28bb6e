"""The columns of the lake and of reports as tables of Markdown, as JSON Schema and as SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from queues.lake import counts, schema
from queues.lake.schema import Column, ColumnType
from queues.reports import schema as reports

DOCS: Final = Path(__file__).parents[2] / "docs" / "data"

BEGIN: Final = "<!-- columns: python -m tools.data_docs -->"
END: Final = "<!-- end -->"
"""What stands around the table of a page."""

COUNTS_VERSION: Final = 1
"""No file of hourly counts says one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A table. `name` in SQL and JSON; `partitions`: columns that paths say. `key`: what tells rows apart."""

    name: str
    page: str
    version: int
    columns: Sequence[Column]
    partitions: Sequence[Column]
    key: Sequence[str]


_DATE: Final = Column("date", "string", False, "the UTC day, YYYY-MM-DD")
_HOUR: Final = Column("hour", "int32", False, "the hour of the day (UTC)")
_RUN: Final = Column("run", "string", False, "which run computed it; `current.json` says the one that counts")

TABLES: Final = (
    Described(
        name="events",
        page="events.md",
        version=schema.VERSION,
        columns=schema.COLUMNS,
        partitions=(_DATE, _HOUR),
        key=schema.NAMED_BY,
    ),
    Described(
        name="hourly_counts",
        page="hourly-counts.md",
        version=COUNTS_VERSION,
        columns=counts.TABLE,
        partitions=(_DATE,),
        key=("date", "pool", "partition", "namespace", "queue", "hour"),
    ),
    *(
        Described(
            name=f"report_{name}",
            page=f"report-{name}.md",
            version=reports.VERSION,
            columns=columns,
            partitions=(_DATE, _RUN),
            key=("date", "run", *reports.PRIMARY_KEYS[name]),
        )
        for name, columns in reports.TABLES.items()
    ),
)

_SQL: Final[dict[ColumnType, str]] = {
    "string": "VARCHAR",
    "timestamp_ms": "TIMESTAMP WITH TIME ZONE",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "double": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
}

_JSON: Final[dict[ColumnType, dict[str, Any]]] = {
    "string": {"type": "string"},
    "timestamp_ms": {"type": "string", "format": "date-time"},
    "int16": {"type": "integer", "minimum": -(2**15), "maximum": 2**15 - 1},
    "int32": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    "int64": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    "double": {"type": "number"},
    "bool": {"type": "boolean"},
}

_TYPE_NAMES: Final[dict[ColumnType, str]] = {"timestamp_ms": "timestamp, ms, UTC"}


def make_documents() -> Iterator[tuple[Path, str]]:
    """Each file below DOCS that is made, or that has a part that is made, with what it should hold."""
    for table in TABLES:
        path = DOCS / table.page
        yield path, with_columns(path.read_text(encoding="utf-8"), table)
    yield DOCS / "schema.json", as_json_schema()
    yield DOCS / "schema.sql", as_sql()


def with_columns(page: str, table: Described) -> str:
    """The page, with the table of columns as it is now. Raises ValueError if it has no place for it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"docs/data/{table.page} lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n\n{as_markdown(table)}\n{END}{after}"


def as_markdown(table: Described) -> str:
    """A row for each column, those of the path last."""
    head = "| column | type | unit | null | meaning | since |\n| --- | --- | --- | --- | --- | --- |\n"
    rows = [_row(column, f"{column.since}") for column in table.columns]
    rows += [_row(column, "in path") for column in table.partitions if column.name not in _names(table)]
    return head + "".join(rows)


def _row(column: Column, since: str) -> str:
    kind = _TYPE_NAMES.get(column.type, column.type)
    null = "yes" if column.nullable else "no"
    return f"| `{column.name}` | {kind} | {column.unit} | {null} | {column.meaning} | {since} |\n"


def as_json_schema() -> str:
    """A row of each table as JSON, times as ISO 8601; what JSON Schema has no word for is in keys that begin with x."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "taskq: rows of the event lake and of report tables",
        "x-versions": {"events": schema.VERSION, "hourly_counts": COUNTS_VERSION, "reports": reports.VERSION},
        "$defs": {table.name: _json_of(table) for table in TABLES},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _json_of(table: Described) -> dict[str, Any]:
    columns = [*table.columns, *_partitions(table)]
    return {
        "type": "object",
        "x-version": table.version,
        "x-key": list(table.key),
        "properties": {column.name: _property(column) for column in columns},
        "required": [column.name for column in columns if not column.nullable],
    }


def _property(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string", "format": "date"} if column is _DATE else dict(_JSON[column.type])
    if column.nullable:
        found["type"] = [found["type"], "null"]
    found |= {"description": column.meaning, "x-type": column.type, "x-since": column.since}
    return found | ({"x-unit": column.unit} if column.unit else {})


def as_sql() -> str:
    """CREATE TABLE statements that PostgreSQL and DuckDB take, to load rows into."""
    return "-- Made by `python -m tools.data_docs`. Times are UTC.\n" + "".join(map(_create, TABLES))


def _create(table: Described) -> str:
    columns = [*table.columns, *_partitions(table)]
    lines = []
    for number, column in enumerate(columns):
        kind = "DATE" if column is _DATE else _SQL[column.type]
        null = "" if column.nullable else " NOT NULL"
        comma = "," if number < len(columns) - 1 else ""
        unit = f" [{column.unit}]" if column.unit else ""
        lines.append(f'    "{column.name}" {kind}{null}{comma} -- {column.meaning}{unit}\n')
    head = f"\n-- version {table.version}; rows differ in: {', '.join(table.key)}\n"
    return f"{head}CREATE TABLE {table.name} (\n{''.join(lines)});\n"


def _partitions(table: Described) -> list[Column]:
    return [column for column in table.partitions if column.name not in _names(table)]


def _names(table: Described) -> set[str]:
    return {column.name for column in table.columns}
