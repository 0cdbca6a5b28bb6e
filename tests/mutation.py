"""Mutation testing: plants one small fault at a time in the code and runs tests until one of them fails.

    python -m tests.mutation                    40 faults of seed 1: which of them the tests find
    python -m tests.mutation --list             which faults these are
    python -m tests.mutation --only 7,12        these two
    python -m tests.mutation --tree DIRECTORY   the same faults in another checkout, by that checkout's tests

Each fault is planted in a copy of the checkout's files, uncommitted ones included. The quick tests of the fault's area
run first, then the other quick ones, then the slow ones in the same order. A fault counts
as found when a test fails, fails again when it runs alone, and passes alone without the fault. A test that does not is
set aside, and the others go on. A fault that no test finds is reported as missed, with the line, for somebody to judge:
some change nothing that anybody could notice.

Outcomes are kept in var/mutation/, in a file per commit (and per state of uncommitted files), so that a run that was
cut off goes on where it was, and changed code or tests are tried anew.

The kinds of faults are those that the literature on mutation testing uses most: a comparison at its border or turned
round, a condition negated, `and` for `or`, a sum for a difference, a number off by one, a statement left out, an answer
replaced. Texts for people, comments and names are left alone.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any, Final
from xml.etree import ElementTree

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "var" / "mutation"
SHARES: Final = {".lua": 14, ".py": 18, ".html": 8}
"""Of forty faults, by the ending of the file."""

LEFT_OUT: Final = ("/migrations/", "queues/lake/demo", "queues/management/demo_load", "queues/engine/lua/built/")
QUICK_TIMEOUT_S: Final = 900.0
SLOW_TIMEOUT_S: Final = 2_700.0
"""After which a stage is taken to hang. Without a fault they take minutes."""

MAX_SET_ASIDE: Final = 10
"""More failures than that without proof, and a fault is left undecided."""

QUICK: Final = "not processes and not exhaustive"
SLOW: Final = "processes or exhaustive"
"""By markers that tests/conftest.py gives."""

LIKELY: Final = {
    "queues/engine/": "tests/engine",
    "queues/embedded/": "tests/running/test_embedded.py tests/running/test_up.py",
    "queues/api/": "tests/http",
    "queues/pump/": "tests/running tests/metadata",
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
        if self.path.endswith(".lua"):
            subprocess.run([sys.executable, "-m", "tools.lua"], cwd=tree, env=_environment(tree), check=False)
        return True


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}


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


# --- copies of a checkout --------------------------------------------------------------------------------------------


def _git(tree: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words, "-z"], cwd=tree, capture_output=True, text=True, check=True)
    return [path for path in done.stdout.split("\0") if path]


def state_of(tree: Path) -> str:
    """The commit; if files differ from it, a digest of these, too."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True).stdout
    new = [path for path in _git(tree, "ls-files", "--others", "--exclude-standard") if (tree / path).is_file()]
    changed = sorted({*_git(tree, "diff", "--name-only", "--no-renames", "HEAD"), *new})
    digest = hashlib.sha256()
    for path in changed:
        file = tree / path
        digest.update(path.encode() + b"\0" + (file.read_bytes() if file.is_file() else b"deleted") + b"\0")
    return commit.strip()[:12] + (f"-{digest.hexdigest()[:8]}" if changed else "")


def copy_checkout(tree: Path, to: Path) -> None:
    """What git tracks or would track, as it is on disk."""
    for path in _git(tree, "ls-files", "--cached", "--others", "--exclude-standard"):
        if (tree / path).is_file():
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / path, to / path)


# --- runs of pytest --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """`status`: pytest's exit status; None if it did not end in time. `failed`: ids of tests, in their order."""

    __test__ = False

    status: int | None
    failed: list[str]
    said: str

    @property
    def has_passed(self) -> bool:
        """Nothing failed; or there was nothing to run (5)."""
        return self.status in (0, 5)


def run_tests(tree: Path, words: list[str], *, timeout_s: float) -> TestRun:
    """pytest in `tree`. All of its processes are gone in the end."""
    with tempfile.TemporaryDirectory(prefix="taskq-mutation-run-") as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *words]
        pytest = subprocess.Popen(
            command,
            cwd=tree,
            env=_environment(tree),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status: int | None
        try:
            told = pytest.communicate(timeout=timeout_s)[0].decode(errors="replace").strip()
            status = pytest.returncode
        except subprocess.TimeoutExpired:
            told, status = f"no end after {timeout_s:.0f} s", None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pytest.pid, signal.SIGKILL)
            pytest.wait()
        failed = failed_tests(report, tree) if status is not None and report.exists() else []
    lines = told.splitlines() or [f"exit status {status}"]
    said = next((line for line in lines if line.startswith("ERROR ")), lines[-1])
    return TestRun(status=status, failed=failed, said=said)


