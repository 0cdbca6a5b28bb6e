"""Tasks that run in processes of their own: those import this module."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from taskq import App, Context, Job, Retry, RetryPolicy, Snooze

MARK = "taskq-hanging-test"
app = App("redis://unused", namespace="sdk")


@app.task(name="square", process=True, retention=60)
def square(x: int) -> int:
    return x * x


@app.task(name="hang", process=True, timeout=4, retry=1)
def hang(folder: str) -> None:
    (Path(folder) / f"{MARK}-{os.getpid()}").touch()
    time.sleep(60)


def enqueue_square(other: App, x: int) -> Job[Any]:
    prepared = square.prepare(square.options, (x,), {})
    return Job(other, "default", other.broker.run(prepared.work(other)).job_ids[0], task=square)


def forget_hanging() -> None:
    for mark in Path("/tmp").glob(f"{MARK}-*"):
        mark.unlink()


@app.task(name="walk", process=True)
def walk(ctx: Context, path: str, to: int) -> Iterator[int]:
    """Writes down each step, and stays at the third of its first attempt."""
    for number in range(ctx.cursor or 0, to):
        with Path(path).open("a") as file:
            file.write(f"{number}\n")
        ctx.progress(100 * number / to, f"step {number}")
        ctx.log(f"at {number}")
        yield number + 1
        if number == 2 and ctx.attempt == 1:
            time.sleep(60)


class OddError(Exception):
    """One that cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} {two}")


@app.task(name="raise", process=True, retry=RetryPolicy(tries=5, never=(OddError,)))
async def raise_it(ctx: Context, what: str) -> None:
    if what == "retry":
        raise Retry(30, f"later, at attempt {ctx.attempt}")
    if what == "snooze":
        raise Snooze(30)
    raise OddError(1, 2)


def enqueue_raise(other: App, what: str) -> Job[Any]:
    prepared = raise_it.prepare(raise_it.options, (what,), {})
    return Job(other, "default", other.broker.run(prepared.work(other)).job_ids[0], task=raise_it)


async def aenqueue_walk(other: App, path: str, to: int) -> Job[Any]:
    prepared = walk.prepare(walk.options, (path, to), {})
    published = await other.broker.arun(prepared.work(other))
    return Job(other, "default", published.job_ids[0], task=walk)


async def aenqueue_hang(other: App) -> Job[Any]:
    forget_hanging()
    prepared = hang.prepare(hang.options, ("/tmp",), {})
    published = await other.broker.arun(prepared.work(other))
    return Job(other, "default", published.job_ids[0], task=hang)


def hanging() -> list[int]:
    """Processes of that task which still live."""
    pids = [int(mark.name.rpartition("-")[2]) for mark in Path("/tmp").glob(f"{MARK}-*")]
    assert pids, "it did not begin"
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]
