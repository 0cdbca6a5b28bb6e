"""`taskq worker`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ..app import App
from ..errors import NotConfiguredError
from ..worker import StopReason, Worker, WorkerOptions
from ..worker.options import DEFAULT_CONCURRENCY, DEFAULT_GRACE_S, DEFAULT_LEASE_S
from .apps import load_app, module_of
from .printing import log_to_stderr

PORT_MAX: Final = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of `taskq worker`, and of `manage.py runworker` but for the first."""
    parser.add_argument(
        "-q",
        "--queues",
        default="",
        metavar="NAME:WEIGHT,...",
        help="queues to take jobs of, as in critical:6,default:3,low:1 (default: those of the app's tasks)",
    )
    parser.add_argument("--strict", action="store_true", help="a queue with a higher weight goes first, always")
    parser.add_argument("-c", "--concurrency", type=int, default=DEFAULT_CONCURRENCY, help="jobs at once (%(default)s)")
    parser.add_argument("-p", "--processes", type=int, default=1, help="worker processes (%(default)s)")
    parser.add_argument(
        "--task-processes",
        type=int,
        metavar="N",
        help="tasks with process=True that one worker process runs at once (default: its share of the processors)",
    )
    parser.add_argument("--burst", action="store_true", help="end when nothing is left to do")
    parser.add_argument("--reload", action="store_true", help="start again when a Python file in this folder changes")
    parser.add_argument(
        "--lease",
        type=float,
        default=DEFAULT_LEASE_S,
        metavar="S",
        help="after so long, the jobs of a worker that died are run by others (%(default)g)",
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=DEFAULT_GRACE_S,
        metavar="S",
        help="how long running jobs may take after SIGTERM (%(default)g)",
    )
    parser.add_argument("--max-jobs", type=int, metavar="N", help="start a process anew after so many jobs")
    parser.add_argument("--max-memory", type=int, metavar="MB", help="start a process anew when it takes more memory")
    parser.add_argument(
        "--health-port",
        type=int,
        metavar="PORT",
        help="answer GET / there: 200 while all is well, else 503; further processes on the ports after it",
    )
    parser.add_argument("--supervised", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--slot", type=int, default=0, help=argparse.SUPPRESS)


def run_worker(load: Callable[[], App], options: argparse.Namespace, command: Sequence[str]) -> int:
    """Run a worker of the app that `load` returns, here or in processes of its own. The exit status.

    `command`: the command line of such a process, which gets `--supervised=PID` besides.
    """
    log_to_stderr()
    if options.processes < 1:
        raise NotConfiguredError("processes must be 1 or more")
    port = options.health_port
    if port is not None and not 0 <= port <= PORT_MAX + 1 - options.processes:
        raise NotConfiguredError(f"health port {port}: it, and one for each further process, must be 0 to {PORT_MAX}")
    recycles = options.max_jobs is not None or options.max_memory is not None
    supervises = options.processes > 1 or options.reload or recycles
    if supervises and options.supervised is None:
        from ..worker.supervisor import WorkerSupervisor

        if not options.reload:
            worker_options(load(), options)  # what is wrong with it is told once
        watch = Path.cwd() if options.reload else None
        supervisor = WorkerSupervisor(
            [*command, f"--supervised={os.getpid()}"], processes=options.processes, grace_s=options.grace, watch=watch
        )
        return supervisor.run()
    return asyncio.run(_work(load(), options))


def worker_options(app: App, options: argparse.Namespace) -> WorkerOptions:
    """The options of each worker process. Raises NotConfiguredError."""
    app.broker.limit_queues(app.queue_limits)
    queues = parse_queues(options.queues) or dict.fromkeys(sorted(app.queues()), 1)
    share = max(1, (os.cpu_count() or 1) // options.processes)
    return WorkerOptions(
        queues=queues or {"default": 1},
        strict=options.strict,
        concurrency=options.concurrency,
        processes=share if options.task_processes is None else options.task_processes,
        lease_s=options.lease,
        grace_s=options.grace,
        burst=options.burst,
        max_jobs=options.max_jobs,
        max_memory_mb=options.max_memory,
        schedules_of=None if options.slot else module_of(getattr(options, "app", "django")),
    )


async def _work(app: App, options: argparse.Namespace) -> int:
    worker = Worker(app, worker_options(app, options))
    worker.handle_signals()
    if options.supervised is not None:
        from queues.supervision import end_with_parent

        end_with_parent()
    if options.health_port is not None:
        from ..worker.health import serve_health

        async with serve_health(worker, options.health_port + options.slot):
            end = await worker.run()
    else:
        end = await worker.run()
    status = 0
    if end in (StopReason.MAX_JOBS, StopReason.MAX_MEMORY):
        from ..worker.supervisor import RECYCLED

        status = RECYCLED
    if worker.abandoned:  # their jobs were given back: they must not go on here while others run them
        sys.stderr.flush()
        os._exit(status)
    return status


def parse_queues(text: str) -> dict[str, int]:
    """`critical:6,default:3,low` → weights, 1 where none is given. Raises NotConfiguredError."""
    queues: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, weight = part.strip().partition(":")
        if not name or (weight and not weight.isdigit()) or weight == "0":
            raise NotConfiguredError(f"{part!r} is no NAME:WEIGHT, as in critical:6")
        queues[name] = int(weight or 1)
    return queues


def main(app_name: str, options: argparse.Namespace) -> int:
    """`taskq worker APP ...`."""
    from ..worker.supervisor import worker_command

    return run_worker(lambda: load_app(app_name), options, worker_command(sys.argv[2:]))
