"""`taskq` as people type it: from `init` to a result, workers as processes, and commands that look at jobs."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from queues.engine import PublishOptions
from taskq import App, NotConfiguredError
from taskq.cli.run_worker import add_arguments, run_worker, worker_options
from taskq.worker import supervisor
from tests.http.service import copy_bootstrapped
from tests.support.python_path import python_path
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
TASKS = """
import asyncio, os, time
from pathlib import Path
from taskq import App, Context, RetryPolicy

app = App()
kept = []

@app.task(retention=600)
def add(a: int, b: int = 0) -> int:
    return a + b

@app.task
def touch(name: str) -> None:
    Path(name).touch()

@app.task(queue="slow")
async def slow(name: str, s: float) -> None:
    with open(name, "a") as file:
        file.write(f"begin {os.getpid()}\\n")
    await asyncio.sleep(s)
    with open(name, "a") as file:
        file.write("end\\n")

@app.task(queue="grow")
def grow(name: str, mb: int) -> None:
    kept.append(b"x" * (mb << 20))
    with open(name, "a") as file:
        file.write(f"{os.getpid()}\\n")

@app.task(retry=RetryPolicy(tries=2, backoff="none"))
def fail() -> None:
    raise ValueError("no stock")
"""


class Place:
    """A folder with tasks, and the environment in which commands run there."""

    def __init__(self, folder: Path, url: str, forked_taskq: list[str]) -> None:
        self.folder = folder
        self.forked = forked_taskq
        self.env = {**os.environ, "TASKQ_URL": url, "TASKQ_NAMESPACE": "cli", "PYTHONPATH": python_path(ROOT)}
        self.app = App(url, namespace="cli")
        (folder / "tasks.py").write_text(TASKS)

    def run(self, *words: str, status: int = 0, timeout: float = 30) -> str:
        """What a command prints."""
        done = subprocess.run(
            [*self.forked, *words],
            cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    @contextlib.contextmanager
    def started(self, *words: str, stderr: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """A command that goes on; it is told to end at the end."""
        command = [sys.executable, "-m", "taskq", *words]
        process = subprocess.Popen(command, cwd=self.folder, env=self.env, stderr=stderr)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise

    def counts(self, queue: str) -> dict[str, int]:
        counts = self.app.broker.run(self.app.broker.stats(queue)).counts
        return {state.value: number for state, number in counts.items() if number}

    def workers(self) -> Any:
        return self.app.broker.run(self.app.broker.workers())


@pytest.fixture
def place(tmp_path: Path, redis_url: str, forked_taskq: list[str]) -> Iterator[Place]:
    place = Place(tmp_path, redis_url, forked_taskq)
    yield place
    place.app.broker.close()


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 20) -> None:
    wait_until(lambda: bool(condition()), or_fail=what, timeout_s=timeout_s)


def test_init_and_dev_lead_to_a_result(tmp_path: Path, forked_taskq: list[str]) -> None:
    place = Place(tmp_path, "", forked_taskq)
    (tmp_path / "tasks.py").unlink()
    del place.env["TASKQ_URL"], place.env["TASKQ_NAMESPACE"]
    assert "taskq dev tasks" in place.run("init")
    assert "exists already" in place.run("init", status=1)
    assert "start `taskq dev` in this folder" in place.run("run", "tasks.hello", status=1)

    with place.started("dev", "tasks", "--port", "0"):
        wait_for((tmp_path / ".taskq" / "dev.json").exists, "taskq dev did not start", 60)
        assert place.run("run", "tasks.hello", "--name", "you") == "Hello, you!\n"
        text = (tmp_path / "tasks.py").read_text()
        (tmp_path / "tasks.py").write_text(text.replace("Hello", "Good day"))
        wait_for(lambda: "Good day" in place.run("run", "tasks.hello"), "the worker was not started again")
    assert not (tmp_path / ".taskq" / "dev.json").exists()


def test_run_and_enqueue_read_arguments_and_say_what_is_wrong(place: Place) -> None:
    with place.started("worker", "tasks", "-q", "default", "--concurrency", "2"):
        assert place.run("run", "tasks.add", "1", "--b=2") == "3\n"
        assert place.run("run", "tasks.add", "--a", "7") == "7\n"
        assert "no stock" in place.run("run", "tasks.fail", status=1)
    assert "there is no task 'nope' in tasks; there are" in place.run("run", "tasks.nope", status=1)
    assert "there is no module 'missing'" in place.run("worker", "missing", status=1)
    assert "got an unexpected keyword argument 'c'" in place.run("run", "tasks.add", "1", "--c", "1", status=1)
    assert "argument a: Expected `int`" in place.run("enqueue", "tasks.add", "x", status=1)
    assert "'x:0' is no NAME:WEIGHT" in place.run("worker", "tasks", "-q", "x:0", status=1)
    assert place.counts("default") == {"completed": 2, "dead": 1}


def test_looking_at_queues_and_jobs_and_acting_on_them(place: Place) -> None:
    later = place.run("enqueue", "tasks.touch", "a").strip()
    place.run("enqueue", "tasks.fail")
    place.run("worker", "tasks", "--burst", "-q", "default")
    assert (place.folder / "a").exists()

    (listed,) = json.loads(place.run("queues", "--json"))
    assert (listed["queue"], listed["dead"], listed["ready"], listed["paused"]) == ("default", 1, 0, False)
    (dead,) = json.loads(place.run("dead", "default", "--json"))
    assert (dead["task"], dead["tries"], dead["errors"][-1]["error"].splitlines()[0]) == (
        "tasks.fail", "2/2", "ValueError: no stock",
    )  # fmt: skip
    assert "ValueError: no stock" in place.run("dead", "default")
    assert "ValueError: no stock" in place.run("job", "default", dead["job"])
    assert place.run("retry", "default", dead["job"]) == "ready\n"
    assert place.run("jobs", "default", "--state", "ready").count(dead["job"]) == 1
    assert place.run("cancel", "default", dead["job"]) == "deleted\n"
    assert "there is no job" in place.run("job", "default", later, status=1)
    assert "there is no job" in place.run("delete", "default", later, status=1)
    assert "no dead letter" in place.run("retry", "default", later, status=1)
    assert "oldest_ready_ms" in place.run("stats", "default")
    assert place.run("pause", "default") == "paused\n"
    assert json.loads(place.run("stats", "default", "--json"))["paused"] is True
    assert place.run("resume", "default") == "resumed\n"
    assert "queue not found: defualt" in place.run("pause", "defualt", status=1)
    place.run("jobs", "default", "--limit=-1", status=2)


def test_a_killed_worker_costs_a_lease_and_no_job(place: Place) -> None:
    log = place.folder / "log"
    job_id = place.run("enqueue", "tasks.slow", str(log), "2").strip()
    with place.started("worker", "tasks", "-q", "slow", "--lease", "2"):
        wait_for(lambda: lines(log), "it did not begin")
        os.kill(int(lines(log)[0].split()[1]), signal.SIGKILL)
    killed_at_ms = time.time() * 1_000
    job = place.app.broker.run(place.app.broker.detail("slow", job_id))
    assert job is not None
    assert job.lease_end_ms is not None
    assert job.lease_end_ms <= killed_at_ms + 2_000
    with place.started("worker", "tasks", "-q", "slow", "--lease", "2"), reclaiming(place):
        wait_for(lambda: "end" in lines(log), "the job was lost")
    assert place.counts("slow") == {}


@contextlib.contextmanager
def reclaiming(place: Place) -> Iterator[None]:
    """The pump's reclaimer, until the end."""
    import threading

    from queues.engine import open_engine, reclaim_ended

    engine, stop = open_engine(place.env["TASKQ_URL"]), threading.Event()

    def run() -> None:
        while not stop.wait(0.05):
            engine.run(reclaim_ended(engine.layout))

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()
    engine.close()


