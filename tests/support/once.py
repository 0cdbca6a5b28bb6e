"""What takes seconds to make is made once, for all processes of a run of tests (`pytest --numprocesses=4`)."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.settings import SHARED_DIR


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A directory that `make` fills in whichever process asks first; the others wait for it. Nobody changes it."""
    made, unfinished = SHARED_DIR / name, SHARED_DIR / f"{name}.unfinished"
    SHARED_DIR.mkdir(exist_ok=True)
    with (SHARED_DIR / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that failed
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(made)
    return made
