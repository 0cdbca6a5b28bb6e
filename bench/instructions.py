"""Instructions of the processor that a request costs the web process, counted by valgrind.

Between two versions of the code one per cent shows here, if nothing else runs, where requests per second may differ by
ten from one minute to the next. What the kernel does for a connection is not counted.
"""

from __future__ import annotations

import os
import re
import sys

from .report import Figure, Section
from .servers import Service, running_service
from .settings import Settings
from .tools import VoidRunError, errors_of, need

CLIENTS = 32
REQUESTS = (960, 2_880)
"""Of two runs; what the second one has more is divided by so many requests more."""

TIMEOUT_S = 600.0
_COLLECTED = re.compile(r"Collected : (\d+)")


def instructions_per_request(service: Service, verb: str) -> float:
    """Of a request that comes while 31 others do, of Python and all that it uses."""
    few, many = (_instructions(service, verb, requests) for requests in REQUESTS)
    return (many - few) / (REQUESTS[1] - REQUESTS[0])


def _instructions(service: Service, verb: str, requests: int) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={os.devnull}"]
    process = [sys.executable, "-m", "bench.instructions_process", verb, str(requests), str(CLIENTS)]
    env = service.environment | {"BENCH_NAMESPACE": service.namespace, "BENCH_TOKEN": service.token}
    said = errors_of([*valgrind, *process], env=env, timeout_s=TIMEOUT_S)
    collected = _COLLECTED.search(said)
    if collected is None:
        raise VoidRunError(f"valgrind counted nothing: {said[-500:]}")
    return int(collected[1])


def measure(settings: Settings) -> Section:
    """It varies with how many calls travel together, and so with who else uses the processor."""
    need("valgrind")
    with running_service() as service:
        figures = [
            Figure(
                name=name,
                unit="instr.",
                runs=[instructions_per_request(service, verb) for _ in range(settings.runs)],
            )
            for verb, name in (("publish", "a publish"), ("cycle", "a request of publish → consume → ack"))
        ]
    return Section(title=f"Instructions of the web process, {CLIENTS} clients", figures=figures)
