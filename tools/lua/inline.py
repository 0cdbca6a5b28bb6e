"""Puts the bodies of local functions where they are called.

Redis runs a script from its beginning at each call, so each `local function` costs an allocation whether it is called
or not: in a publish of one job, a quarter of the script's time. Names are unique by now (`names.resolve`), so a body
means the same wherever it stands. A call is replaced only where order and number of evaluations stay as they were;
every other one stays a call, and so does one of a long function that is called at several places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from luaparser import ast
from luaparser import astnodes as lua

from .expressions import (
    CONDITIONAL,
    LITERALS,
    SINGLE,
    anonymous_functions,
    blocks_of,
    callee_name,
    calls_in,
    in_order_of_evaluation,
    is_library,
    is_place,
    is_single,
    parts_of,
    values_of,
)
from .names import LEAVES, SEPARATOR, assigned, children, copy_function, copy_tree, declared, fresh, walk

LONGEST: Final = 3000
"""Characters that a function of several calls may take, all together."""

HARMLESS = SINGLE | frozenset(
    {"math.max", "math.log", "struct.pack", "struct.unpack", "string.sub", "string.match", "table.concat", "unpack"}
)
"""Functions that change no Lua value."""

_LOOPS = (lua.While, lua.Repeat, lua.Fornum, lua.Forin)


def inline(block: lua.Block) -> None:
    """Replaces calls in a block whose names are unique, and drops the functions that are not called any more."""
    _Inliner(block).run()


class _Function:
    """A local function whose own calls have been replaced already."""

    def __init__(self, node: lua.LocalFunction) -> None:
        self.args = [arg.id for arg in node.args]
        self.body: list[Any] = node.body.body
        self.returns = list(_returns(node.body, in_loop=False))
        last = self.body[-1] if self.body else None
        self.ends_in_return = isinstance(last, lua.Return)
        self.returns_in_loop = any(in_loop for _, in_loop in self.returns)
        self.returns_at_end_only = not self.returns or (len(self.returns) == 1 and self.ends_in_return)
        self.has_one_result = self.ends_in_return and all(
            len(values_of(node)) == 1 and is_single(values_of(node)[0]) for node, _ in self.returns
        )
        is_expression = len(self.body) == 1 and self.ends_in_return and len(values_of(last)) == 1
        self.expression = values_of(last)[0] if is_expression else None
        self.own_assignments = {name.id for name in assigned(node.body)} & set(self.args)


class _Inliner:
    def __init__(self, block: lua.Block) -> None:
        self._block = block
        self._functions: dict[str, _Function] = {}
        self._assigned = {name.id for name in assigned(block)}
        functions = [part for part in walk(block) if isinstance(part, lua.LocalFunction)]
        names = {part.name.id for part in functions}
        self._uses = Counter(part.id for part in walk(block) if isinstance(part, lua.Name) and part.id in names)
        self._varying = {
            name
            for function in walk(block)
            if isinstance(function, (lua.LocalFunction, lua.AnonymousFunction))
            for name in {name.id for name in assigned(function.body)} - {own.id for own in declared(function)}
        }
        """Variables to which a function gives values that are not its own."""

    def run(self) -> None:
        self._in_block(self._block, is_function=False)
        while unused := self._unused():
            for part in list(walk(self._block)):
                if isinstance(part, lua.Block):
                    part.body = [
                        node
                        for node in part.body
                        if not (isinstance(node, lua.LocalFunction) and node.name.id in unused)
                    ]

    def _unused(self) -> set[str]:
        uses = Counter(part.id for part in walk(self._block) if isinstance(part, lua.Name))
        return {
            part.name.id
            for part in walk(self._block)
            if isinstance(part, lua.LocalFunction) and uses[part.name.id] == 1
        }

    # Statements

    def _in_block(self, block: lua.Block, *, is_function: bool) -> None:
        done: list[Any] = []
        for statement in block.body:
            done += self._in_statement(statement, is_function=is_function)
        block.body = done

    def _in_statement(self, statement: Any, *, is_function: bool) -> list[Any]:
        """The statements that do what this one does. `is_function`: a `return` in it is one of a function."""
        for block in blocks_of(statement):
            self._in_block(block, is_function=is_function or isinstance(statement, lua.LocalFunction))
        for function in anonymous_functions(statement):
            self._in_block(function.body, is_function=True)
        if isinstance(statement, lua.LocalFunction):
            self._register(statement)
            return [statement]
        self._replace_expressions(statement)
        before: list[Any] = []
        while True:
            replaced = self._replace_whole(statement, is_function=is_function)
            if replaced is not None:
                return [*before, *replaced]
            if conditional := self._conditional(statement):
                before += conditional
                continue
            call = self._first_call(statement)
            if call is None:
                return [*before, statement]
            result = _name(fresh(call.func.id))
            before += self._expanded(call, [result])
            _replace(statement, call, _name(result.id))

    def _register(self, node: lua.LocalFunction) -> None:
        is_recursive = any(isinstance(part, lua.Name) and part.id == node.name.id for part in walk(node.body))
        if is_recursive or not all(isinstance(arg, lua.Name) for arg in node.args):
            return
        function = _Function(node)
        calls = self._uses[node.name.id] - 1
        if calls == 1 or len(ast.to_lua_source(node.body)) * calls <= LONGEST:
            self._functions[node.name.id] = function

    def _called(self, node: Any) -> _Function | None:
        if isinstance(node, lua.Call) and isinstance(node.func, lua.Name):
            return self._functions.get(node.func.id)
        return None

    def _replace_whole(self, statement: Any, *, is_function: bool) -> list[Any] | None:
        """A statement that is, or whose only value is, a call."""
        if (function := self._called(statement)) is not None:
            return self._expanded(statement, []) if self._can_expand(statement, function) else None
        if isinstance(statement, lua.Return):
            values = values_of(statement)
            if len(values) != 1 or values[0].wrapped or (function := self._called(values[0])) is None:
                return None
            if (is_function and function.returns_in_loop) or not self._fits(values[0], function):
                return None
            body = self._body_of(values[0], function)
            return body if function.ends_in_return else [*body, lua.Return([])]
        if not isinstance(statement, lua.Assign) or len(statement.values) != 1 or statement.values[0].wrapped:
            return None
        call = statement.values[0]
        if (function := self._called(call)) is None or not self._can_expand(call, function):
            return None
        if isinstance(statement, lua.LocalAssign):
            return self._expanded(call, statement.targets)
        if not all(isinstance(target, lua.Name) for target in statement.targets):
            return None
        results = [_name(fresh("result")) for _ in statement.targets]
        statement.values = [_name(result.id) for result in results]
        return [lua.Do(lua.Block([*self._expanded(call, results), statement]))]

    def _conditional(self, statement: Any) -> list[Any]:
        """`x = a and f()` becomes `x = y`; → `local y = a if y then y = f() end`, empty for other statements."""
        match statement:
            case lua.If(test=value):
                pass
            case lua.LocalAssign(values=[value]) | lua.Assign(targets=[lua.Name()], values=[value]):
                pass
            case lua.Return(values=[value]):
                pass
            case _:
                return []
        if not isinstance(value, CONDITIONAL) or (function := self._called(value.right)) is None:
            return []
        if not self._can_expand(value.right, function):
            return []
        variable, result = fresh("value"), fresh(value.right.func.id)
        test = _name(variable) if isinstance(value, lua.AndLoOp) else lua.ULNotOp(_name(variable))
        self._assigned.add(variable)
        _replace(statement, value, _name(variable))
        body = [*self._expanded(value.right, [_name(result)]), lua.Assign([_name(variable)], [_name(result)])]
        return [
            *self._in_statement(lua.LocalAssign([_name(variable)], [value.left]), is_function=True),
            lua.If(test, lua.Block(body), None),
        ]

    # Bodies

    def _can_expand(self, call: lua.Call, function: _Function) -> bool:
        return not function.returns_in_loop and self._fits(call, function)

    def _fits(self, call: lua.Call, function: _Function) -> bool:
        return len(call.args) <= len(function.args)

    def _expanded(self, call: lua.Call, results: list[lua.Name]) -> list[Any]:
        """`local RESULTS do BODY end`, where a `return` in the body gives the results their values."""
        function = self._functions[call.func.id]
        body = self._body_of(call, function)
        ends = isinstance(body[-1], lua.Return) if body else False
        if function.returns_at_end_only:
            if ends:
                body[-1:] = _given(body[-1], results)
            wrapped: Any = lua.Do(lua.Block(body))
        else:
            _returns_become_breaks(body, results, is_end=True)
            wrapped = lua.Repeat(lua.Block(body), lua.TrueExpr())
        if not body:
            wrapped = None
        self._assigned |= {result.id for result in results}
        head = [lua.LocalAssign([_name(result.id) for result in results], [])] if results else []
        return [*head, wrapped] if wrapped else head

    def _body_of(self, call: lua.Call, function: _Function) -> list[Any]:
        """A copy of the function's body that begins with its parameters."""
        copied = copy_function(
            lua.LocalFunction(_name("_"), [_name(arg) for arg in function.args], lua.Block(function.body))
        )
        args = [arg.id for arg in copied.args]
        given = list(call.args)
        own = {new for old, new in zip(function.args, args, strict=True) if old in function.own_assignments}
        open_ended = bool(given) and len(given) < len(args) and not is_single(given[-1])
        if not open_ended:
            given += [lua.Nil() for _ in args[len(given) :]]
        uses = Counter(part.id for part in walk(copied.body) if isinstance(part, lua.Name))
        in_place: dict[str, Any] = {}
        for name, value in zip(args, given, strict=False):
            if open_ended or name in own:
                continue
            if self._is_fixed(value) and (not is_place(value) or uses[name] <= 1):
                in_place[name] = value
        if in_place:
            substitute(copied.body, in_place)
        if any(isinstance(value, LITERALS) for value in in_place.values()):
            fold(copied.body)
        targets = [_name(name) for name in args if name not in in_place]
        values = [value for name, value in zip(args, given, strict=False) if name not in in_place]
        parameters = self._in_statement(lua.LocalAssign(targets, values), is_function=True) if targets else []
        return [*parameters, *copied.body.body]

    # Expressions

    def _replace_expressions(self, statement: Any) -> None:
        """Calls of functions that consist of one expression."""
        for call in calls_in(statement):
            function = self._called(call)
            if function is None or function.expression is None or not self._fits(call, function):
                continue
            args = [*call.args, *(lua.Nil() for _ in function.args[len(call.args) :])]
            uses = Counter(part.id for part in walk(function.expression) if isinstance(part, lua.Name))
            harmless = all(self._is_harmless(part) for part in walk(function.expression))
            if any(isinstance(part, lua.AnonymousFunction) for part in walk(function.expression)):
                continue
            if not all(
                self._is_fixed(value) or (harmless and uses[name] == 1 and self._is_pure(value))
                for name, value in zip(function.args, args, strict=True)
            ):
                continue
            expression = copy_tree(function.expression)
            holder = lua.Return([expression])
            substitute(holder, dict(zip(function.args, args, strict=True)))
            new = holder.values[0]
            if call.wrapped or not isinstance(new, (lua.Call, lua.Name, lua.Index, *LITERALS)):
                new.wrapped = True
            _replace(statement, call, new)

    def _first_call(self, statement: Any) -> lua.Call | None:
        """The call that is evaluated first, if all that comes before it does not depend on what it does."""
        for node, is_conditional, is_open in in_order_of_evaluation(statement, self._functions.keys()):
            function = self._called(node)
            if function is not None:
                if is_conditional or not self._can_expand(node, function):
                    return None
                return node if function.has_one_result or not is_open else None
            if not self._is_indifferent(node):
                return None
        return None

    def _is_indifferent(self, node: Any) -> bool:
        """Whether it makes no difference if a call is made before it or after it."""
        match node:
            case lua.Name():
                return node.id not in self._varying
            case lua.Index():
                return is_place(node) or is_library(node)
            case lua.Call() | lua.Invoke() | lua.Table() | lua.AnonymousFunction() | lua.ULengthOP() | lua.Varargs():
                return False
            case _:
                return True

    def _is_fixed(self, node: Any) -> bool:
        """Whether it has the same value all the time, and costs nothing."""
        if isinstance(node, lua.Name):
            return SEPARATOR in node.id and node.id not in self._assigned
        return isinstance(node, LITERALS) or is_place(node)

    def _is_pure(self, node: Any) -> bool:
        """Whether its value depends on no Lua table, and it calls nothing."""
        return all(
            isinstance(part, (lua.Op, *LITERALS))
            or (isinstance(part, lua.Name) and part.id not in self._varying)
            or is_place(part)
            for part in parts_of(node)
        ) and not any(isinstance(part, lua.ULengthOP) for part in walk(node))

    def _is_harmless(self, node: Any) -> bool:
        return not isinstance(node, (lua.Call, lua.Invoke)) or callee_name(node) in HARMLESS


