"""The actors of the demo: orders, emails and images, each with a producer and a consumer of its jobs.

An order is published with a delay after which it is closed; the payment that comes in time deletes the job. Some emails
fail and are tried again ever later; a few have an address that never works and end as dead letters. Images come in
bursts, and resizing them is slow, so there is a backlog to watch.
"""

from __future__ import annotations

import heapq
import random
import time
from typing import ClassVar, Final

from .client import Client

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
