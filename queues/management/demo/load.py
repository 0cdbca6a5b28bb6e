"""Runs the actors, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
from typing import Final

from queues.supervision import BEAT_EVERY_S, HEARTBEAT

from .actors import Actor, Closer, Customers, Mailer, Photographer, Postmaster, Resizer, Shop
from .client import Client, ServiceAwayError

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
