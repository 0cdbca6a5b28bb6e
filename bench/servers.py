"""The whole service for one scenario: `manage.py up` on a free port with its own data folder, and a client for it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
START_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running service: where it is and what opens it."""

    host: str
    port: int
    namespace: str
    token: str

    def client(self) -> Client:
        """A new keep-alive connection."""
        return Client(self)


class Client:
    """One keep-alive connection that speaks the HTTP API."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._connection = http.client.HTTPConnection(service.host, service.port, timeout=30)

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """One request below the namespace. Returns status and decoded JSON (None when there is no body)."""
        headers = {"X-Token": self._service.token}
        self._connection.request(method, f"/api/{self._service.namespace}/{path}", body=body, headers=headers)
        response = self._connection.getresponse()
        raw = response.read()
        return response.status, json.loads(raw) if raw else None


@contextmanager
def running_service() -> Iterator[Service]:
    """Start `manage.py up --no-demo`, and stop it after the block."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "manage.py"), "up", "--json", "--no-demo"]
        process = subprocess.Popen(
            [*command, "--port", str(_free_port()), "--data", folder], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        try:
            assert process.stdout is not None
            about = json.loads(process.stdout.readline())
            address = urlsplit(about["url"])
            yield Service(
                host=address.hostname or "127.0.0.1",
                port=address.port or 80,
                namespace=about["namespace"],
                token=about["token"],
            )
        finally:
            process.terminate()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
