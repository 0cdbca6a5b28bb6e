"""Errors of the script loader name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from queues.engine import scripts
from queues.engine.scripts import ScriptSyntaxError, load

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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder with lua/ and lua/lib/ that the loader reads."""
    (tmp_path / "lua" / "lib").mkdir(parents=True)
    monkeypatch.setattr(scripts, "_FOLDER", tmp_path / "lua")
    forget()
    return tmp_path / "lua"


@pytest.fixture(autouse=True)
def forget_loaded() -> object:
    """Neither what other tests have used is known here, nor there what these tests load."""
    forget()
    yield
    forget()


def forget() -> None:
    load.cache_clear()
    scripts._read_library.cache_clear()


def refusal(folder: Path, text: str, **libraries: str) -> str:
    (folder / "probe.lua").write_text(text)
    for name, library in libraries.items():
        (folder / "lib" / f"{name}.lua").write_text(library)
    with pytest.raises(ScriptSyntaxError) as refused:
        _ = load("probe").source
    return str(refused.value)


def test_a_sound_script_is_read(folder: Path) -> None:
    (folder / "probe.lua").write_text(GOOD)

    script = load("probe")

    assert (script.name, script.purpose, script.keys) == ("probe", "does nothing", ("jobs",))
    assert (script.args, script.rest, script.replies) == (("limit",), False, ("ok",))


def test_parameters_and_constants_are_read_in_place_unless_something_else_has_their_name(folder: Path) -> None:
    body = (
        "local MOST = 8 -- never mind 'limit'\n"
        "local function count(jobs_of, limit)\n"
        "  return redis.call('HLEN', jobs_of) < MOST and {limit = 'limit', jobs.limit, 'a'..jobs}\n"
        "end\n"
        "return {'ok', count(jobs, limit, MOST)} -- MOST jobs\n"
    )
    (folder / "probe.lua").write_text(GOOD.replace("return {'ok', redis.call('HLEN', jobs), limit}\n", body))

    assert list(filter(None, load("probe").source.splitlines())) == [
        "local limit = ARGV[1]",
        "local function count(jobs_of, limit)",
        "  return redis.call('HLEN', jobs_of) < 8 and {limit = 'limit', KEYS[1].limit, 'a'..KEYS[1]}",
        "end",
        "return {'ok', count(KEYS[1], limit, 8)} -- MOST jobs",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("-- probe: does nothing", "-- other: does nothing"), "probe.lua:1: must begin with '-- probe: purpose'"),
        (("--   limit", "--   ...\n--   limit"), "probe.lua:5: '...' must come last"),
        (("--   jobs ", "--   jugs "), "probe.lua:3: KEYS lists jugs, which queues.engine.keys does not know"),
        (("--   ok     count\n", ""), "probe.lua:1: lists no REPLIES"),
        (("redis.call('HLEN', jobs)", "1"), "probe.lua:1: lists jobs under KEYS but does not use it"),
        (("'HLEN', jobs", "'HLEN', ready, jobs"), "probe.lua:1: uses ready, which its KEYS do not list"),
        (("'ok'", '"ok"'), "probe.lua:1: has a double quote"),
        (
            ("return", "local MOST = 1\nlocal MOST = 2\nreturn"),
            "probe.lua:1: a constant's name has something else, too",
        ),
        (("return", "local MOST = 1\nfor MOST = 1, 2 do end\nreturn"), "probe.lua:1: a constant's name has something"),
        (("-- REPLIES", "-- INCLUDES\n-- REPLIES"), "probe.lua:6: INCLUDES without names"),
        (("-- REPLIES", "-- COUNTS\n-- REPLIES"), "probe.lua:6: COUNTS without names"),
        (("-- REPLIES", "-- COUNTS ok\n-- REPLIES"), "probe.lua:1: COUNTS says no number with ok"),
        (("-- REPLIES", "-- COUNTS ok:1 no:1\n-- REPLIES"), "probe.lua:1: COUNTS names no, which its REPLIES do not"),
    ],
)
def test_what_is_wrong_with_a_header_is_said_with_its_file(folder: Path, change: tuple[str, str], message: str) -> None:
    assert refusal(folder, GOOD.replace(*change)).startswith(message)


def test_an_empty_script_is_refused(folder: Path) -> None:
    assert refusal(folder, "").startswith("probe.lua:1: ")


def test_a_library_that_includes_itself_is_refused(folder: Path) -> None:
    text = GOOD.replace("-- REPLIES", "-- INCLUDES one\n-- REPLIES")

    told = refusal(folder, text, one="-- INCLUDES two\n", two="-- INCLUDES one\n")

    assert told == "lib/one.lua:1: includes itself by way of one → two"


def test_a_key_used_only_by_a_library_must_be_listed_too(folder: Path) -> None:
    text = GOOD.replace("-- REPLIES", "-- INCLUDES lib\n-- REPLIES").replace("limit}", "dead_size(limit)}")

    told = refusal(folder, text, lib="local function dead_size(limit)\n  return redis.call('ZCARD', dead)\nend\n")

    assert "uses dead, which its KEYS do not list" in told


def test_an_unknown_include_is_an_error_that_names_it(folder: Path) -> None:
    (folder / "probe.lua").write_text(GOOD.replace("-- REPLIES", "-- INCLUDES nothing\n-- REPLIES"))

    with pytest.raises((ScriptSyntaxError, FileNotFoundError), match=r"nothing\.lua"):
        _ = load("probe").source


def test_a_script_is_put_together_at_its_first_use() -> None:
    script = load("publish")
    assert "source" not in vars(script)

    assert "redis.call" in script.source
    assert vars(script)["source"] is script.source
