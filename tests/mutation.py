"""Mutation testing: plants one small fault at a time in the code and runs tests until one of them fails.

    python -m tests.mutation                    40 faults of seed 1: which of them the tests find
    python -m tests.mutation --list             which faults these are
    python -m tests.mutation --only 7,12        these two
    python -m tests.mutation --tree DIRECTORY   the same faults in another checkout, by that checkout's tests

Each fault is planted in a copy of the checkout. The tests that are most likely to find it run first, then those that
run the code at all; a fault that neither finds is reported as missed, with the line, for somebody to judge: some change
nothing that anybody could notice. What was found out is kept in var/mutation/, so that a run that was cut off goes on.

The kinds of faults are those that the literature on mutation testing uses most: a comparison at its border or turned
round, a condition negated, `and` for `or`, a sum for a difference, a number off by one, a statement left out, an answer
replaced. Texts for people, comments and names are left alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "var" / "mutation"
SHARES: Final = {".lua": 14, ".py": 18, ".html": 8}
"""Of forty faults, by the ending of the file."""

LEFT_OUT: Final = ("/migrations/", "queues/lake/demo", "queues/management/demo/")
TEST_TIMEOUT_S: Final = 1_800.0

LIKELY: Final = {
    "queues/engine/": "tests/engine",
    "queues/embedded/": "tests/running/test_embedded.py tests/running/test_up.py",
    "queues/api/": "tests/http",
    "queues/pump/": "tests/running",
    "queues/management/": "tests/running tests/http tests/metadata",
    "queues/lake/": "tests/lake tests/running/test_drain_role.py tests/metadata tests/reports",
    "queues/reports/": "tests/reports tests/metadata",
    "queues/services/": "tests/metadata tests/dashboard tests/http",
    "queues/": "tests/metadata tests/http",
    "dashboard/": "tests/dashboard",
    "templates/": "tests/dashboard tests/metadata tests/browser",
    "taskq_site/": "tests/metadata tests/http tests/dashboard",
}
"""Where the tests of a folder's files are; the first that fits."""

UNAFFECTED: Final = {"queues/engine/": ("tests/reports", "tests/translations", "tests/lake")}
"""What cannot find a fault in a folder, whatever it is, and takes long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line of a file, and what it is replaced by."""

    path: str
    line: int
    before: str
    after: str

    def difference(self) -> tuple[str, str]:
        """The part of the line that changes, and what is around it."""
        start = _common(self.before, self.after)
        common_end = _common(self.before[start:][::-1], self.after[start:][::-1])
        before, after = (text[max(0, start - 60) : len(text) - common_end + 60] for text in (self.before, self.after))
        return before.strip(), after.strip()

    def plant(self, tree: Path) -> bool:
        """Whether `tree` has that line: the nearest one of the same text."""
        file = tree / self.path
        lines = file.read_text().split("\n") if file.exists() else []
        same = [number for number, text in enumerate(lines, 1) if text == self.before]
        if not same:
            return False
        lines[min(same, key=lambda number: abs(number - self.line)) - 1] = self.after
        file.write_text("\n".join(lines))
        return True


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    unlike = (number for number, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its)
    return next(unlike, min(len(one), len(other)))


# --- which faults there are ------------------------------------------------------------------------------------------


def possible_faults(ending: str) -> list[Fault]:
    """All that could be planted in files of that ending."""
    find = {".py": _in_python, ".lua": _in_lua, ".html": _in_template}[ending]
    faults = []
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in sorted(listed.splitlines()):
        is_ours = path.startswith(tuple(LIKELY)) and not any(part in path for part in LEFT_OUT)
        if is_ours and path.endswith(ending):
            lines = (ROOT / path).read_text().split("\n")
            faults += [
                Fault(path=path, line=number, before=lines[number - 1], after=after)
                for number, after in find(lines)
                if after != lines[number - 1]
            ]
    return faults


COMPARISONS: Final = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: (" in ", " not in "), ast.NotIn: (" not in ", " in "),
    ast.Is: (" is ", " is not "), ast.IsNot: (" is not ", " is "),
}  # fmt: skip
ARITHMETIC: Final = {ast.Add: (" + ", " - "), ast.Sub: (" - ", " + "), ast.Mult: (" * ", " + ")}


