"""What the scripts of all peers share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

REDIS = os.environ["PEER_REDIS"]


def write_mark(path: str) -> None:
    """Note when this job ran."""
    Path(path).write_text(str(time.monotonic()))


def main(enqueue: Callable[[str, str, int], None], worker: Callable[[], None]) -> None:
    """Do what the command line says.

    `enqueue`: path of the first mark, that of the last, no-ops between them; how many seconds that took is printed.
    """
    if sys.argv[1] == "worker":
        worker()
    else:
        folder = Path(sys.argv[3])
        began = time.perf_counter()
        enqueue(str(folder / "first"), str(folder / "last"), int(sys.argv[2]))
        print(time.perf_counter() - began)
