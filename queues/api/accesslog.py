"""The access log: off by default, switched by staff for all processes at once."""

from __future__ import annotations

import logging
import time
from typing import Final

from django.core.cache import cache

logger = logging.getLogger(__name__)

REREAD_S: Final = 2.0
_KEY: Final = "accesslog"


class AccessLog:
    """Whether to log each request. The switch is in Django's cache; each process looks at it every REREAD_S."""

    def __init__(self) -> None:
        self.enabled = False
        self._read_at = 0.0

    def is_due(self) -> bool:
        """Whether the switch should be looked at again; true once per REREAD_S."""
        now = time.monotonic()
        if now - self._read_at < REREAD_S:
            return False
        self._read_at = now
        return True

    def refresh(self) -> None:
        """Look at the switch. Without the cache things stay as they are."""
        self._read_at = time.monotonic()
        switch = cache.get(_KEY)
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