def _in_python(lines: list[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse("\n".join(lines))):
        number = getattr(node, "lineno", 0)
        if not number or node.lineno != node.end_lineno:  # type: ignore[attr-defined]
            continue
        line = lines[number - 1]
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield number, _replaced(line, node.left.end_col_offset, *COMPARISONS[type(node.ops[0])])
        elif isinstance(node, ast.BoolOp):
            words = (" and ", " or ") if isinstance(node.op, ast.And) else (" or ", " and ")
            yield number, _replaced(line, node.values[0].end_col_offset, *words)
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and '"' not in line:
            yield number, _replaced(line, node.left.end_col_offset, *ARITHMETIC[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield number, _replaced(line, node.col_offset, "not ", "")
        elif isinstance(node, ast.Return) and node.value is not None and not _is_nothing(node.value):
            yield number, line[: node.col_offset] + "return None"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield number, line[: node.col_offset] + "pass"


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _replaced(line: str, start: int | None, before: str, after: str) -> str:
    """The first `before` from a byte offset on."""
    head, tail = line.encode()[:start].decode(), line.encode()[start:].decode()
    return head + tail.replace(before, after, 1)


LUA: Final = (
    (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " ~= "), (" ~= ", " == "),
    (" and ", " or "), (" or ", " and "), ("not ", ""), (" + ", " - "), (" - ", " + "), (" * ", " + "),
)  # fmt: skip
_LUA_CALL: Final = re.compile(r"^(\s*)(redis\.p?call|[a-z_.]+)\(.*\)$")


def _in_lua(lines: list[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        code, dashes, comment = line.partition("--")
        for before, after in LUA:
            if before in code:
                yield number, code.replace(before, after, 1) + dashes + comment
        call = _LUA_CALL.match(code.rstrip())
        if call and code.count("(") == code.count(")"):
            yield number, f"{call[1]}do end"


TEMPLATE: Final = (
    (re.compile(r"{% if (?!not )([a-z_.]+) %}"), r"{% if not \1 %}"),
    (re.compile(r"{% if not ([a-z_.]+) %}"), r"{% if \1 %}"),
    (re.compile(r"{{ [a-z_.]+ }}"), ""),
    (re.compile(r"{% url [^%]*%}"), ""),
    (re.compile(r' name="[a-z_]+"'), ""),
    (re.compile(r"{% csrf_token %}"), ""),
    (re.compile(r"{% include [^%]*%}"), ""),
)


def _in_template(lines: list[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        for pattern, after in TEMPLATE:
            if pattern.search(line):
                yield number, pattern.sub(after, line, count=1)


def chosen_faults(seed: int, number: int) -> list[Fault]:
    """The same ones for the same seed and the same code."""
    chance = random.Random(seed)
    faults: list[Fault] = []
    for ending, share in SHARES.items():
        possible = possible_faults(ending)
        faults += chance.sample(possible, min(len(possible), round(number * share / sum(SHARES.values()))))
    return faults


# --- whether the tests find them -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`found_by`: the test that failed first; empty if none did; None: the checkout has no such line."""

    fault: Fault
    found_by: str | None
    seconds: float


def try_fault(fault: Fault, tree: Path) -> Outcome:
    """Plant it in a copy of `tree`, and run tests."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="taskq-mutation-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "var", ".hypothesis", ".*_cache"))
        if not fault.plant(copy):
            return Outcome(fault=fault, found_by=None, seconds=0)
        found_by = ""
        for words in _stages(fault, copy):
            found_by = _first_failure(copy, words)
            if found_by and _first_failure(copy, [found_by]):  # again, and alone: it was no other cause
                break
            found_by = ""
    return Outcome(fault=fault, found_by=found_by, seconds=round(time.monotonic() - began))


def _stages(fault: Fault, tree: Path) -> Iterator[list[str]]:
    likely = next(folders for start, folders in LIKELY.items() if fault.path.startswith(start)).split()
    likely = [folder for folder in likely if (tree / folder).exists()]
    yield likely
    out = [folder for start, folders in UNAFFECTED.items() if fault.path.startswith(start) for folder in folders]
    yield ["tests", *(f"--ignore={folder}" for folder in (*likely, *out))]


def _first_failure(tree: Path, words: list[str]) -> str:
    """The test that failed, or what pytest said if it could not even begin."""
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--numprocesses=2", "-p", "no:cacheprovider", *words]
    try:
        done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=TEST_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "the tests did not end"
    if done.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
    return failed[1] if failed else (done.stdout + done.stderr).strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Plant faults; do tests find them?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--only", help="numbers of faults, separated by commas")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to plant them in (default: this one)")
    parser.add_argument("--list", action="store_true", help="show the faults, run nothing")
    options = parser.parse_args()
    only = {int(number) for number in options.only.split(",")} if options.only else None
    results = RESULTS / f"seed-{options.seed}-{options.faults}-{options.tree.resolve().name}.json"
    known = json.loads(results.read_text()) if results.exists() else {}
    missed = 0
    for number, fault in enumerate(chosen_faults(options.seed, options.faults), 1):
        if only is not None and number not in only:
            continue
        before, after = fault.difference()
        print(f"{number}. {fault.path}:{fault.line}\n   - {before}\n   + {after}", flush=True)
        if options.list:
            continue
        if known.get(str(number), {}).get("fault") != asdict(fault):
            known[str(number)] = asdict(try_fault(fault, options.tree.resolve()))
            results.parent.mkdir(parents=True, exist_ok=True)
            results.write_text(json.dumps(known, indent=1, ensure_ascii=False))
        outcome = known[str(number)]
        found_by = outcome["found_by"]
        missed += found_by == ""
        told = "not in this checkout" if found_by is None else f"found by {found_by}" if found_by else "MISSED"
        print(f"   {told} ({outcome['seconds']} s)", flush=True)
    if not options.list:
        print(f"{missed} missed")


if __name__ == "__main__":
    main()
