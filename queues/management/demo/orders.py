"""Orders: each is published with a delay after which it is closed; the payment that comes in time deletes the job."""

from __future__ import annotations

import heapq
import time
from typing import Final

from .client import Client
from .stage import Actor, dice

QUEUE: Final = "order-close"
PAY_WITHIN_S: Final = 20
PAID_SHARE: Final = 0.8


class Customers(Actor):
    """Place an order now and then; most of them pay before it is too late."""

    pause_s = 0.8

    def __init__(self) -> None:
        self._number = 0
        self._payments: list[tuple[float, str]] = []

    def act(self, client: Client) -> None:
        self._number += 1
        order = {"order": self._number, "amount": round(dice.uniform(5, 200), 2)}
        job_id = client.publish(QUEUE, order, delay=PAY_WITHIN_S, ttl=3600, tries=3)
        if dice.random() < PAID_SHARE:
            heapq.heappush(self._payments, (time.monotonic() + dice.uniform(1, PAY_WITHIN_S - 2), job_id))
        while self._payments and self._payments[0][0] <= time.monotonic():
            client.delete(QUEUE, heapq.heappop(self._payments)[1])


class Closer(Actor):
    """Closes the orders that nobody paid."""

    def act(self, client: Client) -> None:
        job = client.consume(QUEUE, ttr=10)
        if job is not None:
            client.delete(QUEUE, job.job_id)
