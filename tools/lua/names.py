"""Which name in a Lua syntax tree stands for which variable."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from luaparser import astnodes as lua

SEPARATOR = "~"
"""Between a variable's name and its number, while a script is built; no name in Lua can have it."""

Variables = dict[str, str]
"""Names as written → names that are unique in the script."""

_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A new variable of this name."""
    return f"{name.partition(SEPARATOR)[0]}{SEPARATOR}{next(_numbers)}"


def children(node: Any) -> list[Any]:
    """What a node consists of, in the order of the source, without the names of fields and methods."""
    kind = type(node)
    if kind in LEAVES:
        return []
    own = vars(node)
    if kind is lua.Index and node.notation is lua.IndexNotation.DOT:
        return [own["value"]]
    if kind is lua.Field and not node.between_brackets:
        return [own["value"]]
    if kind not in _PARTS:
        _PARTS[kind] = tuple(name for name in own if name[0] != "_" and name not in _NO_PARTS)
    parts: list[Any] = []
    for name in _PARTS[kind]:
        value = own[name]
        if isinstance(value, list):
            parts += value
        elif isinstance(value, lua.Node):
            parts.append(value)
    return parts


_NO_PARTS = ("comments", "place", "wrapped", "notation", "style", "delimiter", "raw")
_PARTS: dict[type, tuple[str, ...]] = {lua.Invoke: ("source", "args")}
LEAVES = frozenset({lua.Name, lua.Number, lua.String, lua.Nil, lua.TrueExpr, lua.FalseExpr})
"""Most nodes are such, and consist of nothing."""


def walk(node: Any) -> Iterator[Any]:
    """The node and all that it consists of, in the order of the source."""
    rest = [node]
    while rest:
        part = rest.pop()
        yield part
        if type(part) not in LEAVES:
            rest += reversed(children(part))


def resolve(block: lua.Block) -> list[lua.Name]:
    """Gives each variable that the block declares a unique name, wherever it is used. → uses of other names."""
    free: list[lua.Name] = []
    _resolve_block(block, {}, free)
    return free


def _resolve_block(block: lua.Block, around: Variables, free: list[lua.Name]) -> Variables:
    scope = dict(around)
    for statement in block.body:
        _resolve_statement(statement, scope, free)
    return scope


def _resolve_statement(node: Any, scope: Variables, free: list[lua.Name]) -> None:
    match node:
        case lua.LocalAssign():
            for value in node.values:
                _resolve(value, scope, free)
            _declare(node.targets, scope)
        case lua.LocalFunction():
            _declare([node.name], scope)
            _resolve_function(node, scope, free)
        case lua.Fornum():
            for limit in (node.start, node.stop, node.step):
                if isinstance(limit, lua.Node):
                    _resolve(limit, scope, free)
            inner = dict(scope)
            _declare([node.target], inner)
            _resolve_block(node.body, inner, free)
        case lua.Forin():
            for value in node.iter:
                _resolve(value, scope, free)
            inner = dict(scope)
            _declare(node.targets, inner)
            _resolve_block(node.body, inner, free)
        case lua.Repeat():
            _resolve(node.test, _resolve_block(node.body, scope, free), free)
        case lua.Block():
            _resolve_block(node, scope, free)
        case _:
            _resolve(node, scope, free)


def _resolve(node: Any, scope: Variables, free: list[lua.Name]) -> None:
    if isinstance(node, lua.Name):
        if node.id in scope:
            node.id = scope[node.id]
        else:
            free.append(node)
    elif isinstance(node, lua.AnonymousFunction):
        _resolve_function(node, scope, free)
    else:
        for child in children(node):
            _resolve_statement(child, scope, free)


def _resolve_function(node: Any, scope: Variables, free: list[lua.Name]) -> None:
    inner = dict(scope)
    _declare([arg for arg in node.args if isinstance(arg, lua.Name)], inner)
    _resolve_block(node.body, inner, free)


def _declare(names: list[lua.Name], scope: Variables) -> None:
    for name in names:
        scope[name.id] = name.id = fresh(name.id)


def declared(node: Any) -> Iterator[lua.Name]:
    """The names that are declared anywhere in a node."""
    for part in walk(node):
        match part:
            case lua.LocalAssign():
                yield from part.targets
            case lua.LocalFunction():
                yield part.name
                yield from (arg for arg in part.args if isinstance(arg, lua.Name))
            case lua.AnonymousFunction():
                yield from (arg for arg in part.args if isinstance(arg, lua.Name))
            case lua.Fornum():
                yield part.target
            case lua.Forin():
                yield from part.targets


def assigned(node: Any) -> Iterator[lua.Name]:
    """The variables that are given another value anywhere in a node."""
    for part in walk(node):
        if isinstance(part, lua.Assign) and not isinstance(part, lua.LocalAssign):
            yield from (target for target in part.targets if isinstance(target, lua.Name))


def copy_tree(node: Any) -> Any:
    """A copy of all that the node consists of."""
    new = object.__new__(type(node))  # a quarter of the time of `copy`
    own = vars(new)
    own.update(vars(node))
    if type(node) in LEAVES:
        own["comments"] = list(node.comments)
        return new
    for name, value in own.items():
        if isinstance(value, list):
            own[name] = [copy_tree(part) for part in value]
        elif isinstance(value, lua.Node):
            own[name] = copy_tree(value)
    return new


def copy_function(node: lua.LocalFunction) -> lua.LocalFunction:
    """A copy whose variables are new ones."""
    new: lua.LocalFunction = copy_tree(node)
    renamed = {name.id: fresh(name.id) for name in declared(new)}
    for part in walk(new):
        if isinstance(part, lua.Name):
            part.id = renamed.get(part.id, part.id)
    return new


def finish(block: lua.Block) -> None:
    """Gives variables their own names back; the second of a name is NAME_2, and so on."""
    names = {part.id for part in walk(block) if isinstance(part, lua.Name)}
    taken = {name for name in names if SEPARATOR not in name}
    final: Variables = {}
    for name in declared(block):
        stem = name.id.partition(SEPARATOR)[0]
        candidates = itertools.chain([stem], (f"{stem}_{number}" for number in itertools.count(2)))
        if name.id not in final:
            final[name.id] = next(candidate for candidate in candidates if candidate not in taken)
            taken.add(final[name.id])
    for part in walk(block):
        if isinstance(part, lua.Name):
            part.id = final.get(part.id, part.id)
