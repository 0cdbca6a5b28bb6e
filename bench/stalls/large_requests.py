"""Clients that send the largest bodies at once, and clients that do not read the largest answers.

Clients are other machines; here they share the server's cores. So those that send the large bodies run at the lowest
priority, and what they and the kernel do to others is measured as well: in a control they send the same bytes at the
same rate to a process that throws them away, while the same small requests are sent to the server. The delay that large
requests cause is the difference of the two percentiles.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Event
from typing import Final

from ..processes import wait_for
from ..report import Bar, Figure, percentile
from ..servers import Service, running_service
from ..settings import Settings
from ..web_server import WebServer, web_server
from ..wire import Wire

MIB: Final = 1024 * 1024
SENDERS: Final = 8
BULK: Final = b"[" + b",".join([b'"' + b"x" * (240 * 1024) + b'"'] * 64) + b"]"
"""15 MiB, 64 jobs."""

LOOKED_S: Final = 6.0
NICE: Final = 19
"""Of processes that stand for other machines, the large requests' senders among them."""

READERS: Final = 60
JOBS: Final = 1_000
JOB: Final = b"x" * (128 * 1024)
MEMORY_MIB: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Small publishes while large requests were sent."""

    p99_ms: float
    """Of small publishes beside large requests."""
    control_ms: float
    """The same while the large requests went to a process that throws them away."""
    alone_ms: float
    """The same while there were none."""
    accepted: int
    """Large requests that were answered 201."""
    refused: int
    """Large requests that were answered 503: the process had as many bodies in memory as it may."""

    @property
    def delay_ms(self) -> float:
        """By how much the large requests delay the small ones."""
        return self.p99_ms - self.control_ms


def figures(settings: Settings) -> list[Figure]:
    """Latency of small requests beside the large ones, and the memory that unread answers take."""
    senders = settings.scaled(SENDERS)
    beside, grown, left = [], [], []
    for _ in range(settings.runs):
        with running_service() as service, web_server(service, pages=False) as server:
            beside.append(_small_beside_large(server, senders))
            took, kept = _unread_answers(server, settings.scaled(READERS))
            grown.append(took)
            left.append(kept)
    name = f"small publish beside {senders} senders of 15 MiB"
    return [
        Figure(
            name=f"{name}: delay of the p99",
            unit="ms",
            runs=[run.delay_ms for run in beside],
            bar=Bar(sense="≤", value=20),
        ),
        Figure(name=f"{name}, p99", unit="ms", runs=[run.p99_ms for run in beside]),
        Figure(name="the same, large requests to a sink", unit="ms", runs=[run.control_ms for run in beside]),
        Figure(name="the same, no large requests", unit="ms", runs=[run.alone_ms for run in beside]),
        Figure(name="large requests accepted beside it", unit="1/s", runs=[run.accepted / LOOKED_S for run in beside]),
        Figure(name="large requests refused beside it", unit="1/s", runs=[run.refused / LOOKED_S for run in beside]),
        Figure(
            name=f"memory taken by {settings.scaled(READERS)} clients that read no answer",
            unit="MiB",
            runs=grown,
            bar=Bar(sense="≤", value=MEMORY_MIB),
        ),
        Figure(name="memory not given back when they have gone", unit="MiB", runs=left, bar=Bar(sense="≤", value=64)),
    ]


def _small_beside_large(server: WebServer, senders: int) -> Beside:
    """Small publishes while `senders` publish 15 MiB each, again and again; then in the control, then alone."""
    with _senders(server.service, senders, every_s=0.0) as answers:
        p99_ms = _p99_of_small(server.service)
    accepted, refused = answers.accepted, answers.refused
    answered = max(1, accepted + refused)
    with (
        _sink(server.service) as sink,
        _senders(sink, senders, every_s=senders * answers.seconds / answered),
    ):
        control_ms = _p99_of_small(server.service)
    alone_ms = _p99_of_small(server.service)
    Wire(server.service).call("DELETE", "large?all=1")
    return Beside(p99_ms=p99_ms, control_ms=control_ms, alone_ms=alone_ms, accepted=accepted, refused=refused)


def _p99_of_small(service: Service) -> float:
    """Milliseconds."""
    small = Wire(service)
    times: list[float] = []
    end = time.monotonic() + LOOKED_S
    while time.monotonic() < end:
        began = time.perf_counter()
        small.call("PUT", "small", b"x")
        times.append((time.perf_counter() - began) * 1_000)
        time.sleep(0.002)
    small.close()
    return percentile(times, 99)


class _Answers:
    """What the senders were answered; set when they have ended."""

    accepted = refused = 0
    seconds = 0.0


@contextmanager
def _senders(service: Service, senders: int, *, every_s: float) -> Iterator[_Answers]:
    """Processes, whose Python does not hold up this one's, that publish 15 MiB each, at most every `every_s`."""
    context = multiprocessing.get_context("spawn")
    stop, started = context.Event(), context.Barrier(senders + 1)
    ends = [context.Pipe(duplex=False) for _ in range(senders)]
    processes = [
        context.Process(target=_send_bulks, args=(service, started, stop, every_s, end), daemon=True) for _, end in ends
    ]
    answers = _Answers()
    for process, (_, end) in zip(processes, ends, strict=True):
        process.start()
        end.close()  # here, so that its death is noticed
    started.wait(60)  # their start takes the processor, too
    began = time.monotonic()
    try:
        yield answers
    finally:
        answers.seconds = time.monotonic() - began
        stop.set()
        for mine, _ in ends:
            accepted, refused = mine.recv()
            answers.accepted += accepted
            answers.refused += refused
        for process in processes:
            process.join(30)


