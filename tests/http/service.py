"""Real servers: `manage.py serve` on a database and a Redis of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from queues.embedded import EmbeddedRedis
from tests.http.client import Client
from tests.support.once import made_once
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
ACCOUNT_FILE = "demo.json"
"""As `up` calls it."""


@dataclass(slots=True)
class Site:
    """A migrated database, a Redis, the user `admin`, and the namespace `demo` with a token."""

    data_dir: Path
    redis_url: str
    account: dict[str, Any] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return {
            "TASKQ_SIGN_IN_FAILURES": "1000",  # many tests share a server, and all of them an address
            **os.environ,
            "TASKQ_DATA_DIR": str(self.data_dir),
            "REDIS_URL": self.redis_url,
            "DATABASE_URL": f"sqlite:///{self.data_dir}/taskq.sqlite3",
            "DJANGO_SETTINGS_MODULE": "tests.http.served_settings",
            "LOG_LEVEL": "INFO",
            "LOG_FORMAT": "json",
        }

    def manage(self, *arguments: str) -> str:
        """Run a command to its end; its standard output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def prepare(self) -> None:
        """Copies what `bootstrap` makes, which takes seconds."""
        self.account = json.loads(copy_bootstrapped(self.data_dir).read_text())

    @contextmanager
    def serve(self, *, workers: int = 1, pages_on_demand: bool = True, **settings: str) -> Iterator[Server]:
        """Start a server with these environment variables besides, and stop it with SIGTERM.

        `pages_on_demand`: its pages process loads its pages only once it is asked for one (tests.http.pages_on_demand).
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = self.data_dir / f"server-{port}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", str(workers)],
                cwd=ROOT,
                env=self.env | {"TASKQ_TEST_PAGES_ON_DEMAND": "1" if pages_on_demand else "0"} | settings,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        server = Server(url=f"http://127.0.0.1:{port}", process=process, log=log, site=self)
        _have_shown_pages.discard(server.url)
        try:
            wait_until(server.answers, or_fail=f"no server on port {port}", timeout_s=START_TIMEOUT_S)
            yield server
        finally:
            server.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    process: subprocess.Popen[bytes]
    log: Path
    site: Site

    @property
    def client(self) -> Client:
        """With the token of the namespace `demo`."""
        return Client(url=self.url, namespace=self.site.account["namespace"], token=self.site.account["token"])

    @property
    def staff(self) -> Client:
        """With the password of the user `admin`. The pages process answers it, so that is waited for."""
        self.wait_for_pages()
        account = self.site.account
        return Client(url=self.url, basic=f"{account['username']}:{account['password']}")

    def wait_for_pages(self) -> None:
        """The server answers before its pages process does, which a busy machine takes long to start."""
        if self.url not in _have_shown_pages:
            wait_until(lambda: self._answers("/login/"), or_fail="no pages", timeout_s=START_TIMEOUT_S)
            _have_shown_pages.add(self.url)

    def new_token(self, namespace: str, *, pool: str = "default", secret: str = "") -> str:
        """A token of that namespace; `secret`: one that the test chose."""
        chosen = f"&token={secret}" if secret else ""
        made = self.staff.call("POST", f"/token/{namespace}?description=test&pool={pool}{chosen}")
        assert made.status == 201, made
        return str(made.json["token"])

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return self._answers("/healthz")

    def _answers(self, path: str) -> bool:
        try:
            return Client(url=self.url).call("GET", path).status == 200
        except (OSError, HTTPException):
            return False

    def stop(self) -> int:
        """SIGTERM, and wait for the end; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_TIMEOUT_S)

    def worker_pids(self) -> set[int]:
        """Process ids of its workers, if they are processes of their own; its other children are none of ours."""
        return {pid for pid, line in self.children().items() if b"spawn_main" in line}

    def children(self) -> dict[int, bytes]:
        """Process ids and command lines of those that it has started itself, in whichever thread."""
        lists = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [pid for each in lists for pid in each.read_text().split()]
        return {int(pid): line for pid in pids if (line := _command_line(pid))}

    def log_lines(self) -> list[dict[str, Any]]:
        """What it logged, as far as it is JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


_have_shown_pages: set[str] = set()
"""URLs of servers whose pages process has answered since they were started."""


@contextmanager
def open_site(directory: Path) -> Iterator[Site]:
    """A site with a Redis of its own."""
    with EmbeddedRedis(directory / "redis", persistent=False) as redis:
        site = Site(data_dir=directory, redis_url=redis.url)
        site.prepare()
        yield site


def site_fixtures(name: str, *, scope: Any = "module", with_pages: bool = False) -> tuple[Any, Any]:
    """Fixtures, to be called `site` and `server`: a site, and a server that has started. `with_pages`: pages, too."""

    @pytest.fixture(scope=scope)
    def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
        with open_site(tmp_path_factory.mktemp(name)) as site:
            yield site

    @pytest.fixture(scope=scope)
    def server(site: Site) -> Iterator[Server]:
        with site.serve() as server:
            if with_pages:
                server.wait_for_pages()
            yield server

    return site, server


def copy_bootstrapped(data_dir: Path) -> Path:
    """Makes `data_dir` one of a service that was started before. The file with its account."""
    shutil.copytree(made_once("bootstrapped", _bootstrap), data_dir, dirs_exist_ok=True)
    return data_dir / ACCOUNT_FILE


def _bootstrap(directory: Path) -> None:
    Site(data_dir=directory, redis_url=os.environ["REDIS_URL"]).manage(
        "bootstrap", "--account", str(directory / ACCOUNT_FILE)
    )


def _command_line(pid: str) -> bytes:
    """Empty if the process has ended, also since it was listed."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
