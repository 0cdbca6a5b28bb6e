"""How a connection gets from a worker to the pages process: from which byte on, to whom, and when not."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState

from queues.server import connection_sender, pages_process
from queues.server.connection import Connection
from queues.server.connection_sender import HEAD, ConnectionSender, HandOverReply
from queues.server.error_pages import BUSY, STARTING, answer_error
from queues.server.exchange import Exchange
from queues.server.pages_process import ConnectionReceiver, PagesConnection
from queues.server.reader import Reader
from queues.server.request_head import UNKNOWN_BEGINNING
from tests.http.two_servers_connection import request
from tests.support.loops import run_async
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

PAGE = request("GET /login/", ("Host", "localhost"))
DATA = b"GET / HTTP/1.1\r\n\r\n"
ADDRESS = "203.0.113.7"

Take = Callable[[socket.socket], None]


# From which byte on.


class Worker(Reader):
    """Serves what is below /api; keeps what it would hand over, or the reason for which it refuses."""

    def __init__(self) -> None:
        super().__init__(asyncio.new_event_loop())
        self.serves = lambda scope: scope["path"].startswith("/api/")
        self.taken = 0
        self.handed: bytes | None = None
        self.refused: Any = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.close()

    def take_up(self, scope: dict[str, Any], keep_alive: bool) -> Exchange:
        self.taken += 1
        return Exchange(self, scope, keep_alive)  # type: ignore[arg-type]  # of which it needs `pause_reading`

    def pause_reading(self) -> None:
        """Nobody takes the bodies."""

    def latest(self) -> Exchange | None:
        return None

    def is_crowded(self) -> bool:
        return self.handed is not None or self.refused is not None

    def hand_over(self, scope: dict[str, Any], data: bytes) -> None:
        self.handed = self.held = data

    def refuse(self, reason: Any) -> None:
        self.refused = reason


def api(body: bytes, chunk: int) -> bytes:
    return request("PUT /api/ns/q", body=body, chunk=chunk)


bodies = st.integers(0, 9).map(lambda times: PAGE[:30] * times)
requests_before = st.lists(st.builds(api, bodies, st.just(0)), max_size=6).map(b"".join)
cuts = st.lists(st.integers(1, 400), max_size=40)


def feed(worker: Worker, data: bytes, cuts: list[int]) -> bytes:
    """Feed it in pieces that end at `cuts`, as long as it reads; the bytes that it has read."""
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        if worker.is_crowded():
            return data[:start]
        worker.data_received(data[start:end])
    return data


@given(before=requests_before, behind=st.binary(max_size=60), cuts=cuts)
def test_a_request_for_a_page_is_handed_over_from_its_first_byte_on(
    before: bytes, behind: bytes, cuts: list[int]
) -> None:
    data = before + PAGE + behind
    with Worker() as worker:
        read = feed(worker, data, sorted({cut for cut in cuts if cut < len(data)}))

        assert worker.refused is None
        assert worker.taken == before.count(b"PUT /api/")
        assert worker.held == data[len(before) : len(read)]


@given(before=requests_before, chunk=st.integers(1, 40), cuts=cuts)
def test_behind_a_chunked_body_it_is_handed_over_or_refused_but_never_cut(
    before: bytes, chunk: int, cuts: list[int]
) -> None:
    start = before + api(PAGE * 3, chunk)
    data = start + PAGE
    with Worker() as worker:
        read = feed(worker, data, sorted({cut for cut in cuts if cut < len(data)}))

        if worker.refused is None:
            assert worker.held == data[len(start) : len(read)]
        else:
            assert worker.refused == UNKNOWN_BEGINNING
            assert any(len(before) < cut < len(start) for cut in cuts), "all of it came at once"


def test_a_long_body_before_it_is_read_to_its_end() -> None:
    start = api(PAGE * 10_000, 0)
    with Worker() as worker:
        worker.data_received(start + PAGE)

        assert worker.held == PAGE


def test_behind_a_request_for_another_protocol_it_is_handed_over() -> None:
    upgrade = request("GET /api/ns/q", ("Connection", "Upgrade"), ("Upgrade", "h2c"))
    with Worker() as worker:
        worker.data_received(upgrade + PAGE)

        assert (worker.taken, worker.held) == (1, PAGE)


def test_heads_that_end_in_the_middle_of_each_piece_are_not_kept_for_ever() -> None:
    piece = api(b"", 0) * 100
    with Worker() as worker:
        worker.data_received(piece[:10])
        for _ in range(100):
            worker.data_received(piece[10:] + piece[:10])
        assert len(worker._early) < 3 * 65_536

        worker.data_received(piece[10:] + PAGE)

        assert worker.held == PAGE


# To whom.


@pytest.fixture
def path() -> Iterator[Path]:
    """Short enough for a socket."""
    with TemporaryDirectory() as name:
        yield Path(name) / "pages.sock"


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's end of a connection, and the client's."""
    server, client = socket.socketpair()
    with server, client:
        yield server, client


