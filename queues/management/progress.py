"""Progress of a report on a terminal: one line that is written over; elsewhere a line for each stage."""

from __future__ import annotations

from django.core.management.base import OutputWrapper

from queues.services.reporting.making.loading import Progress

CLEAR = "\r\x1b[K"


class ProgressLine:
    """`show` what goes on now, `say` what is to stay."""

    def __init__(self, out: OutputWrapper, *, quiet: bool) -> None:
        self._out = out
        self._quiet = quiet
        self._is_terminal = out.isatty()
        self._shown = ""

    def show(self, progress: Progress) -> None:
        if self._quiet:
            return
        text = f"{progress.day}  {progress.share:4.0%}  {progress.stage}"
        if self._is_terminal:
            self._shown = text
            self._out.write(f"{CLEAR}{text} {progress.message}"[:120], ending="")
            self._out.flush()
        elif progress.stage != self._shown:
            self._shown = progress.stage
            self._out.write(f"{text} {progress.message}".rstrip())

    def say(self, text: str) -> None:
        if not self._quiet:
            self.end()
            self._out.write(text)

    def end(self) -> None:
        """Leave no half a line behind."""
        if self._is_terminal and self._shown:
            self._out.write(CLEAR, ending="")
        self._shown = ""
