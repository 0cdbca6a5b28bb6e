"""The load generator wrk: how it is run and what it says."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .tools import VoidRunError, output_of

SCRIPTS = Path(__file__).parent / "wrk"
_MS = {"us": 0.001, "ms": 1.0, "s": 1_000.0, "m": 60_000.0}
_SLACK_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What one run of wrk measured. `cycles`: what a script counted itself, 0 if it counts nothing."""

    requests: int
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    cycles: int

    @property
    def seconds(self) -> float:
        """How long it ran, by its own account."""
        return self.requests / self.requests_per_s


def run_wrk(
    url: str, *, script: str | None, connections: int, threads: int, seconds: int, env: Mapping[str, str]
) -> LoadResult:
    """Load `url`. wrk wants whole seconds. `env`: added to the environment, for scripts. Raises VoidRunError."""
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
    if script is not None:
        command += ["-s", str(SCRIPTS / f"{script}.lua")]
    return parse(output_of([*command, url], env={**os.environ, **env}, timeout_s=seconds + _SLACK_S))


def parse(output: str) -> LoadResult:
    """Read wrk's report. Raises VoidRunError if it holds failed requests or no figures."""
    for complaint in (r"Non-2xx or 3xx responses: \d+", r"Socket errors: .*"):
        failed = re.search(complaint, output)
        if failed:
            raise VoidRunError(failed[0])
    cycles = re.search(r"^cycles: (\d+)$", output, re.MULTILINE)
    return LoadResult(
        requests=int(_find(r"(\d+) requests in ", output)),
        requests_per_s=float(_find(r"Requests/sec:\s+([\d.]+)", output)),
        p50_ms=_latency(50, output),
        p99_ms=_latency(99, output),
        cycles=int(cycles[1]) if cycles else 0,
    )


def _find(pattern: str, output: str) -> str:
    found = re.search(pattern, output)
    if found is None or set(found[1]) <= set("0."):
        raise VoidRunError(f"wrk reports no figure for {pattern!r}: {output.strip()[-300:]}")
    return found[1]


def _latency(percent: int, output: str) -> float:
    found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m)\s*$", output, re.MULTILINE)
    if found is None:
        raise VoidRunError(f"wrk reports no {percent} % latency: {output.strip()[-300:]}")
    return float(found[1]) * _MS[found[2]]
