"""The web server's connections and application in one process, with clients that are function calls:
`python -m bench.instructions_process publish|cycle REQUESTS CLIENTS`, under valgrind's callgrind.

Bytes go in where the event loop would bring them and come out where it would take them. Redis is a real one. Counting
is on only while the requests are under way.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SLOWER = 200
"""So many times slower is a process under valgrind, about. Its clock has to be, too: else what is looked at anew every
50 ms or every second would be looked at for a few requests."""

_seconds = time.monotonic
time.monotonic = lambda: _seconds() / SLOWER

BODY = b"x" * 100
WARM_UP = 10
_JOB_ID = re.compile(rb'"job_id":"(\w+)"')


class Client:
    """A client, and the transport of its connection."""

    def __init__(self, connect: Callable[[], Any], verb: str, path: bytes, requests: int) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._verb = verb
        self._path = path
        self._left = requests
        self._next = self._publish()
        self._connection = connect()
        self._connection.connection_made(self)
        self._send()

    def _send(self) -> None:
        self._connection.data_received(self._next)

    def write(self, data: bytes) -> None:
        """An answer has come."""
        status = data[9:12]
        if status == b"201" and self._verb == "cycle":
            self._next = self._request(b"GET", b"?ttr=60")
        elif status == b"200":
            found = _JOB_ID.search(data)
            assert found is not None, data
            self._next = self._request(b"DELETE", b"/job/" + found[1])
        elif status in (b"201", b"204"):
            self._next = self._publish()
        else:
            sys.exit(f"an answer that should not be: {data!r}")
        self._left -= 1
        if self._left:
            self._loop.call_soon(self._send)
        else:
            self.done.set_result(None)

    def _publish(self) -> bytes:
        return self._request(b"PUT", b"?tries=3", b"Content-Length: %d\r\n" % len(BODY), BODY)

    def _request(self, method: bytes, rest: bytes, header: bytes = b"", body: bytes = b"") -> bytes:
        token = os.environ["BENCH_TOKEN"].encode()
        head = b"%b %b%b HTTP/1.1\r\nHost: 127.0.0.1:7777\r\nX-Token: %b\r\n" % (method, self._path, rest, token)
        return b"%b%b\r\n%b" % (head, header, body)

    # What a transport is asked.

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return ("127.0.0.1", 7777)

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


async def serve(verb: str, requests: int, clients: int) -> None:
    """Warm up, then answer `requests` from `clients` at once, counted."""
    from queues.server.connection import Connection
    from queues.server.server import load_worker

    application = load_worker(Path(os.environ["TASKQ_DATA_DIR"]))
    loop = asyncio.get_running_loop()
    config = SimpleNamespace(loaded_app=application, timeout_keep_alive=3_600)
    state = SimpleNamespace(connections=set(), tasks=set(), total_requests=0, default_headers=[(b"date", b"x" * 29)])

    def connect() -> Any:
        return Connection(config, state, {}, loop)  # type: ignore[arg-type]

    async def answer(each: int) -> None:
        path = f"/api/{os.environ['BENCH_NAMESPACE']}/{verb}".encode()
        await asyncio.gather(*[Client(connect, verb, path, each).done for _ in range(clients)])

    await answer(WARM_UP)
    gc.collect()
    gc.freeze()
    gc.disable()
    _count("on")
    await answer(requests // clients)
    _count("off")


def _count(switch: str) -> None:
    subprocess.run(["callgrind_control", "-i", switch, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")
    import uvloop

    verb, requests, clients = sys.argv[1:]
    uvloop.run(serve(verb, int(requests), int(clients)))


if __name__ == "__main__":
    main()
