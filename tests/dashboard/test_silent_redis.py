"""A Redis that takes connections and says nothing: pages say so before who waits gives up."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier, get_native_id
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, open_engine
from queues.models import Pool
from queues.pools.ttl_cache import forget_recent

from .people import People, Person
from .shop import AT, Shop
from .surveyor import Surveyor

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 3.0
OF_JOBS = (AT, f"{AT}now", f"{AT}?state=dead&error=x", f"{AT}charts/throughput", "/dead/", "/workers/")
OF_MORE = ("/", "/queues/", "/activity/")
KEEP_NUMBERS = ("/", "/queues/", "/totals", "/overview/charts")


@contextmanager
def silence(redis_server: EmbeddedRedis) -> Iterator[None]:
    """The server stops, and goes on."""
    assert redis_server.pid is not None
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)


@pytest.fixture
def visited(people: People, redis_server: EmbeddedRedis) -> Iterator[People]:
    """The pages have been looked at, so all connections are open."""
    engine = open_engine(redis_server.url)
    job_id = Shop(engine).publish(b"x")[0]
    Surveyor(engine).look()
    for path in ("/", AT, f"{AT}jobs/{job_id}/", "/dead/", "/consumers/", "/workers/"):
        assert people.alice.browser.get(path).status_code == 200, path
    yield people
    engine.close()


def busy_s() -> float:
    """How long this thread has used a processor, or waited for one that others used."""
    figures = Path(f"/proc/self/task/{get_native_id()}/schedstat")
    if not figures.exists():  # not every kernel tells how long it waited
        return time.thread_time()
    used_ns, waited_ns, _ = figures.read_text().split()
    return (int(used_ns) + int(waited_ns)) / 1e9


def look_at_all(person: Person) -> dict[str, tuple[Any, float]]:
    """The answers of all pages, asked for at once in threads of their own, and how long each waited for anything but
    a processor: other programs on the machine must not make a page late."""
    paths = (*OF_JOBS, *OF_MORE)
    together = Barrier(len(paths))

    def look(path: str) -> tuple[Any, float]:
        browser = Client()
        browser.cookies = person.browser.cookies
        together.wait()
        started = time.monotonic() - busy_s()
        try:
            return browser.get(path), time.monotonic() - busy_s() - started
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(paths)) as threads:
        return dict(zip(paths, threads.map(look, paths), strict=True))


def test_every_page_is_answered_within_three_seconds(visited: People, redis_server: EmbeddedRedis) -> None:
    """All at once, for each waits as long as it may."""
    usual = look_at_all(visited.alice)
    assert {answer.status_code for answer, _ in usual.values()} == {200}

    with silence(redis_server):
        forget_recent()  # a survey that is two seconds old is still shown
        answers = look_at_all(visited.alice)

    for path in OF_JOBS:
        answer, _ = answers[path]
        assert answer.status_code == 503, path
        assert "Redis does not answer" in answer.text, path
    for path in OF_MORE:
        answer, _ = answers[path]
        assert answer.status_code == 200, path
    for path in (*OF_MORE, "/dead/", "/workers/"):
        assert "No answer from Redis since" in answers[path][0].text, path
    # On a busy machine they wait for each other, too, as they do for a Redis that answers.
    waited_s = {path: answers[path][1] - usual[path][1] for path in answers}
    assert {path: seconds for path, seconds in waited_s.items() if seconds >= PATIENCE_S} == {}


def test_of_an_act_that_was_not_answered_nobody_says_that_it_was_not_done(
    visited: People, redis_server: EmbeddedRedis
) -> None:
    with silence(redis_server):
        answer = visited.alice.browser.post(f"{AT}pause")

    assert answer.status_code == 503
    assert "It is not known whether the change was made" in answer.text


def test_an_open_page_is_told_since_when_there_is_no_answer_and_keeps_its_numbers(
    visited: People, redis_server: EmbeddedRedis
) -> None:
    alice, stranger = visited.alice.browser, visited.dave.browser
    assert alice.get("/answering").status_code == 204
    before = timezone.now()

    with silence(redis_server):
        forget_recent()
        told = alice.get("/answering")
        others = stranger.get("/answering")
        live = {path: alice.get(path, headers={"X-Live": "1"}) for path in KEEP_NUMBERS}
    forget_recent()
    after = alice.get("/answering")

    assert told.status_code == 200
    found = re.search(r'No answer from Redis since <time datetime="([^"]+)"', told.text)
    assert found is not None
    assert abs(before - datetime.fromisoformat(found[1])) < timedelta(seconds=1.5), "when it answered last"
    assert others.status_code == 204, "of pools that they do not see nobody is told"
    assert {path: answer.status_code for path, answer in live.items()} == dict.fromkeys(KEEP_NUMBERS, 503)
    assert after.status_code == 204


def test_figures_of_pools_that_answer_are_shown_beside_one_that_does_not(visited: People, engine: Engine) -> None:
    root = visited.root.browser
    Pool.objects.create(name="away", url="redis://127.0.0.1:1/0")
    forget_recent()

    told, strip = root.get("/answering"), root.get("/totals", headers={"X-Live": "1"})

    assert "No answer from Redis of pool away since" in told.text
    assert strip.status_code == 200
    assert "Excludes pool away (unreachable)" in strip.text
