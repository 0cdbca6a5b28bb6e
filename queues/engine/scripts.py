"""Loads the Lua scripts. The header of a script is its signature: the loader makes locals of the names it lists.

    -- name: purpose in one sentence
    -- ...prose: invariant, edge, odd cases...
    -- KEYS
    --   ready      list        what it is used for
    -- ARGV
    --   now_ms     ms or ""    the caller's clock; "" = the server's
    --   ...                    what the remaining arguments are
    -- REPLIES
    --   ok id ...              when
    -- COUNTS ok:1
    -- INCLUDES record wake

Every name under KEYS stands for that key, every name under ARGV for that argument; a last `...`
lets further arguments follow, which begin at ARGV[REST]; a script with `now_ms` gets `now` and `now_up`, the time in ms
rounded down and up. Included libraries use the same names; of a library only what the script needs is taken (`local
function` and one-line `local` at the left margin), since Redis builds every function anew at each call. Errors name
file and line.

COUNTS lists the replies that use up a token's limit, each with the number of its words before those that there are one
of for each job. A script that has it has a *limited* form too, which counts in the same call (`load_limited`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.resources import files
from typing import Final

from .keys import DELETED_KEYS, PARTITION_KEYS, QUEUE_KEYS

REST: Final = "..."
_FOLDER: Final = files(__package__) / "lua"
_ENTRY = re.compile(r"--   (?P<name>\S+)(?:\s.*)?\Z")
_SECTIONS = ("KEYS", "ARGV", "REPLIES")
_FREE_KEYS = frozenset(
    {
        "survey",
        "turn",
        "minutes",
        "limit",
        "index",
        "pumps",
        "tellers",
        "told",
        "workers",
        "beats",
        "spaces",
        "commands",
        "note",
    }
)
_LAYOUT_KEYS = QUEUE_KEYS.keys() | PARTITION_KEYS.keys() | DELETED_KEYS.keys()
_KNOWN_KEYS = _LAYOUT_KEYS | _FREE_KEYS


_CLOCK = """\
local now = tonumber(now_ms)
local now_up = now
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  now_up = now + 1
end"""
"""The one clock (promise 3): the Redis server's, unless the caller gave a time, as tests do. `now` has begun already,
so a delay counts from `now_up`, the next ms: what is due then is never early."""

_LIMITED_KEYS: Final = ("limit",)
_LIMITED_ARGS: Final = ("allowance", "interval", "requests")
_LIMITED = """\
local left, its_ticket, left_ms = current_interval()
local free = left or tonumber(allowance)
if free <= 0 then return {'limited', left_ms} end
local asked = tonumber(requests)
if asked > free then
  for i = #ARGV, #ARGV - (asked - free) + 1, -1 do ARGV[i] = nil end
  if count_at > 0 then ARGV[count_at] = free end
end
local reply = run()
local ahead = counts[reply[1]]
if not ahead then return reply end
local counted = asked == 1 and 1 or #reply - ahead
local its = count_requests(counted, left, its_ticket)
return {'counted', its, reply, counted, counted == free and (left_ms or tonumber(interval)) or 0}"""
"""How a limited form ends. It counts last: a write before the script's own would open a full Redis to those."""

_BLOCK = re.compile(r"^local (?:function (?P<function>\w+).*?^end|(?P<name>\w+) = [^\n]*)$", re.MULTILINE | re.DOTALL)
_ONE_LINE_FUNCTION = re.compile(r"^local function (\w+)(\([^)]*\)) (.*) end$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_STRING = re.compile(r"'(?:\\.|[^'\\\n])*'")
_REFERENCE = re.compile(r"(?<!\w)(?<!(?<!\.)\.)(?P<word>\w+)\b(?!\s*=[^=])")
"""A name that is read: not a field (`run.due`), not a key of a table (`due = 1`); but `'p:'..queue` is one."""
_COMMENT = re.compile(r"--[^\n]*")
_NO_CODE = re.compile(f"{_COMMENT.pattern}|{_STRING.pattern}")
_CONSTANT = re.compile(r"^local ([A-Z][A-Z0-9_]*) = ('[^'\n]*'|[\d.]+)(?: *--.*)?\n", re.MULTILINE)
_TOKEN = re.compile(f"{_NO_CODE.pattern}|{_REFERENCE.pattern}")
_BINDING = re.compile(
    r"\bfunction\s*(\w*)\s*\(([^)]*)\)|\blocal\s+(?!function)([\w\s,]+?)\s*(?:=|;|$)|\bfor\s+([\w\s,]+?)\s*(?:=|\bin\b)"
    r"|\b(\w++(?:\s*+,\s*+\w++)*+)\s*+=(?!=)",
    re.MULTILINE,
)
"""Where a name is given to something else: functions and their parameters, locals, loops, assignments. Finds too much
(keys of tables), never too little."""


class ScriptSyntaxError(Exception):
    """A script's header cannot be read. The message begins with `file:line`."""


