"""The process that `manage.py runoutbox` runs: relays until it is told to stop."""

from __future__ import annotations

import logging
import signal
import time
from types import FrameType
from typing import Final

from django.db import DatabaseError, InterfaceError, connections

from .notifications import OutboxNotifications
from .relay import OutboxRelay, Relayed

logger = logging.getLogger("taskq.outbox")

FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
"""After something failed; doubled from one failure to the next."""

REPORT_EVERY_S: Final = 30.0


class OutboxProcess:
    """Ticks of a relay: at once when there are new rows, later when something fails."""

    def __init__(self, relay: OutboxRelay, *, poll_s: float) -> None:
        self.relay = relay
        self._notifications = OutboxNotifications(relay.using, poll_s=poll_s)
        self._stops = False
        self._pause_s = 0.0
        self._published = 0
        self._report_at = time.monotonic()

    def handle_signals(self) -> None:
        """The first SIGTERM or SIGINT ends it after the tick that is under way; a second one at once."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.stop()

    def stop(self) -> None:
        """End after the tick that is under way."""
        self._stops = True
        self._notifications.wake()

    def run(self) -> None:
        """Relay until `stop`."""
        try:
            while not self._stops:
                self._notifications.listen()
                if self._tick():
                    continue
                self._report()
                self._notifications.wait(self._pause_s or None)
        finally:
            self._notifications.close()

    def run_once(self) -> bool:
        """Relay what waits now. False: something failed, and rows are left."""
        try:
            while not self._stops and self._tick():
                pass
            self._report(now=True)
            return not self._pause_s
        finally:
            self._notifications.close()

    def _tick(self) -> bool:
        """Whether there may be more to do at once."""
        try:
            connections[self.relay.using].close_if_unusable_or_obsolete()
            relayed = self.relay.tick()
        except (DatabaseError, InterfaceError) as error:
            relayed = Relayed(error=error)
        self._published += relayed.published
        if relayed.error is not None:
            self._pause_s = min(max(FIRST_PAUSE_S, 2 * self._pause_s), LONGEST_PAUSE_S)
            fields = {"action": "outbox.wait", "reason": str(relayed.error)[:200], "pause_s": self._pause_s}
            logger.warning("outbox waits", extra=fields)
            return False
        if self._pause_s:
            self._pause_s = 0.0
            logger.info("outbox goes on", extra={"action": "outbox.go_on"})
        if relayed.refused:
            logger.warning("rows refused", extra={"action": "outbox.refuse", "rows": relayed.refused})
        return bool(relayed.published or relayed.refused)

    def _report(self, *, now: bool = False) -> None:
        """Log how far behind it is, every REPORT_EVERY_S."""
        if not now and time.monotonic() < self._report_at:
            return
        self._report_at = time.monotonic() + REPORT_EVERY_S
        try:
            lag = self.relay.lag()
        except (DatabaseError, InterfaceError):
            return  # the tick tells of it
        fields = {
            "action": "outbox.report",
            "published": self._published,
            "waiting": lag.waiting,
            "oldest_s": round(lag.oldest_s, 3),
            "refused": lag.refused,
            "listening": self._notifications.is_listening,
        }
        logger.info("outbox", extra=fields)
        self._published = 0
