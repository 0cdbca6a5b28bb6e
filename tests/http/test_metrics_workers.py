"""`/metrics` under several workers: whichever is asked answers for all, those that died included."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.http.service import Server, open_site
from tests.support.exposition import Family, Labels, counters, read_page
from tests.support.waiting import wait_until

JOBS = 120


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with open_site(tmp_path_factory.mktemp("workers")) as site, site.serve(workers=2) as server:
        yield server


def scrape(server: Server) -> dict[str, Family]:
    reply = server.staff.call("GET", "/metrics")
    assert reply.status == 200, reply
    return read_page(reply.body.decode())


def workers_of(server: Server) -> list[int]:
    """Process ids of the server's workers."""
    return sorted(server.worker_pids())


def published(page: dict[str, Family]) -> float:
    return sum(page["taskq_jobs_published_total"].values())


def use_both(server: Server) -> None:
    """Each request comes by a connection of its own, so both workers get some."""
    for number in range(JOBS):
        server.client.publish(f"q{number % 5}")


def test_both_workers_count_and_each_answers_for_both(two_workers: Server) -> None:
    before = published(settled(two_workers))
    use_both(two_workers)

    settled(two_workers)
    for _ in range(10):  # whichever of them is asked
        page = scrape(two_workers)
        assert published(page) == before + JOBS
        assert page["taskq_workers"].value() == 2
        assert {dict(labels)["queue"] for _, labels in page["taskq_jobs_published_total"].samples} == {
            *(f"q{number}" for number in range(5)),
            "other",
        }


def test_pages_never_fall_behind_earlier_ones_whichever_worker_writes_them(two_workers: Server) -> None:
    before: dict[tuple[str, Labels], float] = {}
    for number in range(30):
        two_workers.client.publish(f"q{number % 5}")
        after = counters(scrape(two_workers))
        assert not {key: value for key, value in before.items() if after[key] < value}
        before = after


def test_what_a_killed_worker_counted_stays(two_workers: Server) -> None:
    use_both(two_workers)
    wait_until(lambda: scrape(two_workers)["taskq_workers"].value() == 2, or_fail="not both are known")
    victim = workers_of(two_workers)[0]
    before = counters(settled(two_workers))

    os.kill(victim, signal.SIGKILL)
    wait_until(
        lambda: victim not in workers_of(two_workers) and len(workers_of(two_workers)) == 2,
        or_fail="the worker is not replaced",
        timeout_s=30,
    )
    wait_until(two_workers.answers, or_fail="nobody answers")
    for _ in range(20):
        after = counters(scrape(two_workers))
        fallen = {key: (value, after.get(key)) for key, value in before.items() if after.get(key, -1) < value}
        assert not fallen


def settled(server: Server) -> dict[str, Family]:
    """A page that holds all that was counted of jobs: pages in a row, by either worker, say the same."""

    def page() -> dict[str, Family]:
        pages = [scrape(server) for _ in range(8)]
        jobs = [page["taskq_jobs_published_total"].samples for page in pages]
        return pages[0] if all(one == jobs[0] for one in jobs) else {}

    return wait_until(page, or_fail="never settles")
