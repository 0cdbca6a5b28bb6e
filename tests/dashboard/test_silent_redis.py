"""A Redis that takes connections and says nothing: pages say so before who waits gives up."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, get_native_id
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from queues.embedded import EmbeddedRedis
from queues.engine import open_engine

from .people import People, Person
from .shop import AT, Shop
from .surveyor import Surveyor

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 3.0
OF_JOBS = (AT, f"{AT}now", f"{AT}?state=dead&error=x", f"{AT}charts/throughput", "/dead/", "/workers/")
OF_MORE = ("/", "/queues/", "/activity/")


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
        answers = look_at_all(visited.alice)

    for path in OF_JOBS:
        answer, _ = answers[path]
        assert answer.status_code == 503, path
        assert "Redis does not answer" in answer.text, path
    for path in OF_MORE:
        answer, _ = answers[path]
        assert answer.status_code == 200, path
    assert {path: waited_s for path, (_, waited_s) in answers.items() if waited_s >= PATIENCE_S} == {}


def test_of_an_act_that_was_not_answered_nobody_says_that_it_was_not_done(
    visited: People, redis_server: EmbeddedRedis
) -> None:
    with silence(redis_server):
        answer = visited.alice.browser.post(f"{AT}pause")

    assert answer.status_code == 503
    assert "It is not known whether the change was made" in answer.text