def test_sigterm_lets_jobs_finish_and_a_second_one_gives_them_back(place: Place) -> None:
    log = place.folder / "log"
    with place.started("worker", "tasks", "-q", "slow") as process:
        place.run("enqueue", "tasks.slow", str(log), "1")
        wait_for(lambda: lines(log), "it did not begin")
        process.terminate()
        assert process.wait(20) == 0
    assert lines(log)[-1] == "end"
    assert place.counts("slow") == {}

    with place.started("worker", "tasks", "-q", "slow") as process:
        place.run("enqueue", "tasks.slow", str(log), "60")
        wait_for(lambda: len(lines(log)) == 3, "it did not begin")
        process.terminate()
        time.sleep(0.3)  # two signals at once are one
        process.terminate()
        assert process.wait(10) == 0
    assert place.counts("slow") == {"ready": 1}


def test_several_processes_share_the_work_and_are_replaced(place: Place) -> None:
    with place.started("worker", "tasks", "-q", "slow", "--processes", "2", "--concurrency", "1"):
        wait_for(lambda: len(place.workers()) == 2, "there are not two")
        before = {worker.pid for worker in place.workers()}
        os.kill(next(iter(before)), signal.SIGKILL)
        wait_for(lambda: len({w.pid for w in place.workers() if w.age_ms < 3_000} - before) == 1, "it was not replaced")
    assert [pid for pid in before if Path(f"/proc/{pid}").exists()] == []