@dataclass(frozen=True, eq=False)
class Script:
    """A loaded script. `keys`, `args`: names of its keys and fixed arguments, in order; `rest`: more may follow."""

    name: str
    purpose: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    rest: bool
    replies: tuple[str, ...]
    assemble: Callable[[], str]

    @cached_property
    def source(self) -> str:
        """What is sent to Redis. Raises ScriptSyntaxError.

        Put together at the first use: that of all scripts takes a tenth of a second, and no process uses them all.
        """
        return self.assemble()

    @cached_property
    def sha(self) -> str:
        """The SHA-1 of `source`, by which Redis knows it. Raises ScriptSyntaxError."""
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


@cache
def load(name: str) -> Script:
    """The script `lua/NAME.lua` with its includes. Raises ScriptSyntaxError if its header is wrong."""
    text = _read(f"{name}.lua")
    header = _Header(name, text)
    return _script(name, header, partial(_source, name, header, text), header.keys, header.args, header.replies)


@cache
def load_limited(name: str) -> Script:
    """The limited form of a script: the same for a token whose requests are limited, counted in the same call.

    Its keys and arguments come after `limit` and after `allowance`, `interval` (ms) and `requests`: how many requests
    of one job each share the call, each with one of the arguments at the end; or 1, whatever it carries. Of many, only
    as many are carried out as fit. Replies, beside the script's: `limited retry_after_ms` (nothing was done), and
    around those that count `counted ticket reply number retry_after_ms` (the latter 0 unless no more are left now).
    Raises ScriptSyntaxError for a script without COUNTS.
    """
    text = _read(f"{name}.lua")
    header = _Header(name, text)
    if not header.counts:
        raise ScriptSyntaxError(f"{name}.lua:1: has no limited form, for it lists no COUNTS")
    keys, args = (*_LIMITED_KEYS, *header.keys), (*_LIMITED_ARGS, *header.args)
    assemble = partial(_limited_source, name, header, text)
    return _script(f"limited_{name}", header, assemble, keys, args, ("limited", "counted", *header.replies))


def _limited_source(name: str, header: _Header, text: str) -> str:
    own = _parameters(_LIMITED_KEYS, _LIMITED_ARGS)
    counts = ", ".join(f"{word} = {ahead}" for word, ahead in header.counts.items())
    count_at = header.args.index("count") + len(_LIMITED_ARGS) + 1 if "count" in header.args else 0
    return "\n".join(
        [
            _in_place(name, _library(_with_dependencies(("limit",)), _LIMITED), own),
            f"local counts = {{{counts}}}",
            f"local count_at = {count_at}",
            "local function run()",  # all of it, for a function can use no more than 60 locals of what is around it
            _source(name, header, text, keys_before=len(_LIMITED_KEYS), args_before=len(_LIMITED_ARGS)),
            "end",
            _in_place(name, _LIMITED, own),
        ]
    )


def _script(
    name: str,
    header: _Header,
    assemble: Callable[[], str],
    keys: tuple[str, ...],
    args: tuple[str, ...],
    replies: tuple[str, ...],
) -> Script:
    return Script(name, header.purpose, keys, args, header.rest, replies, assemble)


def _source(name: str, header: _Header, text: str, *, keys_before: int = 0, args_before: int = 0) -> str:
    """What a script consists of, where so many keys and arguments come before its own."""
    library = _library(_with_dependencies(header.includes), text)
    _check_keys(name, header.keys, f"{library}\n{text}")
    first = []
    if header.rest:
        first.append(f"local REST = {args_before + len(header.args) + 1}")
    if "now_ms" in header.args:
        first.append(_CLOCK)
    code = "\n".join([*first, library, _without_comments(text)])
    return _in_place(name, code, _parameters(header.keys, header.args, keys_before, args_before))


def _parameters(
    keys: tuple[str, ...], args: tuple[str, ...], keys_before: int = 0, args_before: int = 0
) -> dict[str, str]:
    return {key: f"KEYS[{i}]" for i, key in enumerate(keys, keys_before + 1)} | {
        arg: f"ARGV[{i}]" for i, arg in enumerate(args, args_before + 1)
    }


def _in_place(name: str, code: str, parameters: dict[str, str]) -> str:
    """`code` with KEYS[i] and ARGV[i] in place of its parameters' names, and values in place of its constants' names.

    As locals they would be upvalues of the functions that use them, which Redis would make anew at each call. Only a
    parameter whose name something else in this script has too becomes a local; for a constant that is an error.
    """
    found = _CONSTANT.findall(code)
    constants = dict(found)
    code = _CONSTANT.sub("", code)
    bare = _NO_CODE.sub("''", code)
    bound = {
        word for match in _BINDING.finditer(bare) for words in match.groups(default="") for word in _WORD.findall(words)
    }
    if '"' in bare:
        raise ScriptSyntaxError(f"{name}.lua:1: has a double quote; strings are in single ones")
    if len(found) > len(constants) or constants.keys() & bound:
        raise ScriptSyntaxError(f"{name}.lua:1: a constant's name has something else, too, in script or libraries")
    shadowed = [f"local {word} = {place}" for word, place in parameters.items() if word in bound]
    places = {word: place for word, place in parameters.items() if word not in bound} | constants

    return "\n".join([*shadowed, _TOKEN.sub(lambda token: places.get(token["word"], token[0]), code)])


