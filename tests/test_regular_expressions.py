"""No regular expression of the product takes more than linear time on what a stranger sends.

They are found by reading the source, so that a new one cannot be forgotten: whatever is handed to `re`, to Spark, to
Django's routes, to JavaScript or to Lua has to be found here, or the test fails.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, Final

import pytest
import redis
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from queues.reports.tables.errors import MARKED_TOKENS
from tests.support.rows import in_one_test

from .support.growth import grows_linearly

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("queues", "dashboard", "taskq_site")

MENTIONS_ONE: Final = re.compile(r"\b(?:re|f)\s*\.|\brlike\b|\bre_path\b|\bRegexValidator\b")
"""What is in the text of each file that `pattern_argument` finds something in: others need not be parsed."""

RE_FUNCTIONS: Final = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
SPARK_FUNCTIONS: Final = {
    "regexp_replace", "regexp_extract", "regexp_extract_all", "regexp_count", "regexp_instr", "regexp_substr",
    "regexp_like", "regexp", "rlike", "split",
}  # fmt: skip
ANCHORED_METHODS: Final = {"match", "fullmatch"}

SHADOWED: Final = {"route admin/r/<path:content_type_id>/<path:object_id>/"}
"""Routes that no request reaches, because an earlier one takes it (taskq_site/urls.py)."""

COMPUTED: Final = {("queues.reports.tables.errors", "found"): [pattern for pattern, _ in MARKED_TOKENS]}
"""Module and variable that a loop takes its expressions from → those."""

SIZE: Final = 700
SHORT: Final = 9
"""What takes exponential time would never come to an end at SIZE."""


@dataclass(frozen=True, slots=True)
class Expression:
    """`anchored`: it is only matched at the beginning of a text, not searched for."""

    place: str
    pattern: str | bytes
    flags: int
    anchored: bool


@cache
def modules() -> list[tuple[str, Path]]:
    """Name and file of every module of the product."""
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files]
    return [(name, file) for name, file in zip(names, files, strict=True) if ".migrations." not in name]


@cache
def text_of(file: Path) -> str:
    return file.read_text()


@cache
def nodes_of(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text_of(file))))


def pattern_argument(call: ast.Call) -> tuple[str, ast.expr | None] | None:
    """What is called, and the expression that it is given; None: it takes no regular expression."""
    if isinstance(call.func, ast.Name) and call.func.id in {"re_path", "RegexValidator"}:
        return call.func.id, call.args[0] if call.args else None
    if not isinstance(call.func, ast.Attribute):
        return None
    name, on = call.func.attr, call.func.value
    if isinstance(on, ast.Name) and on.id == "re" and name in RE_FUNCTIONS:
        return name, call.args[0]
    if isinstance(on, ast.Name) and on.id == "f" and name in SPARK_FUNCTIONS:
        return name, call.args[1]
    if name == "rlike":
        return name, call.args[0]
    return None


@cache
def used_as(name: str | None) -> set[str]:
    """The methods that are called on what has this name, in any module. None: it is not known."""
    return {
        call.func.attr
        for _, file in modules()
        if name is not None and name in text_of(file)
        for call in calls_in(file)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == name
    }


@cache
def calls_in(file: Path) -> list[ast.Call]:
    return [node for node in nodes_of(file) if isinstance(node, ast.Call)]


def expressions() -> Iterator[Expression]:
    """Every regular expression in Python source, Spark's among them."""
    for name, file in modules():
        if not MENTIONS_ONE.search(text_of(file)):
            continue
        methods = {id(node.value): node.attr for node in nodes_of(file) if isinstance(node, ast.Attribute)}
        found = [(call, pattern_argument(call)) for call in calls_in(file)]
        if not any(argument for _, argument in found):
            continue
        module = importlib.import_module(name)
        targets = {
            id(node.value): target.id
            for node in nodes_of(file)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for call, argument in found:
            if argument is not None:
                place, (called, given) = f"{name}:{call.lineno}", argument
                if isinstance(given, ast.Name) and (name, given.id) in COMPUTED:
                    yield from (Expression(place, one, 0, anchored=False) for one in COMPUTED[name, given.id])
                else:
                    method = methods.get(id(call))  # of re.compile(...).match
                    used = {method} if method else {called} if called != "compile" else used_as(targets.get(id(call)))
                    yield read(place, module, call, called, given, used)


def read(
    place: str, module: ModuleType, call: ast.Call, called: str, argument: ast.expr | None, used: set[str]
) -> Expression:
    """The value of the expression in a call; it has to be one that the module knows when it has been imported."""
    assert argument is not None, f"{place}: which regular expression is this?"
    try:
        pattern = eval(compile(ast.Expression(argument), place, "eval"), module.__dict__)
        given = call.args[1:2] if called == "compile" else []
        flags = [eval(compile(ast.Expression(one), place, "eval"), module.__dict__) for one in given]
    except NameError as error:
        pytest.fail(f"{place}: a regular expression must be a constant of its module, so that it can be timed: {error}")
    return Expression(place, pattern, int(sum(flags)), bool(used) and used <= ANCHORED_METHODS)


def routes(patterns: Iterable[Any] = (), prefix: str = "") -> Iterator[Expression]:
    """The regular expressions that Django makes of its routes."""
    for one in patterns or get_resolver().url_patterns:
        regex = one.pattern.regex
        yield Expression(f"route {prefix}{one.pattern}", regex.pattern, regex.flags, anchored=True)
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, f"{prefix}{one.pattern}")
        else:
            assert isinstance(one, URLPattern)


