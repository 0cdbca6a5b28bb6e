"""Loads the Lua scripts as `make scripts` has built them: each file of `lua/` with the libraries that it includes.

The header of a script is its signature:

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

In the script and in the libraries, every name under KEYS stands for that key, every name under ARGV for that argument;
a last `...` lets further arguments follow, which begin at ARGV[REST]; a script with `now_ms` gets `now` and `now_up`,
the time in ms rounded down and up. What is built (`tools/lua`, at development time; the result is committed, in
`lua/built/`) is one chunk: of the libraries only what the script needs, with most functions put where they are called,
since Redis makes every function of a script anew at each call.

COUNTS lists the replies that use up a token's limit, each with the number of its words before those that there are one
of for each job. A script that has it has a *limited* form too, which counts in the same call (`load_limited`).
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

_LIMITED: Final = "limited_"
_FOLDER: Final = files(__package__) / "lua" / "built"


class Script:
    """A script, read when it is first asked for something: no process uses them all.

    Each attribute raises FileNotFoundError if there is no such script, or it was not built.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of its keys, in order."""
        return tuple(self._header["keys"])

    @cached_property
    def args(self) -> tuple[str, ...]:
        """The names of its fixed arguments, in order."""
        return tuple(self._header["args"])

    @property
    def rest(self) -> bool:
        """Whether more arguments may follow."""
        return bool(self._header["rest"])

    @cached_property
    def replies(self) -> tuple[str, ...]:
        """The first words of its replies."""
        return tuple(self._header["replies"])

    @property
    def purpose(self) -> str:
        """What it is for, in one sentence."""
        return str(self._header["purpose"])

    @cached_property
    def source(self) -> str:
        """What is sent to Redis."""
        return self._file[1]

    @cached_property
    def sha(self) -> str:
        """The SHA-1 of `source`, by which Redis knows it."""
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    @cached_property
    def _header(self) -> dict[str, Any]:
        header: dict[str, Any] = json.loads(self._file[0].removeprefix("--"))
        return header

    @cached_property
    def _file(self) -> tuple[str, str]:
        header, _, source = (_FOLDER / f"{self.name}.lua").read_text(encoding="utf-8").partition("\n")
        return header, source


@cache
def load(name: str) -> Script:
    """The script `lua/NAME.lua`."""
    return Script(name)


@cache
def load_limited(name: str) -> Script:
    """The limited form of a script: the same for a token whose requests are limited, counted in the same call.

    Its keys and arguments come after `limit` and after `allowance`, `interval` (ms) and `requests`: how many requests
    of one job each share the call, each with one of the arguments at the end; or 1, whatever it carries. Of many, only
    as many are carried out as fit. Replies, beside the script's: `limited retry_after_ms` (nothing was done), and
    around those that count `counted ticket reply number retry_after_ms` (the latter 0 unless no more are left now).
    Only scripts with COUNTS have one.
    """
    return Script(f"{_LIMITED}{name}")


def without_limit(script: Script) -> Script:
    """The script that a limited form is of."""
    return load(script.name.removeprefix(_LIMITED))


def script_names() -> list[str]:
    """Names of all scripts, in order, without their limited forms."""
    names = (entry.name.removesuffix(".lua") for entry in _FOLDER.iterdir() if entry.name.endswith(".lua"))
    return sorted(name for name in names if not name.startswith("limited_"))
