"""Which Java runs Spark."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from queues.reports import java
from queues.reports.failures import JavaMissingError


def make_java(home: Path, version: str, *, whole: bool = True) -> Path:
    """A `java` that says its version and the words it was given; `whole` False: without Spark's module."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    refuse = "" if whole else 'case "$*" in *jdk.incubator.vector*) echo "Module not found" >&2; exit 1;; esac\n'
    program.write_text(f'#!/bin/sh\n{refuse}echo "$@"\necho \'openjdk version "{version}"\' >&2\n')
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def _nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "path", "21.0.1")
    home = make_java(tmp_path / "home", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))

    assert java.find_java(scratch=tmp_path) == (home, home)


@pytest.mark.parametrize("home", ["old", "nowhere"])
def test_a_java_home_that_does_not_do_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    make_java(tmp_path / "old", "11.0.9")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
    path = make_java(tmp_path / "path", "17.0.2")

    assert java.find_java(scratch=tmp_path) == (path, path)


def test_without_any_java_the_error_says_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "1.8.0_292")))

    with pytest.raises(JavaMissingError) as error:
        java.find_java(scratch=tmp_path)

    assert "Java 17 or newer" in str(error.value)
    assert f"JAVA_HOME: {tmp_path}/old/bin/java is Java 1" in str(error.value)
    assert "taskq[reports]" in str(error.value)


def test_a_java_without_sparks_module_gets_a_wrapper_that_leaves_the_option_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_java(tmp_path / "it's small", "21.0.8", whole=False)
    monkeypatch.setenv("JAVA_HOME", str(small))

    home, real = java.find_java(scratch=tmp_path / "scratch")

    assert home != small
    assert real == small
    words = ["-Xmx1g", java.VECTOR_MODULE, "a b", "Main"]
    said = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert said.stdout == "-Xmx1g a b Main\n"


def test_the_java_of_the_wheel_comes_before_the_path_and_runs_with_sparks_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_java(tmp_path / "path", "26.0.1")
    monkeypatch.setattr(java, "find_spec", find_spec)

    home = java.find_java(scratch=tmp_path).home

    said = subprocess.run(
        [home / "bin" / "java", java.VECTOR_MODULE, "-version"], capture_output=True, text=True, check=True
    )
    assert 'version "25' in said.stderr