_JS_LITERAL: Final = re.compile(
    r"(?:[(,=:\[!&|?{};]|return)\s*/((?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+)/[a-z]*"
)


def scripts() -> Iterator[Expression]:
    """The regular expressions of JavaScript; those of the project mean the same in Python."""
    for file in sorted([*(ROOT / "static").rglob("*.js"), *(ROOT / "templates").rglob("*.html")]):
        text = file.read_text()
        if file.suffix == ".html":
            text = "\n".join(re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL))
        assert "RegExp(" not in text, f"{file}: a regular expression must be a literal, so that it can be timed"
        for found in _JS_LITERAL.finditer(text):
            yield Expression(f"{file.name}:{text.count(chr(10), 0, found.start()) + 1}", found[1], 0, anchored=False)


ONE_CHARACTER: Final = {"ANY", "CATEGORY", "IN", "LITERAL", "NOT_LITERAL"}


def has_unsafe_repetition(items: Any) -> bool:
    """Whether it repeats something possessively (`(ab)*+`) that may match in part: behind that part, Python before
    3.11.5 goes on (gh-100061). An atomic group (`(?>ab)*+`) matches wholly or not at all."""
    if isinstance(items, tuple) and len(items) == 2 and items[0] is opcodes.POSSESSIVE_REPEAT:
        _, _, repeated = items[1]
        if len(repeated) != 1 or str(repeated[0][0]) not in ONE_CHARACTER | {"ATOMIC_GROUP"}:
            return True
    return isinstance(items, tuple | list | parser.SubPattern) and any(map(has_unsafe_repetition, items))


def characters(pattern: str, flags: int) -> list[str]:
    """Characters that matter to a pattern: those that it names, one or two of each class, and one that is in none."""
    found: dict[str, None] = {}

    def visit(items: Any) -> None:
        item: Any
        for item in items:
            if not isinstance(item, tuple) or not item:
                if isinstance(item, parser.SubPattern | list):
                    visit(item)
                continue
            code: Any = item[0]
            value: Any = item[1] if len(item) > 1 else ()
            if code in (opcodes.LITERAL, opcodes.NOT_LITERAL):
                found.setdefault(chr(value))
            elif code is opcodes.RANGE:
                found.setdefault(chr(value[0]))
                found.setdefault(chr(value[1]))
            elif code is opcodes.CATEGORY:
                examples = {"DIGIT": "7", "SPACE": " \n", "WORD": "a7"}
                for kind, letters in examples.items():
                    if kind in str(value):
                        found.update(dict.fromkeys(letters))
            elif isinstance(value, tuple | list | parser.SubPattern):
                visit(value)

    visit(parser.parse(pattern, flags))
    return [*list(found)[:12], "~"]


def words(pattern: str, flags: int) -> list[str]:
    """What the pattern spells out, such as `/token/`, and the single characters of it: what hostile text is made of."""
    singles = characters(pattern, flags)
    spelled = [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"(?:[\w/:@=. -]|\\[./-]){2,}", pattern)]
    return [*dict.fromkeys([*singles, *spelled[:4]])]


def hostile_units(pattern: str, flags: int) -> Iterator[tuple[str, str, str]]:
    """(beginning, what is repeated, end)"""
    parts = words(pattern, flags)
    for unit in parts:
        yield from product(["", *parts[-4:]], [unit], ["", "~"])
    for one, other in product(parts[:10], parts):
        if one != other:
            yield "", one + other, "~"


