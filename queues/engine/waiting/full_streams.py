"""Waits for an event stream that has become long enough to be drained, which scripts say (`lua/lib/events.lua`)."""

from __future__ import annotations

import logging
import time
from typing import Any

import redis.exceptions

from ..engine import Engine
from ..keys import partition_keys

logger = logging.getLogger("taskq.full_streams")


class FullStreams:
    """Follows the channels of a pool's event streams, from the first wait on. For one thread.

    A message that is sent while there is no connection is lost, so callers look at the streams now and then, too.
    """

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._subscriber: Any = None

    def wait(self, engine: Engine, timeout_s: float) -> bool:
        """Whether a stream of the pool has become full since the last call, or does so in time.

        False at once without a connection: the caller's next poll tells whether Redis is away.
        """
        try:
            return self._wait(engine, time.monotonic() + timeout_s)
        except (redis.exceptions.RedisError, OSError) as error:
            self.close()
            logger.info("subscription lost", extra={"action": "subscribe", "error": str(error)})
            return False

    def close(self) -> None:
        """Follow them no more; another wait begins again."""
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            subscriber.close()

    def _wait(self, engine: Engine, until: float) -> bool:
        if self._subscriber is None or engine is not self._engine:  # a pool's settings may change
            self.close()
            self._engine, self._subscriber = engine, engine.client.pubsub(ignore_subscribe_messages=True)
            self._subscriber.subscribe(
                *(partition_keys(number)["events"] for number in range(engine.layout.partitions))
            )
        while (left_s := until - time.monotonic()) > 0:
            if self._subscriber.get_message(timeout=left_s) is not None:
                return True
        return False
