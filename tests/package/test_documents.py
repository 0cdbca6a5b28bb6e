"""Pages for people who change the code hold what they say.

docs/architecture.md names files, functions and import rules of this checkout; docs/decisions.md has numbers that other
pages refer to.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.package.wheel import ROOT
from tests.support.rows import in_one_test

TEXT: Final = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES: Final = TEXT.partition("\n## Packages\n")[2].partition("\n## ")[0]
CONTRACTS: Final[list[dict[str, Any]]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]

_NAMED: Final = re.compile(r"`((?:[\w.-]+/)+[\w.-]*\.(?:py|lua)|\w+\.py)(?::([\w.]+))?`")
NAMED: Final = sorted(set(_NAMED.findall(TEXT)) - {("file.py", "name")})
PATHS: Final = sorted(set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", TEXT)))
LINKS: Final = sorted(set(re.findall(r"\]\(([\w./-]+)\)", TEXT)))
DECISIONS: Final = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").split("\n## ")[1:]
TOP_LEVEL: Final = frozenset({"taskq", "taskq_site", "queues", "dashboard", "templates", "static"})
PACKAGE_FOLDERS: Final = sorted(
    path.parent
    for top in ("taskq", "taskq_site", "queues", "dashboard")
    for path in (ROOT / top).rglob("__init__.py")
    if path.parent.name not in ("migrations", "commands") and path.parent != ROOT / "taskq" / "django" / "management"
)
LUA_FUNCTION: Final = r"^(?:local )?function {}\("


@lru_cache
def _definitions(path: Path) -> frozenset[str]:
    """Functions, classes and `Class.method` of a Python file."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
            names.update(f"{node.name}.{method.name}" for method in methods)
    return frozenset(names)


COMMANDS: Final = frozenset({"manage", *(path.stem for path in ROOT.glob("queues/management/commands/*.py"))})


@lru_cache
def _names_of(package: Path) -> frozenset[str]:
    """Modules and packages in a package, and what is defined in them: functions, classes, values and parameters."""
    names = {path.stem for path in package.iterdir()}
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return frozenset(names)


def _is_inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _rows(columns: int) -> list[list[str]]:
    """Rows of the tables with so many columns in the part on packages, without their headings."""
    rows = [line.strip("|").split("|") for line in PACKAGES.splitlines() if line.startswith("| `")]
    return [row for row in rows if len(row) == columns]


def _names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def test_the_page_names_files_and_functions() -> None:
    assert len(NAMED) > 80
    assert sum(bool(name) for _, name in NAMED) > 50


@in_one_test(("path", "name"), NAMED, title=lambda one: one)
def test_a_file_that_is_named_defines_what_is_named(path: str, name: str) -> None:
    file = ROOT / path
    assert file.is_file()
    if path.endswith(".lua"):
        assert not name or re.search(LUA_FUNCTION.format(name), file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    else:
        assert not name or name in _definitions(file)


@in_one_test("path", [*PATHS, *(f"docs/{link}" for link in LINKS)])
def test_a_path_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_package_has_a_line_that_says_what_it_is_for() -> None:
    described = [name for row in _rows(2) for name in _names(row[0])]
    product = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "bench", "queues", "tools"}
    layers = set(re.findall(r"[\w.]+", PACKAGES.split("```")[1]))

    assert len(described) == len(set(described))
    assert set(described) == (product | layers) - {"queues.migrations"}


def test_the_layers_are_those_of_the_import_contracts() -> None:
    outer, inner = [contract for contract in CONTRACTS if contract["type"] == "layers"]
    (container,) = inner["containers"]
    expected = [re.sub(r"[\w.]+", rf"{container}.\g<0>", layer) for layer in inner["layers"]]
    drawn = PACKAGES.split("```")[1].split("\n")[1:-1]

    assert outer["layers"][-1] == container
    assert drawn == [*outer["layers"][:-1], *expected]


@in_one_test(("package", "forbidden"), [(_names(row[0])[0], _names(row[1])[0]) for row in _rows(3)])
def test_an_import_that_is_ruled_out_breaks_a_contract(package: str, forbidden: str) -> None:
    assert any(
        any(_is_inside(package, source) for source in contract["source_modules"])
        and any(_is_inside(forbidden, name) for name in contract["forbidden_modules"])
        for contract in CONTRACTS
        if contract["type"] == "forbidden"
    )


@pytest.mark.parametrize(
    ("dependency", "importer"), re.findall(r"`(\w+)`\s(?:is\s)?imported\sby\s`([\w.]+)`\sonly", PACKAGES)
)
def test_a_dependency_with_one_importer_is_forbidden_to_the_others(dependency: str, importer: str) -> None:
    sources = {
        source
        for contract in CONTRACTS
        if contract["type"] == "forbidden" and dependency in contract["forbidden_modules"]
        for source in contract["source_modules"]
    }

    assert {"queues.api", "queues.services", "queues.engine", "dashboard", "taskq_site"} <= sources
    assert importer not in sources


def test_every_decision_has_a_number_a_status_and_a_date() -> None:
    form = r"(\d+)\. \S.*\n\nStatus: (?:accepted|partly replaced by \d+|replaced by \d+).* · 20\d\d-\d\d-\d\d\b.*\n\n\S"
    found = [re.match(form, decision) for decision in DECISIONS]

    assert [found and int(found[1]) for found in found] == list(range(1, len(DECISIONS) + 1))


def test_a_decision_that_is_referred_to_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "queues").rglob("*.py")]
    reference = r"\b(?:decision|(?:replaced|extended) by|(?:replaces|extends)(?: .* of)?) (\d+)\b"
    numbers = {int(number) for page in pages for number in re.findall(reference, page.read_text(encoding="utf-8"))}

    assert {8, 22, 51, 54} <= numbers <= set(range(1, len(DECISIONS) + 1))


@in_one_test("package", PACKAGE_FOLDERS, title=lambda package: str(package.relative_to(ROOT)))
def test_a_package_says_what_lives_in_it(package: Path) -> None:
    """Its docstring names no module that is not there."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))

    assert docstring
    words = {word.rstrip("/").removesuffix(".py") for word in re.findall(r"`([a-z][a-z_.]*/?)`", docstring)}
    assert {word for word in words if "." not in word} - _names_of(package) - COMMANDS - TOP_LEVEL == set()
    for word in (word for word in words if "." in word and word.partition(".")[0] in TOP_LEVEL):
        path = ROOT.joinpath(*word.split("."))
        assert path.is_dir() or path.with_suffix(".py").is_file(), word
