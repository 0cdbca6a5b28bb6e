"""Beats for a claim while this process is at work, in a thread with a database connection of its own."""

from __future__ import annotations

import logging
import threading
from typing import Final

from django.db import DatabaseError, InterfaceError, connection

from .claims import Claim, beat
from .failures import ClaimLostError

logger = logging.getLogger(__name__)

BEAT_S: Final = 10.0
"""A twelfth of the time after which a silent claim may be taken over."""

NEWS_S: Final = 1.0
"""Progress is written no more often than this."""


class Keeper:
    """Beats from `start` to `stop`.

    `tell` passes on how far the work is. `is_lost`: another process has taken the day over; nothing that is still done
    here counts. A database that is away is logged and waited for: nobody can take the day over meanwhile either.
    """

    def __init__(self, claim: Claim, *, beat_s: float = BEAT_S, news_s: float = NEWS_S) -> None:
        self._claim = claim
        self._beat_s = beat_s
        self._news_s = news_s
        self._stage, self._share = "", 0.0
        self._lost = threading.Event()
        self._done = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"report-beat-{claim.day}", daemon=True)

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    def tell(self, *, stage: str, share: float) -> None:
        self._stage, self._share = stage, share
        self._news.set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Beat no more. May be called again."""
        self._done.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._done.is_set() and not self._lost.is_set():
                self._news.clear()
                self._beat()
                self._done.wait(self._news_s)
                self._news.wait(self._beat_s - self._news_s)
        finally:
            connection.close()

    def _beat(self) -> None:
        try:
            beat(self._claim, stage=self._stage, share=self._share)
        except ClaimLostError:
            self._lost.set()
        except (DatabaseError, InterfaceError) as error:
            connection.close()
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            logger.warning("report: beat not written", extra={"action": "report.beat", "reason": reason})
