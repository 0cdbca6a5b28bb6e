"""docs/data/ says of columns what the code has."""

from __future__ import annotations

import json
import re
from typing import Any

import duckdb

from queues.lake import schema
from queues.reports import schema as reports
from tests.package.wheel import ROOT
from tests.support.rows import in_one_test
from tools.data_docs.documents import DOCS, TABLES, make_documents

DOCUMENT: dict[str, Any] = json.loads((DOCS / "schema.json").read_text(encoding="utf-8"))


def test_pages_and_schemas_are_as_the_generator_makes_them() -> None:
    stale = [path.name for path, text in make_documents() if path.read_text(encoding="utf-8") != text]

    assert stale == [], "run `python -m tools.data_docs`"


def test_the_index_lists_versions_and_links_to_every_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    links = {link for link in re.findall(r"\]\(([\w./-]+)", index) if link != "https"}

    assert [f"| {version} | {brought} |" in index for version, brought in reports.VERSIONS.items()] == [True] * 2
    assert list(reports.VERSIONS) == list(range(1, reports.VERSION + 1))
    assert {path.name for path in DOCS.iterdir()} - {"index.md"} <= links | {"report-views.sql", "taskq_reports.py"}
    assert all((DOCS / link).exists() for link in links)


def test_columns_are_added_at_the_end_and_nullable() -> None:
    for table in TABLES:
        since = [column.since for column in table.columns]
        assert since == sorted(since), table.name
        assert all(column.nullable for column in table.columns if column.since > 1), table.name
        assert max(since) <= table.version
        assert set(table.key) <= {column.name for column in (*table.columns, *table.partitions)}


def test_the_statements_make_tables() -> None:
    with duckdb.connect() as connection:
        connection.execute((DOCS / "schema.sql").read_text(encoding="utf-8"))
        made = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        columns = connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = 'events'").fetchall()

    assert [name for (name,) in made] == sorted(table.name for table in TABLES)
    assert [name for (name,) in columns] == [*(column.name for column in schema.COLUMNS), "date", "hour"]


@in_one_test("table", [table.name for table in TABLES])
def test_the_json_schema_tells_type_unit_and_null_of_each_column(table: str) -> None:
    described = next(one for one in TABLES if one.name == table)
    properties = DOCUMENT["$defs"][table]["properties"]

    for column in described.columns:
        found = properties[column.name]
        assert found["x-type"] == column.type
        assert ("null" in found["type"]) == column.nullable
        assert found.get("x-unit", "") == column.unit
        assert found["description"]


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = json.loads((DOCS / "explore.ipynb").read_text(encoding="utf-8"))["cells"]

    assert len(cells) > 20
    assert [cell["outputs"] or cell["execution_count"] for cell in cells if cell["cell_type"] == "code"].count(
        None
    ) == (sum(cell["cell_type"] == "code" for cell in cells))
    assert ROOT.joinpath("docs", "data", "views.sql").is_file()