def _name(name: str) -> lua.Name:
    return lua.Name(name)


def _returns(node: Any, *, in_loop: bool) -> Iterator[tuple[lua.Return, bool]]:
    """Each `return` of a function's body, and whether it is in a loop."""
    for child in children(node):
        if isinstance(child, lua.Return):
            yield child, in_loop
        elif not isinstance(child, (lua.AnonymousFunction, lua.LocalFunction)):
            yield from _returns(child, in_loop=in_loop or isinstance(child, _LOOPS))


def _given(statement: lua.Return, results: list[lua.Name]) -> list[Any]:
    """What a `return` does where the results have names."""
    values = values_of(statement)
    if results:
        return [lua.Assign([_name(result.id) for result in results], values)] if values else []
    kept = [value for value in values if any(isinstance(part, (lua.Call, lua.Invoke)) for part in walk(value))]
    return [
        value
        if isinstance(value, lua.Call) and not value.wrapped
        else lua.LocalAssign([_name(fresh("unused"))], [value])
        for value in kept
    ]


def _returns_become_breaks(body: list[Any], results: list[lua.Name], *, is_end: bool) -> None:
    """`is_end`: the block ends where the function does, so that there is nothing to leave out."""
    for statement in body:
        for block in [] if isinstance(statement, lua.LocalFunction) else blocks_of(statement):
            _returns_become_breaks(block.body, results, is_end=False)
    if body and isinstance(body[-1], lua.Return):
        body[-1:] = [*_given(body[-1], results), *([] if is_end else [lua.Break()])]


