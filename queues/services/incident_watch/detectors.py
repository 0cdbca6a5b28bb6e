"""Further detectors: each is asked at every look at a pool, after the pool's own findings.

A detector takes the pool's name and the time, and returns a Look, or None where it could not see anything. It reads the
database or files, takes milliseconds, and raises nothing but what the watch expects: database errors and TaskqError.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

from ..incidents.findings import Look

Detector: TypeAlias = Callable[[str, datetime], Look | None]

DETECTORS: Final[tuple[Detector, ...]] = ()
