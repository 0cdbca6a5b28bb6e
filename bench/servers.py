"""The whole service for one scenario: `manage.py up` on a free port with its own data folder, and a client for it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from .processes import ROOT, running

MANAGE = str(ROOT / "manage.py")
FILL_BATCH = 1_000
JOB_JSON = b'"' + b"x" * 98 + b'"'
"""A job of a bulk publish: 100 bytes, the quotes being part of the body."""


class ServiceFailedError(Exception):
    """The service did not start or gave an answer that it should not have given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running service: where it is and what opens it."""

    host: str
    port: int
    namespace: str
    token: str
    redis_url: str
    data_dir: Path
    username: str
    password: str

    @property
    def redis_socket(self) -> str:
        """Path of the unix socket of its Redis."""
        return unquote(self.redis_url.removeprefix("unix://"))

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that shall use its Redis and its database."""
        return {**os.environ, "REDIS_URL": self.redis_url, "TASKQ_DATA_DIR": str(self.data_dir)}

    def url(self, path: str) -> str:
        """`path` below the namespace as a URL."""
        return f"http://{self.host}:{self.port}/api/{self.namespace}/{path}"

    def client(self) -> Client:
        """A new keep-alive connection."""
        return Client(self)


class Client:
    """One keep-alive connection that speaks the HTTP API."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=60)

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """One request below the namespace. Returns status and decoded JSON (None when there is no body)."""
        headers = {"X-Token": self._service.token}
        self._connection.request(method, f"/api/{self._service.namespace}/{path}", body=body, headers=headers)
        response = self._connection.getresponse()
        raw = response.read()
        return response.status, json.loads(raw) if raw else None

    def counts(self, queue: str) -> dict[str, int]:
        """Jobs per state, and the queue's other plain numbers."""
        status, stats = self.call("GET", f"{queue}/stats")
        if status != 200:
            raise ServiceFailedError(f"stats of {queue}: {status} {stats}")
        return dict(stats)

    def fill(self, queue: str, jobs: int, options: str = "tries=3") -> None:
        """Publish `jobs` jobs of 100 bytes."""
        for start in range(0, jobs, FILL_BATCH):
            bodies = b"[" + b",".join([JOB_JSON] * min(FILL_BATCH, jobs - start)) + b"]"
            status, reply = self.call("PUT", f"{queue}/bulk?{options}", bodies)
            if status != 201:
                raise ServiceFailedError(f"bulk publish to {queue}: {status} {reply}")


@contextmanager
def running_service(*, workers: int = 1, env: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Start `manage.py up --no-demo --workers N`, and stop it after the block. Raises ServiceFailedError."""
    with tempfile.TemporaryDirectory(prefix="taskq-bench-") as folder:
        command = [sys.executable, MANAGE, "up", "--json", "--no-demo", "--port", str(free_port()), "--data", folder]
        command += ["--no-pusher"]
        command += ["--workers", str(workers)]
        with running(command, env=env, pipes=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise ServiceFailedError("the service did not start; what it said stands above")
            about = json.loads(line)
            address = urlsplit(about["url"])
            service = Service(
                host=address.hostname or "127.0.0.1",
                port=address.port or 80,
                namespace=about["namespace"],
                token=about["token"],
                redis_url=about["redis"],
                data_dir=Path(folder),
                username=about["admin"]["username"],
                password=about["admin"]["password"],
            )
            service.client().fill("warm", FILL_BATCH)
            yield service


def free_port() -> int:
    """A port on the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
