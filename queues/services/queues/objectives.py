"""How long ready jobs may wait, by queue: the objectives that policies set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from queues.models import QueuePolicy
from queues.models.policy import OBJECTIVE_S as OBJECTIVE_S
from queues.models.policy import WHOLE_NAMESPACE
from queues.pools.database import read_metadata

from ...pools.ttl_cache import Recent

FRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """Of one pool: seconds by namespace and queue, WHOLE_NAMESPACE standing for the queues that have none."""

    seconds: Mapping[tuple[str, str], int]

    def of(self, namespace: str, queue: str) -> int:
        """The age in ms that no ready job of the queue should exceed."""
        found = self.seconds.get((namespace, queue)) or self.seconds.get((namespace, WHOLE_NAMESPACE))
        return (found or OBJECTIVE_S) * 1_000


_recent: Final[Recent[str, Objectives]] = Recent(FRESH_S)


def read_objectives(*, pool: str) -> Objectives:
    """Those of a pool, at most FRESH_S old; one query. Raises MetadataUnavailableError."""
    return _recent.get(pool, lambda: read_metadata(lambda: _read(pool)))


def _read(pool: str) -> Objectives:
    rows = QueuePolicy.objects.filter(namespace__pool__name=pool, objective_s__isnull=False).order_by()
    columns = rows.values_list("namespace__name", "queue", "objective_s")
    return Objectives(seconds={(namespace, queue): seconds for namespace, queue, seconds in columns if seconds})
