"""`manage.py runpump` as a process."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from queues.embedded import Answer
from queues.engine import Engine, PublishOptions, consume, publish, stats
from tests.running.conftest import Site
from tests.running.processes import run_manage
from tests.support.waiting import wait_until

Start = Callable[..., subprocess.Popen[str]]


def counts_of(engine: Engine) -> dict[str, int]:
    counts = engine.run(stats(engine.queue("ns", "q"))).counts
    return {state.value: number for state, number in counts.items() if number}


def put(engine: Engine, options: PublishOptions, *, jobs: int = 1) -> None:
    engine.run(publish(engine.queue("ns", "q"), [b"job"] * jobs, options))


def read_until(words: str, process: subprocess.Popen[str]) -> None:
    """Read its log up to the line that has these words."""
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, "the pump ended"


def wait_running(heartbeat: Path) -> None:
    wait_until(heartbeat.exists, or_fail="the pump did not start")


def test_once_runs_each_role_for_every_pool_and_prints_what_it_did(site: Site) -> None:
    engine = site.engine()
    put(engine, PublishOptions(delay_ms=1), jobs=3)

    done = run_manage("runpump", "--once", env=site.env)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "default pump: queues=1 jobs=3 dead=0",
        "default groups: queues=0 jobs=0 dead=0",
        "default reclaimer: queues=0 jobs=0 dead=0",
        "default relay: queues=0 jobs=0 dead=0",
        "default sweeper: queues=0 jobs=0 dead=0",
        "default deleter: queues=0 jobs=0 dead=0",
        "default bounds: queues=0 jobs=0 dead=0",
        "default objectives: queues=0 jobs=0 dead=0",
        "default survey: queues=1 jobs=0 dead=0",
        "default drain: queues=1 jobs=6 dead=0",
        "default counts: queues=0 jobs=0 dead=0",
        "default schedules: queues=0 jobs=0 dead=0",
    ]
    assert counts_of(engine) == {"ready": 3}


def test_a_pool_without_redis_is_named_and_holds_up_no_other(site: Site, start: Start, tmp_path: Path) -> None:
    added = run_manage("pool", "add", "away", "unix:///nowhere/redis.sock", env=site.env)
    assert added.returncode == 0, added.stderr
    engine = site.engine()
    put(engine, PublishOptions(delay_ms=1))

    done = run_manage("runpump", "--once", env=site.env)

    assert done.returncode == 1
    assert "default pump: queues=1 jobs=1 dead=0" in done.stdout
    assert "away pump: " in done.stderr

    start("runpump", f"--heartbeat={tmp_path / 'beat'}")
    wait_running(tmp_path / "beat")
    put(engine, PublishOptions(delay_ms=100), jobs=5)
    wait_until(lambda: counts_of(engine) == {"ready": 6}, or_fail="the healthy pool was held up", timeout_s=3)


def test_it_promotes_and_reclaims_until_ctrl_c_ends_it_with_status_0_and_no_traceback(
    site: Site, start: Start, tmp_path: Path
) -> None:
    """Its Redis may lose jobs, of which it warns in the log."""
    engine = site.engine()
    engine.client.config_set("appendonly", "no")
    put(engine, PublishOptions(delay_ms=300, tries=2))
    process = start("runpump", f"--heartbeat={tmp_path / 'beat'}")
    wait_running(tmp_path / "beat")

    wait_until(lambda: counts_of(engine) == {"ready": 1}, or_fail="the due job was not made ready")
    engine.run(consume(engine.queue("ns", "q"), ttr_ms=200))
    wait_until(lambda: counts_of(engine) == {"ready": 1}, or_fail="the job whose lease ran out was not taken back")

    process.send_signal(signal.SIGINT)

    _, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "pool has a problem" in errors
    assert "problem=no_aof" in errors


def test_the_second_signal_ends_a_pump_that_hangs(site: Site, start: Start, tmp_path: Path) -> None:
    process = start("runpump", f"--heartbeat={tmp_path / 'beat'}")
    wait_running(tmp_path / "beat")
    assert site.redis.pid is not None
    subprocess.run(["kill", "-STOP", str(site.redis.pid)], check=True)
    try:
        wait_until(lambda: site.redis.answer() is Answer.NOTHING, or_fail="Redis still answers")
        process.send_signal(signal.SIGTERM)
        read_until("action=pump_stopping", process)
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=3) == 1
    finally:
        subprocess.run(["kill", "-CONT", str(site.redis.pid)], check=True)


def test_two_side_by_side_move_each_job_once(site: Site, start: Start, tmp_path: Path) -> None:
    engine = site.engine()
    for name in ("one", "two"):
        start("runpump", f"--heartbeat={tmp_path / name}")
    wait_running(tmp_path / "one")
    wait_running(tmp_path / "two")

    for delay_ms in range(100, 1_100, 100):
        put(engine, PublishOptions(delay_ms=delay_ms, tries=2), jobs=200)

    wait_until(lambda: counts_of(engine) == {"ready": 2_000}, or_fail="not every job was made ready")
    taken = engine.run(consume(engine.queue("ns", "q"), ttr_ms=300, count=1_000)).jobs
    taken += engine.run(consume(engine.queue("ns", "q"), ttr_ms=300, count=1_000)).jobs
    assert len({job.job_id for job in taken}) == 2_000
    wait_until(lambda: counts_of(engine) == {"ready": 2_000}, or_fail="not every job was taken back")
    again = engine.run(consume(engine.queue("ns", "q"), ttr_ms=60_000, count=1_000)).jobs
    assert {job.attempt for job in again} == {2}


def test_it_goes_on_when_redis_comes_back_and_says_so_once_and_sigterm_ends_it_with_status_0(
    site: Site, start: Start, tmp_path: Path
) -> None:
    process = start("runpump", f"--heartbeat={tmp_path / 'beat'}")
    wait_running(tmp_path / "beat")
    engine = site.engine()
    put(engine, PublishOptions(delay_ms=1_000))
    engine.close()

    site.redis.kill()
    read_until("action=trouble", process)
    site.redis.start()

    engine = site.engine()
    wait_until(lambda: counts_of(engine) == {"ready": 1}, or_fail="the pump did not go on")
    process.terminate()
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    assert errors.count("action=recovered") == 1
    assert "action=trouble" not in errors
