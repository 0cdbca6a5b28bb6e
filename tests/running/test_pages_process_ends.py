"""The pages process dies, or everything stops: clients of the API feel nothing, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from django.urls import clear_url_caches, get_resolver

from queues.server import pages_process
from queues.server.applications import Site as DjangoSite
from queues.server.applications import make_api_middleware
from queues.server.connection_sender import PATIENCE_S
from queues.server.server import SOCKET
from tests.http.service import START_TIMEOUT_S, Server, Site, open_site
from tests.http.two_servers_connection import Wire, request
from tests.running.processes import MARK, Family
from tests.support.python_path import python_path
from tests.support.waiting import wait_until

PRODUCERS = 4
PUBLISHED_MEANWHILE = 200
STOP_WITHIN_S = 20
NAME = "servepages"
LISTENING = "00010000"
"""The flags of such a socket in /proc/net/unix."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("pages-end")) as site:
        yield site


@contextmanager
def marked() -> Iterator[Family]:
    """All that is started in here, however distantly; none of it is left in the end."""
    family = Family()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, family.mark)
        yield family
    family.wait_gone()


@pytest.fixture
def family() -> Iterator[Family]:
    with marked() as family:
        yield family


def page(server: Server) -> int:
    return server.client.call("GET", "/login/").status


def listeners(family: Family) -> set[str]:
    """Inodes of the sockets on which pages processes take connections over; of one that has ended there is none."""
    directories = {line.split()[-1] for line in family.members().values() if NAME in line}
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    paths = {f"{directory}/{SOCKET}" for directory in directories}
    return {row[6] for row in rows if row[-1] in paths and row[3] == LISTENING}


def wait_out_the_restart(server: Server, family: Family, before: set[str]) -> None:
    """A client that comes while there is none waits for the next one, and is refused only if that takes too long."""
    with ThreadPoolExecutor(1) as threads:
        began = monotonic()
        asked = threads.submit(page, server)
        wait_until(lambda: listeners(family) - before, or_fail="no new one", timeout_s=START_TIMEOUT_S)
        took_s = monotonic() - began
        assert asked.result() == 200 or took_s > PATIENCE_S / 2
    wait_until(lambda: page(server) == 200, or_fail="no page of the new one", timeout_s=START_TIMEOUT_S)


@contextmanager
def serve(site: Site, family: Family, *, workers: int = 1) -> Iterator[tuple[Server, int]]:
    """A server, and the id of its pages process."""
    with site.serve(workers=workers, pages_on_demand=False) as server:
        server.wait_for_pages()
        yield server, family.pid_of(NAME)


