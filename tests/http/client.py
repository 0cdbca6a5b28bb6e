"""A bare HTTP client: it sends what it is told, byte for byte, so that bad requests can be sent too."""

from __future__ import annotations

import base64
import itertools
import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 30
_numbers = itertools.count(1)


def new_queue() -> str:
    """A queue that no other test uses."""
    return f"q{next(_numbers)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Talks to one server, with the token of one namespace."""

    url: str
    namespace: str = ""
    token: str = ""
    basic: str = ""
    """`user:password`, for admin routes."""

    def call(
        self, method: str, path: str, body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """`path` goes out as it is, but `{ns}` becomes the namespace. Headers with the value "" are left out."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(str(parts.hostname), parts.port, timeout=TIMEOUT_S)
        given = {"X-Token": self.token, "Authorization": self._authorization(), **(headers or {})}
        sent = {name: value for name, value in given.items() if value}
        raw = body.encode() if isinstance(body, str) else body
        try:
            connection.request(method, path.replace("{ns}", self.namespace), raw, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(status=response.status, headers=found, body=response.read())
        finally:
            connection.close()

    def publish(self, queue: str, body: bytes = b"job", **options: object) -> str:
        """Publish a job; its id."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        reply = self.call("PUT", f"/api/{{ns}}/{queue}?{query}", body)
        assert reply.status == 201, reply
        return str(reply.json["job_id"])

    def take(self, queue: str, **options: object) -> dict[str, Any]:
        """Consume one job that is there."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        reply = self.call("GET", f"/api/{{ns}}/{queue}?{query}")
        assert reply.status == 200, reply
        found: dict[str, Any] = reply.json
        return found

    def _authorization(self) -> str:
        return "Basic " + base64.b64encode(self.basic.encode()).decode() if self.basic else ""
