"""A server and pumps that get SIGKILL between a job's end and the relay to its dependants: the next pump relays."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.servers import free_port
from queues.engine import (
    Dependency,
    DependencyFailure,
    Engine,
    JobState,
    PublishOptions,
    ack,
    consume,
    fail,
    open_engine,
    publish,
    stats,
)
from queues.engine.keys import QueueKeys
from tests.http.service import ACCOUNT_FILE
from tests.running.conftest import Site
from tests.running.processes import ROOT, run_manage
from tests.support.waiting import wait_until

FIRSTS = 40
"""Jobs that others depend on: more than one look at a partition's messages finds."""

STEPS_MAX = 100


class Shop:
    """Jobs that depend on each other. While `is_silent`, callers tell other partitions nothing of what they did."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = site.redis.url
        self.engine = site.engine()
        self.is_silent = False
        carry = Engine._relay
        monkeypatch.setattr(Engine, "_relay", lambda *args: None if self.is_silent else carry(*args))

    def put(self, queue: str, jobs: int, **options: Any) -> tuple[str, ...]:
        bodies = [b"x"] * jobs
        return tuple(self.engine.run(publish(self.queue(queue), bodies, PublishOptions(ttl_ms=0, **options))).job_ids)

    def put_after(self, queue: str, jobs: int, firsts: Sequence[str], of: str = "firsts", **options: Any) -> set[str]:
        needed = tuple(Dependency(queue=of, job_id=first) for first in firsts)
        return set(self.put(queue, jobs, depends_on=needed, **options))

    def queue(self, name: str) -> QueueKeys:
        return self.engine.queue("demo", name)

    def take(self, name: str) -> list[str]:
        jobs = self.engine.run(consume(self.queue(name), ttr_ms=600_000, count=1_000)).jobs
        assert {job.attempt for job in jobs} <= {1}
        return [job.job_id for job in jobs]

    def count(self, name: str, state: JobState) -> int:
        return int(self.engine.run(stats(self.queue(name))).counts[state])

    def left(self) -> list[bytes]:
        """What dependencies leave behind."""
        names = (b":outgoing", b":waits", b":dependants", b":blocked")
        return sorted(key for key in self.engine.client.scan_iter(count=1_000) if key.endswith(names))

    def begin(self) -> dict[str, set[str]]:
        """Jobs have ended, and nobody was told. Those that are to be ready in the end, by their queues."""
        self.engine.client.flushdb()
        self.engine.close()
        self.engine = open_engine(self.url)
        self.is_silent = False
        firsts = self.put("firsts", FIRSTS)
        (doomed,) = self.put("doomed", 1)
        wanted = {"all": self.put_after("all", 1, firsts)}
        for number, first in enumerate(firsts):
            wanted.setdefault(f"after-{number % 4}", set()).update(self.put_after(f"after-{number % 4}", 2, [first]))
        self.put_after("doomed-too", 2, [doomed], of="doomed", on_dependency_failure=DependencyFailure.FAIL)
        self.is_silent = True
        wanted["late"] = self.put_after("late", 2, firsts[: FIRSTS // 2])
        assert set(self.take("firsts")) == set(firsts)
        assert self.take("doomed") == [doomed]
        self.engine.run(ack(self.queue("firsts"), firsts))
        self.engine.run(fail(self.queue("doomed"), doomed, dead=True))
        return wanted


@pytest.fixture
def shop(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    shop = Shop(site, monkeypatch)
    yield shop
    shop.engine.close()


@pytest.fixture
def pump(site: Site) -> Iterator[Callable[[str, int], int]]:
    """Runs a pump that dies before or after that step of a relay; its exit status."""
    maker = subprocess.Popen(
        [sys.executable, "-m", "tests.running.relayer"],
        cwd=ROOT,
        env=site.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(moment: str, step: int) -> int:
        assert maker.stdin is not None
        assert maker.stdout is not None
        print(moment, step, file=maker.stdin, flush=True)
        return int(maker.stdout.readline())

    yield run
    maker.communicate()


def test_wherever_a_pump_is_killed_the_next_one_frees_each_dependant_once(
    shop: Shop, pump: Callable[[str, int], int]
) -> None:
    """Killed before a later step, it leaves what it leaves when it is killed after the step before that."""
    killed = 0
    for moment, step in [("before", 1), *(("after", number) for number in range(1, STEPS_MAX))]:
        wanted = shop.begin()
        status = pump(moment, step)
        killed += status == -signal.SIGKILL

        assert pump("never", 0) == 0

        assert shop.left() == [], step
        assert shop.count("doomed-too", JobState.DEAD) == 2, step
        for name, jobs in wanted.items():
            taken = shop.take(name)
            assert len(taken) == len(jobs), (step, name)
            assert set(taken) == jobs, (step, name)
        if status == 0:
            break
    assert status == 0, "there are more steps than the test goes to"
    assert killed > 10


def test_a_server_that_was_killed_between_ack_and_relay_costs_one_tick(
    shop: Shop, site: Site, start: Callable[..., subprocess.Popen[str]]
) -> None:
    (first,) = shop.put("firsts", 1)
    wanted = {name: shop.put_after(name, 100, [first]) for name in ("after-1", "after-2", "after-3")}
    assert shop.take("firsts") == [first]
    port = free_port()
    site.env["DJANGO_SETTINGS_MODULE"] = "tests.running.dying_settings"
    server = start("serve", "--port", str(port))
    wait_until(lambda: answer(site, port, "GET", "/healthz") == 200, or_fail="the server does not start", timeout_s=60)

    assert answer(site, port, "DELETE", f"/api/demo/firsts/job/{first}") == 0

    assert server.wait(30) == -signal.SIGKILL
    assert sum(shop.count("firsts", state) for state in JobState) == 0, "it was acked"
    assert [shop.count(name, JobState.BLOCKED) for name in wanted] == [100] * 3
    pump = run_manage("runpump", "--once", env=site.env | {"DJANGO_SETTINGS_MODULE": "taskq_site.settings"})
    assert "default relay: queues=0 jobs=300 dead=0" in pump.stdout
    assert {name: set(shop.take(name)) for name in wanted} == wanted
    assert shop.left() == []


def answer(site: Site, port: int, method: str, path: str) -> int:
    """Status of a request with the demo token; 0: there is no answer."""
    account = json.loads((Path(site.env["TASKQ_DATA_DIR"]) / ACCOUNT_FILE).read_text())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers={"X-Token": account["token"]})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
