"""What the import contracts of pyproject.toml cannot say: which names of the engine the API and the pages may know."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import queues.engine
from queues.engine import errors, queue_values, values, workflow_values
from tests.support.rows import in_one_test

ROOT = Path(__file__).parents[2]
API = sorted((ROOT / "queues" / "api").rglob("*.py"))
PAGES = sorted((ROOT / "dashboard").rglob("*.py"))
OPENING: Final = {"Engine", "open_engine", "open_async_engine"}
"""`queues.pools` opens engines and keeps them."""
WITH_A_POLICY: Final = {
    "publish",
    "publish_large",
    "republish",
    "prepare",
    "consume",
    "consume_any",
    "extend",
    "limited",
}
"""Services apply policies and limits to these."""
ALLOWED_TO_PAGES: Final = {
    "AsyncEngine",
    "limits",
    *vars(values),
    *vars(queue_values),
    *vars(workflow_values),
    *vars(errors),
}
"""Values, errors and limits. Services check permissions, and record who did what."""


def names_taken_from_engine(module: Path) -> set[str]:
    """Names that a module imports from the engine's front, where its verbs are."""
    return {
        alias.name
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "queues.engine"
        for alias in node.names
    }


@in_one_test("module", API, title=lambda path: str(path.relative_to(ROOT)))
def test_the_api_opens_no_engine_and_goes_around_no_policy(module: Path) -> None:
    assert not names_taken_from_engine(module) & (OPENING | WITH_A_POLICY)


@in_one_test("module", PAGES, title=lambda path: str(path.relative_to(ROOT)))
def test_no_page_knows_a_verb_of_the_engine(module: Path) -> None:
    assert names_taken_from_engine(module) <= ALLOWED_TO_PAGES


def test_the_verbs_are_names_of_the_engine_and_not_allowed() -> None:
    assert set(queues.engine.__all__) >= OPENING | WITH_A_POLICY
    assert not ALLOWED_TO_PAGES & (OPENING | WITH_A_POLICY)
    assert any("ack_attempt" in names_taken_from_engine(module) for module in API)
