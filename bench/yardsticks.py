"""What a machine can do at this minute: SET of redis-benchmark (S), and hello on the same server and connections."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from queues.embedded import EmbeddedRedis

from .load import run_wrk
from .processes import running, wait_for
from .redis_benchmark import sets_per_second
from .servers import Service, free_port
from .settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """Requests per second. `s_unix`: the service's own Redis over its unix socket; `s_tcp`: the same binary with the
    same settings, empty, over the loopback; `hello`: the bare application under wrk."""

    s_unix: float
    s_tcp: float
    hello: float


class Yard:
    """The servers that yardsticks need; idle while a scenario measures."""

    def __init__(self, service: Service, settings: Settings, *, redis_port: int, hello_port: int) -> None:
        self._service = service
        self._settings = settings
        self._redis_port = redis_port
        self._hello_port = hello_port

    def measure(self, *, connections: int) -> Yardsticks:
        """Take them now, one after the other."""
        requests = self._settings.set_requests
        hello = run_wrk(
            f"http://127.0.0.1:{self._hello_port}/",
            script=None,
            connections=connections,
            threads=min(2, connections),
            seconds=self._settings.hello_s,
            env={},
        )
        return Yardsticks(
            hello=hello.requests_per_s,
            s_tcp=sets_per_second(["-p", str(self._redis_port)], requests=requests),
            s_unix=sets_per_second(["-s", self._service.redis_socket], requests=requests),
        )


@contextmanager
def yard(service: Service, settings: Settings, *, workers: int) -> Iterator[Yard]:
    """Start what the yardsticks need. `workers`: processes of hello, as many as the service's."""
    redis_port, hello_port = free_port(), free_port()
    with (
        tempfile.TemporaryDirectory(prefix="taskq-bench-") as folder,
        EmbeddedRedis(Path(folder), persistent=True, port=redis_port),
        running([sys.executable, "-m", "bench.hello", str(hello_port), str(workers)]),
    ):
        wait_for(lambda: _listens(hello_port), "the hello server listens")
        yield Yard(service, settings, redis_port=redis_port, hello_port=hello_port)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
