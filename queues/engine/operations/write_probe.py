"""Whether a pool takes writes: asked of its servers themselves, since a connection says nothing about that."""

from __future__ import annotations

from ..keys import partition_keys
from ..operation import Operation, Reply
from ..scripts import load
from .reply import expect_ok

_PROBE = load("write_probe")


def write_probe(partition: int) -> Operation[None]:
    """Write where the partition lies. Raises StoreUnavailableError if consuming and publishing would."""

    def decode(reply: Reply) -> None:
        expect_ok(_PROBE, reply)

    return Operation(_PROBE, (partition_keys(partition)["probe"],), (), decode)
