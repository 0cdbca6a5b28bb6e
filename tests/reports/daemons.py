"""Processes of Spark's and Hadoop's own that tests start, all on loopback."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark

from queues.reports.java import find_java

PROGRAMS = Path(pyspark.__file__).parent / "bin"


@contextlib.contextmanager
def spark_process(folder: Path, name: str, *words: str, memory: str = "256m") -> Iterator[Path]:
    """A daemon of Spark's own; the file that it writes its log to."""
    home = find_java(scratch=folder).home
    log = folder / f"{name}.log"
    env = {**os.environ, "JAVA_HOME": str(home), "SPARK_DAEMON_MEMORY": memory, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("w") as said:
        process = subprocess.Popen(
            [PROGRAMS / "spark-class", *words], env=env, stdout=said, stderr=subprocess.STDOUT, cwd=folder
        )
    try:
        yield log
    finally:
        process.terminate()
        process.wait(timeout=60)
