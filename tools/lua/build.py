"""Puts a script together from its source, its libraries and its header."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from luaparser import ast
from luaparser import astnodes as lua

from queues.engine.keys import DELETED_KEYS, PARTITION_KEYS, QUEUE_KEYS, WORKFLOW_KEYS

from .inline import inline, substitute
from .names import assigned, copy_tree, finish, fresh, resolve, walk

SOURCES: Final = Path(__file__).parents[2] / "queues/engine/lua"
REST: Final = "..."
LIMITED: Final = "limited_"
_ENTRY = re.compile(r"--   (?P<name>\S+)(?:\s.*)?\Z")
_SECTIONS = ("KEYS", "ARGV", "REPLIES")
_LAYOUT_KEYS = QUEUE_KEYS.keys() | PARTITION_KEYS.keys() | DELETED_KEYS.keys() | WORKFLOW_KEYS.keys()
_KNOWN_KEYS = (
    _LAYOUT_KEYS
    | frozenset(
        "survey turn minutes limit index pumps tellers told workers beats spaces commands note".split()  # noqa: SIM905
    )
    | {"push_recent", "push_failures", "push_health"}
)
_GLOBALS = frozenset(
    "KEYS ARGV redis struct cjson math string table ipairs pairs next tonumber tostring type unpack".split()  # noqa: SIM905
)

_CLOCK = """\
local now = tonumber(now_ms)
local now_up = now
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  now_up = now + 1
end"""
"""The only clock: the Redis server's, unless the caller gave a time, as tests do. `now` has begun already,
so a delay counts from `now_up`, the next ms: what is due then is never early."""

_LIMITED_KEYS: Final = ("limit",)
_LIMITED_ARGS: Final = ("allowance", "interval", "requests")


class ScriptSyntaxError(Exception):
    """A script or its header is wrong. The message begins with `file:line`."""


@dataclass(frozen=True)
class Header:
    """What the comment block at the top of a script says (docs of the form: `queues.engine.scripts`)."""

    purpose: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    rest: bool
    replies: tuple[str, ...]
    includes: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


def build(sources: Path = SOURCES) -> Iterator[tuple[str, str]]:
    """Each script, and its limited form if it lists COUNTS: name, text of the file. Raises ScriptSyntaxError."""
    libraries = _Libraries(sources)
    for path in sorted(sources.glob("*.lua")):
        name, text = path.stem, path.read_text(encoding="utf-8")
        header = read_header(name, text)
        script = parse(path.name, text)
        yield name, _file(name, header, _script(name, header, script, libraries))
        if header.counts:
            yield f"{LIMITED}{name}", _limited(name, header, script, libraries)


def layout_keys() -> frozenset[str]:
    """The keys of `queues.engine.keys` that a script may list."""
    return frozenset(_LAYOUT_KEYS)


def _file(name: str, header: Header, block: lua.Block) -> str:
    """What is written to a file: a line for the loader, then what is sent to Redis."""
    told = {
        "name": name,
        "purpose": header.purpose,
        "keys": header.keys,
        "args": header.args,
        "rest": header.rest,
        "replies": header.replies,
    }
    return f"--{json.dumps(told, ensure_ascii=False)}\n{printed(block)}\n"


def printed(block: lua.Block) -> str:
    """The text of a block whose names are unique, with functions put where they are called."""
    inline(block)
    finish(block)
    return str(ast.to_lua_source(lua.Chunk(block), indent=1))


def _script(name: str, header: Header, script: lua.Block, libraries: _Libraries) -> lua.Block:
    block = _assembled(header, script, libraries, len(header.args))
    free = resolve(block)
    _check(name, block, free, header.keys, header.args)
    _put_in_place(block, free, header.keys, header.args)
    return block


def _assembled(header: Header, script: lua.Block, libraries: _Libraries, args: int) -> lua.Block:
    """The script behind what it needs; names are as they were written."""
    first = []
    if header.rest:
        first.append(f"local REST = {args + 1}")
    if "now_ms" in header.args:
        first.append(_CLOCK)
    return lua.Block(
        [
            *_statements("\n".join(first)),
            *libraries.needed(header.includes, script),
            *(copy_tree(node) for node in script.body),
        ]
    )


def _limited(name: str, header: Header, script: lua.Block, libraries: _Libraries) -> str:
    """The same for a token whose requests are limited, counted in the same call (`scripts.load_limited`)."""
    keys, args = (*_LIMITED_KEYS, *header.keys), (*_LIMITED_ARGS, *header.args)
    begin, end = libraries.limits("refuse_or_cut"), libraries.limits("count")
    if "count" in header.args:
        begin[-1].body.body += _statements("count = free")
    counts = ", ".join(f"{word} = {ahead}" for word, ahead in header.counts.items())
    run = lua.LocalFunction(lua.Name("run"), [], _assembled(header, script, libraries, len(args)))
    own = lua.Block([*begin, *end])
    block = lua.Block(
        [
            *libraries.needed(("token_limit",), own),
            *_statements(f"local counts = {{{counts}}}"),
            *begin,
            run,
            *_statements("local reply = run()"),
            *end,
        ]
    )
    free = resolve(block)
    _check(name, block, free, keys, args)
    _put_in_place(block, free, keys, args)
    wrapped = Header(header.purpose, keys, args, header.rest, ("limited", "counted", *header.replies))
    return _file(f"{LIMITED}{name}", wrapped, block)


def _check(name: str, block: lua.Block, free: list[lua.Name], keys: tuple[str, ...], args: tuple[str, ...]) -> None:
    """Every name is known. Redis Cluster needs each key; a global would fail in the branch that has one, not before."""
    used = {use.id for use in free}
    known = {*keys, *args, *_GLOBALS}
    for use in free:
        if use.id in _LAYOUT_KEYS - known:
            raise ScriptSyntaxError(f"{use.place}: uses {use.id}, which the KEYS of {name}.lua do not list")
        if use.id not in known:
            raise ScriptSyntaxError(f"{use.place}: nothing has the name {use.id} in {name}.lua")
    for use in assigned(block):
        if use.id in _GLOBALS:
            raise ScriptSyntaxError(f"{use.place}: gives {use.id} another value")
    rest = Counter(part.id for part in walk(block) if isinstance(part, lua.Name) and part.id.startswith("REST~"))
    if any(count == 1 for count in rest.values()):
        raise ScriptSyntaxError(f"{name}.lua:1: lists {REST} under ARGV but does not use REST")
    for section, names in (("KEYS", keys), ("ARGV", args)):
        if unused := [word for word in names if word not in used and word != "now_ms"]:
            raise ScriptSyntaxError(f"{name}.lua:1: lists {', '.join(unused)} under {section} but does not use it")


def _put_in_place(block: lua.Block, free: list[lua.Name], keys: tuple[str, ...], args: tuple[str, ...]) -> None:
    """KEYS[i] and ARGV[i] in place of the names of the header, values in place of constants."""
    places = {key: ("KEYS", i) for i, key in enumerate(keys, 1)} | {arg: ("ARGV", i) for i, arg in enumerate(args, 1)}
    values: dict[str, Any] = {}
    for use in free:
        if use.id in places:
            of, number = places[use.id]
            use.id = fresh(use.id)
            values[use.id] = lua.Index(lua.Number(number), lua.Name(of), lua.IndexNotation.SQUARE)
    changed = {use.id for use in assigned(block)}
    for part in [part for part in walk(block) if isinstance(part, lua.Block)]:
        constants = {node.targets[0].id: node.values[0] for node in part.body if _is_literal(node)}
        values |= {name: value for name, value in constants.items() if name not in changed}
        part.body = [node for node in part.body if not (_is_literal(node) and node.targets[0].id in values)]
    substitute(block, values)


def _is_literal(node: Any) -> bool:
    """`local NAME = 1`"""
    return (
        isinstance(node, lua.LocalAssign)
        and len(node.targets) == len(node.values) == 1
        and isinstance(node.values[0], (lua.Number, lua.String))
    )


class _Libraries:
    """What the files of `lib/` define. Of a library, a script gets only what it needs."""

    def __init__(self, sources: Path) -> None:
        self._sources = sources
        self._includes: dict[str, tuple[str, ...]] = {}
        self._definitions: dict[str, dict[str, tuple[Any, set[str]]]] = {}

    def needed(self, includes: Iterable[str], script: lua.Block) -> list[Any]:
        """The definitions that the script uses, directly or by way of others, in their order."""
        found: dict[str, tuple[Any, set[str]]] = {}
        for library in self._with_dependencies(includes):
            if twice := found.keys() & self._definitions[library].keys():
                raise ScriptSyntaxError(f"lib/{library}.lua:1: defines {', '.join(twice)} once more")
            found |= self._definitions[library]
        needed: set[str] = set()
        to_look_at = [_free_names(script)]
        while to_look_at:
            for name in to_look_at.pop() & found.keys() - needed:
                needed.add(name)
                to_look_at.append(found[name][1])
        return [copy_tree(node) for name, (node, _) in found.items() if name in needed]

    def limits(self, part: str) -> list[Any]:
        """What stands before or after a script whose requests are limited."""
        path = f"token_limit/{part}.lua"
        return [copy_tree(node) for node in parse(path, (self._sources / path).read_text(encoding="utf-8")).body]

    def _with_dependencies(self, includes: Iterable[str]) -> list[str]:
        """`includes` with what they include themselves, each once, dependencies first."""
        ordered: list[str] = []

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in path:
                raise ScriptSyntaxError(f"lib/{name}.lua:1: includes itself by way of {' → '.join(path)}")
            if name not in ordered:
                self._read(name)
                for dependency in self._includes[name]:
                    visit(dependency, (*path, name))
                ordered.append(name)

        for include in includes:
            visit(include, ())
        return ordered

    def _read(self, name: str) -> None:
        if name in self._definitions:
            return
        path = f"lib/{name}.lua"
        text = (self._sources / path).read_text(encoding="utf-8")
        definitions = {}
        for node in parse(path, text).body:
            if isinstance(node, lua.LocalFunction):
                defined = node.name.id
            elif isinstance(node, lua.LocalAssign) and len(node.targets) == 1:
                defined = node.targets[0].id
            else:
                raise ScriptSyntaxError(f"{node.place}: a library has only local functions and values")
            definitions[defined] = node, _free_names(lua.Block([node]))
        self._includes[name] = _words_of("INCLUDES", path, text)
        self._definitions[name] = definitions


def _free_names(block: lua.Block) -> set[str]:
    return {use.id for use in resolve(copy_tree(block))}


def _statements(text: str) -> list[Any]:
    return [copy_tree(node) for node in _own(text).body]


@cache
def _own(text: str) -> lua.Block:
    return parse("tools/lua/build.py", text)


def parse(path: str, text: str) -> lua.Block:
    """The syntax tree without comments; each node has its `place`. Raises ScriptSyntaxError."""
    try:
        block = ast.parse(text).body
    except ast.SyntaxException as error:
        raise ScriptSyntaxError(f"{path}:1: {error}") from error
    line = 1
    for node in ast.walk(block):
        line = node.line or line  # a name that begins a statement has none: the statement's
        node.place = f"{path}:{line}"
        node.comments = []
    return block


def _words_of(line_name: str, path: str, text: str) -> tuple[str, ...]:
    """What follows `-- INCLUDES` or `-- COUNTS`."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(f"-- {line_name}"):
            names = tuple(line.split()[2:])
            if not names:
                raise ScriptSyntaxError(f"{path}:{number}: {line_name} without names")
            return names
    return ()


