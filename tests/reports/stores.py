"""Servers that keep files, for tests: S3 by moto, HDFS by Hadoop's own name node and data node, all on loopback.

What is in no wheel comes from Maven's central repository by Spark's own client, into the cache that Spark has in the
home directory; without a network a test that needs it is skipped and says so.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import fsspec
import pyspark
import pytest

from queues.reports.java import find_java
from tests.support.waiting import wait_until

from .daemons import PROGRAMS

JARS: Final = Path(pyspark.__file__).parent / "jars"
HADOOP: Final = next(JARS.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]

AWS: Final = "2.35.4"
S3_JARS: Final = (
    f"org.apache.hadoop:hadoop-aws:{HADOOP}",
    *(f"software.amazon.awssdk:{name}:{AWS}" for name in ("s3", "s3-transfer-manager", "sts")),
)
S3_EXCLUDED: Final = "software.amazon.awssdk:bundle"
"""Half a gigabyte of clients of all that Amazon has."""

FETCH_TIMEOUT_S: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """`url`: a directory in it. `conf`: what Spark has to be told of it."""

    url: str
    conf: dict[str, str] = field(default_factory=dict)


def fetch_jars(packages: tuple[str, ...], *, excluded: str = "") -> None:
    """Have them in the cache of Spark's client; skip the test if they cannot be had."""
    if os.environ.get("TASKQ_TESTS_OFFLINE"):
        pytest.skip("TASKQ_TESTS_OFFLINE is set, and jars come from a network")
    home = Path.home() / ".ivy2.5.2" / "jars"
    names = [package.replace(":", "_", 1).replace(":", "-") for package in packages]
    if all((home / f"{name}.jar").exists() for name in names):
        return
    words = ("--packages", ",".join(packages), *(("--exclude-packages", excluded) if excluded else ()))
    main = ("--class", "org.apache.hadoop.util.VersionInfo", "spark-internal")
    try:
        done = subprocess.run(
            [PROGRAMS / "spark-submit", *words, *main], capture_output=True, text=True, timeout=FETCH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"no jars from the central repository within {FETCH_TIMEOUT_S} s")
    if done.returncode:
        pytest.skip(f"no jars from the central repository: {done.stderr[-300:]}")


def free_port() -> int:
    """One where nobody listens yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def running(log: Path, words: list[str | Path], **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, env={**os.environ, **environment}, cwd=log.parent)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextlib.contextmanager
def s3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A bucket, and in the environment what reaches it."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    fetch_jars(S3_JARS, excluded=S3_EXCLUDED)
    port = free_port()
    with running(folder / "moto.log", [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]):
        wait_until(lambda: is_listening(port), or_fail="no S3 server", timeout_s=120)
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
            ("AWS_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("events")
        a3 = "spark.hadoop.fs.s3a"
        conf = {
            "spark.jars.packages": ",".join(S3_JARS),
            "spark.jars.excludes": S3_EXCLUDED,
            f"{a3}.endpoint": f"http://127.0.0.1:{port}",
            f"{a3}.endpoint.region": "us-east-1",
            f"{a3}.path.style.access": "true",
        }
        yield Store(url="s3://events/taskq", conf=conf)
        fsspec.filesystem("s3").clear_instance_cache()


SITE: Final = "<configuration>{}</configuration>"
PROPERTY: Final = "<property><name>{}</name><value>{}</value></property>"


@contextlib.contextmanager
def hdfs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A name node and a data node."""
    pytest.importorskip("hdfs_native")
    package = f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}"
    fetch_jars((package,))
    monkeypatch.setenv("HADOOP_USER_NAME", "taskq")
    port = free_port()
    settings = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{port}",
        "dfs.namenode.name.dir": f"{folder}/names",
        "dfs.datanode.data.dir": f"{folder}/data",
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        "dfs.namenode.http-address": "127.0.0.1:0",
        "dfs.namenode.safemode.extension": "0",
        **{f"dfs.datanode.{part}": "127.0.0.1:0" for part in ("address", "http.address", "ipc.address")},
    }
    site = SITE.format("".join(PROPERTY.format(*pair) for pair in settings.items()))
    for name in ("core-site.xml", "hdfs-site.xml"):
        (folder / name).write_text(site)
    jar = Path.home() / ".ivy2.5.2" / "jars" / f"org.apache.hadoop_hadoop-client-minicluster-{HADOOP}.jar"
    java = find_java(scratch=folder).home / "bin" / "java"
    base: list[str | Path] = [java, "-Xmx256m", "-cp", f"{folder}:{JARS}/*:{jar}"]
    server = "org.apache.hadoop.hdfs.server"
    log = folder / "hdfs.log"
    with running(log, [*base, f"{server}.namenode.NameNode", "-format", "-force", "-nonInteractive"]) as formatting:
        assert formatting.wait(timeout=120) == 0, log.read_text()[-2_000:]
    with (
        running(log, [*base, f"{server}.namenode.NameNode"]),
        running(log, [*base, f"{server}.datanode.DataNode"]),
    ):
        wait_until(lambda: is_listening(port), or_fail="no name node", timeout_s=120)
        url = f"hdfs://127.0.0.1:{port}/data/taskq"
        files = fsspec.filesystem("hdfs", host="127.0.0.1", port=port)
        wait_until(lambda: _takes_files(files), or_fail="no data node", timeout_s=120)
        yield Store(url=url)


def _takes_files(files: fsspec.AbstractFileSystem) -> bool:
    try:
        files.pipe_file("/tried", b"x")
    except Exception:  # it is still starting
        return False
    return True
