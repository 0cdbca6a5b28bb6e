"""A Redis that takes connections and says nothing: pages say so before who waits gives up."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import open_engine

from .people import People
from .shop import AT, Shop
from .surveyor import Surveyor

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 3.0


@pytest.fixture
def silence(people: People, redis_server: EmbeddedRedis) -> Iterator[People]:
    """The pages have been looked at, so all connections are open; then the server stops."""
    engine = open_engine(redis_server.url)
    job_id = Shop(engine).publish(b"x")[0]
    Surveyor(engine).look()
    for path in ("/", AT, f"{AT}jobs/{job_id}/", "/dead/", "/consumers/"):
        assert people.alice.browser.get(path).status_code == 200, path
    assert redis_server.pid is not None
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        yield people
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)
        engine.close()


@pytest.mark.parametrize("path", [AT, f"{AT}now", f"{AT}?state=dead&error=x", f"{AT}charts/throughput", "/dead/"])
def test_a_page_of_jobs_is_503_within_three_seconds(path: str, silence: People) -> None:
    started = time.monotonic()

    answer = silence.alice.browser.get(path)

    took_s = time.monotonic() - started
    assert answer.status_code == 503
    assert "Redis does not answer" in answer.text
    assert took_s < PATIENCE_S


def test_of_an_act_that_was_not_answered_nobody_says_that_it_was_not_done(silence: People) -> None:
    answer = silence.alice.browser.post(f"{AT}pause")

    assert answer.status_code == 503
    assert "Whether this was done is not known" in answer.text


@pytest.mark.parametrize("path", ["/", "/queues/", "/activity/"])
def test_a_page_that_has_more_to_say_is_shown_within_three_seconds(path: str, silence: People) -> None:
    started = time.monotonic()

    answer = silence.alice.browser.get(path)

    assert answer.status_code == 200
    assert time.monotonic() - started < PATIENCE_S
