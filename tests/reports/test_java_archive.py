"""What Java has found out is kept by one run for those after it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pyspark
import pytest

from queues.reports import java_archive
from queues.reports.java import Java, find_java
from queues.reports.java_archive import MAKER_MEMORY, JavaArchive
from queues.services.reporting.making.report_process import NOISE

SPARK = Path(pyspark.__file__).parent
LAUNCHER = "org.apache.spark.launcher.Main"


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """The wheel's."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return find_java(scratch=tmp_path)


def archive(tmp_path: Path, java: Java, run: str, *, is_brief: bool = False) -> JavaArchive:
    scratch = tmp_path / run
    scratch.mkdir()
    return JavaArchive(tmp_path / "kept", java=java.real, spark=SPARK, scratch=scratch, is_brief=is_brief)


def start(java: Java, *options: str) -> None:
    """Spark's launcher, which says how Spark would begin, and ends: it needs few classes for that."""
    words = [*options, "-cp", f"{SPARK}/jars/*", LAUNCHER, "org.apache.spark.deploy.SparkSubmit", "--version"]
    # Told some version of Scala, it does not look for the one that Spark was built with.
    env = {**os.environ, **MAKER_MEMORY, "SPARK_HOME": str(SPARK), "JAVA_HOME": str(java.home)}
    env["SPARK_SCALA_VERSION"] = "2"
    done = subprocess.run([java.home / "bin" / "java", *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "org.apache.spark.deploy.SparkSubmit" in done.stdout
    # Nothing of the archive is on standard output, and nothing reaches the person.
    assert "AOT" not in done.stdout
    assert [line for line in done.stderr.splitlines() if not line.startswith(NOISE)] == []


@pytest.mark.parametrize("origin", ["wheel", "PATH"])
def test_the_second_run_leaves_classes_that_the_third_one_uses(
    tmp_path: Path, java: Java, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    if origin == "PATH":
        if (found := shutil.which("java")) is None:
            pytest.skip("there is no Java in the PATH")
        monkeypatch.setenv("JAVA_HOME", str(Path(found).resolve().parent.parent))
        java = find_java(scratch=tmp_path)
        if java_archive._kind_of(java.real, "") is None:
            pytest.skip("the Java in the PATH has no archive of its own classes, to which others could be added")
    first = archive(tmp_path, java, "first")
    first.keep(ended_well=True)
    assert first.options == ""
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".seen"]

    second = archive(tmp_path, java, "second")
    assert second.is_made
    assert archive(tmp_path, java, "beside").options == "", "another run leaves them"
    start(java, *shlex.split(second.options))
    second.keep(ended_well=True)

    third = archive(tmp_path, java, "third")
    assert not third.is_made
    start(java, *shlex.split(third.options), f"-Xlog:class+load:file={tmp_path}/loaded")
    loaded = (tmp_path / "loaded").read_text()
    assert f"{LAUNCHER} source: shared objects file" in loaded
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} in ({".seen", ".aot"}, {".seen", ".jsa"})


@pytest.mark.parametrize("end", ["killed", "refused", "never came back"])
def test_where_a_run_left_nothing_none_tries_again_for_a_week(tmp_path: Path, java: Java, end: str) -> None:
    archive(tmp_path, java, "first")
    second = archive(tmp_path, java, "second")
    if end == "killed":
        (tmp_path / "second" / shlex.split(second.options)[0].rpartition("/")[2]).write_bytes(b"half of it")
    if end != "never came back":
        second.keep(ended_well=end == "refused")

    third = archive(tmp_path, java, "third")
    assert (third.is_made, third.options) == (False, "")
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".seen", ".making"}
    (making,) = (tmp_path / "kept").glob("*.making")
    ago = time.time() - java_archive.AGAIN_S - 60
    os.utime(making, (ago, ago))
    assert archive(tmp_path, java, "fourth").is_made


def test_another_java_and_another_size_of_day_have_an_archive_of_their_own(tmp_path: Path, java: Java) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "release").write_text('JAVA_VERSION="99"')
    archive(tmp_path, java, "first")

    assert archive(tmp_path, Java(other, other), "second").options == ""
    assert archive(tmp_path, java, "third", is_brief=True).options == ""
    assert len(list((tmp_path / "kept").glob("*.seen"))) == 3


def test_what_nobody_has_used_for_a_month_is_deleted(tmp_path: Path, java: Java) -> None:
    archive(tmp_path, java, "first")
    second = archive(tmp_path, java, "second")
    old, young = tmp_path / "kept" / "00000000.jsa", tmp_path / "kept" / "00000001.jsa"
    for path in (old, young):
        path.touch()
    ago = time.time() - java_archive.UNUSED_S - 60
    os.utime(old, (ago, ago))

    second.keep(ended_well=True)

    assert not old.exists()
    assert young.exists()


def test_without_an_archive_of_java_itself_or_a_folder_to_write_to_there_is_none(tmp_path: Path, java: Java) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (tmp_path / "kept").write_text("not a folder")

    assert archive(tmp_path, Java(bare, bare), "first").options == ""
    assert archive(tmp_path, java, "second").options == ""
