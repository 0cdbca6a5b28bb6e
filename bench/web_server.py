"""A web server of one's own beside a running service, on its Redis and database: to be killed, or to be measured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from queues.supervision import tied_to_parent

from .processes import ROOT, kill_group, wait_for
from .servers import MANAGE, Service, free_port
from .wire import Wire


class WebServer:
    """One `manage.py serve` with one worker; without `pages`, nothing beside it. Start it from the main thread, which
    it is tied to."""

    def __init__(self, service: Service, *, pages: bool = True) -> None:
        self.service = replace(service, port=free_port())
        self._env = service.environment | {"TASKQ_PAGES_PROCESS": str(int(pages))}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and return once it answers."""
        command = [sys.executable, MANAGE, "serve", f"--port={self.service.port}", "--workers=1"]
        with (self.service.data_dir / "log" / "bench-server.log").open("ab") as log:
            self._process = subprocess.Popen(
                tied_to_parent(command),
                env=self._env,
                stdout=log,
                stderr=log,
                text=True,
                cwd=ROOT,
                start_new_session=True,
            )
        wait_for(self._answers, "the web server answers")

    def kill(self) -> None:
        """SIGKILL to all of it."""
        if self._process is not None:
            kill_group(self._process)

    def resident_bytes(self) -> int:
        """Memory of its processes: the worker, and the one that watches it. Linux only."""
        assert self._process is not None, "started before"
        pids = [pid for pid in _pids() if _group(pid) == self._process.pid]
        return sum(_resident(pid) for pid in pids)

    def _answers(self) -> bool:
        try:
            wire = Wire(self.service, timeout_s=1.0)
        except OSError:
            return False
        try:
            return wire.call("GET", "queues")[0] == 200
        except OSError:
            return False
        finally:
            wire.close()


@contextmanager
def web_server(service: Service, *, pages: bool = True) -> Iterator[WebServer]:
    """Run one beside the block; it is killed afterwards, for nothing of it is wanted."""
    server = WebServer(service, pages=pages)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
