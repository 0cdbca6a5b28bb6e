"""Puts the actors on stage, each in a thread of its own."""

from __future__ import annotations

import threading

from queues.supervision import BEAT_EVERY_S, HEARTBEAT

from .client import Client
from .emails import Mailer, Postmaster, Shop
from .images import Photographer, Resizer
from .orders import Closer, Customers
from .stage import Actor, perform


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
