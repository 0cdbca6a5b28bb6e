"""Emails: some fail and are tried again ever later; a few have an address that never works and end as dead letters."""

from __future__ import annotations

import time
from typing import Final

from .client import Client
from .stage import Actor, dice

QUEUE: Final = "emails"
BAD_ADDRESS_SHARE: Final = 0.02
FAILURE_SHARE: Final = 0.15
DEAD_MAX: Final = 40
"""Dead letters beyond this are deleted, oldest first: the demo may run for weeks."""


class Shop(Actor):
    """Has something to write to somebody."""

    pause_s = 0.5

    def act(self, client: Client) -> None:
        host = "nowhere.invalid" if dice.random() < BAD_ADDRESS_SHARE else "example.org"
        email = {"to": f"customer{dice.randrange(1000)}@{host}", "subject": "Your order"}
        client.publish(QUEUE, email, tries=4, ttl=3600, backoff="exponential:2:30")


class Mailer(Actor):
    """Sends them."""

    def act(self, client: Client) -> None:
        job = client.consume(QUEUE, ttr=10)
        if job is None:
            return
        time.sleep(dice.uniform(0.05, 0.2))
        if job.body["to"].endswith(".invalid"):
            client.fail(job, "550 no such host")
        elif dice.random() < FAILURE_SHARE:
            client.fail(job, "421 service not available, try again later")
        else:
            client.delete(QUEUE, job.job_id)


class Postmaster(Actor):
    """Looks after the dead letters: gives a few of them another try, and keeps them from piling up."""

    pause_s = 60.0

    def act(self, client: Client) -> None:
        dead = client.count_dead(QUEUE)
        if dead > DEAD_MAX:
            client.bury_for_good(QUEUE, limit=dead - DEAD_MAX)
        elif dead > DEAD_MAX // 4:
            client.respawn(QUEUE, limit=2)
