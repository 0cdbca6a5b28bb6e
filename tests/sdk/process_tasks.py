"""Tasks that run in processes of their own: those import this module."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from taskq import App, Cancel, Context, Job, Retry, RetryPolicy, Snooze
from taskq.context import CURSOR_MAX_BYTES
from taskq.worker import processes

LIMIT_S = 20


class Proxy:
    """As frameworks have them: whatever it is asked outside of a request, it raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("outside of a request")


request = Proxy()
app = App(os.environ.get("TASKQ_TEST_URL", "redis://unused"), namespace="sdk")


@app.task(name="square", process=True, retention=60)
def square(x: int) -> int:
    return x * x


@app.task(name="introduce", process=True, retention=60)
def introduce(ctx: Context) -> tuple[str, dict[str, str]]:
    return ctx.worker_id, dict(ctx.attributes)


@app.task(name="results", process=True)
def results(ctx: Context) -> list[Any]:
    return [ctx.node, ctx.results()]


@app.task(name="hang", process=True, timeout=60, retry=1)
def hang(ctx: Context, folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    ctx.extend(0.1)  # only now: a process takes its time to begin
    time.sleep(60)


def enqueue_square(other: App, x: int) -> Job[Any]:
    prepared = square.prepare(square.options, (x,), {})
    return Job(other, "default", other.broker.run(prepared.work(other)).job_ids[0], task=square)


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


@app.task(name="talk", process=True)
def talk(ctx: Context, path: str) -> None:
    ctx.log("before")
    while not Path(path).exists():
        time.sleep(0.01)
    ctx.log("after")


@app.task(name="die_within_a_message", process=True, retry=1)
def die_within_a_message() -> None:
    """As a process that is killed while it writes."""
    writer = processes._writer
    writer._lock.acquire()
    os.write(writer._connection.fileno(), (1_000).to_bytes(4, "big") + b"half")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="yield_and_fail", process=True)
def yield_and_fail() -> Iterator[str]:
    yield "first"
    raise ValueError


@app.task(name="yield_much", process=True)
async def yield_much() -> AsyncIterator[str]:
    yield "small"
    yield "x" * (CURSOR_MAX_BYTES - 2)
    yield "x" * 70_000


def enqueue_yield_much(other: App) -> Job[Any]:
    prepared = yield_much.prepare(yield_much.options, (), {})
    return Job(other, "default", other.broker.run(prepared.work(other)).job_ids[0], task=yield_much)


@app.task(name="limited", process=True, timeout=LIMIT_S, retention=60)
def limited(ctx: Context) -> float | None:
    return ctx.seconds_left


def hanging(folder: Path) -> list[int]:
    """Processes of the task `hang` which still live."""
    pids = [int(mark.name) for mark in folder.iterdir()]
    assert pids, "it did not begin"
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


class OddCancelError(Cancel):
    """One that another process cannot read: it takes two arguments."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")


class OddSnoozeError(Snooze):
    """The same; it would fail in another way."""

    def __init__(self, name: str) -> None:
        super().__init__({"soon": 30.0}[name])


@app.task(name="odd_outcome", process=True)
def odd_outcome(what: str) -> None:
    if what == "cancel":
        raise OddCancelError(7, "not wanted")
    raise OddSnoozeError("soon")
