"""The Airflow DAG of docs/data: what it runs, in which order, and that taskq takes these command lines.

Airflow itself is not installed for tests. Stand-ins record what the file declares; docs/data/airflow.md says with which
Airflow it was loaded and run.
"""

from __future__ import annotations

import ast
import runpy
import shlex
import sys
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import pytest
from django.core.management import load_command_class

from queues.lake.__main__ import main
from tests.package.wheel import ROOT
from tests.support.reports import at, event, write_events

FILE = ROOT / "docs" / "data" / "taskq_reports.py"
DAY = "2026-11-20"


class Declared:
    """A task of the DAG, or the DAG: what it was declared with, and what comes after it."""

    every: list[Declared] = []

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.after: list[str] = []
        self.every.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __rshift__(self, other: Declared) -> Declared:
        self.after.append(other.fields["task_id"])
        return other


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> dict[str, Declared]:
    """By task; `dag` is the DAG."""
    monkeypatch.setattr(Declared, "every", [])
    for name, what in (
        ("airflow.sdk", "DAG"),
        ("airflow.providers.standard.operators.bash", "BashOperator"),
        ("airflow.providers.standard.sensors.bash", "BashSensor"),
    ):
        module = ModuleType(name)
        setattr(module, what, Declared)
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("TASKQ_COMMAND", "TASKQ_PYTHON", "TASKQ_LAKE_URL"):
        monkeypatch.delenv(name, raising=False)
    runpy.run_path(str(FILE))
    return {one.fields.get("task_id", "dag"): one for one in Declared.every}


def words_of(task: Declared) -> list[str]:
    """The command line that Airflow would run for DAY."""
    return shlex.split(task.fields["bash_command"].replace("{{ ds }}", DAY))


def test_a_report_waits_for_the_lake_and_the_rest_for_the_report(declared: dict[str, Declared]) -> None:
    assert {name: task.after for name, task in declared.items() if name != "dag"} == {
        "lake_ready": ["report", "check_lake"],
        "report": ["iceberg"],
        "iceberg": [],
        "check_lake": [],
    }
    dag = declared["dag"].fields
    assert (dag["max_active_runs"], dag["catchup"], dag["default_args"]["retries"]) == (1, True, 4)
    assert declared["lake_ready"].fields["mode"] == "reschedule"


@pytest.mark.parametrize("task", ["lake_ready", "report", "iceberg"])
def test_taskq_takes_each_command_line(declared: dict[str, Declared], task: str) -> None:
    program, name, *arguments = words_of(declared[task])
    command = load_command_class("queues", name)

    taken = command.create_parser("taskq", name).parse_args(arguments)

    assert program == "taskq"
    assert taken.date == DAY


def test_the_check_reads_the_day(
    declared: dict[str, Declared], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_events(tmp_path, [event("published", at(date.fromisoformat(DAY)), job="a")])
    python, *words = words_of(declared["check_lake"])
    assert [python, *words] == ["python", "-m", "queues.lake", "var/lake", "--date", DAY]

    assert main([str(tmp_path), *words[3:]]) == 0
    assert "1 files, 1 events; 0 damaged" in capsys.readouterr().out


def test_every_task_of_the_page_is_in_the_file(declared: dict[str, Declared]) -> None:
    page = (FILE.parent / "airflow.md").read_text(encoding="utf-8")

    for name in ("lake_ready", "report", "iceberg"):
        assert f"| `{name}` | `{declared[name].fields['bash_command']}` |" in page
    assert "| `check_lake` | `python -m queues.lake LAKE --date {{ ds }}` |" in page


def test_the_file_imports_nothing_of_taskq() -> None:
    """Airflow's Python has none."""
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]

    assert {str(name).partition(".")[0] for name in imported} == {"__future__", "airflow", "datetime"}
