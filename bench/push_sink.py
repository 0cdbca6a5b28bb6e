"""`python -m bench.push_sink`: a receiver of pushed jobs, in a process of its own, that does as little as possible.

Prints its port; for each line `N` on its input it waits for N requests, and prints the seconds from the first to the
last of them and how many different jobs there were.
"""

from __future__ import annotations

import asyncio
import re
import sys
from time import perf_counter
from typing import ClassVar, cast

import uvloop

ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_LENGTH = re.compile(rb"content-length: (\d+)")
_ID = re.compile(rb"webhook-id: (\S+)")


class Receiver(asyncio.Protocol):
    """One connection. Requests come one after the other: who sends them waits for each answer."""

    times: ClassVar[list[float]] = []
    jobs: ClassVar[set[bytes]] = set()

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        length, job = _LENGTH.search(head), _ID.search(head)
        assert length is not None
        assert job is not None
        if len(body) < int(length[1]):
            return
        self._buffer = b""
        self.times.append(perf_counter())
        self.jobs.add(job[1])
        self._transport.write(ANSWER)


async def serve() -> None:
    """Until the input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Receiver, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        wanted = int(line)
        while len(Receiver.times) < wanted:  # noqa: ASYNC110  the receiver is to do as little as possible
            await asyncio.sleep(0.01)
        print(Receiver.times[-1] - Receiver.times[0], len(Receiver.jobs), flush=True)
        Receiver.times.clear()
        Receiver.jobs.clear()


if __name__ == "__main__":
    uvloop.run(serve())
