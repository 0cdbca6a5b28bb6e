"""Starts `manage.py up` as a user would and talks to it over HTTP."""

from __future__ import annotations

import base64
import http.client
import json
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.http.service import ACCOUNT_FILE, copy_bootstrapped
from tests.running.processes import Family, manage


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running `manage.py up --json` and what its first line said."""

    process: subprocess.Popen[str]
    family: Family
    data_dir: Path
    said: dict[str, Any]

    @property
    def address(self) -> str:
        return str(urlsplit(self.said["url"]).netloc)

    def call(self, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
        """Status and decoded body of one request with the demo token; status 0: nobody answers."""
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            connection.request(method, path, body, {"X-Token": self.said["token"]})
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(content) if is_json and content else content.decode()

    def publish(self, queue: str, body: str, query: str = "") -> str:
        status, answer = self.call("PUT", f"/api/demo/{queue}?{query}", body)
        assert status == 201, answer
        return str(answer["job_id"])

    def consume(self, queue: str, query: str = "timeout=10") -> str:
        """The body of the next job, acknowledged."""
        status, job = self.call("GET", f"/api/demo/{queue}?{query}")
        assert status == 200, job
        assert self.call("DELETE", f"/api/demo/{queue}/job/{job['job_id']}")[0] == 204
        return base64.b64decode(job["data"]).decode()

    def is_ready(self) -> bool:
        return self.call("GET", "/readyz")[0] == 200


def start_service(
    data_dir: Path,
    *arguments: str,
    family: Family | None = None,
    first_time: bool = False,
    pages_on_demand: bool = False,
    **env: str,
) -> Service:
    """Start `up --json` on any free port and wait for its first line.

    Without `first_time` an empty data directory gets a database beforehand: to make one takes seconds. Its passwords
    are hashed as tests.http.served_settings says, which `up` does not know: nobody can sign in. `pages_on_demand`: for
    tests that ask for no page (tests.http.pages_on_demand).
    """
    if pages_on_demand:
        env |= {"DJANGO_SETTINGS_MODULE": "tests.http.served_settings", "TASKQ_TEST_PAGES_ON_DEMAND": "1"}
    family = family or Family(data_dir)
    if not first_time and not (data_dir / ACCOUNT_FILE).exists():
        copy_bootstrapped(data_dir)
    process = manage("up", "--json", "--port=0", f"--data={data_dir}", *arguments, env=family.environment(**env))
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate()
        raise AssertionError(f"up ended with status {process.returncode}: {errors}")
    return Service(process=process, family=family, data_dir=data_dir, said=json.loads(line))


def stop_service(service: Service, number: signal.Signals = signal.SIGTERM) -> int:
    """End it by all means: the exit status."""
    service.process.send_signal(number)
    try:
        service.process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        service.process.kill()
        service.process.communicate()
    return service.process.returncode