@contextmanager
def publishing(server: Server) -> Iterator[list[object]]:
    """Some publish all the while: the statuses that they got, and their errors."""
    got: list[object] = []
    over = threading.Event()

    def publish() -> None:
        while not over.is_set():
            try:
                got.append(server.client.call("PUT", "/api/{ns}/meanwhile", b"job").status)
            except (OSError, HTTPException) as error:
                got.append(error)

    producers = [threading.Thread(target=publish) for _ in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    try:
        yield got
    finally:
        over.set()
        for producer in producers:
            producer.join()


@pytest.mark.parametrize(("workers", "number"), [(1, signal.SIGTERM), (2, signal.SIGKILL)], ids=["1-TERM", "2-KILL"])
def test_one_that_ends_is_replaced_and_the_api_feels_nothing_and_its_successor_goes_with_the_server(
    prepared: Site, family: Family, workers: int, number: signal.Signals
) -> None:
    with serve(prepared, family, workers=workers) as (server, pages):
        with publishing(server) as got:
            wait_until(lambda: len(got) > PUBLISHED_MEANWHILE, or_fail="hardly anything is published")
            listening = listeners(family)
            assert listening

            os.kill(pages, number)

            wait_until(lambda: pages not in family.members(), or_fail="it has not ended")
            before = len(got)
            assert server.client.call("GET", "/readyz").status == 200
            wait_out_the_restart(server, family, listening)
            assert family.pid_of(NAME) != pages
            wait_until(lambda: len(got) > before + PUBLISHED_MEANWHILE, or_fail="hardly anything is published")
        assert set(got) == {201}
        assert len(server.worker_pids()) == (workers if workers > 1 else 0)

        server.process.kill()
        server.process.wait()

        family.wait_gone()  # its workers, too


def test_what_was_asked_of_it_when_it_is_killed_and_when_it_hangs_and_when_all_ends(
    prepared: Site, family: Family
) -> None:
    with serve(prepared, family) as (server, _):
        _assert_lost_form_is_not_sent_to_the_next_one(server, family)
        _assert_everything_else_answers_while_it_does_not(server, family)
        _assert_page_is_answered_before_all_ends(server, family)


def _assert_lost_form_is_not_sent_to_the_next_one(server: Server, family: Family) -> None:
    with Wire(server.url) as wire:
        wire.send(request("POST /login/", ("Host", "localhost"), ("Expect", "100-continue"), ("Content-Length", "10")))
        assert wire.receive_head() == 100
        listening = listeners(family)

        os.kill(family.pid_of(NAME), signal.SIGKILL)

        assert wire.is_closed()
        wait_out_the_restart(server, family, listening)


def _assert_everything_else_answers_while_it_does_not(server: Server, family: Family) -> None:
    pages = family.pid_of(NAME)
    with Wire(server.url) as wire:
        os.kill(pages, signal.SIGSTOP)
        try:
            wire.send(request("GET /login/", ("Host", "localhost")))
            job_id = server.client.publish("beside")
            assert server.client.take("beside")["job_id"] == job_id
            assert server.client.call("GET", "/api/{ns}/beside/size").status == 200
            assert server.client.call("GET", "/readyz").status == 200
        finally:
            os.kill(pages, signal.SIGCONT)
        assert wire.receive().status == 200


def test_a_page_that_was_asked_for_is_answered_before_several_workers_end(prepared: Site, family: Family) -> None:
    with serve(prepared, family, workers=2) as (server, _):
        _assert_page_is_answered_before_all_ends(server, family)


def _assert_page_is_answered_before_all_ends(server: Server, family: Family) -> None:
    kind = ("Content-Type", "application/x-www-form-urlencoded")
    begun = ("Expect", "100-continue")
    with Wire(server.url) as wire, Wire(server.url) as idle:
        idle.call(request("GET /healthz", ("Host", "localhost")))
        wire.send(request("POST /login/", ("Host", "localhost"), kind, begun, ("Content-Length", "4")))
        assert wire.receive_head() == 100

        server.process.send_signal(signal.SIGTERM)
        assert idle.is_closed(), "the stop begins with those who want nothing"
        wire.send(b"a=bc")

        assert wire.receive().status == 403
        assert server.process.wait(STOP_WITHIN_S) == 0
        family.wait_gone()
        assert "Traceback" not in server.log.read_text()


def test_one_whose_threads_are_all_busy_for_long_beats_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its event loop goes on, but no page is made."""
    is_free = asyncio.Event()
    site: Any = SimpleNamespace(pages=SimpleNamespace(wait_for_turn=is_free.wait, on_stuck=None))

    async def scenario() -> None:
        server = pages_process._Server(uvicorn.Config("unused"), Path("unused"), site)
        assert server.is_well()
        monkeypatch.setattr(pages_process, "THREADS_BUSY_MAX_S", 0.0)
        assert not server.is_well()
        is_free.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        monkeypatch.setattr(pages_process, "THREADS_BUSY_MAX_S", 60.0)
        assert server.is_well()

    asyncio.run(scenario())


@pytest.mark.parametrize("setting", ["TASKQ_PAGES_PROCESS", "TASKQ_FAST_PATH"])
def test_without_it_the_worker_serves_pages(
    prepared: Site, family: Family, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, "0")
    with prepared.serve(pages_on_demand=False) as server:
        assert page(server) == 200
        assert server.client.publish("alone")
        assert not [line for line in family.members().values() if NAME in line]


def test_one_that_cannot_import_its_views_says_so_in_the_log_at_once(
    prepared: Site, family: Family, tmp_path: Path
) -> None:
    (tmp_path / "broken_settings.py").write_text(
        "from tests.http.served_settings import *\nROOT_URLCONF = 'no_such_views'\n"
    )
    broken: dict[str, Any] = {"DJANGO_SETTINGS_MODULE": "broken_settings", "PYTHONPATH": python_path(tmp_path)}
    with prepared.serve(pages_on_demand=False, **broken) as server:
        wait_until(lambda: '"pages.restart"' in server.log.read_text(), or_fail="it lives", timeout_s=START_TIMEOUT_S)

        assert "No module named 'no_such_views'" in server.log.read_text()
        assert server.client.publish("without-pages")


@pytest.mark.parametrize("has_fast_path", [True, False])
def test_no_request_has_to_import_views(settings: Any, has_fast_path: bool) -> None:
    settings.TASKQ_FAST_PATH = has_fast_path
    clear_url_caches()

    make_api_middleware(DjangoSite())

    assert "url_patterns" in vars(get_resolver())
    settings.ROOT_URLCONF = "no_such_views"
    with pytest.raises(ModuleNotFoundError, match="no_such_views"):
        make_api_middleware(DjangoSite())
