"""Queues as a whole: list, count, pause, empty."""

from __future__ import annotations

from queues.engine import destroy, list_queues, pause, resume, size, stats
from queues.engine.keys import Layout, QueueKeys
from queues.engine.operation import Operation, Plan
from queues.engine.values import QueuePage, QueueStats


def count_ready(*, queue: QueueKeys) -> Operation[int]:
    """Jobs that can be consumed now."""
    return size(queue)


def read_stats(*, queue: QueueKeys) -> Operation[QueueStats]:
    """Counts per state, rates, percentiles."""
    return stats(queue)


def list_queues_of(*, layout: Layout, namespace: str, after: str | None = None, limit: int = 100) -> Plan[QueuePage]:
    """A page of the names of a namespace's queues that hold anything."""
    return list_queues(layout, namespace, after=after, limit=limit)


def pause_queue(*, queue: QueueKeys) -> Operation[bool]:
    """Hand nothing out until resumed. Answers whether that changed anything."""
    return pause(queue)


def resume_queue(*, queue: QueueKeys) -> Operation[bool]:
    """Hand jobs out again. Answers whether that changed anything."""
    return resume(queue)


def empty_queue(*, queue: QueueKeys, everything: bool) -> Plan[int]:
    """Delete the ready jobs, or those of every state. Answers how many."""
    return destroy(queue, everything=everything)
