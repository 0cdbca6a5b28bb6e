"""Errors of reading metadata. Part of the one tree of errors (`queues.engine.errors`)."""

from __future__ import annotations

from queues.engine.errors import TaskqError


class MetadataUnavailableError(TaskqError):
    """The database cannot be read, and what was asked for is not cached."""

    code = "metadata_unavailable"

    def __init__(self) -> None:
        super().__init__("metadata unavailable")


class PoolNotFoundError(TaskqError):
    """There is no pool of this name."""

    code = "pool_not_found"

    def __init__(self) -> None:
        super().__init__("pool not found")
