"""`manage.py serve --workers 2`: both serve, nobody who waits is forgotten, and one that is killed is replaced."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import open_engine
from tests.http.service import Server, Site
from tests.http.test_presence import told_of
from tests.http.two_servers_connection import Answer, Wire, request
from tests.support.waiting import wait_until

WAITERS = 24
WORKER_DIGITS = 20
"""So many digits of a request id that the server chose are its worker's."""
WAKE_WITHIN_S = 2.0
REPLACED_WITHIN_S = 30.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory: Path = tmp_path_factory.mktemp("workers")
    with EmbeddedRedis(directory / "redis", persistent=False) as redis:
        site = Site(data_dir=directory, redis_url=redis.url)
        site.prepare()
        with site.serve(workers=2) as server:
            yield server


def ask(server: Server, line: str, body: bytes | None = None) -> bytes:
    method, rest = line.split(" ")
    headers = (("Host", "x"), ("X-Token", server.client.token))
    return request(f"{method} /api/{server.client.namespace}/{rest}", *headers, body=body)


def worker_of(answer: Answer) -> str:
    return answer.header("x-request-id")[:WORKER_DIGITS]


def workers_by_wire(server: Server, wires: list[Wire]) -> Counter[str]:
    """How many of the connections each worker has."""
    return Counter(worker_of(wire.call(ask(server, "GET nothing"))) for wire in wires)


def connect_to_both(server: Server, number: int) -> list[Wire]:
    """So many connections, of which each worker has at least a quarter."""
    wires: list[Wire] = []

    def enough() -> bool:
        while wires:
            wires.pop().hang_up()
        try:
            wires.extend(Wire(server.url) for _ in range(number))
            shares = workers_by_wire(server, wires)
        except ConnectionError:  # a worker has just been killed
            return False
        return len(shares) == 2 and min(shares.values()) >= number // 4

    wait_until(enough, or_fail="one worker gets all connections", timeout_s=REPLACED_WITHIN_S)
    return wires


def wait_until_all_wait(server: Server, queue: str, number: int) -> None:
    """Until so many are told of as waiting, which a server does every few seconds. What a worker that is killed has
    asked Redis for before would be carried out by a Redis that is slow after what others ask for meanwhile."""
    engine = open_engine(server.site.redis_url)
    try:
        wait_until(lambda: sum(one.waiting for one in told_of(engine, queue)) == number, or_fail="they do not wait")
    finally:
        engine.close()


def publishes(server: Server, queue: str) -> bool:
    """Whether it can. A connection that the killed worker should have accepted is reset: clients try again."""
    try:
        with Wire(server.url) as wire:
            return wire.call(ask(server, f"PUT {queue}", b"job")).status == 201
    except ConnectionError:
        return False


def hang_up(wires: list[Wire]) -> None:
    for wire in wires:
        wire.hang_up()


def test_both_workers_serve(server: Server) -> None:
    wires = connect_to_both(server, WAITERS)

    published = [wire.call(ask(server, "PUT shared", b"job")) for wire in wires]
    taken = [wire.call(ask(server, "GET shared")) for wire in reversed(wires)]

    assert {answer.status for answer in published} == {201}
    assert {answer.json["job_id"] for answer in taken} == {answer.json["job_id"] for answer in published}
    assert len({worker_of(answer) for answer in taken}) == 2
    hang_up(wires)


def test_jobs_that_come_one_by_one_reach_all_waiters_of_both_workers(server: Server) -> None:
    wires = connect_to_both(server, WAITERS)
    for wire in wires:
        wire.send(ask(server, "GET one-by-one?timeout=60"))

    served: Counter[str] = Counter()
    with selectors.DefaultSelector() as selector, Wire(server.url) as producer:
        for wire in wires:
            selector.register(wire, selectors.EVENT_READ, wire)
        for number in range(WAITERS):
            assert producer.call(ask(server, "PUT one-by-one", b"%d" % number)).status == 201
            ready = selector.select(WAKE_WITHIN_S)
            assert len(ready) == 1, f"{len(ready)} waiters were answered for job {number}"
            answer = ready[0][0].data.receive()
            assert answer.status == 200
            served[worker_of(answer)] += 1
            selector.unregister(ready[0][0].fileobj)

    assert sum(served.values()) == WAITERS
    assert len(served) == 2
    hang_up(wires)


def test_nobody_starves_who_waits_again_and_again(server: Server) -> None:
    """Who got a job goes to the end of its worker's line. Which worker is the quicker is left to chance."""
    wires = connect_to_both(server, WAITERS)
    consume = ask(server, "GET again?timeout=60")
    for wire in wires:
        wire.send(consume)

    got: Counter[int] = Counter()
    with selectors.DefaultSelector() as selector, Wire(server.url) as producer:
        for number, wire in enumerate(wires):
            selector.register(wire, selectors.EVENT_READ, number)
        deadline = time.monotonic() + 20
        jobs = 0
        while len(got) < WAITERS and time.monotonic() < deadline:
            assert producer.call(ask(server, "PUT again", b"job")).status == 201
            jobs += 1
            for key, _ in selector.select(WAKE_WITHIN_S):
                assert wires[key.data].receive().status == 200
                got[key.data] += 1
                wires[key.data].send(consume)

    assert len(got) == WAITERS, f"{WAITERS - len(got)} got none of {jobs} jobs"
    hang_up(wires)


def test_a_killed_worker_is_replaced_while_the_other_goes_on(server: Server) -> None:
    wires = connect_to_both(server, WAITERS)
    of_worker: dict[str, list[Wire]] = {}
    for wire in wires:
        of_worker.setdefault(worker_of(wire.call(ask(server, "GET nothing"))), []).append(wire)
    before = server.worker_pids()
    assert len(before) == len(of_worker) == 2
    for wire in wires:
        wire.send(ask(server, "GET after-kill?timeout=60"))
    wait_until_all_wait(server, "after-kill", len(wires))
    victim = min(before)

    os.kill(victim, signal.SIGKILL)

    with selectors.DefaultSelector() as selector:
        for worker, its_wires in of_worker.items():
            selector.register(its_wires[0], selectors.EVENT_READ, worker)
        ((cut_off, _),) = selector.select(WAKE_WITHIN_S)
    for wire in of_worker.pop(cut_off.data):
        with pytest.raises(ConnectionError):
            wire.receive()
    ((survivor, left),) = of_worker.items()
    for _ in left:
        wait_until(lambda: publishes(server, "after-kill"), or_fail="nothing can be published")
    answers = [wire.receive() for wire in left]
    assert {(answer.status, worker_of(answer)) for answer in answers} == {(200, survivor)}

    wait_until(
        lambda: len(server.worker_pids() - {victim}) == 2,
        or_fail="the worker is not replaced",
        timeout_s=REPLACED_WITHIN_S,
    )
    hang_up(wires)
    again = connect_to_both(server, WAITERS)
    now = set(workers_by_wire(server, again))
    assert survivor in now
    assert cut_off.data not in now
    hang_up(again)
