"""`make scripts`: what it builds is committed, does what the sources say, and what is wrong with them is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from luaparser import ast

from queues.engine import Engine
from tests.support.rows import in_one_test
from tools.lua import __main__ as command
from tools.lua.build import SOURCES, ScriptSyntaxError, build, parse, printed
from tools.lua.manifest import MANIFEST, digest_of, manifest
from tools.lua.names import resolve

GOOD = """\
-- probe: does nothing
-- KEYS
--   jobs   hash   looked at
-- ARGV
--   limit  jobs
-- REPLIES
--   ok     count
return {'ok', redis.call('HLEN', jobs), limit}
"""


def test_what_is_committed_was_built_from_these_sources() -> None:
    """By digests, which `make scripts` writes when it has built all scripts; `make check` builds them all again."""
    written, now = json.loads(MANIFEST.read_text(encoding="utf-8")), json.loads(manifest())
    if written.pop("packages") != now.pop("packages"):
        command.check({f"{name}.lua": text for name, text in build()})  # other versions may print the same
    assert written == now, "run `make scripts`"


@pytest.mark.parametrize("kind", ["sources", "builder", "built"])
def test_the_manifest_notices_a_file_that_changes_or_goes_or_is_renamed(tmp_path: Path, kind: str) -> None:
    folder = {"sources": SOURCES, "builder": MANIFEST.parent, "built": SOURCES / "built"}[kind]
    copy = Path(shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__")))
    before = digest_of(copy, copy.rglob("*.*"))
    assert before == digest_of(copy, copy.rglob("*.*"))

    one = min(path for path in copy.rglob("*.*") if path.stat().st_size)
    text = one.read_text(encoding="utf-8")
    one.write_text(text + " ", encoding="utf-8")
    assert digest_of(copy, copy.rglob("*.*")) != before
    one.write_text(text, encoding="utf-8")
    assert digest_of(copy, copy.rglob("*.*")) == before
    renamed = one.rename(one.with_name(f"z{one.name}"))
    assert digest_of(copy, copy.rglob("*.*")) != before
    renamed.unlink()
    assert digest_of(copy, copy.rglob("*.*")) != before


def test_the_check_of_all_scripts_names_those_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BUILT", tmp_path)
    monkeypatch.setattr(command, "MANIFEST", tmp_path / "manifest.json")
    (tmp_path / "gone.lua").touch()
    command.write({"one.lua": "return 1", "two.lua": "return 2"})
    command.check({"one.lua": "return 1", "two.lua": "return 2"})

    with pytest.raises(SystemExit, match=r"run `make scripts`: one\.lua, three\.lua, two\.lua"):
        command.check({"one.lua": "return 2", "three.lua": "return 3"})


def test_some_scripts_are_built_again_to_the_letter(tmp_path: Path) -> None:
    """One that includes a library, one that does not, and one that has a limited form too."""
    for folder in ("lib", "token_limit"):
        shutil.copytree(SOURCES / folder, tmp_path / folder)
    for name in ("retry_workflow", "size", "publish_staged_blocked"):
        shutil.copy(SOURCES / f"{name}.lua", tmp_path)
    built_again = dict(build(tmp_path))

    assert built_again.keys() == {"retry_workflow", "size", "publish_staged_blocked", "limited_publish_staged_blocked"}
    for name, text in built_again.items():
        assert text == (SOURCES / "built" / f"{name}.lua").read_text(encoding="utf-8"), name


# --- functions are put where they are called -------------------------------------------------------------------------

SAME = {
    "the last statement returns": "local function f(x) local y = x + 1 return y end return {f(1), f(2)}",
    "it returns early": "local function f(x) if x > 1 then return 'many' end return 'one' end return {f(1), f(2)}",
    "it may return nothing": "local function f(x) if x > 1 then return 'many' end end return {f(2), f(1) == nil}",
    "it returns nothing at all": "local t = {} local function f(x) t[#t + 1] = x end f(1) f(2) return t",
    "several results": "local function f(x) return x, x + 1 end local a, b, c = f(1) return {a, b, c == nil}",
    "results are cut": "local function f() return 1, 2 end local a = f() return {a, (f()), f()}",
    "it returns in a loop": "local function f(t) for _, x in ipairs(t) do if x > 1 then return x end end return 0 end"
    " local a, b = f({1, 2, 3}), f({1}) return {a, b}",
    "what it returns is all that the script does": "local function f(t) for _, x in ipairs(t) do if x > 1 then"
    " return {x} end end end if #ARGV == 0 then return f({1, 2}) end return f({})",
    "it is called in a loop that is left": "local function f(x) if x > 2 then return true end return false end"
    " local n = 0 for i = 1, 9 do if f(i) then break end n = n + i end return n",
    "results do not stay from one turn to the next": "local function f(x) if x == 1 then return 1 end end"
    " local t = {} for i = 1, 2 do local a = f(i) t[i] = a == nil and 'none' or a end return t",
    "a parameter is given another value": "local function f(x) x = x + 1 return x end local x = 1"
    " local y = f(x) return {x, y}",
    "what it is given changes": "local function f(x) local y = 0 for i = 1, 3 do y = y + x end return y end"
    " local a = 1 local b = f(a) a = 5 return {b, f(a)}",
    "its variables have the names of others": "local function f(a) local b = a * 2 return b end"
    " local b = 5 local a = f(b) local c = f(a) return {a, b, c}",
    "a variable around it has the name of one of its own": "local x = 1 local function f() return x end"
    " local function g() local x = 7 return f() + x end return g()",
    "a variable goes to its own initial value": "local function f(x) return x + 1 end"
    " local x = 1 local x = f(x) return x",
    "missing arguments are nil": "local function f(a, b) if b == nil then return a end return b end"
    " return {f(1), f(1, 2)}",
    "false and nil are left out": "local function f(a, b)"
    " if a then return 1 end if not b then return 2 end return 3 end"
    " return {f(true), f(false, nil), f(nil, true), f(false, 0)}",
    "else is taken": "local function f(a) if a then return 1 elseif #ARGV == 1 then return 2 else return 3 end end"
    " return {f(true), f(false)}",
    "the last argument has several values": "local function g() return 1, 2 end local function f(a, b)"
    " if a > b then return a end return b end return f(g())",
    "arguments are worked out once and in order": "local t = {} local function n(x) t[#t + 1] = x return x end"
    " local function f(a, b) local c = b + a return c + a end local r = f(n(1), n(2)) return {r, unpack(t)}",
    "what stands before it is worked out before": "local t = {} local function n(x) t[#t + 1] = x return x end"
    " local r = {#t, n(1), #t, n(2), #t} return r",
    "a table that it changes is read before": "local t = {1} local function f() t[1] = 2 return 3 end"
    " local r = {t[1], f(), t[1]} return r",
    "a variable that it changes is read before": "local v = 1 local function f() v = v + 1 local w = v return w end"
    " local r = {v, f(), v} local s = v + f() return {r[1], r[2], r[3], s}",
    "a function that changes a variable is passed on": "local n = 0 local function each(t, visit) for _, x in"
    " ipairs(t) do visit(x) end end each({1, 2}, function(x) n = n + x end) local m = n each({3}, function(x)"
    " n = n + x end) return {m, n}",
    "and: it is not always called": "local n = 0 local function f() n = n + 1 local m = n return m end"
    " local a = #ARGV > 0 and f() local b = #ARGV == 0 and f() return {a == false, b, n}",
    "or: it is not always called": "local n = 0 local function f() n = n + 1 local m = n return m end"
    " local a = nil local b = 7 a = a or f() b = b or f() return {a, b, n}",
    "if: it is not always called": "local n = 0 local function f(x) n = n + 1 if x then return n end return nil end"
    " local t = {} if #ARGV > 0 and f(true) then t[1] = 'no' end if #ARGV == 0 and f(true) then t[1] = 'yes' end"
    " if #ARGV == 1 or f(false) then t[1] = 'no' end t[2] = n return t",
    "elseif: it is called in its turn": "local n = 0 local function f(x) n = n + 1 local m = n return m == x end"
    " local r if f(5) then r = 1 elseif f(2) then r = 2 else r = 3 end return {r, n}",
    "while: it is called each time": "local n = 0 local function f() n = n + 1 local m = n return m < 4 end"
    " while f() do end return n",
    "it calls itself": "local function f(n) if n < 2 then return 1 end return n * f(n - 1) end return f(5)",
    "it is a value": "local function less(a, b) return a > b end local t = {1, 3, 2} table.sort(t, less)"
    " return {t[1], less(2, 1)}",
    "one calls the other": "local function f(x) if x > 1 then return x end return 1 end local function g(x)"
    " local y = f(x) if y > 2 then return y * 2 end return f(y) end return {g(0), g(2), g(9)}",
    "it passes results on": "local function f(x) if x then return 1, 2 end return 3 end local function g(x)"
    " return f(x) end local a, b = g(true) local c, d = g(false) return {a, b, c, d == nil}",
    "operators keep their order": "local function f(a, b) return a + b end return {2 * f(1, 2), f(1, 2) * 2, -f(1, 2),"
    " f(1 - 2, 3) * 2, (f(2, 2) ^ 2), f(1, 1) .. 'x', #(f(1, 2) .. '')}",
    "a literal is asked for its parts": "local function f(s) return string.byte(s, 1), s:sub(1, 1), #s end"
    " local a, b, c = f('xyz') return {a, b, c}",
    "strings stay as they are": r"local function f(s) return s .. '\n\\\'\"' end return {f('\t--'), 'f(1) -- local x'}",
    "numbers stay as they are": "local A = 17592186044416 local B = 0.17328679513998632 local C = 1e-9"
    " return {string.format('%.0f', A), string.format('%.17g', B), string.format('%.17g', C), tostring(-2 ^ 2)}",
    "a field has the name of a function": "local function size(t) local n = #t return n end local t = {size = 3, 1}"
    " t.size = t.size + size(t) return {t.size, t['size']}",
    "a block has its own variables": "local x = 1 local function f() return x end do local x = 2 x = x + f() end"
    " for x = 5, 5 do x = x + f() end repeat local x = 9 until x == 9 return {x, f()}",
}


@in_one_test("source", SAME.values())
def test_a_script_does_the_same_with_functions_in_place(engine: Engine, source: str) -> None:
    assert engine.client.eval(inlined(source), 0) == engine.client.eval(source, 0)


def inlined(source: str) -> str:
    block = parse("probe.lua", source)
    resolve(block)
    return printed(block)


@in_one_test(
    ("source", "functions"),
    [
        (SAME["it returns early"], 0),
        (SAME["and: it is not always called"], 0),
        (SAME["one calls the other"], 0),
        (SAME["it returns in a loop"], 1),
        (SAME["it calls itself"], 1),
        (SAME["it is a value"], 1),
        ("local function unused() return 1 end return 2", 0),
    ],
)
def test_only_what_cannot_be_put_in_place_stays_a_function(source: str, functions: int) -> None:
    assert inlined(source).count("local function") == functions


def test_a_long_function_of_many_calls_stays_one() -> None:
    body = " ".join(f"redis.call('SET', KEYS[{number}], x)" for number in range(1, 40))
    calls = " ".join(f"f({number})" for number in range(9))

    assert inlined(f"local function f(x) {body} end {calls}").count("redis.call") == 39


# --- headers, names and libraries ------------------------------------------------------------------------------------


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    return tmp_path


def built(sources: Path, text: str, **libraries: str) -> str:
    (sources / "probe.lua").write_text(text)
    for name, library in libraries.items():
        (sources / "lib" / f"{name}.lua").write_text(library)
    return dict(build(sources))["probe"]


def refusal(sources: Path, text: str, **libraries: str) -> str:
    with pytest.raises(ScriptSyntaxError) as refused:
        built(sources, text, **libraries)
    return str(refused.value)


def test_the_first_line_is_for_the_loader_and_the_rest_for_redis(sources: Path) -> None:
    header, _, source = built(sources, GOOD).partition("\n")

    assert header == (
        '--{"name": "probe", "purpose": "does nothing", "keys": ["jobs"], "args": ["limit"], "rest": false,'
        ' "replies": ["ok"]}'
    )
    assert source.split() == "return { 'ok', redis.call('HLEN', KEYS[1]), ARGV[1], }".split()  # noqa: SIM905


def test_names_stand_for_keys_arguments_and_constants_unless_something_nearer_has_them(sources: Path) -> None:
    body = (
        "local MOST = 8 -- never mind 'limit'\n"
        "local function count(jobs, limit, most)\n"
        "  for _ = 1, 3 do if #jobs < most then return {limit = 'limit', jobs.limit, 'a'..limit} end end\n"
        "end\n"
        "local t = count({}, limit, MOST) -- MOST jobs\n"
        "return {'ok', redis.call('HLEN', jobs), t.limit}"
    )
    source = built(sources, GOOD.replace("return {'ok', redis.call('HLEN', jobs), limit}", body)).partition("\n")[2]

    expected = """
        local function count(jobs, limit, most) for _ = 1, 3 do if #jobs < most then
          return { limit = 'limit', jobs.limit, 'a' .. limit, } end end end
        local t = count({ }, ARGV[1], 8)
        return { 'ok', redis.call('HLEN', KEYS[1]), t.limit, }"""
    assert source.split() == expected.split()


def test_of_a_library_a_script_gets_what_it_needs(sources: Path) -> None:
    library = (
        "local SIZE = 2\n"
        "local function other() return redis.call('GET', 'x') end\n"
        "local function half(n) return n / SIZE end\n"
    )
    text = GOOD.replace("-- REPLIES", "-- INCLUDES lib\n-- REPLIES").replace("limit}", "half(limit)}")

    assert "ARGV[1] / 2" in built(sources, text, lib=library)
    assert "GET" not in built(sources, text, lib=library)


REFUSED: dict[str, tuple[tuple[str, str], str]] = {
    "another name": (("-- probe: does nothing", "-- other: does nothing"), "probe.lua:1: must begin with '-- probe: "),
    "... in the middle": (("--   limit", "--   ...\n--   limit"), "probe.lua:5: '...' must come last"),
    "... that nothing reads": (
        ("  jobs\n-- R", "  jobs\n--   ...\n-- R"),
        "probe.lua:1: lists ... under ARGV but does",
    ),
    "a key of no layout": (("--   jobs ", "--   jugs "), "probe.lua:3: KEYS lists jugs, which queues.engine.keys does"),
    "no replies": (("--   ok     count\n", ""), "probe.lua:1: lists no REPLIES"),
    "a key that nothing reads": (("redis.call('HLEN', jobs)", "1"), "probe.lua:1: lists jobs under KEYS but does not"),
    "an argument that nothing reads": ((", limit}", "}"), "probe.lua:1: lists limit under ARGV but does not use it"),
    "a key that is not listed": (("'HLEN', jobs", "'HLEN', ready, jobs"), "probe.lua:8: uses ready, which the KEYS of"),
    "an unknown name": (("limit}", "limits}"), "probe.lua:8: nothing has the name limits in probe.lua"),
    "a global": (("return", "total = limit\nreturn"), "probe.lua:8: nothing has the name total in probe.lua"),
    "a name before it is there": (
        ("return", "f(limit)\nlocal function f() end\nreturn"),
        "probe.lua:8: nothing has the",
    ),
    "another value for a module": (("return", "redis = limit\nreturn"), "probe.lua:8: gives redis another value"),
    "no Lua": (("return {", "return {{"), "probe.lua:1: "),
    "INCLUDES of nothing": (("-- REPLIES", "-- INCLUDES\n-- REPLIES"), "probe.lua:6: INCLUDES without names"),
    "COUNTS of nothing": (("-- REPLIES", "-- COUNTS\n-- REPLIES"), "probe.lua:6: COUNTS without names"),
    "COUNTS without a number": (
        ("-- REPLIES", "-- COUNTS ok\n-- REPLIES"),
        "probe.lua:1: COUNTS says no number with ok",
    ),
    "COUNTS of no reply": (
        ("-- REPLIES", "-- COUNTS ok:1 no:1\n-- REPLIES"),
        "probe.lua:1: COUNTS names no, which its",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_with_a_script_is_said_with_its_place(
    sources: Path, change: tuple[str, str], message: str
) -> None:
    assert refusal(sources, GOOD.replace(*change)).startswith(message)


def test_an_empty_script_is_refused(sources: Path) -> None:
    assert refusal(sources, "").startswith("probe.lua:1: ")


@pytest.mark.parametrize(
    ("libraries", "message"),
    [
        (
            {"one": "-- INCLUDES two\n", "two": "-- INCLUDES one\n"},
            "lib/one.lua:1: includes itself by way of one → two",
        ),
        ({"one": "redis.call('PING')\n"}, "lib/one.lua:1: a library has only local functions and values"),
        (
            {"one": "-- INCLUDES two\nlocal A = 1\n", "two": "local A = 2\n"},
            "lib/one.lua:1: defines A once more",
        ),
        (
            {"one": "local function size()\n  return redis.call('ZCARD', dead)\nend\n"},
            "lib/one.lua:2: uses dead, which the KEYS of probe.lua do not list",
        ),
    ],
)
def test_what_is_wrong_with_a_library_is_said_with_its_place(
    sources: Path, libraries: dict[str, Any], message: str
) -> None:
    text = GOOD.replace("-- REPLIES", "-- INCLUDES one\n-- REPLIES").replace("limit}", "limit, size()}")

    assert refusal(sources, text, **libraries) == message


def test_an_unknown_library_is_an_error_that_names_it(sources: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.lua"):
        built(sources, GOOD.replace("-- REPLIES", "-- INCLUDES nothing\n-- REPLIES"))


def test_a_script_is_read_by_its_own_printing() -> None:
    """What is printed is Lua, and printing it again changes nothing."""
    for path in sorted((SOURCES / "built").glob("*.lua"))[:5]:
        source = path.read_text(encoding="utf-8").partition("\n")[2]
        assert ast.to_lua_source(ast.parse(source), indent=1) + "\n" == source
