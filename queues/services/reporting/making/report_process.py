"""The process that computes reports (`queues.reports`): what it says, its end, and how it is ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from queues import supervision

from ..failures import ProcessDiedError, ReportFailedError

ERROR_LINES: Final = 30
"""Last lines of what the process wrote to its standard error, for when it ends without saying why."""

ERROR_LINE_MAX: Final = 1_000
"""Characters of a line that are kept."""

LAST_LINES: Final = "The last lines of its standard error:"

NOISE: Final = (
    "Picked up JAVA_TOOL_OPTIONS:",
    "WARNING: Using incubator modules:",
    "Setting default log level to ",
    "To adjust logging level use ",
    "2 compiler directives added",
    "WARNING: package sun.security.action not in java.base",
    # Of the run that leaves an archive.
    "Temporary AOTConfiguration recorded:",
    "Launching child process ",
    "Picked up JDK_AOT_VM_OPTIONS:",
    "Reading AOTConfiguration ",
    "AOTCache creation is complete:",
    "Removed temporary AOT configuration file ",
)
"""Lines begin so that Java and Spark write whatever happens."""

STOP_TIMEOUT_S: Final = 5.0

LAST_WORDS_S: Final = 1.0
"""What a process that has ended has said is read by then, however busy the machine is."""

ENDED: Final = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What the process said: how far it is (stage, done, of, message), or a `warning`."""

    said: Mapping[str, Any]


class ReportProcess:
    """A process in a group of its own, tied to this one: whatever ends this process ends it, and Spark's Java with it.

    To be started from a thread that lives as long as this process (see queues.supervision.parent_death_signal).
    """

    def __init__(
        self, command: Sequence[str], *, packages: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """`packages`: where Python is to look for our own first; None: they are installed. `environment`: variables
        that are other than in this process."""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: deque[str] = deque(maxlen=ERROR_LINES)
        self._error: tuple[str, str] | None = None
        try:
            self._child = supervision.Child(
                command,
                env=os.environ | _python_path(packages) | dict(environment or {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise ProcessDiedError(f"the process that computes cannot be started: {error}") from error
        process = self._child.process
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read_lines, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def lines(self, *, wait_s: float) -> Iterator[Line | None]:
        """What it says until it ends well; None whenever it has been silent for `wait_s`. Raises ReportFailedError."""
        has_ended = False
        while True:
            try:
                text = self._lines.get(timeout=LAST_WORDS_S if has_ended else wait_s)
            except queue.Empty:
                if has_ended:  # and Java holds its output open
                    break
                has_ended = self._child.status is not None
                yield None
                continue
            if text is ENDED:
                break
            line = self._parse(text)
            if line is not None:
                yield line
        self._check_end()

    @property
    def last_errors(self) -> list[str]:
        """The last lines of its standard error so far."""
        return list(self._errors)

    def stop(self) -> None:
        """End it and whatever it started: by SIGTERM, after a while by SIGKILL. To be called in the end in any case."""
        if self._child.status is None:
            self._child.send_all(signal.SIGTERM)
            self._child.wait(STOP_TIMEOUT_S)
        self._child.kill()  # its Java may live on
        for reader in self._readers:
            reader.join(STOP_TIMEOUT_S)

    def _parse(self, text: str) -> Line | None:
        """None: it was no line for us. An error is kept until the process has ended."""
        try:
            said = json.loads(text)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            self._errors.append(text.rstrip())
            return None
        if "error" in said:
            self._error = (str(said["error"]), str(said.get("kind", "failed")))
            return None
        return Line(said=said)

    def _check_end(self) -> None:
        status = self._child.process.wait()
        has_failed = status != 0 or self._error is not None
        for reader in self._readers:
            reader.join(STOP_TIMEOUT_S if has_failed else LAST_WORDS_S)
        if not has_failed:
            return
        tail = "\n".join(self._errors)
        if self._error is not None:
            text, kind = self._error
            raise ReportFailedError(f"{text}\n{LAST_LINES}\n{tail}" if tail else text, kind=kind)
        how = f"was ended by {_name(-status)}" if status < 0 else f"ended with status {status}"
        said = f"{LAST_LINES}\n{tail}" if tail else "It wrote nothing to its standard error."
        raise ProcessDiedError(f"The process that computes {how} and did not say why.\n{said}")

    def _read_lines(self, pipe: IO[str]) -> None:
        for text in pipe:
            self._lines.put(text)
        self._lines.put(ENDED)

    def _read_errors(self, pipe: IO[str]) -> None:
        for text in pipe:
            if text.strip() and not text.startswith(NOISE):
                self._errors.append(text.rstrip()[:ERROR_LINE_MAX])


def _python_path(first: Path | None) -> dict[str, str]:
    if first is None:
        return {}
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {"PYTHONPATH": os.pathsep.join([str(first), *others])}


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
