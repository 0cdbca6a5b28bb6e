"""CONTRIBUTING.md leads newcomers through files of this checkout: each exists, and holds what is said of it."""

from __future__ import annotations

import re
from typing import Final

from tests.package.wheel import ROOT
from tests.support.rows import in_one_test

TEXT: Final = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE: Final = (ROOT / "Makefile").read_text(encoding="utf-8")

ROWS: Final = re.findall(r"^\| `([\w/.-]+\.\w+)` \| .* \| `([^`]+)` \|$", TEXT, flags=re.MULTILINE)
"""File and what is in it, of each row of a walkthrough."""

PATHS: Final = sorted(set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w]+\.(?:md|toml|lock))`", TEXT)))
TARGETS: Final = sorted(set(re.findall(r"\bmake ([a-z][a-z-]+)", TEXT)) - {"a"})


def test_every_walkthrough_is_read() -> None:
    titles = re.findall(r"^## (How to add .*)$", TEXT, flags=re.MULTILINE)
    assert titles == [f"How to add a {thing}" for thing in ("verb", "page", "role", "report column")]
    rows = re.findall(r"^\| `\w+/[^` ]+` \|", TEXT, flags=re.MULTILINE)
    assert len(ROWS) == len(rows) > 40


@in_one_test(("path", "content"), ROWS, title=lambda one: one)
def test_a_file_of_a_walkthrough_holds_what_it_says(path: str, content: str) -> None:
    assert content in (ROOT / path).read_text(encoding="utf-8")


@in_one_test("path", PATHS)
def test_a_file_or_folder_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


@in_one_test("target", TARGETS)
def test_make_has_the_target_that_is_named(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, flags=re.MULTILINE)