def substitute(node: Any, values: dict[str, Any]) -> None:
    """Puts values in place of the variables of these names, everywhere in a node."""

    def substituted(part: Any) -> Any:
        if not (isinstance(part, lua.Name) and part.id in values):
            return part
        value = copy_tree(values[part.id])
        value.wrapped = value.wrapped or isinstance(value, lua.Op)
        return value

    _map(node, substituted)
    for part in walk(node):
        if isinstance(part, (lua.Index, lua.Invoke)):
            of = part.value if isinstance(part, lua.Index) else part.source
            of.wrapped = of.wrapped or isinstance(of, LITERALS)  # 'a':rep(2) is no Lua


def fold(block: lua.Block) -> None:
    """Leaves out what cannot happen where a parameter is nil, false or true."""
    _map(block, _folded, children_first=True)
    for part in [part for part in walk(block) if isinstance(part, lua.Block)]:
        part.body = [kept for statement in part.body for kept in _taken(statement)]


def _folded(node: Any) -> Any:
    match node:
        case lua.AndLoOp() if (left := _truth(node.left)) is not None:
            new = node.right if left else node.left
        case lua.OrLoOp() if (left := _truth(node.left)) is not None:
            new = node.left if left else node.right
        case lua.ULNotOp() if (operand := _truth(node.operand)) is not None:
            return lua.FalseExpr() if operand else lua.TrueExpr()
        case _:
            return node
    new.wrapped = not isinstance(new, LITERALS)  # one value, whatever it is
    return new


