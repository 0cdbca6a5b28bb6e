"""How the small application is served."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from tests.http.two_servers_connection import Wire, request
from tests.running.processes import ROOT, Family
from tests.support.waiting import wait_until

from . import application


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    process: subprocess.Popen[str]
    log: Path
    """What it wrote to its standard error."""

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def call(self, target: str) -> Any:
        """The answer to a GET on a connection of its own."""
        with Wire(self.url) as wire:
            return wire.call(request(f"GET {target}"))

    def wait_seen(self, event: str) -> None:
        wait_until(lambda: event in self.call("/seen").json, or_fail=f"the application did not see: {event}")

    def refuses(self) -> bool:
        """Whether it listens no more."""
        try:
            Wire(self.url).hang_up()
        except ConnectionRefusedError:
            return True
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(*, idle_max_s: int = 75, host: str = "127.0.0.1", files: int = 0) -> Iterator[Server]:
    """A process with one worker. `files`: how many it may open, if there is a limit."""
    with TemporaryDirectory() as directory:
        port, log = free_port(), Path(directory) / "log"
        command = [sys.executable, "-m", application.__name__, str(port), str(idle_max_s), host]
        if files:
            command = ["prlimit", f"--nofile={files}:{files}", *command]
        env = Family().environment(TASKQ_DATA_DIR=directory)
        with (
            log.open("wb") as stderr,
            subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
        ):
            server = Server(url=f"http://{f'[{host}]' if ':' in host else host}:{port}", process=process, log=log)
            try:
                wait_until(
                    lambda: process.poll() is not None or not server.refuses(),
                    or_fail="the server did not start",
                    timeout_s=60,
                )
                yield server
            finally:
                process.kill()