def script_names() -> list[str]:
    """Names of all scripts, in order."""
    return sorted(entry.name.removesuffix(".lua") for entry in _FOLDER.iterdir() if entry.name.endswith(".lua"))


def _read(path: str) -> str:
    return (_FOLDER / path).read_text(encoding="utf-8")


def _with_dependencies(includes: tuple[str, ...]) -> list[str]:
    """`includes` with what they include themselves, each once, dependencies first."""
    ordered: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ScriptSyntaxError(f"lib/{name}.lua:1: includes itself by way of {' → '.join(path)}")
        if name not in ordered:
            for dependency in _read_library(name).includes:
                visit(dependency, (*path, name))
            ordered.append(name)

    for include in includes:
        visit(include, ())
    return ordered


def _library(names: list[str], text: str) -> str:
    """Those blocks of the libraries that `text` needs, directly or by way of others, in their order."""
    blocks: dict[str, _Block] = {}
    for name in names:
        blocks.update(_read_library(name).blocks)
    needed: set[str] = set()
    to_read = [_words(text)]
    while to_read:
        for word in to_read.pop() & blocks.keys() - needed:
            needed.add(word)
            to_read.append(blocks[word].words)
    return "\n".join(block.text for name, block in blocks.items() if name in needed)


@dataclass(frozen=True, slots=True)
class _Block:
    """A function or a value of a library, and the words in it."""

    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Library:
    includes: tuple[str, ...]
    blocks: dict[str, _Block]


@cache
def _read_library(name: str) -> _Library:
    path = f"lib/{name}.lua"
    text = _read(path)
    code = _ONE_LINE_FUNCTION.sub(r"local function \1\2\n\3\nend", _without_comments(text))
    blocks = {block["function"] or block["name"]: _Block(block[0], _words(block[0])) for block in _BLOCK.finditer(code)}
    return _Library(_words_of("INCLUDES", path, text), blocks)


def _words(code: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_NO_CODE.sub("", code)))


def _check_keys(name: str, listed: tuple[str, ...], text: str) -> None:
    """Every key that script and libraries use must be listed: Redis Cluster has to know it, and Lua has no other."""
    code = _NO_CODE.sub("", text)
    used = set(_REFERENCE.findall(code)) & _LAYOUT_KEYS
    if missing := sorted(used - set(listed)):
        raise ScriptSyntaxError(f"{name}.lua:1: uses {', '.join(missing)}, which its KEYS do not list")
    if unused := sorted(set(listed) - set(re.findall(r"\w+", code))):
        raise ScriptSyntaxError(f"{name}.lua:1: lists {', '.join(unused)} under KEYS but does not use it")


def _without_comments(text: str) -> str:
    """Only whole-line comments go: what remains keeps its meaning, and a script is sent to Redis without its prose."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))


def _words_of(line_name: str, path: str, text: str) -> tuple[str, ...]:
    """What follows `-- INCLUDES` or `-- COUNTS`."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(f"-- {line_name}"):
            names = tuple(line.split()[2:])
            if not names:
                raise ScriptSyntaxError(f"{path}:{number}: {line_name} without names")
            return names
    return ()


class _Header:
    """What the comment block at the top of a script says."""

    def __init__(self, name: str, text: str) -> None:
        path = f"{name}.lua"
        lines = text.splitlines()
        if not lines or not lines[0].startswith(f"-- {name}: "):
            raise ScriptSyntaxError(f"{path}:1: must begin with '-- {name}: purpose'")
        self.purpose = lines[0].removeprefix(f"-- {name}: ")
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
        self.keys = tuple(sections["KEYS"])
        for key, number in sections["KEYS"].items():
            if key not in _KNOWN_KEYS:
                raise ScriptSyntaxError(f"{path}:{number}: KEYS lists {key}, which queues.engine.keys does not know")
        self.rest = REST in sections["ARGV"]
        if self.rest and list(sections["ARGV"])[-1] != REST:
            raise ScriptSyntaxError(f"{path}:{sections['ARGV'][REST]}: '{REST}' must come last under ARGV")
        self.args = tuple(arg for arg in sections["ARGV"] if arg != REST)
        self.replies = tuple(sections["REPLIES"])
        if not self.replies:
            raise ScriptSyntaxError(f"{path}:1: lists no REPLIES")
        self.includes = _words_of("INCLUDES", path, text)
        counts = [word.partition(":") for word in _words_of("COUNTS", path, text)]
        if unreadable := [word for word, _, ahead in counts if not ahead.isdigit()]:
            raise ScriptSyntaxError(f"{path}:1: COUNTS says no number with {', '.join(unreadable)}")
        self.counts = {word: int(ahead) for word, _, ahead in counts}
        if unknown := [word for word in self.counts if word not in self.replies]:
            raise ScriptSyntaxError(f"{path}:1: COUNTS names {', '.join(unknown)}, which its REPLIES do not list")
