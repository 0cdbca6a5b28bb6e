"""The demo's load: orders, emails and images, each with a producer and a consumer, in a thread of its own.

An order is published with a delay after which it is closed; the payment that comes in time deletes the job. Some emails
fail and are tried again ever later; a few have an address that never works and end as dead letters. Images come in
bursts, and resizing them is slow, so there is a backlog to watch.
"""

from __future__ import annotations

import base64
import heapq
import http.client
import json
import logging
import random
import threading
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import urlencode, urlsplit

from queues.supervision import BEAT_EVERY_S, HEARTBEAT

WAIT_S: Final = 5
"""How long one consume waits at the server."""


class ServiceAwayError(Exception):
    """The service cannot be reached or cannot do it now: come back later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job in hand."""

    queue: str
    job_id: str
    body: dict[str, Any]


class Client:
    """Not to be shared between threads."""

    def __init__(self, *, url: str, namespace: str, token: str, name: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT_S + 10)
        self._root = f"/api/{namespace}"
        self._headers = {"X-Token": token, "X-Consumer": name}

    def publish(self, queue: str, body: dict[str, Any], **options: str | float) -> str:
        """The id of the new job."""
        return str(self._call("PUT", queue, json.dumps(body), **options)["job_id"])

    def publish_all(self, queue: str, bodies: list[dict[str, Any]], **options: str | float) -> None:
        self._call("PUT", f"{queue}/bulk", json.dumps(bodies), **options)

    def consume(self, queue: str, *, ttr: int) -> Job | None:
        """The next job, waiting for one a few seconds."""
        answer = self._call("GET", queue, ttr=ttr, timeout=WAIT_S)
        if "job_id" not in answer:
            return None
        return Job(queue=queue, job_id=answer["job_id"], body=json.loads(base64.b64decode(answer["data"])))

    def delete(self, queue: str, job_id: str) -> None:
        """Acknowledge a job in hand, or take back one that waits."""
        self._call("DELETE", f"{queue}/job/{job_id}")

    def fail(self, job: Job, error: str) -> None:
        self._call("POST", f"{job.queue}/job/{job.job_id}/fail", json.dumps({"error": error}))

    def count_ready(self, queue: str) -> int:
        return int(self._call("GET", f"{queue}/size")["size"])

    def count_dead(self, queue: str) -> int:
        return int(self._call("GET", f"{queue}/deadletter/size")["size"])

    def respawn(self, queue: str, *, limit: int) -> None:
        self._call("PUT", f"{queue}/deadletter", limit=limit)

    def pause(self, queue: str) -> None:
        self._call("POST", f"{queue}/pause")

    def destroy(self, queue: str) -> None:
        """Delete the queue with all that is in it."""
        self._call("DELETE", queue)

    def bury_for_good(self, queue: str, *, limit: int) -> None:
        self._call("DELETE", f"{queue}/deadletter", limit=limit)

    def _call(self, method: str, path: str, body: str | None = None, **query: str | float) -> dict[str, Any]:
        """What the service answers; empty for no content. 4xx are answers, too. Raises ServiceAwayError."""
        try:
            self._connection.request(method, f"{self._root}/{path}?{urlencode(query)}", body, self._headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.status >= 500 or response.status == 429:
                raise ServiceAwayError(f"{method} {path}: {response.status}")
            answer: dict[str, Any] = json.loads(content) if content else {}
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            raise ServiceAwayError(f"{method} {path}: {error}") from error
        return answer


ORDERS: Final = "order-close"
PAY_WITHIN_S: Final = 20
PAID_SHARE: Final = 0.8

EMAILS: Final = "emails"
BAD_ADDRESS_SHARE: Final = 0.02
FAILURE_SHARE: Final = 0.15
DEAD_MAX: Final = 40
"""Dead letters beyond this are deleted, oldest first: the demo may run for weeks."""

IMAGES: Final = "images"
BURST: Final = 25
BACKLOG_MAX: Final = 60

dice: Final = random.Random()  # noqa: S311  a play, not cryptography


class Actor:
    """Does one thing again and again, with a pause in between."""

    pause_s: ClassVar[float] = 0.05

    def act(self, client: Client) -> None:
        """Do it once. Raises ServiceAwayError."""
        raise NotImplementedError


class Customers(Actor):
    """Place an order now and then; most of them pay before it is too late."""

    pause_s = 0.8

    def __init__(self) -> None:
        self._number = 0
        self._payments: list[tuple[float, str]] = []

    def act(self, client: Client) -> None:
        self._number += 1
        order = {"order": self._number, "amount": round(dice.uniform(5, 200), 2)}
        job_id = client.publish(ORDERS, order, delay=PAY_WITHIN_S, ttl=3600, tries=3)
        if dice.random() < PAID_SHARE:
            heapq.heappush(self._payments, (time.monotonic() + dice.uniform(1, PAY_WITHIN_S - 2), job_id))
        while self._payments and self._payments[0][0] <= time.monotonic():
            client.delete(ORDERS, heapq.heappop(self._payments)[1])


class Closer(Actor):
    """Closes the orders that nobody paid."""

    def act(self, client: Client) -> None:
        job = client.consume(ORDERS, ttr=10)
        if job is not None:
            client.delete(ORDERS, job.job_id)


class Shop(Actor):
    """Has something to write to somebody."""

    pause_s = 0.5

    def act(self, client: Client) -> None:
        host = "nowhere.invalid" if dice.random() < BAD_ADDRESS_SHARE else "example.org"
        email = {"to": f"customer{dice.randrange(1000)}@{host}", "subject": "Your order"}
        client.publish(EMAILS, email, tries=4, ttl=3600, backoff="exponential:2:30")


class Mailer(Actor):
    """Sends them."""

    def act(self, client: Client) -> None:
        job = client.consume(EMAILS, ttr=10)
        if job is None:
            return
        time.sleep(dice.uniform(0.05, 0.2))
        if job.body["to"].endswith(".invalid"):
            client.fail(job, "550 no such host")
        elif dice.random() < FAILURE_SHARE:
            client.fail(job, "421 service not available, try again later")
        else:
            client.delete(EMAILS, job.job_id)


class Postmaster(Actor):
    """Looks after the dead letters: gives a few of them another try, and keeps them from piling up."""

    pause_s = 60.0

    def act(self, client: Client) -> None:
        dead = client.count_dead(EMAILS)
        if dead > DEAD_MAX:
            client.bury_for_good(EMAILS, limit=dead - DEAD_MAX)
        elif dead > DEAD_MAX // 4:
            client.respawn(EMAILS, limit=2)


class Photographer(Actor):
    """Uploads a film every twenty seconds, unless the last ones are still waiting."""

    pause_s = 20.0

    def act(self, client: Client) -> None:
        if client.count_ready(IMAGES) < BACKLOG_MAX:
            images = [{"image": f"IMG_{dice.randrange(10_000):04}.jpg"} for _ in range(BURST)]
            client.publish_all(IMAGES, images, ttl=3600, tries=3)


class Resizer(Actor):
    """Takes about a second for each."""

    def act(self, client: Client) -> None:
        job = client.consume(IMAGES, ttr=15)
        if job is not None:
            time.sleep(dice.uniform(0.5, 1.5))
            client.delete(IMAGES, job.job_id)


logger = logging.getLogger(__name__)

AWAY_PAUSE_S: Final = 2.0


def run_load(*, url: str, namespace: str, token: str, stopping: threading.Event) -> None:
    """Keep the load going until `stopping` is set. Threads that wait for a job end with the process."""
    cast: list[Actor] = [Customers(), Closer(), Shop(), Mailer(), Mailer(), Postmaster(), Photographer(), Resizer()]
    for number, actor in enumerate(cast, start=1):
        name = f"{type(actor).__name__.lower()}-{number}"
        client = Client(url=url, namespace=namespace, token=token, name=name)
        threading.Thread(target=perform, args=(actor, client, stopping), daemon=True).start()
    while not stopping.is_set():
        HEARTBEAT.beat()
        stopping.wait(BEAT_EVERY_S)


def perform(actor: Actor, client: Client, stopping: threading.Event) -> None:
    """Let an actor act until `stopping` is set. While the service is away it waits and says so once."""
    away = False
    pause_s = 0.0
    while not stopping.wait(pause_s):
        try:
            actor.act(client)
        except ServiceAwayError as error:
            if not away:
                logger.warning("service is away", extra={"action": "demo_waits", "reason": str(error)})
            away, pause_s = True, AWAY_PAUSE_S
        else:
            away, pause_s = False, actor.pause_s
