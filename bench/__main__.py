"""`python -m bench [NAME ...] [--runs N] [--quick] [--yardstick unix|tcp]`: all scenarios, or those named."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import (
    dashboards,
    dependencies,
    drain,
    due,
    engine,
    failovers,
    fairness,
    hangup,
    idle,
    instructions,
    kills,
    lateness,
    longest_calls,
    memory,
    outbox,
    overview,
    pages,
    push,
    results,
    schedules,
    settings,
    shapes,
    stalls,
    sync_calls,
    throughput,
    workers,
)
from .report import Section, show
from .servers import ServiceFailedError
from .settings import Settings
from .tools import MissingToolError, VoidRunError

SCENARIOS: dict[str, Callable[[Settings], Section]] = {
    "publish-1": partial(throughput.measure, shapes.PUBLISH_1),
    "publish-32": partial(throughput.measure, shapes.PUBLISH_32),
    "publish-128": partial(throughput.measure, shapes.PUBLISH_128),
    "cycles": partial(throughput.measure, shapes.CYCLES),
    "consume-32": partial(throughput.measure, shapes.CONSUME_32),
    "consume-100": partial(throughput.measure, shapes.CONSUME_100),
    "bulk-64": partial(throughput.measure, shapes.BULK_64),
    "lateness": lateness.measure,
    "due": due.measure,
    "idle": idle.measure,
    "memory": memory.measure,
    "overview": overview.measure,
    "pages": pages.measure,
    "dashboards": dashboards.measure,
    "kills": kills.measure,
    "failovers": failovers.measure,
    "hangup": hangup.measure,
    "drain": drain.measure,
    "push": push.measure,
    "schedules": schedules.measure,
    "engine": engine.measure,
    "fairness": fairness.measure,
    "relay": dependencies.measure_relay,
    "fan-in": dependencies.measure_fan_in,
    "fan-out": dependencies.measure_fan_out,
    "longest-calls": longest_calls.measure,
    "instructions": instructions.measure,
    "stalls": stalls.measure,
    "workers": workers.measure,
    "outbox": outbox.measure,
    "sync-calls": sync_calls.measure,
}


def main() -> int:
    """Run and print. Exit status 1: a scenario could not be measured. Figures that miss their bars do not count."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCENARIOS)} (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each scenario; medians are shown (default: 3)")
    parser.add_argument("--quick", action="store_true", help="one short run of each: not for comparisons")
    parser.add_argument("--yardstick", choices=("tcp", "unix"), default="tcp", help="the S that bars mean")
    parser.add_argument(
        "--workers",
        type=int,
        help="web server processes of the runs under wrk (default: as the scenario has it)",
    )
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - SCENARIOS.keys())
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    if chosen.runs < 1:
        parser.error("--runs must be at least 1")
    if chosen.workers is not None and chosen.workers < 1:
        parser.error("--workers must be at least 1")
    plan = (
        settings.quick(yardstick=chosen.yardstick, workers=chosen.workers)
        if chosen.quick
        else settings.full(runs=chosen.runs, yardstick=chosen.yardstick, workers=chosen.workers)
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    print(f"Python {platform.python_version()}{_build()}, {os.cpu_count()} cores, {platform.machine()}")
    print(f"QUICK: 1 run of {plan.load_s:g} s, fewer jobs" if plan.quick else f"{plan.runs} runs of {plan.load_s:g} s")
    sections: dict[str, Section] = {}
    names = chosen.names or list(SCENARIOS)
    for name in names:
        try:
            sections[name] = SCENARIOS[name](plan)
        except (MissingToolError, VoidRunError, ServiceFailedError, OSError) as error:
            print(f"\n{name}: not measured: {error}", flush=True)
        else:
            show(sections[name])
    results.show_bars(sections)
    print(f"\nAll figures: {results.save(sections, plan)}")
    return 0 if sections.keys() >= set(names) else 1


def _build() -> str:
    """What to know of this Python. One whose interpreter is a shared library takes a fifth more of a processor."""
    with contextlib.suppress(OSError):
        if "/libpython3." in Path("/proc/self/maps").read_text():
            return " (interpreter in a shared library)"
    return ""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