def failed_tests(report: Path, tree: Path) -> list[str]:
    """The ids of a JUnit report's tests that failed. Modules that could not be collected are not among them."""
    failed: dict[str, None] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is None and case.find("error") is None:
            continue
        parts = case.get("classname", "").split(".")
        for end in range(len(parts), 0, -1):
            path = "/".join(parts[:end]) + ".py"
            if (tree / path).is_file():
                failed["::".join((path, *parts[end:], case.get("name", "")))] = None
                break
    return list(failed)


# --- whether the tests find them -------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What became of a fault. The first three are good news."""

    FOUND = "found"
    HANGS = "found: the tests hang"
    BREAKS = "found: the tests do not start"
    MISSED = "MISSED"
    UNDECIDED = "UNDECIDED"
    ABSENT = "not in this checkout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`by`: the test that found it, or what pytest said. `set_aside`: tests whose failure proves nothing."""

    fault: Fault
    verdict: Verdict
    by: str = ""
    set_aside: list[str] = field(default_factory=list)
    seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Tests that run together."""

    words: list[str]
    timeout_s: float


def stages(fault: Fault, tree: Path) -> list[Stage]:
    """Together every test but those that cannot find the fault, whatever it is."""
    likely = next(folders for start, folders in LIKELY.items() if fault.path.startswith(start)).split()
    likely = [folder for folder in likely if (tree / folder).exists()]
    out = [folder for start, folders in UNAFFECTED.items() if fault.path.startswith(start) for folder in folders]
    others = ["tests", *(f"--ignore={folder}" for folder in (*likely, *out))]
    return [
        Stage(words=["-m", marker, *words], timeout_s=timeout_s)
        for marker, timeout_s in ((QUICK, QUICK_TIMEOUT_S), (SLOW, SLOW_TIMEOUT_S))
        for words in (likely, others)
    ]


class Laboratory:
    """Two copies of a checkout: one as it is, one with a fault."""

    def __init__(self, tree: Path, folder: Path, *, processes: int) -> None:
        self.unharmed = folder / "unharmed"
        self.faulty = folder / "faulty"
        self._many = [f"--numprocesses={processes}"]
        self._usual: dict[tuple[str, ...], TestRun] = {}
        copy_checkout(tree, self.unharmed)

    def try_fault(self, fault: Fault) -> Outcome:
        """Plant it, and run tests until one of them finds it."""
        began = time.monotonic()
        shutil.rmtree(self.faulty, ignore_errors=True)
        shutil.copytree(self.unharmed, self.faulty, ignore=shutil.ignore_patterns("var", ".hypothesis", ".*_cache"))
        set_aside: list[str] = []
        verdict, by = Verdict.ABSENT, ""
        if fault.plant(self.faulty):
            verdict, by = Verdict.MISSED, ""
            for stage in stages(fault, self.faulty):
                verdict, by = self._run_stage(stage, set_aside)
                if verdict != Verdict.MISSED:
                    break
        seconds = round(time.monotonic() - began)
        return Outcome(fault=fault, verdict=verdict, by=by, set_aside=set_aside, seconds=seconds)

    def _run_stage(self, stage: Stage, set_aside: list[str]) -> tuple[Verdict, str]:
        """The verdict of its tests, and who gave it. Tests that fail without proof are added to `set_aside`."""
        while len(set_aside) <= MAX_SET_ASIDE:
            words = [*self._many, *stage.words, *(f"--deselect={test}" for test in set_aside)]
            run = run_tests(self.faulty, ["-x", *words], timeout_s=stage.timeout_s)
            if not run.has_passed and not run.failed:
                first, run = run, run_tests(self.faulty, ["-x", *words], timeout_s=stage.timeout_s)
                if not run.has_passed and not run.failed:
                    return self._judge_no_results(first, run, words, stage.timeout_s)
            if run.has_passed:
                return Verdict.MISSED, ""
            for test in run.failed:
                if self._is_found_by(test, stage.timeout_s):
                    return Verdict.FOUND, test
            set_aside += run.failed
        return Verdict.UNDECIDED, "too many tests failed that pass alone"

    def _judge_no_results(
        self, first: TestRun, second: TestRun, words: list[str], timeout_s: float
    ) -> tuple[Verdict, str]:
        """Twice the tests told nothing: is it so without the fault, too?"""
        if first.status != second.status:
            return Verdict.UNDECIDED, f"{first.said}; the second time: {second.said}"
        if first.status is None:
            usual = self._run_unharmed(words, timeout_s)
            return (Verdict.UNDECIDED if usual.status is None else Verdict.HANGS), first.said
        usual = self._run_unharmed([*words, "--collect-only"], timeout_s)
        return (Verdict.BREAKS if usual.has_passed else Verdict.UNDECIDED), first.said

    def _is_found_by(self, test: str, timeout_s: float) -> bool:
        """Whether it fails again, alone (pytest's status 1: tests have run and failed), and only with the fault."""
        alone = ["--numprocesses=1", test]
        run = run_tests(self.faulty, alone, timeout_s=timeout_s)
        return run.status == 1 and test in run.failed and self._run_unharmed(alone, timeout_s).status == 0

    def _run_unharmed(self, words: list[str], timeout_s: float) -> TestRun:
        """The same tests without the fault, once for all faults."""
        key = tuple(words)
        if key not in self._usual:
            self._usual[key] = run_tests(self.unharmed, words, timeout_s=timeout_s)
        return self._usual[key]


def show_table(outcomes: dict[int, dict[str, Any]]) -> None:
    """A line per fault, and how many there are of each verdict."""
    print("\n  no.      s  verdict                         fault, and what found it")
    for number, outcome in sorted(outcomes.items()):
        place = f"{outcome['fault']['path']}:{outcome['fault']['line']}"
        by = f"  {outcome['by']}" if outcome["by"] else ""
        print(f"{number:5}  {outcome['seconds']:5}  {outcome['verdict']:30}  {place}{by}")
        for test in outcome["set_aside"]:
            print(f"{'':46}failed, but not again or without the fault, too: {test}")
    counts = Counter(outcome["verdict"] for outcome in outcomes.values())
    print("; ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]) or "nothing was tried")


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Plant faults; do tests find them?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--only", help="numbers of faults, separated by commas")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to plant them in (default: this one)")
    parser.add_argument("--processes", type=int, default=2, help="of tests at the same time (default: 2)")
    parser.add_argument("--list", action="store_true", help="show the faults, run nothing")
    options = parser.parse_args()
    only = {int(number) for number in options.only.split(",")} if options.only else None
    faults = dict(enumerate(chosen_faults(options.seed, options.faults), 1))
    if only is not None and not only <= faults.keys():
        parser.error(f"there are faults 1 to {len(faults)}")
    tree = options.tree.resolve()
    results = RESULTS / f"seed-{options.seed}-{options.faults}-{state_of(tree)}.json"
    known = json.loads(results.read_text()) if results.exists() else {}
    outcomes: dict[int, dict[str, Any]] = {}
    is_interrupted = False
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _stop)  # so that the tests end, too
    try:
        with tempfile.TemporaryDirectory(prefix="taskq-mutation-") as folder:
            laboratory = Laboratory(tree, Path(folder), processes=options.processes)
            for number, fault in faults.items():
                if only is not None and number not in only:
                    continue
                before, after = fault.difference()
                print(f"{number}. {fault.path}:{fault.line}\n   - {before}\n   + {after}", flush=True)
                if options.list:
                    continue
                if known.get(str(number), {}).get("fault") != asdict(fault):
                    known[str(number)] = asdict(laboratory.try_fault(fault))
                    _write(results, known)
                outcomes[number] = known[str(number)]
                told = outcomes[number]
                print(f"   {told['verdict']}: {told['by']} ({told['seconds']} s)", flush=True)
    except KeyboardInterrupt:
        is_interrupted = True
        print("\nInterrupted. The same command goes on with the fault that was under way.")
    if not options.list:
        show_table(outcomes)
    return 130 if is_interrupted else 0


def _write(results: Path, known: dict[str, Any]) -> None:
    """All of it or nothing, for a run may be cut off at any moment."""
    results.parent.mkdir(parents=True, exist_ok=True)
    half = results.with_suffix(".new")
    half.write_text(json.dumps(known, indent=1, ensure_ascii=False))
    half.replace(results)


if __name__ == "__main__":
    sys.exit(main())
