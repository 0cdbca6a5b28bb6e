"""The promise as a whole: real processes, thousands of jobs, parts that are killed; nothing is lost, nothing early."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.running import consumer
from tests.running.services import Service, start_service, stop_service

JOBS = 5_000
BULK = 100
CONSUMERS = 4
TIMEOUT_S = 90.0
QUEUE = "acceptance"
DELAYS_S = (0.0, 0.3, 1.0, 1.7, 2.5, 5.0)
TRIES = (1, 2, 3)
URGENT = [(1.0, 2, 100), (1.7, 1, 100), (2.5, 3, 100), (5.0, 2, 100)]
"""Delay, tries, priority. These are delivered as soon as they are ready: the others wait so long for their turn that
they could hardly come too early.
"""

WHAT_TO_DO = ["ok"] * 14 + ["fail once"] * 2 + ["drop once"] + ["fail"] * 2 + ["drop"]
KILL_EVERY_S = 0.4


@dataclass(frozen=True, slots=True)
class Delivery:
    job_id: str
    attempt: int
    elapsed_ms: int
    delay_ms: int


class Crowd:
    """The consumers; one of them can be killed and replaced."""

    def __init__(self, service: Service, log: Path) -> None:
        said = service.said
        program = str(Path(consumer.__file__))
        self._command = [sys.executable, "-S", program, service.address, said["token"], QUEUE, str(log)]
        self._log = log
        self._members = [self._start() for _ in range(CONSUMERS)]

    def replace_one(self) -> None:
        self._members[0].kill()
        self._members[0].wait()
        self._members[0] = self._start()

    def stop(self) -> None:
        for member in self._members:
            member.kill()
            member.wait()

    def deliveries(self) -> list[Delivery]:
        """What they got, in the order in which they noted it."""
        fields = (line.split() for line in self._log.read_text().splitlines())
        return [Delivery(job_id, int(attempt), int(ms), int(delay_ms)) for job_id, attempt, ms, delay_ms in fields]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = start_service(tmp_path / "data", "--no-pusher", "--workers=2", pages_on_demand=True)
    yield service
    stop_service(service)
    service.family.wait_gone()


def test_each_of_thousands_of_jobs_is_acked_or_dead_and_none_is_early(service: Service, tmp_path: Path) -> None:
    began = time.monotonic()
    crowd = Crowd(service, tmp_path / "deliveries")
    try:
        published = publish_all(service)
        kills = kill_until_done(service, crowd, deadline=began + TIMEOUT_S)
    finally:
        crowd.stop()

    completed, dead = (set(ids_of(service, state)) for state in ("completed", "dead"))
    assert len(published) == JOBS
    assert completed | dead == published.keys()
    assert completed & dead == set()
    deliveries = crowd.deliveries()
    assert_not_early(deliveries)
    assert_tries_kept(deliveries, published)
    assert_ends_as_meant(published, dead, kills)


def publish_all(service: Service) -> dict[str, dict[str, Any]]:
    """Job id → body. A bulk shares its options, so the jobs of a kind go together; the kinds come in a random order."""
    usual = itertools.cycle(itertools.product(DELAYS_S, TRIES, [0]))
    kinds = URGENT + list(itertools.islice(usual, JOBS // BULK - len(URGENT)))
    random.shuffle(kinds)
    published: dict[str, dict[str, Any]] = {}
    for delay_s, tries, priority in kinds:
        bodies = [
            {"delay_ms": int(delay_s * 1000), "tries": tries, "do": random.choice(WHAT_TO_DO)} for _ in range(BULK)
        ]
        query = f"delay={delay_s}&tries={tries}&priority={priority}&retention=3600"
        status, answer = service.call("PUT", f"/api/demo/{QUEUE}/bulk?{query}", json.dumps(bodies))
        assert status == 201, answer
        published |= dict(zip(answer["job_ids"], bodies, strict=True))
    return published


def kill_until_done(service: Service, crowd: Crowd, *, deadline: float) -> int:
    """Kill a consumer again and again, the pump and the web server once, until no job is left. How many were killed."""
    others = iter([service.family.pid_of("runpump"), service.family.pid_of(" serve ")])
    kills = 0
    while not is_done(service):
        assert time.monotonic() < deadline, f"not done: {service.call('GET', f'/api/demo/{QUEUE}/stats')}"
        crowd.replace_one()
        kills += 1
        if kills in (4, 10):
            os.kill(next(others), signal.SIGKILL)
            kills += CONSUMERS
        time.sleep(KILL_EVERY_S)  # not to wait for anything: it is the rhythm of the killing
    assert next(others, None) is None, "done before everything was killed: give it more to do"
    return kills


def is_done(service: Service) -> bool:
    status, counts = service.call("GET", f"/api/demo/{QUEUE}/stats")
    return status == 200 and sum(counts[state] for state in ("ready", "delayed", "retry", "working")) == 0


def ids_of(service: Service, state: str) -> Iterator[str]:
    after = ""
    while True:
        query = f"state={state}&limit=1000" + (f"&after={quote(after)}" if after else "")
        status, page = service.call("GET", f"/api/demo/{QUEUE}/jobs?{query}")
        assert status == 200, page
        yield from (job["job_id"] for job in page["jobs"])
        after = page["after"]
        if not after:
            return


def assert_not_early(deliveries: list[Delivery]) -> None:
    assert [each for each in deliveries if each.elapsed_ms < each.delay_ms] == []


def assert_tries_kept(deliveries: list[Delivery], published: dict[str, dict[str, Any]]) -> None:
    """Nobody got a job more often than its tries allow, and no attempt was given to two."""
    assert [each for each in deliveries if each.attempt > published[each.job_id]["tries"]] == []
    twice = [key for key, times in Counter((each.job_id, each.attempt) for each in deliveries).items() if times > 1]
    assert twice == []


def assert_ends_as_meant(published: dict[str, dict[str, Any]], dead: set[str], kills: int) -> None:
    """What always fails is dead; of the rest only those that a killed consumer or server used up a try of may be."""
    hopeless = {
        job_id
        for job_id, body in published.items()
        if body["do"] in ("fail", "drop") or (body["do"].endswith("once") and body["tries"] == 1)
    }
    assert hopeless <= dead
    assert len(dead - hopeless) <= kills * consumer.BATCH
