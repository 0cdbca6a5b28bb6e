"""What the import contracts of pyproject.toml cannot say: which names of the engine the API and the pages may know."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import queues.engine
from queues.engine import errors, values

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "queues" / "api").rglob("*.py"), *(ROOT / "dashboard").rglob("*.py")])
ALLOWED = {"AsyncEngine", "limits", *vars(values), *vars(errors)}
"""Values, errors and limits; and the type of what a service hands out to run its operations."""


def names_taken_from_engine(module: Path) -> set[str]:
    """Names that a module imports from the engine's front, where its verbs are."""
    return {
        alias.name
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "queues.engine"
        for alias in node.names
    }


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_of_api_or_pages_knows_a_verb_of_the_engine(module: Path) -> None:
    assert names_taken_from_engine(module) <= ALLOWED


def test_the_verbs_are_not_among_the_names_that_are_allowed() -> None:
    verbs = {"publish", "consume", "ack", "open_engine", "open_async_engine", "destroy", "sweep"}

    assert verbs <= set(queues.engine.__all__)
    assert not verbs & ALLOWED
