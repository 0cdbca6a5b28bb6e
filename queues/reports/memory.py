"""How much memory Spark may have on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20
SHARE: Final = 0.4
"""Of the machine's memory; the rest is for Redis, the web server and the file cache, which hold the jobs."""

LEAST_MIB: Final = 640
MOST_MIB: Final = 2_048
"""Spark streams and spills, so more does not make a day's report faster; with what Java needs beside its heap the whole
stays below 4 GiB."""

_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


def heap_for_this_machine() -> str:
    """The Java heap, as Spark writes it: `2048m`."""
    return f"{min(max(int(_machine_bytes() * SHARE) // MIB, LEAST_MIB), MOST_MIB)}m"


def _machine_bytes() -> int:
    """What the machine has, or the container is allowed."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or no limit: "max"
        return physical
