"""A connection on which a test sends bytes and reads answers, one after the other, as HTTP/1 has them."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in the order in which they came."""
    body: bytes
    interim: tuple[int, ...] = ()
    """Statuses of the 1xx that came before it."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str:
        """The only header of this name, or ""."""
        found = [value for key, value in self.headers if key == name]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else ""


class Wire:
    """One connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, raw: bytes) -> None:
        self._socket.sendall(raw)

    def receive(self, *, to_head: bool = False) -> Answer:
        """The next answer. `to_head`: of a HEAD, thus without a body. Raises ConnectionError when the server left."""
        interim: list[int] = []
        while True:
            status, headers = self._read_head()
            if status >= 200:
                break
            interim.append(status)
        body = b"" if to_head or status in (204, 304) else self._read_body(dict(headers))
        return Answer(status=status, headers=headers, body=body, interim=tuple(interim))

    def receive_head(self) -> int:
        """The status of the next head alone: of a 1xx."""
        return self._read_head()[0]

    def call(self, raw: bytes) -> Answer:
        self.send(raw)
        return self.receive(to_head=raw.startswith(b"HEAD "))

    def is_closed(self) -> bool:
        """Whether the server has closed it; waits until it does or says something else."""
        return self._file.read(1) == b""

    def hang_up(self) -> None:
        self._file.close()
        self._socket.close()

    def _read_head(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        line = self._file.readline()
        if not line:
            raise ConnectionError("closed without an answer")
        version, status, *_ = line.split(b" ")
        assert version in (b"HTTP/1.1", b"HTTP/1.0"), line
        headers = []
        while (line := self._file.readline()) != b"\r\n":
            assert line.endswith(b"\r\n"), line
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name.lower(), value.strip()))
        return int(status), tuple(headers)

    def _read_body(self, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            return self._file.read(int(headers["content-length"]))
        if headers.get("transfer-encoding") != "chunked":
            return self._file.read()
        chunks = []
        while size := int(self._file.readline(), 16):
            chunks.append(self._file.read(size))
            self._file.readline()
        self._file.readline()
        return b"".join(chunks)


def request(
    line: str, *headers: tuple[str, str], body: bytes | None = None, chunk: int = 0, version: str = "1.1"
) -> bytes:
    """The bytes of a request; text goes out as Latin-1. `chunk` > 0: the body goes in chunks of that size."""
    lines = [f"{line} HTTP/{version}", *(f"{name}: {value}" for name, value in headers)]
    if body is not None and chunk:
        lines.append("Transfer-Encoding: chunked")
        pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
        content = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    else:
        content = body or b""
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content
