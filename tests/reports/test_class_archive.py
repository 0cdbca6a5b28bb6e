"""Java's classes are kept by one run for those after it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pyspark
import pytest

from queues.reports import class_archive
from queues.reports.class_archive import ClassArchive
from queues.reports.java import find_java

SPARK = Path(pyspark.__file__).parent
LAUNCHER = "org.apache.spark.launcher.Main"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    home = find_java(scratch=tmp_path)
    if not (home / "lib" / "server" / "classes.jsa").is_file():
        pytest.skip("this Java has no archive of its own classes, to which others could be added")
    return home


def archive(tmp_path: Path, java: Path, run: str) -> ClassArchive:
    scratch = tmp_path / run
    scratch.mkdir()
    return ClassArchive(tmp_path / "kept", java=java, spark=SPARK, scratch=scratch)


def start(java: Path, *options: str) -> None:
    """Spark's launcher, which says how Spark would begin, and ends: it needs few classes for that."""
    words = [*options, "-cp", f"{SPARK}/jars/*", LAUNCHER, "org.apache.spark.deploy.SparkSubmit", "--version"]
    # Told some version of Scala, it does not look for the one that Spark was built with.
    env = {**os.environ, "SPARK_HOME": str(SPARK), "JAVA_HOME": str(java), "SPARK_SCALA_VERSION": "2"}
    done = subprocess.run(
        [java / "bin" / "java", *words], env=env, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "org.apache.spark.deploy.SparkSubmit" in done.stdout
    assert "cds" not in done.stdout


def test_the_second_run_leaves_classes_that_the_third_one_uses(tmp_path: Path, java: Path) -> None:
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
    assert f"{LAUNCHER} source: shared objects file (top)" in loaded
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".seen", ".jsa"}


def test_what_java_was_still_writing_when_it_was_killed_is_not_kept(tmp_path: Path, java: Path) -> None:
    archive(tmp_path, java, "first")
    second = archive(tmp_path, java, "second")
    (tmp_path / "second" / "classes.jsa").write_bytes(b"half of it")

    second.keep(ended_well=False)

    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".seen"]
    assert archive(tmp_path, java, "third").is_made


def test_a_run_that_never_came_back_holds_nobody_up(tmp_path: Path, java: Path) -> None:
    archive(tmp_path, java, "first")
    archive(tmp_path, java, "second")
    (making,) = (tmp_path / "kept").glob("*.making")
    ago = time.time() - class_archive.MAKING_S - 60
    os.utime(making, (ago, ago))

    assert archive(tmp_path, java, "third").is_made


def test_another_java_has_an_archive_of_its_own(tmp_path: Path, java: Path) -> None:
    other = tmp_path / "other"
    (other / "lib" / "server").mkdir(parents=True)
    shutil.copy(java / "lib" / "server" / "classes.jsa", other / "lib" / "server")
    (other / "release").write_text('JAVA_VERSION="99"')
    archive(tmp_path, java, "first")

    assert archive(tmp_path, other, "second").options == ""
    assert len(list((tmp_path / "kept").glob("*.seen"))) == 2


def test_what_nobody_has_used_for_a_month_is_deleted(tmp_path: Path, java: Path) -> None:
    archive(tmp_path, java, "first")
    second = archive(tmp_path, java, "second")
    old, young = tmp_path / "kept" / "00000000.jsa", tmp_path / "kept" / "00000001.jsa"
    for path in (old, young, tmp_path / "second" / "classes.jsa"):
        path.touch()
    ago = time.time() - class_archive.UNUSED_S - 60
    os.utime(old, (ago, ago))

    second.keep(ended_well=True)

    assert not old.exists()
    assert young.exists()


def test_without_an_archive_of_java_itself_or_a_folder_to_write_to_there_is_none(tmp_path: Path, java: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (tmp_path / "kept").write_text("not a folder")

    assert archive(tmp_path, bare, "first").options == ""
    assert archive(tmp_path, java, "second").options == ""
