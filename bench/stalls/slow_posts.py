"""What others wait for while one address sends as many requests for pages as it can, a byte now and then."""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ..report import Bar, Figure
from ..servers import Service, ServiceFailedError, running_service
from ..settings import Settings

POSTS: Final = 512
SECONDS: Final = 30
"""In a quick run a fifth of it."""

DRIP_S: Final = 0.5
OTHER_ADDRESS: Final = "127.0.0.2"
RATIO_MAX: Final = 3.0
"""Of the medians beside the slow requests and without: they take connections and little else."""

_HEAD: Final = (
    b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 60000\r\n\r\n"
)


def figures(settings: Settings) -> Sequence[Figure]:
    """Times of three requests from another address, and how many of them were refused."""
    with running_service() as service:
        asked: dict[str, Callable[[], bool]] = {
            "a page": lambda: _ask(service, "/login/"),
            "/metrics": lambda: _ask(service, "/metrics", staff=True),
            "admin API": lambda: _ask(service, "/info", staff=True),
        }
        for ask in asked.values():
            ask()
        beside: dict[str, list[float]] = {name: [] for name in asked}
        ratios: dict[str, list[float]] = {name: [] for name in asked}
        failed: list[float] = []
        for _ in range(settings.runs):
            alone, _failures = _measure(asked, seconds=settings.scaled(SECONDS))
            with _slow_posts(service):
                times, failures = _measure(asked, seconds=settings.scaled(SECONDS))
            for name in asked:
                beside[name].append(max(times[name]))
                ratios[name].append(statistics.median(times[name]) / statistics.median(alone[name]))
            failed.append(failures)
    bar = Bar(sense="≤", value=RATIO_MAX)
    return [
        *(
            Figure(name=f"{name}, worst beside {POSTS} slow POSTs", unit="ms", runs=runs)
            for name, runs in beside.items()
        ),
        *(Figure(name=f"{name}, beside ÷ alone", unit="", runs=runs, bar=bar) for name, runs in ratios.items()),
        Figure(name=f"refused beside {POSTS} slow POSTs", unit="requests", runs=failed, bar=Bar(sense="≤", value=0)),
    ]


def _measure(asked: dict[str, Callable[[], bool]], *, seconds: int) -> tuple[dict[str, list[float]], int]:
    times: dict[str, list[float]] = {name: [] for name in asked}
    failures = 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, ask in asked.items():
            began = time.perf_counter()
            failures += not ask()
            times[name].append((time.perf_counter() - began) * 1_000)
        time.sleep(0.05)
    return times, failures


def _ask(service: Service, path: str, *, staff: bool = False) -> bool:
    """Whether it is answered with 200. Raises ServiceFailedError if it is not answered."""
    connection = http.client.HTTPConnection(service.host, service.port, timeout=60, source_address=(OTHER_ADDRESS, 0))
    pair = base64.b64encode(f"{service.username}:{service.password}".encode()).decode()
    try:
        connection.request("GET", path, headers={"Authorization": f"Basic {pair}"} if staff else {})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException) as error:
        raise ServiceFailedError(f"{path}: {error}") from error
    finally:
        connection.close()


@contextmanager
def _slow_posts(service: Service) -> Iterator[None]:
    """During the block POSTS connections send a byte of a form every DRIP_S; one that is closed is opened anew."""
    over = threading.Event()
    thread = threading.Thread(target=_drip, args=(service, over), daemon=True)
    thread.start()
    time.sleep(2 * DRIP_S)
    try:
        yield
    finally:
        over.set()
        thread.join()


def _drip(service: Service, over: threading.Event) -> None:
    connections: list[socket.socket | None] = [None] * POSTS
    while not over.wait(DRIP_S):
        for number, connection in enumerate(connections):
            try:
                if connection is None:
                    connection = connections[number] = socket.create_connection((service.host, service.port), 5)
                    connection.sendall(_HEAD)
                connection.sendall(b"a")
            except OSError:
                with contextlib.suppress(AttributeError):
                    connections[number].close()  # type: ignore[union-attr]
                connections[number] = None
    for connection in connections:
        if connection is not None:
            connection.close()
