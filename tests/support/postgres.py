"""A private PostgreSQL server in a temporary directory, where PostgreSQL is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

SETTINGS = (
    "listen_addresses=''",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "jit=off",
)
"""Nothing of it has to outlive the tests, and its tables stay small."""

DEBIAN_DIR = Path("/usr/lib/postgresql")
SYSTEM_USER = "postgres"
TIMEOUT_S = 60


def find_postgres() -> Path | None:
    """The directory of `initdb` and `pg_ctl`: Debian's newest, else the one on PATH."""
    installed = sorted(DEBIAN_DIR.glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    on_path = shutil.which("pg_ctl")
    candidates = [*installed, *([Path(on_path).parent] if on_path else [])]
    return next((path for path in candidates if (path / "initdb").exists() and (path / "pg_ctl").exists()), None)


def why_not() -> str | None:
    """Why no server can be started here; None: one can."""
    if find_postgres() is None:
        return "PostgreSQL is not installed (no initdb and pg_ctl)"
    if os.getuid() == 0 and not _has_system_user():
        return f"PostgreSQL refuses to run as root, and there is no user {SYSTEM_USER}"
    return None


@contextmanager
def private_postgres() -> Iterator[str]:
    """Start a server that listens on a unix socket only; yields a DATABASE_URL for it."""
    programs = find_postgres()
    assert programs is not None
    home = Path(tempfile.mkdtemp(prefix="taskq-pg-"))
    try:
        if os.getuid() == 0:
            shutil.chown(home, SYSTEM_USER)
        data = home / "data"
        _run([programs / "initdb", "-D", data, "-U", "taskq", "-A", "trust", "-E", "UTF8", "-N"], home)
        options = " ".join([f"-k {home}", *(f"-c {setting}" for setting in SETTINGS)])
        _run([programs / "pg_ctl", "-D", data, "-l", home / "log", "-o", options, "-w", "start"], home)
        try:
            yield f"postgres://taskq@{quote(str(home), safe='')}/postgres"
        finally:
            _run([programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(command: Sequence[str | Path], cwd: Path) -> None:
    user = SYSTEM_USER if os.getuid() == 0 else None
    # Output goes to a file: the server inherits it and would keep a pipe open for ever.
    with (cwd / "output").open("ab") if user is None else tempfile.TemporaryFile() as output:
        result = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            user=user,
            group=user,
            extra_groups=[] if user else None,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
        )
    assert result.returncode == 0, f"{command[0]} ended with status {result.returncode}"


def _has_system_user() -> bool:
    try:
        pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return False
    return True
