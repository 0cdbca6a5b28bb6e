"""The chores of the incident watch: looks at all pools, and sends alerts. A fault is logged once, and tried again."""

from __future__ import annotations

from collections.abc import Callable

from queues.services.incident_watch.running import send_alerts, watch_pools

from .role import CircuitBreaker


class IncidentChores:
    """`look` and `send`, each to be called now and then in a thread. Neither raises."""

    def __init__(self, *, watch: Callable[[], object] = watch_pools, send: Callable[[], object] = send_alerts) -> None:
        self._watch = watch
        self._send = send
        self._watch_breaker = CircuitBreaker(subject="incident watch")
        self._send_breaker = CircuitBreaker(subject="alerts")

    def look(self) -> None:
        """Look at the pools at which no other pump has looked."""
        self._watch_breaker.run(self._watch)

    def send(self) -> None:
        """Send the alerts that are due."""
        self._send_breaker.run(self._send)
