"""Twelve clients guess at the admin's password: what the admin's own program, at the same address, feels of them."""

from __future__ import annotations

import base64
import http.client
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from ..report import Bar, Figure
from ..servers import Service, ServiceFailedError, running_service
from ..settings import Settings

GUESSERS: Final = 12
REQUESTS: Final = 100
PAUSE_S: Final = 0.1
TIMEOUT_S: Final = 120


def figures(settings: Settings) -> Sequence[Figure]:
    """From before the request is sent until the answer has been read; a request for every tenth of a second."""
    worst, refused = [], []
    for _ in range(settings.runs):
        with running_service() as service:
            statuses, times = _watch(service, settings.scaled(REQUESTS))
            worst.append(max(times) * 1_000)
            refused.append(float(sum(status != 200 for status in statuses)))
    return (
        Figure(
            name=f"admin's request while {GUESSERS} guess its password, worst",
            unit="ms",
            runs=worst,
            bar=Bar(sense="≤", value=500),
        ),
        Figure(
            name=f"admin's requests refused while {GUESSERS} guess its password",
            unit="",
            runs=refused,
            bar=Bar(sense="≤", value=0),
        ),
    )


def _watch(service: Service, requests: int) -> tuple[list[int], list[float]]:
    """Statuses and seconds of the admin's requests."""
    if _ask(service, service.password) != 200:
        raise ServiceFailedError("the admin's password does not open /pools")
    statuses, times = [], []
    with _guessing(service):
        for _ in range(requests):
            time.sleep(PAUSE_S)
            began = time.perf_counter()
            statuses.append(_ask(service, service.password))
            times.append(time.perf_counter() - began)
    return statuses, times


@contextmanager
def _guessing(service: Service) -> Iterator[None]:
    stop = threading.Event()

    def guess(number: int) -> None:
        while not stop.is_set():
            _ask(service, f"guess {number}")

    with ThreadPoolExecutor(GUESSERS) as threads:
        for number in range(GUESSERS):
            threads.submit(guess, number)
        try:
            yield
        finally:
            stop.set()


def _ask(service: Service, password: str) -> int:
    """The status of a staff route with HTTP Basic."""
    connection = http.client.HTTPConnection(service.host, service.port, timeout=TIMEOUT_S)
    try:
        credentials = base64.b64encode(f"{service.username}:{password}".encode()).decode()
        connection.request("GET", "/pools", headers={"Authorization": f"Basic {credentials}"})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()
