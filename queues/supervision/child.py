"""One child process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .heartbeats import HUNG_AFTER_S, Probe, Pulse, Watch
from .logs import bound_log
from .parent_death_signal import tied_to_parent


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """What to run. `is_ready` tells whether it does its work yet, `is_loading` whether it still reads its data, for
    which it has any time; `log` receives what it prints.

    `is_tied` False: `argv` is a command line of `tied_to_parent` already. `keep_fds`: open files that it inherits. It
    hangs when it has sent no heartbeat for `hung_after_s`, or `answers`, if given, has not been true. Then it is
    killed, but not before `killed_after_s`.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    is_ready: Callable[[], bool]
    is_loading: Callable[[], bool] = lambda: False
    stop_timeout_s: float = 15.0
    is_tied: bool = True
    keep_fds: tuple[int, ...] = ()
    answers: Callable[[], bool] | None = None
    hung_after_s: float = HUNG_AFTER_S
    killed_after_s: float = 0.0


class Child:
    """A process made from a spec. It leads its own process group, so Ctrl-C in the terminal does not reach it."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.started = time.monotonic()
        self._life: Pulse | Probe = Pulse() if spec.answers is None else Probe(spec.answers)
        self.watch = Watch(self._life.was_heard)
        bound_log(spec.log)
        try:
            with spec.log.open("ab") as log:
                self._process = self._start(log)
        except BaseException:
            self._life.close()
            raise

    def _start(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        spec, life = self.spec, self._life
        return subprocess.Popen(  # noqa: S603  our own command line
            tied_to_parent(spec.argv) if spec.is_tied else spec.argv,
            env={**spec.env, **life.variables} if isinstance(life, Pulse) else dict(spec.env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(*spec.keep_fds, life.fd) if isinstance(life, Pulse) else spec.keep_fds,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs. Negative: the signal that ended it."""
        return self._process.poll()

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.started

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended within `timeout_s`."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def send_kill(self) -> None:
        """Kill it and whatever it started. Does not wait: one that waits for a disk that hangs cannot end before."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it and whatever it started, at once. To be called when it ended by itself, too: its children may live."""
        self.send_kill()
        self._process.wait()
        self._life.close()
