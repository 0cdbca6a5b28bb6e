"""A TCP proxy that passes everything on after a time, as a network does that is some way long."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def delaying_proxy(port: int, delay_s: float) -> Iterator[int]:
    """The port of a proxy to 127.0.0.1:`port`; each way takes `delay_s`."""
    loop = asyncio.new_event_loop()
    started: list[int] = []
    servers: list[asyncio.Server] = []
    ready = threading.Event()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 20):
            loop.call_later(delay_s, _write, writer, chunk)
        loop.call_later(delay_s, writer.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(asyncio.CancelledError):  # at the end
            await asyncio.gather(pass_on(reader, far_writer), pass_on(far_reader, writer), return_exceptions=True)

    async def start() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        started.append(server.sockets[0].getsockname()[1])
        servers.append(server)
        ready.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(start())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(10)
    yield started[0]
    asyncio.run_coroutine_threadsafe(_end_all(loop), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


async def _end_all(loop: asyncio.AbstractEventLoop) -> None:
    others = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _write(writer: asyncio.StreamWriter, chunk: bytes) -> None:
    if not writer.is_closing():
        writer.write(chunk)
