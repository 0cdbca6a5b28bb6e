"""The worker's health endpoint, for orchestrators: one address, plain HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .worker import Worker

REQUEST_MAX_S: Final = 5.0


@contextlib.asynccontextmanager
async def serve_health(worker: Worker, port: int) -> AsyncIterator[None]:
    """Answer 200 while the worker takes jobs and reaches taskq, else 503; the body says what it does, as JSON."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_MAX_S):
                while (await reader.readline()).strip():
                    pass
                status = "200 OK" if worker.is_well else "503 Service Unavailable"
                body = json.dumps(
                    {"worker": worker.id, "state": worker.state, "running": len(worker.active), "done": worker.done}
                ).encode()
                head = (
                    f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                )
                writer.write(head.encode() + body)
                await writer.drain()
        except (TimeoutError, OSError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, port=port, limit=16 * 1024)
    async with server:
        yield