def slow_inputs(expression: Expression) -> Iterator[str]:
    """Inputs on which twice the length takes four times as long, or more."""
    compiled = re.compile(expression.pattern, expression.flags)
    pattern = expression.pattern if isinstance(expression.pattern, str) else expression.pattern.decode("latin-1")
    flags = expression.flags if isinstance(expression.pattern, str) else expression.flags | re.ASCII
    for beginning, unit, end in hostile_units(pattern, flags):

        def work(size: int, beginning: str = beginning, unit: str = unit, end: str = end) -> object:
            text: Any = beginning + unit * (size // len(unit)) + end
            if isinstance(expression.pattern, bytes):
                text = text.encode("latin-1", "replace")
            return compiled.match(text) if expression.anchored else compiled.sub(text[:0], text)

        if not (grows_linearly(work, SHORT) and grows_linearly(work, SIZE)):
            yield f"{beginning!r} + {unit!r} * n + {end!r}"


_LUA_CALL: Final = re.compile(r"string\.(match|gmatch|gsub|find)\(([^\n]*)")
_LUA_STRING: Final = re.compile(r"'((?:\\.|[^'\\\n])*)'")


def lua_patterns() -> list[tuple[str, str]]:
    """(file and call, pattern) of all that Redis' Lua matches. A plain `find` is none."""
    found = []
    folder = ROOT / "queues/engine/lua"
    for file in sorted([*folder.glob("*.lua"), *folder.glob("lib/*.lua")]):
        for call in _LUA_CALL.finditer(file.read_text()):
            if call[1] == "find" and call[2].rstrip().endswith(("1, true) ~= nil", "1, true)")):
                continue
            strings = [text for text in _LUA_STRING.findall(call[2]) if re.search(r"[%.^$*+?\[-]", text)]
            assert strings, f"{file.name}: string.{call[1]}({call[2]}: which pattern is this?"
            found.append((f"{file.name}: {call[1]}", strings[0]))
    return found


def test_regular_expressions_take_linear_time() -> None:
    found = {(one.pattern, one.flags, one.anchored): one for one in [*expressions(), *scripts()]}
    assert len(found) > 90
    slow = {expression.place: next(slow_inputs(expression), None) for expression in found.values()}

    assert [f"{place}: {text}" for place, text in slow.items() if text] == []


def test_regular_expressions_mean_the_same_to_every_python() -> None:
    assert has_unsafe_repetition(parser.parse("x(?:a|(?:bc)?+)"))
    assert not has_unsafe_repetition(parser.parse("[ab]*+(?>bc|d)*+e++(?:f|gh)*"))
    wrong = [one.place for one in expressions() if has_unsafe_repetition(parser.parse(one.pattern, one.flags))]

    assert wrong == []


def test_routes_take_linear_time() -> None:
    """Those with a single repetition do: they are matched from the beginning of a path only."""
    repeat = [route for route in routes() if len(re.findall(r"[+*]", str(route.pattern))) > 1]
    found = {re.sub(r"\?P<\w+>", "", str(route.pattern)): route for route in repeat if route.place not in SHADOWED}
    slow = {route.place: next(slow_inputs(route), None) for route in found.values()}

    assert [f"{place}: {text}" for place, text in slow.items() if text] == []


def test_the_admins_slow_route_is_out_of_reach() -> None:
    assert grows_linearly(lambda size: resolve("/admin/r/" + "/" * size + "~"), SIZE)


@in_one_test("pattern", [r"(a+)+b", r"[a-z]+@", r"\s+$", r'"(?:[^"\\]|\\.)*"', r"\n\s*at "])
def test_an_expression_that_takes_more_is_found(pattern: str) -> None:
    expression = Expression("here", pattern, 0, anchored=False)
    # An input passes by one of four measurements, which a busy machine falsifies now and then.
    assert any(next(slow_inputs(expression), None) for _ in range(5))


@in_one_test(("place", "pattern"), lua_patterns())
def test_a_lua_pattern_takes_linear_time(redis_client: redis.Redis, place: str, pattern: str) -> None:
    script = "string.gsub(ARGV[1], ARGV[2], '')"
    # What is matched by `gmatch` ends as the pattern does: a comma follows each part (add_minutes.lua).
    ends = [pattern[-1]] if "gmatch" in place and pattern.endswith(",") else ["", "~"]
    named = re.sub(r"%[adlwc]|[\\^$()*+\[\]]", "", pattern)
    units = [*dict.fromkeys(filter(None, (named, "a", "7", "~", "-", " ", ":", "a7", "7 ", "a:")))]

    def clock() -> float:
        """What scripts have taken of Redis, in seconds."""
        return float(redis_client.info("commandstats").get("cmdstat_eval", {"usec": 0})["usec"]) / 1e6

    def work(size: int, unit: str, end: str) -> None:
        redis_client.eval(script, 0, unit * (size // len(unit)) + end, pattern)

    slow = [
        (unit, end)
        for unit, end in product(units, ends)
        if not grows_linearly(partial(work, unit=unit, end=end), SIZE, clock=clock)
    ]
    assert slow == []
