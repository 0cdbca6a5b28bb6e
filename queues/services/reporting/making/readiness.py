"""Whether the lake has all events of a day: for schedulers that start reports themselves, such as Airflow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from queues.engine import drain_state
from queues.lake.names import EntryId
from queues.pools import engine_for

from ...pools.managing import list_pools


def what_is_missing(day: date) -> Iterator[str]:
    """Why the lake may lack events of a UTC day: it is not over by a pool's clock, or events of it have not been
    drained. Nothing: it has them all, but for those that Redis dropped.

    Raises StoreUnavailableError, MetadataUnavailableError.
    """
    end = datetime.combine(day + timedelta(days=1), time(), UTC)
    end_ms = int(end.timestamp() * 1_000)
    for pool in list_pools():
        engine = engine_for(pool.name)
        states = engine.batch([drain_state(partition) for partition in range(engine.layout.partitions)])
        if any(state.now_ms < end_ms for state in states):
            yield f"{pool.name}: {day} is not over"
            continue
        # Events leave a stream when they are in the lake, the oldest first, and their ids are times of the same clock.
        waiting = [state for state in states if state.oldest and EntryId.parse(state.oldest).ms < end_ms]
        if waiting:
            oldest = min(EntryId.parse(state.oldest or "") for state in waiting)
            since = datetime.fromtimestamp(oldest.ms / 1_000, UTC)
            yield f"{pool.name}: events since {since:%F %T} UTC wait to be drained, in {len(waiting)} partitions"
