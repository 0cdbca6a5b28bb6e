"""Waiting for replicas, so that a failover does not lose what a caller was told is done (a pool's `min_replicas`).

`WAIT` follows the writes of a pipeline on their own connection. It covers all of them, so a pipeline waits once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hiredis import pack_command

from .. import constants
from ..errors import InvalidArgumentError
from ..operation import Reply

TIMEOUT_S: Final = 1.0


class ReplicaWait:
    """How many replicas have to confirm a write, and how long the server waits for them."""

    __slots__ = ("min_replicas", "packed", "timeout_s")

    def __init__(self, min_replicas: int, timeout_s: float) -> None:
        self.min_replicas = min_replicas
        self.timeout_s = timeout_s
        command: tuple[Any, ...] = ("WAIT", min_replicas, round(timeout_s * 1000))
        self.packed: bytes = pack_command(command)

    def check(self, replies: Sequence[Reply]) -> list[Reply]:
        """The replies without the last one, which is WAIT's: if that is too low, marked as `UnconfirmedError`.

        An error of WAIT, such as that of a master which became a replica meanwhile, confirms nothing either.
        """
        *replies, confirmed = replies
        if isinstance(confirmed, int) and confirmed >= self.min_replicas:
            return replies
        return [reply if isinstance(reply, BaseException) else UnconfirmedError(reply, self) for reply in replies]


class UnconfirmedError(Exception):
    """Stands for the reply of a master whose replicas did not confirm the call in time. It is no error of Redis."""

    def __init__(self, reply: Reply, wait: ReplicaWait) -> None:
        super().__init__(f"not confirmed by {wait.min_replicas} replicas")
        self.reply = reply
        self.wait = wait


def replica_wait(min_replicas: int, timeout_s: float) -> ReplicaWait | None:
    """None: no write waits. Raises InvalidArgumentError."""
    if not 0 <= min_replicas <= constants.MIN_REPLICAS_MAX:
        raise InvalidArgumentError(f"min_replicas must be 0 to {constants.MIN_REPLICAS_MAX}")
    if not constants.REPLICATION_TIMEOUT_MIN_S <= timeout_s <= constants.REPLICATION_TIMEOUT_MAX_S:
        raise InvalidArgumentError(
            "replication timeout must be "
            f"{constants.REPLICATION_TIMEOUT_MIN_S:g} to {constants.REPLICATION_TIMEOUT_MAX_S:g} seconds"
        )
    return ReplicaWait(min_replicas, timeout_s) if min_replicas else None
