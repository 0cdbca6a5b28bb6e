"""Processes that hang: whoever started them notices, says so, and replaces them."""

from __future__ import annotations

import fcntl
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from queues.embedded import Answer, EmbeddedRedis
from queues.management.local import service as local_service
from queues.management.local.data_dir import lock_data_dir
from queues.server.server import PREFIX, runtime_directory
from queues.supervision import HangDetector, Supervisor, heartbeats
from tests.running.services import Service, start_service, stop_service
from tests.support.waiting import wait_until

REPLACED_WITHIN_S = 60.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = start_service(tmp_path, "--demo", "--no-pusher", TASKQ_HUNG_AFTER_S="3")
    yield service
    stop_service(service)
    service.family.wait_gone()


def test_up_replaces_each_of_its_processes_that_hangs(service: Service) -> None:
    wait_until(lambda: service.call("GET", "/login/")[0] == 200, or_fail="no pages")
    wait_until(lambda: service.call("GET", "/api/demo/queues")[1]["queues"], or_fail="no demo")
    for _ in range(2):  # what hangs before its first heartbeat has minutes: a second after all work, all have beaten
        service.publish("delayed", "", "delay=1")
        wait_until(lambda: service.call("GET", "/api/demo/delayed?timeout=10")[0] == 200, or_fail="no pump")
    old = {name: service.family.pid_of(name) for name in ("runpump", "servepages", "manage.py demo")}

    def hang(*names: str) -> None:
        for name in names:
            os.kill(old[name], signal.SIGSTOP)

        def are_replaced() -> bool:
            lines = service.family.members()
            return all(old[name] not in lines and any(name in line for line in lines.values()) for name in names)

        wait_until(are_replaced, or_fail=f"not all are replaced: {names}", timeout_s=REPLACED_WITHIN_S)

    hang(*old)
    old["manage.py serve "] = service.family.pid_of("manage.py serve ")
    hang("manage.py serve ")
    wait_until(service.is_ready, or_fail="it does not serve", timeout_s=REPLACED_WITHIN_S)


def test_a_redis_that_hangs_is_logged_first_and_killed_later(
    tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TASKQ_HUNG_AFTER_S = 1
    monkeypatch.setattr(local_service, "REDIS_HUNG_AFTER_S", 2.5)
    monkeypatch.setattr(heartbeats, "BEAT_EVERY_S", 0.1)
    data_dir = lock_data_dir(tmp_path)
    redis = EmbeddedRedis(data_dir.redis_dir, persistent=True)
    part = local_service.redis_part(data_dir, redis, env={})
    heard = threading.Event()

    def answers() -> bool:
        """What the watch asks. A Redis that has never answered it has more time."""
        assert part.answers is not None
        if has_answered := part.answers():
            heard.set()
        return has_answered

    supervisor = Supervisor()
    watching = threading.Thread(target=supervisor.run)
    try:
        supervisor.start(replace(part, answers=answers, is_ready=lambda: part.is_ready() and heard.is_set()))
        assert supervisor.wait_ready(timeout_s=20)
        watching.start()
        hung = supervisor.pids()["redis"]

        os.kill(hung, signal.SIGSTOP)

        wait_until(lambda: supervisor.pids().get("redis", hung) != hung, or_fail="not replaced", timeout_s=30)
        wait_until(lambda: redis.answer() is Answer.READY, or_fail="the new one does not answer")
    finally:
        supervisor.ask_to_stop()
        watching.join()
        supervisor.stop()
        os.close(data_dir.lock_fd)
    told = [vars(record) for record in caplog.records if vars(record).get("pid") == hung]
    assert [record["action"] for record in told] == ["hung_child", "kill_hung_child"]
    assert 1 <= told[0]["silent_s"] < 2.5 <= told[1]["silent_s"]


def test_a_watcher_that_was_itself_suspended_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    beats = True
    monkeypatch.setattr(heartbeats, "monotonic", lambda: now)
    watch = HangDetector(lambda: beats)
    watch.look()
    beats = False
    for gap_s in (0.1, 3_600.0, 0.1, 75.0):
        now += gap_s
        watch.look()
        assert not watch.is_hung(8.0)

    for _ in range(9):
        now += 0.9
        watch.look()

    assert watch.is_hung(8.0)
    assert not watch.is_hung(30.0)


def test_one_that_has_not_begun_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(heartbeats, "monotonic", lambda: now)
    watch = HangDetector(lambda: False)
    for _ in range(100):
        now += 1.0
        watch.look()

    assert not watch.is_hung(8.0)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_directories_of_servers_that_were_killed_go_when_the_next_one_starts(temporary: Path) -> None:
    abandoned = temporary / f"{PREFIX}dead"
    (abandoned / "counts").mkdir(parents=True)
    somebody_elses = temporary / "other"
    somebody_elses.mkdir()
    (temporary / f"{PREFIX}link").symlink_to(somebody_elses)
    (temporary / f"{PREFIX}file").touch()

    with runtime_directory() as first, runtime_directory() as second:
        assert first != second
        assert {first, second} <= set(temporary.iterdir())
        assert not abandoned.exists()
        assert somebody_elses.is_dir()
        assert (temporary / f"{PREFIX}file").exists()

    assert not first.exists()
    assert not second.exists()


def test_one_that_is_removed_before_it_was_locked_is_made_anew(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def flock(fd: int, kind: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        made.append(path)
        if len(made) == 1:
            path.rmdir()  # another one that starts has taken it for abandoned
        lock(fd, kind)

    lock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    with runtime_directory() as directory:
        assert made == [made[0], directory]
        assert directory.is_dir()
