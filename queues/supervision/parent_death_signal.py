"""Ties a process to its parent: whatever ends the parent, SIGKILL included, ends the process too.

Linux does this in the kernel: PR_SET_PDEATHSIG has SIGKILL sent to the process when the *thread* that started it ends,
so start such processes from a thread that lives as long as its process (the main thread). Setting it needs code that
runs in the child. `preexec_fn` of `subprocess` would be that, but it runs Python between fork and exec, which deadlocks
when another thread holds a lock; so this file is run as a small program, sets the signal, and replaces itself with the
real command: same process id, same files. As it runs before every child, it imports next to nothing. SIGKILL, because
a process that hangs must go as well, and nothing is lost by it: Redis has written its append-only file before it
answers, and a request that was not answered was not promised.

Other systems have no such call: there the program stays, watches its parent, and takes its child down with it.
"""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False  # `typing` takes as long to import as Python takes to start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

PR_SET_PDEATHSIG: Final = 1
SIGKILL: Final = 9
WATCH_INTERVAL_S: Final = 0.2
HAS_PARENT_DEATH_SIGNAL: Final = sys.platform == "linux"


def tied_to_parent(argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` and ends with the calling process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *argv]


def end_with_parent(parent: int | None = None) -> None:
    """End the calling process when its parent ends. `parent`: its process id, if known, in case it is gone already.

    For Python processes that were not started with `tied_to_parent`, such as the web server's workers.
    """
    parent = os.getppid() if parent is None else parent
    if HAS_PARENT_DEATH_SIGNAL:
        _die_with_parent()
        if os.getppid() != parent:
            os.kill(os.getpid(), SIGKILL)
        return
    import threading

    threading.Thread(target=_watch_parent, args=(parent,), name="follow-parent", daemon=True).start()


def _die_with_parent() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"prctl(PR_SET_PDEATHSIG): {os.strerror(error)}")


def _watch_parent(parent: int) -> None:
    import time

    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL_S)
    os._exit(1)


def run_watched(parent: int, argv: Sequence[str]) -> int:
    """Run `argv` as a child until it ends or `parent` does; hand SIGTERM and SIGINT on to it. The exit status."""
    import signal
    import subprocess

    child = subprocess.Popen(argv, close_fds=False)  # noqa: S603  inherited files (a lock) are meant to reach the child
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    while True:
        try:
            status = child.wait(WATCH_INTERVAL_S)
        except subprocess.TimeoutExpired:
            if os.getppid() != parent:
                child.kill()
        else:
            return status if status >= 0 else 128 - status


def main() -> None:
    parent, argv = int(sys.argv[1]), sys.argv[2:]
    if not HAS_PARENT_DEATH_SIGNAL:
        sys.exit(run_watched(parent, argv))
    end_with_parent(parent)
    os.execvp(argv[0], argv)  # noqa: S606  no shell is wanted


if __name__ == "__main__":
    main()
