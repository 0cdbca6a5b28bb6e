"""Counts, every five minutes, how many deliveries of queues with an objective came in time.

Redis keeps the waits of the last ten minutes (`queues.engine.stats.minutes`), in buckets 19 % wide. A
stretch is counted once its five minutes are over; counting it again, by another pump or after a crash, changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from django.db import transaction

from queues.engine import Engine, QueueKeys, list_active, waits_by_minute
from queues.engine.stats.minutes import Waits, middle_ms
from queues.models import Namespace, ObjectiveWindow
from queues.pools.database import read_metadata

from ..policies import policy_for
from .burn_rates import CELL_S, Deliveries, Windows, windows_of

logger = logging.getLogger(__name__)

QUEUES_MAX: Final = 2_000
"""Queues of a pool that are counted; of more, the first that are come upon."""

PAGE: Final = 100


def record_deliveries(*, pool: str, engine: Engine, end_s: int, now_ms: int | None = None) -> int:
    """Count the five minutes that end at `end_s`; of how many queues. They must have ended less than five minutes ago.

    Raises StoreUnavailableError, MetadataUnavailableError, database errors.
    """
    objectives = _queues_with_objective(pool, engine, now_ms)
    counted: dict[tuple[str, str], Deliveries] = {}
    for first in range(0, len(objectives), PAGE):
        part = objectives[first : first + PAGE]
        minutes = engine.batch([waits_by_minute(queue, now_ms=now_ms) for queue, _ in part])
        for (queue, objective_ms), waits in zip(part, minutes, strict=True):
            counted[queue.namespace, queue.queue] = deliveries_of(waits, end_s=end_s, objective_ms=objective_ms)
    _write(pool, counted, end_s)
    return len(counted)


def deliveries_of(waits: Waits, *, end_s: int, objective_ms: int) -> Deliveries:
    """Those of five minutes. A bucket is late if its middle is."""
    found = Deliveries()
    for minute in range(end_s // 60 - CELL_S // 60, end_s // 60):
        for bucket, jobs in waits.get(minute, {}).items():
            found += Deliveries(jobs if middle_ms(bucket) > objective_ms else 0, jobs)
    return found


def _queues_with_objective(pool: str, engine: Engine, now_ms: int | None) -> Sequence[tuple[QueueKeys, int]]:
    """Queues in which anything happened lately, with their objective in ms."""
    found: list[tuple[QueueKeys, int]] = []
    for queue in _active(engine, now_ms):
        objective_s = policy_for(pool=pool, namespace=queue.namespace, queue=queue.queue).objective_s
        if objective_s is None:
            continue
        if len(found) == QUEUES_MAX:
            fields = {"action": "objectives.record", "pool": pool, "most": QUEUES_MAX}
            logger.warning("more queues have objectives than are counted", extra=fields)
            break
        found.append((queue, objective_s * 1_000))
    return found


def _active(engine: Engine, now_ms: int | None) -> Iterator[QueueKeys]:
    """Each queue once, though places in the list change meanwhile."""
    seen: set[tuple[str, str]] = set()
    for partition in range(engine.layout.partitions):
        start = 0
        while page := engine.run(list_active(engine.layout, partition, start=start, limit=PAGE, now_ms=now_ms)):
            start += len(page)
            for queue in page:
                if (queue.namespace, queue.queue) not in seen:
                    seen.add((queue.namespace, queue.queue))
                    yield queue


def _write(pool: str, counted: Mapping[tuple[str, str], Deliveries], end_s: int) -> None:
    """Add the stretch to the queues' rows, those among them in which nothing happens any more.

    Of more than QUEUES_MAX rows those stay that were counted now, then those with the latest deliveries: a
    client that publishes to ever new queues makes no more of them.
    """
    names = read_metadata(lambda: dict(Namespace.objects.filter(pool__name=pool).values_list("name", "pk")))
    new = {(names[namespace], queue): one for (namespace, queue), one in counted.items() if namespace in names}
    with transaction.atomic():
        rows = ObjectiveWindow.objects.filter(namespace__pool__name=pool)
        known = {(row.namespace_id, row.queue): row for row in rows}
        kept: list[tuple[tuple[int, str], Windows]] = []
        for key in known.keys() | new.keys():
            windows = windows_of(known[key].counts if key in known else {})
            windows.record(end_s - CELL_S, new.get(key, Deliveries()))
            if windows.hours:
                kept.append((key, windows))
        kept.sort(key=lambda one: (one[0] in new, max(one[1].hours)), reverse=True)
        del kept[QUEUES_MAX:]
        ObjectiveWindow.objects.bulk_create(
            [
                ObjectiveWindow(
                    namespace_id=namespace,
                    queue=queue,
                    counts=windows.as_json(),
                    recorded_until=datetime.fromtimestamp(end_s, UTC),
                )
                for (namespace, queue), windows in kept
            ],
            batch_size=PAGE,
            update_conflicts=True,
            unique_fields=["namespace", "queue"],
            update_fields=["counts", "recorded_until"],
        )
        staying = {key for key, _ in kept}
        gone = [row.pk for key, row in known.items() if key not in staying]
        for first in range(0, len(gone), PAGE):
            rows.filter(pk__in=gone[first : first + PAGE]).delete()