def test_a_process_is_started_anew_after_so_many_jobs(place: Place) -> None:
    log = place.folder / "log"
    with place.started("worker", "tasks", "-q", "slow", "--max-jobs", "1", "--concurrency", "1"):
        for _ in range(2):
            place.run("enqueue", "tasks.slow", str(log), "0")
        wait_for(lambda: lines(log).count("end") == 2, "not both ran")
    pids = {line for line in lines(log) if line.startswith("begin")}
    assert len(pids) == 2


def test_a_process_is_started_anew_when_it_has_grown(place: Place) -> None:
    log = place.folder / "log"
    with place.started("worker", "tasks", "-q", "grow", "--max-memory", "150"):
        place.run("enqueue", "tasks.grow", str(log), "200")
        wait_for(lambda: len(lines(log)) == 1, "it did not run")
        (grown,) = lines(log)
        wait_for(lambda: place.workers() and grown not in {str(worker.pid) for worker in place.workers()}, "it stays")
        place.run("enqueue", "tasks.grow", str(log), "0")
        wait_for(lambda: len(lines(log)) == 2, "the next one does not run")
    assert lines(log)[1] != grown


@pytest.mark.parametrize("words", [["--task-processes=0"], ["--processes=0"], ["--processes=2", "--lease=0"]])
def test_options_that_make_no_worker_are_refused_once(place: Place, words: list[str]) -> None:
    assert place.run("worker", "tasks", "--burst", *words, status=1, timeout=60).count("must be 1 or more") == 1


@in_one_test(
    ("words", "wrong"),
    [
        ("--max-jobs=0", "max jobs and max memory must be 1 or more"),
        ("--max-memory=-1", "max jobs and max memory must be 1 or more"),
        ("--lease=nan", "lease and grace must be finite"),
        ("--grace=inf", "lease and grace must be finite"),
        ("--queues=bad!name", "queue 'bad!name': "),
        (f"--queues={','.join(f'q{number}' for number in range(65))}", "at most 64 queues"),
        ("--health-port=65536", "health port 65536: "),
        ("--health-port=65535 --processes=2", "health port 65535: "),
    ],
)
def test_options_that_a_worker_could_not_keep_are_refused(words: str, wrong: str) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(NotConfiguredError, match=re.escape(wrong)):
        run_worker(lambda: App("redis://unused"), parser.parse_args(words.split()), ["not started"])


def test_worker_processes_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    app = App("redis://unused")

    def task_processes(*words: str) -> int:
        return worker_options(app, parser.parse_args(words)).processes

    assert [task_processes(), task_processes("-p3"), task_processes("-p9")] == [8, 2, 1]
    assert task_processes("-p4", "--task-processes=5") == 5


