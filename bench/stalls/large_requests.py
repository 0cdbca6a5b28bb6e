"""Clients that send the largest bodies at once, and clients that do not read the largest answers."""

from __future__ import annotations

import multiprocessing
import socket
import time
from contextlib import suppress
from multiprocessing.synchronize import Event
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
READERS: Final = 60
JOBS: Final = 1_000
JOB: Final = b"x" * (128 * 1024)
MEMORY_MIB: Final = 512


def figures(settings: Settings) -> list[Figure]:
    """Latency of small requests beside the large ones, and the memory that unread answers take."""
    delays, grown, left = [], [], []
    for _ in range(settings.runs):
        with running_service() as service, web_server(service, pages=False) as server:
            delays.append(_small_beside_large(server, settings.scaled(SENDERS)))
            took, kept = _unread_answers(server, settings.scaled(READERS))
            grown.append(took)
            left.append(kept)
    return [
        Figure(
            name=f"small publish beside {settings.scaled(SENDERS)} senders of 15 MiB, p99",
            unit="ms",
            runs=delays,
            bar=Bar(sense="≤", value=20),
        ),
        Figure(
            name=f"memory taken by {settings.scaled(READERS)} clients that read no answer",
            unit="MiB",
            runs=grown,
            bar=Bar(sense="≤", value=MEMORY_MIB),
        ),
        Figure(name="memory not given back when they have gone", unit="MiB", runs=left, bar=Bar(sense="≤", value=64)),
    ]


def _small_beside_large(server: WebServer, senders: int) -> float:
    """p99 of a small publish, ms, while `senders` publish 15 MiB each, again and again."""
    context = multiprocessing.get_context("spawn")  # processes, whose Python does not hold up this one's
    stop = context.Event()
    processes = [context.Process(target=_send_bulks, args=(server.service, stop), daemon=True) for _ in range(senders)]
    small = Wire(server.service)
    times: list[float] = []
    for process in processes:
        process.start()
    try:
        end = time.monotonic() + LOOKED_S
        while time.monotonic() < end:
            began = time.perf_counter()
            small.call("PUT", "small", b"x")
            times.append((time.perf_counter() - began) * 1_000)
            time.sleep(0.002)
    finally:
        stop.set()
        for process in processes:
            process.join(30)
    small.call("DELETE", "large?all=1")
    return percentile(times, 99)


def _send_bulks(service: Service, stop: Event) -> None:
    wire = Wire(service)
    while not stop.is_set():
        with suppress(OSError):
            status, _ = wire.call("PUT", "large/bulk?ttl=60", BULK)
            if status == 503:
                time.sleep(0.1)
            continue
        wire = Wire(service)
    wire.close()


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
