"""Who waits for jobs and who works on one, as far as a person may see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from django.db import connections

from queues.engine import WaitingReport, WorkingJobs, held_queues, list_waiting, list_working
from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.pools import find_pool, reading_engine_for

from ..permissions import User, roles_of
from ..recent import Recent
from .consumer_rows import ConsumerRow, PoolPresence, QueueRow, consumer_rows, queue_rows

HELD_PER_PARTITION: Final = 500
QUEUES_LOOKED_AT: Final = 250
JOBS_PER_QUEUE: Final = 20
"""Of each pool: queues with jobs in hand, those whose leases end first coming first; and of each queue so many jobs."""

ROWS_SHOWN: Final = 250
RECENT_S: Final = 1.5
"""What all viewers share is read again no sooner."""

POOLS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumersView:
    """What there is to see, and sums over all of it before `text` and `state` narrow it.

    `more`: there is more than is listed. `away`: pools that do not answer.
    """

    consumers: tuple[ConsumerRow, ...]
    queues: tuple[QueueRow, ...]
    namespaces: tuple[tuple[str, str], ...]
    waiting: int
    working: int
    overdue: int
    more: bool
    away: tuple[str, ...]


def read_consumers(*, user: User, namespace: str = "", text: str = "", state: str = "") -> ConsumersView:
    """Consumers and queues of the namespaces that `user` may see; of one, if `namespace` (`pool/name`) says so.

    `text`: part of a consumer's name, address, queue or namespace. `state`: waiting, working, overdue, away or "".
    Two round trips to each pool. Raises MetadataUnavailableError; StoreUnavailableError if no pool answers.
    """
    visible = tuple(roles_of(user=user))
    chosen = [place for place in visible if not namespace or "/".join(place) == namespace]
    by_pool: dict[str, set[str]] = {}
    for pool, name in chosen:
        by_pool.setdefault(pool, set()).add(name)
    read = _read_pools(by_pool)
    found = [presence for presence in read if isinstance(presence, PoolPresence)]
    errors = [error for error in read if isinstance(error, TaskqError)]
    if errors and not found:
        raise errors[0]
    consumers = [row for presence in found for row in consumer_rows(presence)]
    queues = [row for presence in found for row in queue_rows(presence)]
    listed = [row for row in consumers if row.matches(text) and (not state or row.state == state)]
    listed_queues = [row for row in queues if row.matches(text) and (not state or row.is_in(state))]
    return ConsumersView(
        consumers=tuple(sorted(listed, key=ConsumerRow.order)[:ROWS_SHOWN]),
        queues=tuple(sorted(listed_queues, key=QueueRow.order)[:ROWS_SHOWN]),
        namespaces=visible,
        waiting=sum(row.waiting for row in consumers),
        working=sum(row.working for row in queues),
        overdue=sum(row.overdue for row in queues),
        more=any(presence.more for presence in found) or max(len(listed), len(listed_queues)) > ROWS_SHOWN,
        away=tuple(pool for pool, answer in zip(by_pool, read, strict=True) if isinstance(answer, TaskqError)),
    )


def _read_pools(by_pool: dict[str, set[str]]) -> list[PoolPresence | TaskqError]:
    """Side by side, so that a dead pool delays no other."""
    if not by_pool:
        return []
    for pool in by_pool:
        find_pool(pool)  # so that the threads find the row in memory and need no database connection
    with ThreadPoolExecutor(max_workers=min(len(by_pool), POOLS_AT_ONCE)) as threads:
        return list(threads.map(_read_pool, by_pool.keys(), by_pool.values()))


def _read_pool(pool: str, namespaces: Collection[str]) -> PoolPresence | TaskqError:
    try:
        report, held = _recent.get(pool, lambda: _ask(pool))
        theirs = [queue for queue in held if queue.namespace in namespaces]
        operations = [list_working(queue, limit=JOBS_PER_QUEUE) for queue in theirs[:QUEUES_LOOKED_AT]]
        found: list[WorkingJobs] = reading_engine_for(pool).batch(operations) if operations else []
    except TaskqError as error:
        return error
    finally:
        connections.close_all()  # those of this thread, if it needed any after all
    return PoolPresence(
        pool=pool,
        namespaces=frozenset(namespaces),
        report=report,
        queues=tuple(theirs[:QUEUES_LOOKED_AT]),
        working=tuple(found),
        more=len(theirs) > QUEUES_LOOKED_AT or any(len(of_queue.jobs) < of_queue.total for of_queue in found),
    )


def _ask(pool: str) -> tuple[WaitingReport, Sequence[QueueKeys]]:
    """Who waits, and which queues may have jobs in hand, of all namespaces: in one round trip."""
    engine = reading_engine_for(pool)
    partitions = range(engine.layout.partitions)
    report, *held = engine.batch(
        [list_waiting(), *[held_queues(engine.layout, number, limit=HELD_PER_PARTITION) for number in partitions]]
    )
    return report, [queue for row in zip_longest(*held) for queue in row if queue is not None]


_recent: Recent[str, tuple[WaitingReport, Sequence[QueueKeys]]] = Recent(RECENT_S)
