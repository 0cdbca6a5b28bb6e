"""Child processes of the benchmarks: on a leash, in their own session, and stopped by process id."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from queues.embedded import leashed

ROOT = Path(__file__).parent.parent
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


@contextmanager
def running(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """Run beside the block; afterwards ask it to end, then end its whole process group.

    A session of its own keeps Ctrl-C from reaching it before the block is left.
    """
    process = subprocess.Popen(
        leashed(command), env=env, stdin=subprocess.DEVNULL, stdout=stdout, text=True, cwd=ROOT, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_S)
        kill_group(process)


def kill_group(process: subprocess.Popen[str]) -> None:
    """SIGKILL to the process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Ask until it holds. Raises TimeoutError that names `what`."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {START_TIMEOUT_S:g} s")
        time.sleep(0.01)
