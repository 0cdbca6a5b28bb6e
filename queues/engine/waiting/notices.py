"""Notices to all processes that use a pool: something that they have cached is out of date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..keys import notice_channel
from ..transport.connection import connect, parse_url
from ..transport.failures import reaching_redis

ANNOUNCE_TIMEOUT_S: Final = 1.0
"""For connecting, and for the answer: the caller has done its work, and should not wait for long."""


def announce(url: str, notices: Sequence[Sequence[str]]) -> None:
    """Tell every process that follows the pool's notices now. Each notice: its kind, then details, without tabs.

    Uses a connection of its own and closes it: few notices are worth holding one. Raises InvalidArgumentError (URL),
    StoreUnavailableError: some may have been told.
    """
    address = parse_url(url)
    with reaching_redis("announce"):
        client = connect(address, socket_connect_timeout=ANNOUNCE_TIMEOUT_S, socket_timeout=ANNOUNCE_TIMEOUT_S)
        try:
            for notice in notices:
                client.publish(notice_channel(), "\t".join(notice))
        finally:
            client.close()


def read_notice(message: bytes) -> tuple[str, ...]:
    """Kind and details of a message of the notice channel. Raises ValueError for what is none."""
    return tuple(message.decode().split("\t"))
