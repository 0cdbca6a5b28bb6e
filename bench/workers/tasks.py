"""The tasks of the benchmark `workers`. Times are CLOCK_MONOTONIC, which all processes of a machine share."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from taskq import App

app = App()


@app.task
async def noop() -> None:
    """What an async worker takes for nothing."""


@app.task(queue="sync")
def noop_sync() -> None:
    """What a thread takes for nothing."""


@app.task
async def mark(path: str) -> None:
    """Note when this job ran: the first and the last of many."""
    mark_sync(path)


@app.task(queue="sync")
def mark_sync(path: str) -> None:
    Path(path).write_text(str(time.monotonic()))


@app.task(queue="latency")
async def stamp(path: str, enqueued: float) -> None:
    """Note how long ago it was enqueued."""
    started = time.monotonic()
    with open(path, "a") as file:  # noqa: ASYNC230 - a line each some 20 ms
        file.write(f"{started - enqueued}\n")


@app.task(queue="held")
async def hold(path: str) -> None:
    """Note when and by whom it was begun, then hold on."""
    with open(path, "a") as file:  # noqa: ASYNC230
        file.write(f"{os.getpid()} {time.monotonic()}\n")
    await asyncio.sleep(600)
