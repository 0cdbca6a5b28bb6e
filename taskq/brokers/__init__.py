"""How the library reaches taskq: straight to Redis, or over HTTP. Both take the same verbs.

A verb makes *work*, a value; `run` and `arun` do it, so that there are no twins of sync and async code. Called by
the rest of `taskq`; calls `queues.engine` or httpx.
"""

from .base import Broker, Work
from .choose import open_broker

__all__ = ["Broker", "Work", "open_broker"]