def test_a_worker_that_cannot_start_is_given_up_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE_S", 0.02)
    script = "import sys, time; time.sleep(60) if sys.argv[-1] == '--slot=0' else sys.exit(3)"

    keeping = supervisor.WorkerSupervisor([sys.executable, "-c", script], processes=2, grace_s=1)

    assert keeping.run() == 1


def test_a_supervisor_that_is_killed_takes_its_workers_along(place: Place) -> None:
    with place.started("worker", "tasks", "-q", "slow", "--processes", "2") as process:
        wait_for(lambda: len(place.workers()) == 2, "there are not two")
        pids = [worker.pid for worker in place.workers()]
        process.kill()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "they go on")


def test_the_health_endpoint_says_whether_it_takes_jobs(place: Place) -> None:
    port = _free_port()
    with place.started("worker", "tasks", "-q", "default", "--health-port", str(port)) as process:

        def status() -> int:
            with contextlib.suppress(httpx.HTTPError):
                return httpx.get(f"http://127.0.0.1:{port}/").status_code
            return 0

        wait_for(lambda: status() == 200, "it is not well")
        process.send_signal(signal.SIGTSTP)
        wait_for(lambda: status() == 503, "it takes jobs still")
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: status() == 200, "it did not resume")


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_terminal_is_given_no_orders_by_what_producers_wrote(place: Place) -> None:
    broker = place.app.broker
    nested = b"[" * 100_000
    for body in (b'{"task": "\x1b]0;owned\x07"}', '{"task": "\x9b2J\u202e"}'.encode(), nested, b'{"task":"a\\nERROR"}'):
        broker.run(broker.publish("odd", [body], PublishOptions()))

    table, text = place.run("jobs", "odd"), place.run("jobs", "odd", "--json")

    for shown in (table, text):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "[U+001B]]0;owned[U+0007]" in table
    ids = [one["job"] for one in json.loads(text)]
    assert json.loads(place.run("job", "odd", ids[2], "--json"))["body"] == nested.decode()
    assert "[U+001B]" in place.run("job", "odd", "\x1b[31m", status=1)
    with place.started("worker", "tasks", "-q", "odd", "--burst", stderr=subprocess.PIPE) as worker:
        log = worker.communicate(timeout=30)[1].decode()
    assert "[U+009B]2J[U+202E]" in log
    assert "task='a\\nERROR'" in log
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", log)


def test_a_listing_names_the_task_of_a_long_job(place: Place) -> None:
    name = "x" * 50_000
    place.app.broker.run(place.app.broker.publish("default", [b'{"args":[],"task":"late"}'], PublishOptions()))
    place.run("enqueue", "tasks.touch", name)

    listed = json.loads(place.run("jobs", "default", "--json"))

    assert [one["task"] for one in listed] == ["late", "tasks.touch"]
    assert len(listed[1]["body"]) < len(name), "only its beginning is listed"


def test_a_reader_that_has_read_enough_is_no_error(place: Place) -> None:
    bodies = [b"x" * 200] * 500
    place.app.broker.run(place.app.broker.publish("long", bodies, PublishOptions()))
    command = [sys.executable, "-m", "taskq", "jobs", "long", "--limit", "500"]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_other_commands_are_the_servers(place: Place) -> None:
    assert "runpump" in place.run("help")
    assert place.run("--version").startswith("taskq ")
    assert "worker" in place.run("--help")


def test_tokens_are_made_beside_the_server_and_nowhere_else(place: Place) -> None:
    place.env |= {"TASKQ_DATA_DIR": str(place.folder / "data"), "DATABASE_URL": ""}
    copy_bootstrapped(place.folder / "data")

    made = json.loads(place.run("token", "create", "shop", "--description", "orders", "--json"))

    (listed,) = json.loads(place.run("token", "list", "shop", "--json"))
    assert listed["public_id"] == made["public_id"]
    assert "server's database" in place.run("token", "list", "--url=https://taskq.example.com", status=1)
    place.env["TASKQ_DATA_DIR"] = str(place.folder / "none")
    assert "set DATABASE_URL, or TASKQ_DATA_DIR" in place.run("token", "list", status=1)
