"""Images: they come in bursts, and resizing them is slow, so there is a backlog to watch."""

from __future__ import annotations

import time
from typing import Final

from .client import Client
from .stage import Actor, dice

QUEUE: Final = "images"
BURST: Final = 25
BACKLOG_MAX: Final = 60


class Photographer(Actor):
    """Uploads a film every twenty seconds, unless the last ones are still waiting."""

    pause_s = 20.0

    def act(self, client: Client) -> None:
        if client.count_ready(QUEUE) < BACKLOG_MAX:
            images = [{"image": f"IMG_{dice.randrange(10_000):04}.jpg"} for _ in range(BURST)]
            client.publish_all(QUEUE, images, ttl=3600, tries=3)


class Resizer(Actor):
    """Takes about a second for each."""

    def act(self, client: Client) -> None:
        job = client.consume(QUEUE, ttr=15)
        if job is not None:
            time.sleep(dice.uniform(0.5, 1.5))
            client.delete(QUEUE, job.job_id)
