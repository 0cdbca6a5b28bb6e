"""A day on a sheet or two: what is printed, and what is mailed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from ...permissions import User
from ..account import Account, read_account
from ..days import find_day
from ..shapes import DayEntry, QueueTable
from ..tables import QueueFilter, list_queues

QUEUES: Final = 12
"""The busiest; how many there are in all is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySummary:
    """Of everything (no names), of a namespace or of a queue. `account` None: nothing happened there, or there is no
    report; `queues` None: then too, and of a queue."""

    entry: DayEntry
    pool: str
    namespace: str
    queue: str
    account: Account | None
    queues: QueueTable | None


def read_summary(*, user: User, day: date, pool: str = "", namespace: str = "", queue: str = "") -> DaySummary:
    """Of what `user` may see. Raises NamespaceNotFoundError, MetadataUnavailableError."""
    account = read_account(user=user, day=day, pool=pool, namespace=namespace, queue=queue)
    queues = None
    if account is not None and not queue:
        queues = list_queues(user=user, day=day, chosen=QueueFilter(pool=pool, namespace=namespace), most=QUEUES)
    return DaySummary(
        entry=find_day(user=user, day=day),
        pool=pool,
        namespace=namespace,
        queue=queue,
        account=account,
        queues=queues,
    )
