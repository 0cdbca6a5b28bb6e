"""The embedded Redis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from queues.embedded import (
    APPENDFSYNC_VARIABLE,
    Answer,
    DataIgnoredError,
    EmbeddedRedis,
    EmbeddedRedisError,
    ServerDiedError,
    ServerNotFoundError,
    ask,
    find_server,
)
from queues.engine import Engine, PublishOptions, ack_attempt, consume, fail, open_engine, publish
from queues.supervision import parent_death_signal
from tests.engine.state import dump
from tests.running.processes import ROOT, Family
from tests.support.redis_servers import needs_redis_6_2, redis_6_2
from tests.support.waiting import wait_until

START_AND_WAIT = """
import pathlib, sys
from queues.embedded import EmbeddedRedis
server = EmbeddedRedis(pathlib.Path(sys.argv[1]), persistent=False)
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """A process that has started a server in `tmp_path`, and the server's process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_the_server_goes_when_its_parent_is_killed(holder: tuple[subprocess.Popen[str], int], tmp_path: Path) -> None:
    process, server_pid = holder
    assert ask(tmp_path / "redis.sock") is Answer.READY

    process.kill()
    process.wait()

    wait_until(lambda: not _lives(server_pid), or_fail="the server outlived its parent")


def test_a_command_tied_to_its_parent_does_not_start_when_its_parent_is_gone_already(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = parent_death_signal.tied_to_parent(["touch", str(tmp_path / "ran")])
    command[command.index(str(os.getpid()))] = str(gone.pid)

    status = subprocess.run(command, check=False).returncode

    assert status == -signal.SIGKILL
    assert not (tmp_path / "ran").exists()


def test_where_the_kernel_has_no_parent_death_signal_a_watcher_takes_the_child_down(tmp_path: Path) -> None:
    family = Family()
    watched = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from queues.supervision import parent_death_signal as tie;"
        "tie.HAS_PARENT_DEATH_SIGNAL = False;"
    )
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys, time;"
            f"subprocess.Popen([sys.executable, '-c', {watched + 'tie.main()'!r}, str(os.getpid()), 'sleep', '600']);"
            "time.sleep(600)",
        ],
        env=family.environment(),
    )
    family.pid_of("sleep 600")

    parent.kill()
    parent.wait()

    family.wait_gone()


def test_what_was_answered_survives_a_crash(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path, persistent=True)
    server.start()
    redis.Redis.from_url(server.url).set("job", "1")
    server.kill()
    assert server.answer() is Answer.NOTHING

    with server:
        assert redis.Redis.from_url(server.url).get("job") == b"1"


@needs_redis_6_2
@pytest.mark.parametrize("rewritten", [False, True])
def test_everything_in_a_file_of_redis_6_2_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewritten: bool
) -> None:
    monkeypatch.setenv("TASKQ_REDIS_SERVER", str(redis_6_2()))
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        engine = open_engine(server.url, partitions=2)
        fill(engine)
        if rewritten:
            engine.client.bgrewriteaof()
            wait_until(
                lambda: not engine.client.info("persistence")["aof_rewrite_in_progress"], or_fail="it is not rewritten"
            )
            fill(engine)
        before = dump(engine.client)
        engine.close()
    monkeypatch.delenv("TASKQ_REDIS_SERVER")

    with EmbeddedRedis(tmp_path, persistent=True) as server:
        engine = open_engine(server.url)
        assert dump(engine.client) == before
        engine.close()


@needs_redis_6_2
@pytest.mark.parametrize("manifest", [None, "file appendonly.aof seq 1 type b\n"], ids=["none", "written"])
def test_a_take_over_that_was_interrupted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str | None
) -> None:
    """Killed after it made the directory, and after it wrote the manifest there: moving the file is the last step."""
    monkeypatch.setenv("TASKQ_REDIS_SERVER", str(redis_6_2()))
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        redis.Redis.from_url(server.url).set("job", "1")
    monkeypatch.delenv("TASKQ_REDIS_SERVER")
    (tmp_path / "appendonlydir").mkdir()
    if manifest is not None:
        (tmp_path / "appendonlydir/appendonly.aof.manifest").write_text(manifest)

    with EmbeddedRedis(tmp_path, persistent=True) as server:
        assert redis.Redis.from_url(server.url).get("job") == b"1"

    assert not (tmp_path / "appendonly.aof").exists()


@needs_redis_6_2
def test_redis_6_2_does_not_start_on_a_directory_that_it_would_ignore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        redis.Redis.from_url(server.url).set("job", "1")
    monkeypatch.setenv("TASKQ_REDIS_SERVER", str(redis_6_2()))

    with pytest.raises(DataIgnoredError, match="is Redis 6 and does not read"):
        EmbeddedRedis(tmp_path, persistent=True).start()

    monkeypatch.delenv("TASKQ_REDIS_SERVER")
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        assert redis.Redis.from_url(server.url).get("job") == b"1"


def test_no_server_starts_where_it_would_ignore_a_file_beside_its_directory(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        redis.Redis.from_url(server.url).set("job", "1")
    older = tmp_path / "appendonly.aof"
    older.write_bytes(b"*3\r\n$3\r\nSET\r\n$3\r\njob\r\n$1\r\n2\r\n")

    with pytest.raises(DataIgnoredError, match="both hold jobs"):
        EmbeddedRedis(tmp_path, persistent=True).start()

    (tmp_path / "appendonlydir").rename(tmp_path / "newer")
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        assert redis.Redis.from_url(server.url).get("job") == b"2"


def fill(engine: Engine) -> None:
    """Jobs in every state, large and small collections, and events."""
    many, few = (engine.queue("shop", name) for name in ("many", "few"))
    options = PublishOptions(tries=2, retention_ms=600_000)
    engine.run(publish(many, [b"x" * 50_000, *[b"%d" % number for number in range(600)]], options))
    engine.run(publish(many, [b"later"] * 3, PublishOptions(delay_ms=600_000)))
    engine.run(publish(few, [b"keyed"], PublishOptions(key="k", priority=3, attributes={"from": "bank"})))
    completed, failed, buried, *_ = engine.run(consume(many, count=5, ttr_ms=600_000)).jobs
    engine.run(ack_attempt(many, completed.job_id, result=b"done"))
    engine.run(fail(many, failed.job_id, error="no such bank", delay_ms=600_000))
    engine.run(fail(many, buried.job_id, error="no such bank", dead=True))


def test_one_that_cannot_write_its_file_answers_all_the_same(tmp_path: Path) -> None:
    """`up` kills a Redis that does not answer. This one has jobs in memory that are not in the file yet."""
    files = tmp_path / "appendonlydir"
    files.mkdir()
    (files / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
    (files / "appendonly.aof.1.incr.aof").symlink_to("/dev/full")
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        redis.Redis.from_url(server.url).set("job", "1")

        wait_until(lambda: server.answer() is Answer.ERROR, or_fail="it did not notice that its disk is full")


def test_it_never_evicts_and_keeps_an_append_only_file(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        config = redis.Redis.from_url(server.url).config_get("*")

    assert config["maxmemory-policy"] == "noeviction"
    assert config["appendonly"] == "yes"
    assert config["auto-aof-rewrite-min-size"] == str(256 * 1024**2)
    assert (tmp_path / "redis.sock").parent.stat().st_uid == os.getuid()


def test_only_its_owner_may_connect(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path, persistent=False) as server:
        assert server.unix_socket.stat().st_mode & 0o077 == 0


def test_a_path_with_spaces_and_quotes_works(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / 'a "b" c%20', persistent=False) as server:
        assert redis.Redis.from_url(server.url).ping()


def test_a_path_too_long_for_a_socket_works(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / ("x" * 120), persistent=False) as server:
        assert redis.Redis.from_url(server.url).ping()
        assert server.unix_socket.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("chosen", "is_set"), [("always", "always"), ("", "everysec")])
def test_appendfsync_is_what_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, is_set: str
) -> None:
    monkeypatch.setenv(APPENDFSYNC_VARIABLE, chosen)
    with EmbeddedRedis(tmp_path, persistent=True) as server, redis.Redis.from_url(server.url) as client:
        assert client.config_get("appendfsync") == {"appendfsync": is_set}


def test_an_unknown_appendfsync_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(APPENDFSYNC_VARIABLE, "sometimes")
    with pytest.raises(EmbeddedRedisError, match=r"TASKQ_REDIS_APPENDFSYNC=sometimes: .* everysec, always, no"):
        EmbeddedRedis(tmp_path, persistent=True).start()


def test_a_chosen_binary_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_REDIS_SERVER", "/nowhere/redis-server")

    with pytest.raises(ServerNotFoundError, match="TASKQ_REDIS_SERVER=/nowhere/redis-server"):
        find_server()


def test_without_any_binary_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKQ_REDIS_SERVER", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ServerNotFoundError, match="REDIS_URL"):
        find_server()


def test_a_server_that_cannot_start_says_where_its_log_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_REDIS_SERVER", "/bin/false")

    with pytest.raises(ServerDiedError, match=r"status 1: see .*redis\.log"):
        EmbeddedRedis(tmp_path, persistent=False).start()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
