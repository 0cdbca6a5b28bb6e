"""`python -m bench [NAME ...] [--runs N]`: all scenarios, or those named."""

from __future__ import annotations

import argparse
import os
import platform

from . import engine, lateness, memory

SCENARIOS = {"memory": memory.run, "engine": engine.run, "lateness": lateness.run}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCENARIOS)} (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each scenario; medians are shown (default: 3)")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - SCENARIOS.keys())
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    for name in chosen.names or SCENARIOS:
        SCENARIOS[name](chosen.runs)


main()
