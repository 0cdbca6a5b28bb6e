"""A receiver of webhooks in a thread: a real HTTP server that keeps what it gets and answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A request. Names of headers in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class HttpSink:
    """`status` may be changed at any time."""

    port: int = 0
    status: int = 200
    received: list[Posted] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"


@contextmanager
def http_sink() -> Iterator[HttpSink]:
    """One that listens until the block ends."""
    sink = HttpSink()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            sink.received.append(Posted(path=self.path, headers=headers, body=body))
            self.send_response(sink.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what came is kept."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sink.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
