"""Builds the wheel as a release would, without asking a package index for anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build_wheel(directory: Path) -> Path:
    """Build it into `directory`, with the hatchling of this environment."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(directory)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = directory.glob("taskq-*.whl")
    return wheel
