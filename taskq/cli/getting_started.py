"""`taskq init`, `taskq dev`, `taskq worker`: from nothing to tasks that run."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path
from typing import Any, Final

from ..brokers.choose import DEV_FILE
from ..errors import NotConfiguredError

TASKS_PY: Final = '''\
"""Tasks: plain functions that a worker runs. Start everything with `taskq dev tasks`."""

import asyncio

from taskq import App, Context

app = App()  # where taskq is: TASKQ_URL, or the `taskq dev` of this folder


@app.task(retention=3600)
def hello(name: str = "world") -> str:
    """taskq run tasks.hello --name you"""
    return f"Hello, {name}!"


@app.task(queue="reports", timeout=60, retention=3600)
async def count(ctx: Context, to: int = 10) -> int:
    """taskq run tasks.count --to 20: look at its progress on the dashboard."""
    for number in range(to):
        ctx.progress(100 * number / to, f"{number} of {to}")
        ctx.log(f"counted {number}")
        await asyncio.sleep(0.5)
    return to
'''

STOP_AFTER_S: Final = 30.0


def add_commands(commands: Any) -> None:
    """`init`, `dev` and `worker`."""
    from .run_worker import add_arguments

    init = commands.add_parser(
        "init", help="write a tasks.py with two tasks", description="Write a tasks.py with two tasks."
    )
    init.add_argument("folder", nargs="?", type=Path, default=Path())
    init.set_defaults(command=_init)

    dev = commands.add_parser("dev", help="Redis, server, dashboard and a worker, all on this machine")
    dev.add_argument("app", help="module with the tasks, as in `tasks`")
    dev.add_argument("--port", type=int, default=7777, help="of the dashboard and the HTTP API; 0: any (%(default)s)")
    dev.add_argument("-c", "--concurrency", type=int, default=None, help="jobs at once")
    dev.add_argument("--no-reload", action="store_true", help="leave the worker alone when a file changes")
    dev.set_defaults(command=_dev)

    worker = commands.add_parser("worker", help="run tasks")
    worker.add_argument("app", help="module, or module:attribute, with the app")
    add_arguments(worker)
    worker.set_defaults(command=_worker)


def _init(options: argparse.Namespace) -> int:
    path = options.folder / "tasks.py"
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TASKS_PY)
    except FileExistsError:
        raise NotConfiguredError(f"{path} exists already") from None
    print(f"wrote {path}\n")
    print("  taskq dev tasks                      starts everything")
    print("  taskq run tasks.hello --name you     runs a task")
    return 0


def _worker(options: argparse.Namespace) -> int:
    from .run_worker import main

    return main(options.app, options)


def _dev(options: argparse.Namespace) -> int:
    return asyncio.run(_develop(options))


async def _develop(options: argparse.Namespace) -> int:
    """Start the service, say how it is reached, keep a worker; end both on a signal."""
    folder = Path.cwd() / DEV_FILE.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    service, place = await _start_service(folder, options.port)
    dev_file = Path.cwd() / DEV_FILE
    settings = {"url": place["redis"], "namespace": place["namespace"]}
    if place["token"]:
        settings |= {"http": place["url"], "token": place["token"]}
    dev_file.touch(mode=0o600)  # it has a token
    dev_file.write_text(json.dumps(settings))
    worker: asyncio.subprocess.Process | None = None
    try:
        _say(place, options.app)
        worker = await _start_worker(options)
        waits = [loop.create_task(one) for one in (stopping.wait(), service.wait(), worker.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in waits:
            one.cancel()
        if stopping.is_set():
            return 0
        print(
            "taskq: the service ended" if service.returncode is not None else "taskq: the worker ended", file=sys.stderr
        )
        return 1
    finally:
        dev_file.unlink(missing_ok=True)
        for process in filter(None, (worker, service)):
            await _end(process)


async def _start_service(folder: Path, port: int) -> tuple[asyncio.subprocess.Process, dict[str, Any]]:
    command = [*_server_command(), "up", "--json", f"--data={folder}", f"--port={port}"]
    service = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert service.stdout is not None
    assert service.stderr is not None
    line = await service.stdout.readline()
    if not line:
        said = (await service.stderr.read()).decode("utf-8", "replace").strip()
        await service.wait()
        raise NotConfiguredError(f"the service did not start: {said}")
    return service, json.loads(line)


def _server_command() -> tuple[str, ...]:
    from taskq_site.installation import manage_command

    return manage_command()


async def _start_worker(options: argparse.Namespace) -> asyncio.subprocess.Process:
    arguments = [options.app]
    if not options.no_reload:
        arguments.append("--reload")
    if options.concurrency:
        arguments.append(f"--concurrency={options.concurrency}")
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "taskq", "worker", *arguments, start_new_session=True
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_AFTER_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _say(place: dict[str, Any], app: str) -> None:
    password = place["admin"]["password"] or "(the one you chose)"
    print(
        f"""
taskq dev

  dashboard   {place["url"]}/    sign in as {place["admin"]["username"]}, password {password}
  tasks       {app}: the worker starts again when a Python file in this folder changes
  try         taskq run {app}.hello --name you

Ctrl-C stops everything.
""",
        flush=True,
    )
