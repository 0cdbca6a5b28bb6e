"""What can go wrong with an embedded server. Each message says what to do about it."""

from __future__ import annotations


class EmbeddedRedisError(Exception):
    """Base of these errors."""


class ServerNotFoundError(EmbeddedRedisError):
    """There is no server to start."""


class DataIgnoredError(EmbeddedRedisError):
    """The server would start without jobs that are in its directory."""


class ServerDiedError(EmbeddedRedisError):
    """The server ended, or did not answer in time."""
