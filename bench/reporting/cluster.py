"""A stand-alone Spark cluster on loopback, with a worker that has room for some executors of one core each."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyspark

from queues.reports.java import find_java

DEPLOY: Final = "org.apache.spark.deploy"
URL: Final = re.compile(r"spark://127\.0\.0\.1:\d+")
STARTING_S: Final = 60.0


@contextlib.contextmanager
def spark_cluster(*, executors: int, memory_mb: int) -> Iterator[str]:
    """The URL of its master. Each executor may have `memory_mb` of heap."""
    with tempfile.TemporaryDirectory(prefix="taskq-bench-cluster-") as folder, contextlib.ExitStack() as stack:
        master = _start(stack, Path(folder), "master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = _wait_for(master, URL)
        size = ("--cores", str(executors), "--memory", f"{executors * memory_mb}m")
        place = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", f"{folder}/work")
        _start(stack, Path(folder), "worker", *place, *size, url)
        _wait_for(master, re.compile("Registering worker"))
        yield url


def _start(stack: contextlib.ExitStack, folder: Path, name: str, *words: str) -> Path:
    """The file that it writes its log to."""
    log = folder / f"{name}.log"
    java = find_java(scratch=folder).home
    env = {**os.environ, "JAVA_HOME": str(java), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with log.open("w") as said:
        process = subprocess.Popen(
            [program, f"{DEPLOY}.{name}.{name.title()}", *words], env=env, stdout=said, stderr=subprocess.STDOUT
        )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return log


def _wait_for(log: Path, words: re.Pattern[str]) -> str:
    until = time.monotonic() + STARTING_S
    while time.monotonic() < until:
        if found := words.search(log.read_text()):
            return found[0]
        time.sleep(0.1)
    raise SystemExit(f"the cluster does not start:\n{log.read_text()}")
