"""An actor of the demo, and the thread that it plays in."""

from __future__ import annotations

import logging
import random
import threading
from typing import ClassVar, Final

from .client import Client, ServiceAwayError

logger = logging.getLogger(__name__)

AWAY_PAUSE_S: Final = 2.0

dice: Final = random.Random()  # noqa: S311  a play, not cryptography


class Actor:
    """Does one thing again and again, with a pause in between."""

    pause_s: ClassVar[float] = 0.05

    def act(self, client: Client) -> None:
        """Do it once. Raises ServiceAwayError."""
        raise NotImplementedError


def perform(actor: Actor, client: Client, stopping: threading.Event) -> None:
    """Let an actor play until `stopping` is set. While the service is away it waits and says so once."""
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
