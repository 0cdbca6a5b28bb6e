"""The service that the browsers look at, and the shop's data in it."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import StorageState, StorageStateCookie

from queues.embedded import EmbeddedRedis
from queues.engine import TaskqError, annotate, open_engine
from queues.engine.stats.heartbeats import ParkedTask
from tests.dashboard.workers import beat, running
from tests.running.services import Service, start_service
from tests.support.waiting import wait_until

SMTP_ERROR = "421 smtp timeout"
TASK_WORKER = "app-1:4711:89abcdef"
ADDRESS_ERROR = "550 no such mailbox"
"""Many tests' jobs die of it, and mean to see their incident: none may mute it, in any queue."""


@dataclass(slots=True)
class Shop:
    """A running service with the namespace `demo`."""

    service: Service
    redis: EmbeddedRedis
    held_job: str = ""
    """The id of a job that somebody works on for as long as the tests run."""
    task_job: str = ""
    """The id of one that a worker of the Python SDK runs meanwhile."""
    workflow_job: str = ""
    """The id of the first job of the workflow `thumbnails-7`, in the queue `albums`."""
    incident: int = 0
    """The number of an incident: the dead letters of `invoices`."""
    _signed_in: StorageState | None = None

    @property
    def url(self) -> str:
        return str(self.service.said["url"]).rstrip("/")

    @property
    def username(self) -> str:
        return str(self.service.said["admin"]["username"])

    @property
    def password(self) -> str:
        return str(self.service.said["admin"]["password"])

    def signed_in(self) -> StorageState:
        """What the browser of a signed-in admin keeps."""
        if self._signed_in is None:
            self._signed_in = _sign_in(self)
        return self._signed_in

    def put(self, queue: str, body: bytes, **options: object) -> str:
        """The id of a new job."""
        status, answer = self.call("PUT", f"/api/demo/{queue}?{urlencode(options)}", body)
        assert status == 201, answer
        return str(answer["job_id"])

    def put_many(self, queue: str, jobs: int, **options: object) -> None:
        """So many jobs that carry a number."""
        for first in range(0, jobs, 1_000):
            bodies = [str(number) for number in range(first, min(first + 1_000, jobs))]
            status, answer = self.call("PUT", f"/api/demo/{queue}/bulk?{urlencode(options)}", f"[{','.join(bodies)}]")
            assert status in (200, 201), answer

    def take(self, queue: str, *, consumer: str = "", **options: object) -> str:
        """The id of the job that is delivered now."""
        status, answer = self.call("GET", f"/api/demo/{queue}?{urlencode(options)}", **{"X-Consumer": consumer})
        assert status == 200, answer
        return str(answer["job_id"])

    def bury(self, queue: str, error: str, *, jobs: int) -> None:
        """Jobs that died of `error`."""
        bodies = ",".join(f'{{"invoice": {number}}}' for number in range(jobs))
        status, answer = self.call("PUT", f"/api/demo/{queue}/bulk?tries=1", f"[{bodies}]")
        assert status == 201, answer
        # Above 1, the answer is a list.
        status, taken = self.call("GET", f"/api/demo/{queue}?count={max(2, jobs)}", **{"X-Consumer": "biller-1"})
        assert (status, len(taken)) == (200, jobs), taken
        for job in taken:
            path = f"/api/demo/{queue}/job/{job['job_id']}/fail"
            status, answer = self.call("POST", path, json.dumps({"error": error}))
            assert status in (200, 204), answer

    def bury_many(self, queue: str, jobs: int) -> None:
        """Jobs that died because whoever took them was not heard of again."""
        self.put_many(queue, jobs, tries=1)
        taken = 0
        while taken < jobs:
            status, answer = self.call("GET", f"/api/demo/{queue}?count=100&ttr=1")
            assert status == 200, answer
            taken += len(answer)
        wait_until(lambda: self.count(queue, "dead") == jobs, or_fail="the leases do not run out", timeout_s=20)

    def wait_for_job(self, queue: str, *, consumer: str, timeout_s: int = 600) -> None:
        """Let a consumer wait in the background for as long as the service runs."""

        def wait() -> None:
            with contextlib.suppress(OSError, HTTPException):  # the service ends before
                self.call("GET", f"/api/demo/{queue}?timeout={timeout_s}", **{"X-Consumer": consumer})

        Thread(target=wait, daemon=True).start()

    def address(self, page: str) -> str:
        """That of one of `tests.browser.pages`."""
        return page.format(
            job=self.held_job, task_job=self.task_job, workflow_job=self.workflow_job, incident=self.incident
        )

    def make_workflow(
        self, workflow_id: str, needs: Mapping[str, Sequence[str]], *, queue: str, name: str = ""
    ) -> None:
        """A workflow of these nodes, each with those that it depends on."""
        nodes = [{"name": one, "queue": queue, "body": one, "depends_on": list(its)} for one, its in needs.items()]
        content = {"id": workflow_id, "name": name, "nodes": nodes}
        status, answer = self.call("POST", "/api/demo/workflows", json.dumps(content))
        assert status == 201, answer

    def run_workers(self) -> None:
        """Let workers say once a second that they work, for as long as the tests run."""
        engine = open_engine(self.redis.url)
        queue = engine.queue("demo", "tasks")
        lines = ["opened the camera", "rendered the first frame", "x" * 300]
        engine.run(annotate(queue, self.task_job, {}, lines=lines, keep_ms=3_600_000))
        job = running(self.task_job, queue="tasks", task="film.render", percent=41.5, note="83 of 200 frames")
        parked = ParkedTask(queue="tasks", task="film.dub", reason="this worker has no such task", jobs=3)
        about: dict[str, Any] = {"namespace": "demo", "queues": {"tasks": 3, "frames-of-all-the-films": 1}}

        def work() -> None:
            while True:
                with contextlib.suppress(TaskqError):  # tests stop Redis
                    beat(engine, TASK_WORKER, running=[job], parked=(parked,), **about)
                    beat(engine, "app-2:12:0123abcd", host="app-2", state="quiet", failed=0, **about)
                time.sleep(1)

        Thread(target=work, daemon=True).start()

    def count(self, queue: str, state: str) -> int:
        """How many of its jobs are in a state."""
        status, answer = self.call("GET", f"/api/demo/{queue}/stats")
        assert status == 200, answer
        return int(answer[state])

    def call(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> tuple[int, Any]:
        """Status and decoded body of one request with the demo token."""
        connection = HTTPConnection(self.service.address, timeout=620)
        try:
            connection.request(method, path, body, {"X-Token": self.service.said["token"], **headers})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return response.status, json.loads(content) if content else None

    def fill(self) -> None:
        """Dead letters of two kinds, a paused queue, somebody at work, somebody who waits."""
        self.bury("invoices", SMTP_ERROR, jobs=4)
        self.bury("invoices", ADDRESS_ERROR, jobs=3)
        for number in range(12):
            self.put("newsletter", b'{"edition": %d}' % number, delay=3600 + number)
        self.put("reports", b"monthly figures", tries=3)
        self.held_job = self.take("reports", consumer="analyst-1", ttr=3600)
        nightly = {"queue": "reports", "cron": "30 2 * * *", "zone": "Europe/Berlin", "body": {"report": "daily"}}
        of_code = {"queue": "orders", "every": 300_000, "app": "shop", "overlap": "skip", "jitter": 20}
        for name, content in (("nightly-report", nightly), ("shop.tasks.close_old_orders-in-every-country", of_code)):
            status, answer = self.call("PUT", f"/api/demo/schedules/{name}", json.dumps(content))
            assert status == 201, answer
        self.put("tasks", b'{"task":"film.render","args":["intro",{"codec":"av1"}],"kwargs":{"fps":24}}')
        self.task_job = self.take("tasks", consumer=TASK_WORKER, ttr=3600)
        status, answer = self.call("PUT", "/api/demo/hooks/push", '{"url": "https://hooks.invalid/orders"}')
        assert status == 201, answer
        self.put("hooks", b'{"order": 7}', tries=3)
        for number in range(60):
            self.put("tenants", b"{}", limit_key=f"tenant-{number:02}")
        pictures = [f"resize-{number}" for number in range(1, 13)]
        thumbnails = {
            "fetch": [],
            **{one: ["fetch"] for one in pictures},
            "publish-album": pictures,
            "mail": ["publish-album"],
        }
        self.make_workflow("thumbnails-7", thumbnails, queue="albums", name="thumbnails")
        status, answer = self.call("GET", "/api/demo/workflows/thumbnails-7")
        assert status == 200, answer
        self.workflow_job = answer["nodes"][0]["job_id"]
        self.run_workers()
        self.wait_for_job("refunds", consumer="cashier-1")
        wait_until(lambda: self.call("GET", "/api/demo/emails/stats")[0] == 200, or_fail="the demo load does not begin")
        wait_until(self.find_incident, or_fail="no incident is opened", timeout_s=30)

    def find_incident(self) -> bool:
        """Whether the dead letters of `invoices` have become an incident; its number is noted."""
        text = self.read_page("/incidents/?state=open&kind=jobs_dying&q=invoices")
        found = re.search(r'href="/incidents/(\d+)/"', text)
        self.incident = int(found[1]) if found else 0
        return bool(found)

    def read_page(self, path: str) -> str:
        """What a signed-in admin gets."""
        jar = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.signed_in()["cookies"])
        connection = HTTPConnection(self.service.address, timeout=20)
        try:
            connection.request("GET", path, headers={"Cookie": jar})
            return connection.getresponse().read().decode()
        finally:
            connection.close()


def open_shop(data_dir: Path, redis: EmbeddedRedis) -> Shop:
    """Start the service."""
    return Shop(service=start_service(data_dir, "--demo", first_time=True, REDIS_URL=redis.url), redis=redis)


def _sign_in(shop: Shop) -> StorageState:
    """Through the form, as a browser does it."""
    jar: dict[str, str] = {}

    def send(method: str, body: str | None = None) -> str:
        connection = HTTPConnection(shop.service.address, timeout=20)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items()), "Referer": shop.url}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, "/login/", body, headers)
        response = connection.getresponse()
        for line in response.headers.get_all("Set-Cookie") or []:
            name, _, value = line.partition(";")[0].partition("=")
            jar[name] = value
        text = response.read().decode()
        connection.close()
        return text

    page = send("GET")
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    send("POST", urlencode({"csrfmiddlewaretoken": token, "username": shop.username, "password": shop.password}))
    host = shop.service.address.partition(":")[0]
    cookies = [
        StorageStateCookie(
            name=name, value=value, domain=host, path="/", expires=-1, httpOnly=False, secure=False, sameSite="Lax"
        )
        for name, value in jar.items()
    ]
    return StorageState(cookies=cookies, origins=[])
