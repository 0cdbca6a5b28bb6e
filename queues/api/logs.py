"""The API's own log lines: the access log, off by default and switched by staff for all processes, and outages.

The switch is read every other second while there are requests, and the connection that this took is closed again: what
an idle process holds is for its waiting consumers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.core.cache import cache

from queues.engine.errors import StoreUnavailableError
from queues.engine.transport.failures import OutageLog

logger = logging.getLogger(__name__)

REREAD_S: Final = 2.0
_KEY: Final = "accesslog"

OUTAGES: Final = OutageLog(logger)
"""The process's."""


def cause_of(error: Exception) -> dict[str, str]:
    """What all failures of an outage have in common."""
    known = {"error": getattr(error, "code", type(error).__name__)}
    return {**known, "cause": error.reason} if isinstance(error, StoreUnavailableError) else known


class AccessLog:
    """Whether to log each request. The switch is in Django's cache; each process looks at it every REREAD_S."""

    def __init__(self) -> None:
        self.enabled = False
        self._read_at = 0.0
        self._reading = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="taskq-accesslog")

    def refresh_if_due(self) -> None:
        """Read the switch again, once per REREAD_S, in the background.

        The cache may be away and take seconds to say so. No request waits for it, nor for the threads of requests.
        """
        if self._reading or time.monotonic() - self._read_at < REREAD_S:
            return
        self._reading = True
        self._thread.submit(self._refresh_quietly)

    async def read_switch(self) -> None:
        """Read the switch now, to show how it is set."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self.refresh)

    def _refresh_quietly(self) -> None:
        try:
            self.refresh()
        except Exception as error:
            OUTAGES.note(
                "access log switch not read",
                {"action": "accesslog.read", "error": type(error).__name__},
                {"reason": str(error)[:200]},
            )
        finally:
            self._read_at = time.monotonic()
            self._reading = False

    def refresh(self) -> None:
        """Read the switch. Without the cache it stays as it is."""
        self._read_at = time.monotonic()
        try:
            switch = cache.get(_KEY)
        finally:
            cache.client.close_idle_connections()  # type: ignore[attr-defined]  # taskq_site.cache
        if switch is not None:
            self.enabled = bool(switch)

    def switch(self, enabled: bool) -> None:
        """Turn it on or off."""
        cache.set(_KEY, enabled, timeout=None)
        self.enabled = enabled
        logger.info("access log switched", extra={"action": "accesslog.switch", "enabled": enabled})

    def write(self, *, method: str, path: str, status: int, duration_ms: float, client: str, request_id: str) -> None:
        """One line; without the query, which may hold a token."""
        fields = {
            "action": "http.request",
            "method": method,
            "path": path,
            "status": status,
            "duration_ms": round(duration_ms, 2),
            "client": client,
            "request_id": request_id,
        }
        logger.info("request", extra=fields)


ACCESS_LOG: Final = AccessLog()
