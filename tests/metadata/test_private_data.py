"""What taskq writes is for its owner only, also in a data directory that others may look into."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from queues.embedded import EmbeddedRedis
from taskq_site.env import EnvError, read_umask
from tests.support.rows import in_one_test

OURS = ("taskq.sqlite3", "taskq.sqlite3-wal", "secret_key", "demo.json", "log/server.log", "log/server.log.1")
THEIRS = ("notes.txt", "static/base.css", "other/log")
START = "import os; os.umask(0o022); import taskq_site.settings; open('{}', 'w').close()"


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def open_directory(usual_umask: None, tmp_path: Path) -> Path:
    """Made by somebody's `mkdir`, used by an earlier taskq, and by others."""
    for name in (*OURS, *THEIRS):
        path = tmp_path / "var" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 60)
    return tmp_path / "var"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def start(data_dir: Path, **env: str) -> None:
    """A process with our settings starts, and writes a file."""
    env = {**os.environ, "DATABASE_URL": "", "TASKQ_DATA_DIR": str(data_dir), **env}
    subprocess.run([sys.executable, "-c", START.format(data_dir / "new")], env=env, check=True)


def test_files_of_ours_are_closed_at_start_and_no_others(open_directory: Path) -> None:
    linked = open_directory / "demo.json"
    linked.unlink()
    linked.symlink_to(open_directory / "notes.txt")

    start(open_directory)

    assert {name: mode(open_directory / name) for name in (*OURS, "new") if name != "demo.json"} == {
        name: 0o600 for name in (*OURS, "new") if name != "demo.json"
    }
    assert mode(open_directory / "log") == 0o700
    assert {name: mode(open_directory / name) for name in THEIRS} == dict.fromkeys(THEIRS, 0o644)
    assert [mode(path) for path in (open_directory, open_directory / "static")] == [0o755] * 2


def test_a_group_may_be_let_in(open_directory: Path) -> None:
    start(open_directory, TASKQ_UMASK="027")

    assert [mode(open_directory / name) for name in ("new", "taskq.sqlite3")] == [0o640] * 2


@in_one_test("text", ["22", "022x", "0o77", "0999", "777", "-77"])
def test_a_umask_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(EnvError, match="X="):
        read_umask("X", default=0o077)


def test_the_jobs_of_an_embedded_redis_are_closed(usual_umask: None, tmp_path: Path) -> None:
    aof = tmp_path / "appendonly.aof"
    aof.write_bytes(b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n")
    tmp_path.chmod(0o755)

    with EmbeddedRedis(tmp_path, persistent=True) as server:
        client = redis.Redis.from_url(server.url)
        assert client.get("a") == b"1"
        client.bgrewriteaof()  # makes a new file
        client.set("b", 1)

    files = [tmp_path, *tmp_path.rglob("*")]
    assert "appendonlydir" in {path.name for path in files}
    assert {path.name: mode(path) & 0o077 for path in files} == {path.name: 0 for path in files}
