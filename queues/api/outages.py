"""The API's log of outages: requests that are refused because of the service, not because of what they ask for."""

from __future__ import annotations

import logging
from typing import Final

from queues.engine.errors import StoreUnavailableError
from queues.engine.transport.outage_log import OutageLog

OUTAGES: Final = OutageLog(logging.getLogger(__name__))
"""The process's."""


def cause_of(error: Exception) -> dict[str, str]:
    """What all failures of an outage have in common."""
    known = {"error": getattr(error, "code", type(error).__name__)}
    return {**known, "cause": error.reason} if isinstance(error, StoreUnavailableError) else known