def read_header(name: str, text: str) -> Header:
    """The signature at the top of a script. Raises ScriptSyntaxError."""
    path = f"{name}.lua"
    lines = text.splitlines()
    if not lines or not lines[0].startswith(f"-- {name}: "):
        raise ScriptSyntaxError(f"{path}:1: must begin with '-- {name}: purpose'")
    sections: dict[str, dict[str, int]] = {section: {} for section in _SECTIONS}
    current: dict[str, int] | None = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("--"):
            break
        if line.removeprefix("-- ") in _SECTIONS:
            current = sections[line.removeprefix("-- ")]
        elif line.startswith("--   ") and line[5:6] != " " and current is not None:
            if (entry := _ENTRY.match(line)) is None:
                raise ScriptSyntaxError(f"{path}:{number}: not an entry: {line!r}")
            current[entry["name"]] = number
        elif not line.startswith("--   "):
            current = None
    for key, number in sections["KEYS"].items():
        if key not in _KNOWN_KEYS:
            raise ScriptSyntaxError(f"{path}:{number}: KEYS lists {key}, which queues.engine.keys does not know")
    rest = REST in sections["ARGV"]
    if rest and list(sections["ARGV"])[-1] != REST:
        raise ScriptSyntaxError(f"{path}:{sections['ARGV'][REST]}: '{REST}' must come last under ARGV")
    replies = tuple(sections["REPLIES"])
    if not replies:
        raise ScriptSyntaxError(f"{path}:1: lists no REPLIES")
    counts = [word.partition(":") for word in _words_of("COUNTS", path, text)]
    if unreadable := [word for word, _, ahead in counts if not ahead.isdigit()]:
        raise ScriptSyntaxError(f"{path}:1: COUNTS says no number with {', '.join(unreadable)}")
    if unknown := [word for word, *_ in counts if word not in replies]:
        raise ScriptSyntaxError(f"{path}:1: COUNTS names {', '.join(unknown)}, which its REPLIES do not list")
    return Header(
        purpose=lines[0].removeprefix(f"-- {name}: "),
        keys=tuple(sections["KEYS"]),
        args=tuple(arg for arg in sections["ARGV"] if arg != REST),
        rest=rest,
        replies=replies,
        includes=_words_of("INCLUDES", path, text),
        counts={word: int(ahead) for word, _, ahead in counts},
    )
