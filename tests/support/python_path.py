"""PYTHONPATH of processes that tests start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

STARTED_PROCESSES: Final = Path(__file__).parent / "started_processes"


def python_path(*folders: str | Path) -> str:
    """These, behind the folder whose `sitecustomize` makes them start sooner."""
    return os.pathsep.join(dict.fromkeys([str(STARTED_PROCESSES), *map(str, folders)]))
