"""`python -m queues.reports` as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TIMEOUT_S = 600.0
"""Some 10 s on a machine that has nothing else to do."""

SMALL = ("--memory=1g", "--conf=spark.sql.shuffle.partitions=2")


def command(lake: Path, out: Path, *days: str, options: tuple[str, ...] = SMALL) -> list[str]:
    dates = [f"--date={day}" for day in days]
    return [sys.executable, "-m", "queues.reports", f"--lake={lake}", f"--out={out}", "--run=one", *dates, *options]


def start(words: list[str], **environment: str) -> subprocess.Popen[str]:
    env = {name: value for name, value in {**os.environ, **environment}.items() if value}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def ended(process: subprocess.Popen[str]) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, lines said, standard error."""
    try:
        said, errors = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    return process.returncode, [json.loads(line) for line in said.splitlines()], errors
