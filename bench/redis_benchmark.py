"""redis-benchmark: SET requests per second, the yardstick S."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .tools import VoidRunError, output_of

CLIENTS = 32
VALUE_BYTES = 100
_TIMEOUT_S = 120.0


def sets_per_second(where: Sequence[str], *, requests: int) -> float:
    """`where`: the options that say which server. Raises VoidRunError."""
    command = ["redis-benchmark", *where, "-t", "set", "-c", str(CLIENTS), "-d", str(VALUE_BYTES)]
    return parse(output_of([*command, "-n", str(requests), "-q"], timeout_s=_TIMEOUT_S))


def parse(output: str) -> float:
    """Read the closing line; those before it, ended by carriage returns, show progress."""
    found = re.search(r"SET: ([\d.]+) requests per second", output)
    if found is None:
        raise VoidRunError(f"redis-benchmark reports no figure: {output.strip()[-300:]}")
    return float(found[1])