def _truth(node: Any) -> bool | None:
    """Whether it is true; None: that is not known here."""
    if isinstance(node, (lua.Nil, lua.FalseExpr)):
        return False
    return True if isinstance(node, (lua.TrueExpr, lua.Number, lua.String)) else None


def _taken(statement: Any) -> list[Any]:
    """What is left of an `if` whose test is known."""
    if not isinstance(statement, lua.If) or (truth := _truth(statement.test)) is None:
        return [statement]
    if truth:
        return [lua.Do(statement.body)]
    match statement.orelse:
        case lua.ElseIf() as other:
            return _taken(lua.If(other.test, other.body, other.orelse))
        case lua.Block() as other:
            return [lua.Do(other)]
    return []


def _replace(node: Any, old: Any, new: Any) -> None:
    _map(node, lambda part: new if part is old else part)


def _map(node: Any, change: Callable[[Any], Any], *, children_first: bool = False) -> None:
    """Puts `change(child)` in place of each child, its children and so on; what it has put there is left alone."""

    def changed(part: Any) -> Any:
        if not isinstance(part, lua.Node):
            return part
        if children_first:
            if type(part) not in LEAVES:
                _map(part, change, children_first=True)
            return change(part)
        new = change(part)
        if new is part and type(part) not in LEAVES:
            _map(part, change)
        return new

    for name, value in list(vars(node).items()):
        if name.startswith("_") or name == "comments":
            continue
        if isinstance(value, list):
            value[:] = [changed(part) for part in value]
        elif isinstance(value, lua.Node):
            setattr(node, name, changed(value))
