"""Programs that scenarios need and that are not Python packages."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

from .processes import ROOT

PACKAGES = {"wrk": "wrk", "redis-benchmark": "redis-tools", "valgrind": "valgrind"}
"""Program → the Debian package that brings it."""


class MissingToolError(Exception):
    """A program is not installed; the message names its package."""


class VoidRunError(Exception):
    """A run whose figures mean nothing: failed requests, or counts that do not add up."""


def need(*programs: str) -> None:
    """Raises MissingToolError for the first that is not on PATH."""
    for program in programs:
        if shutil.which(program) is None:
            raise MissingToolError(f"needs {program}: install the package {PACKAGES[program]}")


def output_of(command: Sequence[str], *, env: Mapping[str, str] | None = None, timeout_s: float) -> str:
    """Run to the end. Returns standard output. Raises VoidRunError when it fails or hangs."""
    return _run(command, env, timeout_s).stdout


def errors_of(command: Sequence[str], *, env: Mapping[str, str] | None = None, timeout_s: float) -> str:
    """The same; returns what it wrote to standard error."""
    return _run(command, env, timeout_s).stderr


def _run(command: Sequence[str], env: Mapping[str, str] | None, timeout_s: float) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise VoidRunError(f"{command[0]} did not end within {timeout_s:g} s") from error
    if done.returncode != 0:
        raise VoidRunError(f"{command[0]} ended with status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done