@contextmanager
def running_pages_process(path: Path, take: Take) -> Iterator[None]:
    """One that does `take` with each worker that connects."""
    path.unlink(missing_ok=True)
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(0.02)

        def accept() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    channel, _ = listener.accept()
                    with channel:
                        take(channel)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def take_and_answer(channel: socket.socket) -> None:
    """Confirm, and write to the client what came with its connection."""
    message, descriptors, _, _ = socket.recv_fds(channel, 65_536, 1)
    if not message:
        return  # somebody only looked whether there is a process
    with socket.socket(fileno=descriptors[0]) as client:
        channel.send(HandOverReply.TAKEN.value)
        client.sendall(message[HEAD.size :])


async def hand_over(pages: ConnectionSender, server: socket.socket, *, address: str = ADDRESS) -> HandOverReply:
    return await pages.hand_over(server, DATA, address=address, is_api=False)


def test_the_other_process_gets_the_connection_with_what_was_read_of_it(path: Path) -> None:
    with connected() as (server, client), running_pages_process(path, take_and_answer):
        assert run_async(hand_over(ConnectionSender(path), server)) is HandOverReply.TAKEN
        server.close()

        assert client.makefile("rb").read() == DATA


def test_one_that_dies_before_it_confirms_has_not_got_it_and_the_next_one_gets_it(path: Path) -> None:
    deaths: list[bytes] = []

    def die(channel: socket.socket) -> None:
        message, descriptors, _, _ = socket.recv_fds(channel, 65_536, 1)
        for descriptor in descriptors:
            os.close(descriptor)
        deaths.append(message)

    def die_once(channel: socket.socket) -> None:
        (take_and_answer if any(deaths) else die)(channel)

    with connected() as (server, client), running_pages_process(path, die_once):
        assert run_async(hand_over(ConnectionSender(path), server)) is HandOverReply.TAKEN
        server.close()

        assert deaths[0][HEAD.size :] == DATA
        assert client.makefile("rb").read() == DATA, "once"