def _send_bulks(service: Service, started: Barrier, stop: Event, every_s: float, end: Connection) -> None:
    os.nice(NICE)
    answered = {201: 0, 503: 0}
    wire = Wire(service)
    started.wait(60)
    due = time.monotonic()
    while not stop.is_set():
        due += every_s
        try:
            status, _ = wire.call("PUT", "large/bulk?ttl=60", BULK)
        except OSError:
            wire = Wire(service)
            continue
        answered[status] += not stop.is_set()
        if status == 503:
            time.sleep(0.1)
        stop.wait(max(0.0, due - time.monotonic()))
    end.send((answered[201], answered[503]))


@contextmanager
def _sink(service: Service) -> Iterator[Service]:
    """A process that throws requests away and answers them, in place of the service."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=_throw_away, args=(its,), daemon=True)
    process.start()
    try:
        yield replace(service, port=mine.recv())
    finally:
        process.terminate()
        process.join(30)


def _throw_away(end: Connection) -> None:
    os.nice(NICE)
    listener = socket.create_server(("127.0.0.1", 0))
    end.send(listener.getsockname()[1])
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_throw_away_from, args=(client,), daemon=True).start()


def _throw_away_from(client: socket.socket) -> None:
    buffer = bytearray(262_144)
    while head := client.recv(2_048, socket.MSG_PEEK):
        end_of_head = head.find(b"\r\n\r\n") + 4
        if end_of_head < 4:
            continue
        left = end_of_head + int(head[:end_of_head].lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while left:
            received = client.recv_into(buffer, min(left, len(buffer)))
            if not received:
                return
            left -= received
        client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")


def _unread_answers(server: WebServer, readers: int) -> tuple[float, float]:
    """MiB by which the server grows while clients ask for much and read nothing; and MiB left when they have gone."""
    wire = Wire(server.service)
    for _ in range(readers):
        for _ in range(4):
            wire.call("PUT", "unread/bulk?tries=3", b"[" + b",".join([b'"' + JOB + b'"'] * 16) + b"]")
    before = server.resident_bytes()
    clients = []
    for _ in range(readers):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect((server.service.host, server.service.port))
        head = f"GET /api/{server.service.namespace}/unread?count={JOBS}&ttr=600 HTTP/1.1\r\nHost: x\r\n"
        client.sendall(f"{head}X-Token: {server.service.token}\r\n\r\n".encode() * 4)
        clients.append(client)
    most = 0
    end = time.monotonic() + 3
    while time.monotonic() < end:
        most = max(most, server.resident_bytes() - before)
        time.sleep(0.02)
    for client in clients:
        client.close()
    wait_for(lambda: wire.call("GET", "unread/stats")[1]["working"] == 0, "unread jobs are released")
    time.sleep(0.5)
    return most / MIB, max(0, server.resident_bytes() - before) / MIB
