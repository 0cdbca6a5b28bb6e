"""Child processes of the benchmarks: tied to this one, in their own session, and stopped by process id."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from queues.supervision import tied_to_parent

ROOT = Path(__file__).parent.parent
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


@contextmanager
def running(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, pipes: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run beside the block, with pipes for its input and output if wanted; afterwards end its whole process group.

    A session of its own keeps Ctrl-C from reaching it before the block is left.
    """
    ends = subprocess.PIPE if pipes else subprocess.DEVNULL
    process = subprocess.Popen(
        tied_to_parent(command), env=env, stdin=ends, stdout=ends, text=True, cwd=ROOT, start_new_session=True
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
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def wait_for(condition: Callable[[], bool], what: str, *, timeout_s: float = START_TIMEOUT_S) -> None:
    """Ask until it holds. Raises TimeoutError that names `what`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout_s:g} s")
        time.sleep(0.01)