def test_one_that_hangs_cannot_confirm_when_it_is_too_late(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(connection_sender, "PATIENCE_S", 0.2)
    given_up = threading.Event()
    too_late: list[OSError] = []

    def hang(channel: socket.socket) -> None:
        given_up.wait()
        try:
            take_and_answer(channel)
        except OSError as error:
            too_late.append(error)

    with connected() as (server, client), running_pages_process(path, hang):
        assert run_async(hand_over(ConnectionSender(path), server)) is HandOverReply.AWAY
        given_up.set()
        wait_until(lambda: too_late, or_fail="it could confirm")
        server.close()

        assert client.recv(100) == b"", "it was served all the same"


def test_all_that_wait_for_a_process_that_starts_get_it_and_what_is_too_much_for_one_address_does_not_wait(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    most = 5
    monkeypatch.setattr(connection_sender, "PAGE_SLOTS_PER_ADDRESS", most)

    begun = threading.Event()

    async def wait() -> list[HandOverReply]:
        pages = ConnectionSender(path)
        passing = [asyncio.create_task(hand_over(pages, server)) for _ in range(most + 2)]
        other = asyncio.create_task(hand_over(pages, server, address="203.0.113.8"))
        refused = await asyncio.gather(*passing[most:])
        begun.set()
        return [*await asyncio.gather(*passing[:most], other), *refused]

    with connected() as (server, _), ThreadPoolExecutor() as thread:
        waiting = thread.submit(run_async, wait())
        assert begun.wait(10)
        with running_pages_process(path, take_and_answer):
            assert waiting.result() == [HandOverReply.TAKEN] * (most + 1) + [HandOverReply.BUSY] * 2


@contextmanager
def receiving(path: Path, application: Any) -> Iterator[None]:
    """A pages process on this event loop that serves `application`."""
    config: Any = SimpleNamespace(loaded_app=application, timeout_keep_alive=75)
    state = ServerState()
    receiver = ConnectionReceiver(path, lambda first, on_lost: PagesConnection(config, state, {}, first, on_lost))
    try:
        yield
    finally:
        receiver.close()


def test_a_connection_that_is_only_being_made_does_not_make_room_for_another(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    most = 2
    monkeypatch.setattr(pages_process, "PAGE_CONNECTIONS_PER_ADDRESS", most)

    async def work(*_: Any) -> None:
        await asyncio.Event().wait()

    async def hand_over_at_once(servers: list[socket.socket]) -> list[HandOverReply]:
        pages = ConnectionSender(path)
        with receiving(path, work):
            return await asyncio.gather(*(hand_over(pages, server) for server in servers))

    with ExitStack() as stack:
        servers = [stack.enter_context(connected())[0] for _ in range(most + 3)]

        assert run_async(hand_over_at_once(servers)) == [HandOverReply.TAKEN] * most + [HandOverReply.BUSY] * 3


def test_what_was_taken_over_is_served_however_many_connections_a_worker_may_have(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setattr(Connection, "connections_max", 1)

    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async def ask(pairs: list[tuple[socket.socket, socket.socket]]) -> list[bytes]:
        pages = ConnectionSender(path)
        with receiving(path, answer):
            for server, client in pairs:
                client.setblocking(False)
                assert await hand_over(pages, server) is HandOverReply.TAKEN
            return [await asyncio.get_running_loop().sock_recv(client, 12) for _, client in pairs]

    with ExitStack() as stack:
        pairs = [stack.enter_context(connected()) for _ in range(2)]

        assert run_async(ask(pairs)) == [b"HTTP/1.1 204"] * 2


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(connection_sender, "PATIENCE_S", 0.1)

    with connected() as (server, _):
        assert run_async(hand_over(ConnectionSender(path), server)) is HandOverReply.AWAY


# What is answered when not.


def answered(path: str, *headers: tuple[bytes, bytes], busy: bool = False) -> tuple[int, dict[bytes, bytes], bytes]:
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    scope = {"type": "http", "path": path, "raw_path": path.encode(), "headers": headers}
    run_async(answer_error(scope, send, BUSY if busy else STARTING))
    start, body = messages
    return start["status"], dict(start["headers"]), body["body"]


@in_one_test("busy", [False, True])
@in_one_test(
    ("path", "accept", "kind"),
    [
        ("/", b"text/html", b"text/html"),
        ("/", b"*/*", b"application/json"),
        ("/pools", b"text/html", b"application/json"),
    ],
)
def test_clients_are_told_when_to_come_back(path: str, accept: bytes, kind: bytes, busy: bool) -> None:
    status, headers, body = answered(path, (b"accept", accept), busy=busy)

    assert status == 503
    assert headers[b"content-type"].startswith(kind)
    assert headers[b"retry-after"] == b"2"
    assert int(headers[b"content-length"]) == len(body)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ((b"accept-language", b"en"), "Pages are starting"),
        ((b"accept-language", b"zh-CN"), "页面正在启动"),
        ((b"cookie", b"taskq_language=zh-hans"), "页面正在启动"),
    ],
)
def test_people_are_told_so_in_their_language(wish: tuple[bytes, bytes], words: str) -> None:
    assert words in answered("/", (b"accept", b"text/html"), wish)[2].decode()
