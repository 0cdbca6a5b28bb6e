"""The one line of an error that says what happened: of a traceback, the exception; else the first line.

A worker or a client sends whatever text its language prints. Python prints the exception last, after the calls that led
to it; Java, Go, JavaScript, PHP, Ruby and .NET print it first.
"""

from __future__ import annotations

import re
from typing import Final

LINE_MAX: Final = 500
"""Characters; a line that is longer is cut."""

_HEAD: Final = re.compile(r"^(?:[ ]*\+ Exception Group )?Traceback \(most recent call last\):", re.MULTILINE)
"""Of a traceback that is not of a part of an exception group."""
_EXCEPTION: Final = re.compile(r"(?:[ ]*\|[ ])?(?=[^\s|+])")
"""How a line begins that is not of a call. Lines of an exception group have a bar in front."""


def exception_line(error: str) -> str:
    """The line, without blanks around it; "" of an empty error."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    heads = list(_HEAD.finditer(error))
    found = _after_calls(error[heads[-1].end() :]) if heads else ""
    if not found and lines:  # no traceback, or one that was cut before its end
        starts_with_calls = bool(heads) and not error[: heads[0].start()].strip()
        found = lines[-1 if starts_with_calls else 0]
    return found if len(found) <= LINE_MAX else f"{found[: LINE_MAX - 1]}…"


def _after_calls(traceback: str) -> str:
    """The first line after the calls; "" if there is none."""
    for line in traceback.splitlines():
        if found := _EXCEPTION.match(line):
            return line[found.end() :].rstrip()
    return ""
