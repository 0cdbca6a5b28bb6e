"""The expressions of a Lua statement: what they are, and in which order they are evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from luaparser import astnodes as lua

from .names import SEPARATOR, children

SINGLE = frozenset({"redis.call", "redis.pcall", "tonumber", "tostring", "string.format", "math.floor", "math.min"})
"""Functions with one result."""

LITERALS = (lua.Nil, lua.TrueExpr, lua.FalseExpr, lua.Number, lua.String)

CONDITIONAL = (lua.AndLoOp, lua.OrLoOp)


def values_of(statement: Any) -> list[Any]:
    return statement.values or []


def is_place(node: Any) -> bool:
    """`KEYS[1]`, `ARGV[1]`"""
    return (
        isinstance(node, lua.Index)
        and isinstance(node.value, lua.Name)
        and node.value.id in ("KEYS", "ARGV")
        and isinstance(node.idx, lua.Number)
    )


def is_library(node: Any) -> bool:
    """`redis.call`"""
    return isinstance(node, lua.Index) and isinstance(node.value, lua.Name) and SEPARATOR not in node.value.id


def callee_name(call: Any) -> str:
    if not isinstance(call, lua.Call):
        return ""
    if isinstance(call.func, lua.Name):
        return str(call.func.id)
    return f"{call.func.value.id}.{call.func.idx.id}" if is_library(call.func) else ""


def is_single(value: Any) -> bool:
    """Whether an expression has one value wherever it stands."""
    if isinstance(value, (lua.Call, lua.Invoke, lua.Varargs)):
        return bool(value.wrapped) or callee_name(value) in SINGLE
    return True


def parts_of(node: Any) -> Iterator[Any]:
    """As `walk`, but KEYS[1] is one part."""
    yield node
    if not is_place(node):
        for child in children(node):
            yield from parts_of(child)


def blocks_of(statement: Any) -> Iterator[lua.Block]:
    """The blocks of a statement; not those of functions in its expressions."""
    for child in children(statement):
        if isinstance(child, lua.Block):
            yield child
        elif isinstance(child, lua.ElseIf):
            yield from blocks_of(child)


def _outer(node: Any) -> Iterator[Any]:
    """The expressions of a statement, outermost first; not those in its blocks or in functions."""
    for child in children(node):
        if not isinstance(child, lua.Block):
            yield child
            if not isinstance(child, lua.AnonymousFunction):
                yield from _outer(child)


def anonymous_functions(statement: Any) -> list[lua.AnonymousFunction]:
    return [part for part in _outer(statement) if isinstance(part, lua.AnonymousFunction)]


def calls_in(statement: Any) -> list[lua.Call]:
    """All calls in a statement's expressions, innermost first."""
    return [part for part in reversed(list(_outer(statement))) if isinstance(part, lua.Call)]


def in_order_of_evaluation(statement: Any, calls: Set[str]) -> Iterator[tuple[Any, bool, bool]]:
    """A statement's expressions in the order of their evaluation: node, is it conditional, are all its results used.

    `calls`: of functions that may be put in place; what such a call passes on comes with it, so it is first.
    """

    def of_list(values: list[Any], *, is_open: bool, conditional: bool) -> Iterator[tuple[Any, bool, bool]]:
        for value in values:
            yield from of(value, is_open=is_open and value is values[-1], conditional=conditional)

    def of(node: Any, *, is_open: bool = False, conditional: bool = False) -> Iterator[tuple[Any, bool, bool]]:
        own = node, conditional, is_open and not getattr(node, "wrapped", False)
        if isinstance(node, lua.Call):
            if isinstance(node.func, lua.Name) and node.func.id in calls:
                yield own
            yield from of(node.func, conditional=conditional)
            yield from of_list(node.args, is_open=True, conditional=conditional)
        elif isinstance(node, CONDITIONAL):
            yield from of(node.left, conditional=conditional)
            yield from of(node.right, conditional=True)
        elif isinstance(node, lua.Table):
            for field in node.fields:
                is_last = field is node.fields[-1] and field.key is None
                yield from of(field.value, is_open=is_last, conditional=conditional)
        elif not isinstance(node, lua.AnonymousFunction) and not (is_place(node) or is_library(node)):
            for child in children(node):
                yield from of(child, conditional=conditional)
        yield own

    match statement:
        case lua.LocalAssign() | lua.Assign():
            for target in [] if isinstance(statement, lua.LocalAssign) else statement.targets:
                if not isinstance(target, lua.Name):
                    yield from of(target.value)
                    yield from of(target.idx)
            is_open = len(statement.values) < len(statement.targets)
            yield from of_list(statement.values, is_open=is_open, conditional=False)
        case lua.Return():
            yield from of_list(values_of(statement), is_open=True, conditional=False)
        case lua.Call():
            yield from of(statement.func)
            yield from of_list(statement.args, is_open=True, conditional=False)
        case lua.If():
            yield from of(statement.test)
        case lua.Fornum():
            yield from of_list([statement.start, statement.stop], is_open=False, conditional=False)
        case lua.Forin():
            yield from of_list(statement.iter, is_open=True, conditional=False)
