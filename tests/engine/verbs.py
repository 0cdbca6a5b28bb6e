"""One of everything, for stores of every form."""

from __future__ import annotations

from queues.engine import (
    AckOutcome,
    AsyncEngine,
    Dependency,
    Engine,
    JobFilter,
    JobState,
    LimitTaken,
    NodeRequest,
    PublishOptions,
    QueueKeys,
    RequestLimit,
    Rescheduled,
    ack,
    ack_attempt,
    attend_workflows,
    consume_any,
    create_workflow,
    dead_head,
    delete_dead,
    delete_jobs,
    destroy,
    detail,
    extend,
    fail,
    find_batches,
    flush_group,
    give_back_token_limit,
    list_groups,
    list_jobs,
    list_queues,
    list_workflows,
    pause,
    peek,
    promote_due,
    publish,
    read_results,
    read_workflow,
    reclaim_ended,
    relay,
    release,
    republish,
    reschedule,
    respawn,
    result,
    resume,
    scan_jobs,
    size,
    stats,
    sweep,
    take_token_limit,
    trim_dead,
)
from queues.engine.keys import limit_key
from queues.engine.operation import Operation, Plan

from .world import START_MS

QUEUES = 12
"""Enough for all partitions, and so for all nodes of a cluster, to take part."""


def whole_life(engine: Engine | AsyncEngine) -> Plan[int]:
    """A plan that takes every verb through every queue, and checks what comes back."""
    queues = [engine.queue("shop", f"q{number:02}") for number in range(QUEUES)]
    for queue in queues:
        yield from _life(queue)
    names = yield from list_queues(engine.layout, "shop")
    assert names.names == tuple(queue.queue for queue in queues)
    consumed = yield from consume_any(queues, ttr_ms=1_000, count=99, now_ms=START_MS)
    assert [job.queue for job in consumed.jobs] == [queue.queue for queue in queues for _ in range(2)]
    lost = yield from reclaim_ended(engine.layout, now_ms=START_MS + 1_000)
    assert (lost.jobs, lost.dead) == (3 * QUEUES, 2 * QUEUES)
    moved = yield from promote_due(engine.layout, now_ms=START_MS + 60_000)
    assert moved.jobs == QUEUES
    for _ in range(4 * QUEUES):
        yield from sweep(engine.layout, now_ms=START_MS + 10**10)
    for queue in queues:
        yield from _groups(queue)
        yield from _end(queue)
    names = yield from list_queues(engine.layout, "shop")
    assert names.names == ()
    return QUEUES


def chain(engine: Engine | AsyncEngine) -> Plan[list[str]]:
    """A plan in which a job of each queue waits for that of the queue before. The queues, in the order they ran in."""
    queues = [engine.queue("shop", f"q{number:02}") for number in range(QUEUES)]
    before = ""
    for number, queue in enumerate(queues):
        name, options = f"q{number - 1:02}", PublishOptions(key=f"k{number}")
        if before:
            needed = (Dependency(queue=name, job_id=before), Dependency(queue=name, key=f"k{number - 1}"))
            options = PublishOptions(key=f"k{number}", depends_on=needed)
        (made,) = yield [publish(queue, [b"x"], options)]
        (before,) = made.job_ids
    ran: list[str] = []
    while len(ran) < QUEUES:
        yield from relay(engine.layout)
        consumed = yield from consume_any(queues, ttr_ms=60_000, count=99)
        ran += [job.queue for job in consumed.jobs]
        for job in consumed.jobs:
            yield [ack_attempt(engine.queue("shop", job.queue), job.job_id, attempt=job.attempt)]
    return ran


def workflow(engine: Engine | AsyncEngine) -> Plan[list[str]]:
    """A plan that makes a workflow with a node in each queue, each after the one before, runs it, and drops it.

    The nodes in the order in which they ran.
    """
    names = [f"q{number:02}" for number in range(QUEUES)]
    nodes = [
        NodeRequest(name=name, queue=name, body=b"x", depends_on=tuple(names[number - 1 : number]))
        for number, name in enumerate(names)
    ]
    yield from create_workflow(engine.layout, "shop", "w", nodes, retention_ms=60_000)
    queues = [engine.queue("shop", name) for name in names]
    ran: list[str] = []
    while len(ran) < QUEUES:
        consumed = yield from consume_any(queues, ttr_ms=60_000, count=99)
        ran += [job.queue for job in consumed.jobs]
        for job in consumed.jobs:
            yield [ack_attempt(engine.queue("shop", job.queue), job.job_id, attempt=job.attempt, result=b"r")]
        yield from relay(engine.layout)
    found = yield from read_workflow(engine.layout, "shop", "w")
    assert (found.state, found.nodes_done) == ("done", QUEUES)
    page = yield from list_workflows(engine.layout, "shop")
    assert [one.workflow_id for one in page.workflows] == ["w"]
    results = yield from read_results(engine.layout, "shop", "w", names[-1])
    assert [(one.name, one.body) for one in results.results] == [(names[-2], b"r")]
    yield from attend_workflows(engine.layout, now_ms=found.now_ms + 120_000)
    page = yield from list_workflows(engine.layout, "shop")
    assert page.workflows == ()
    return ran


def _life(queue: QueueKeys) -> Plan[None]:
    now = START_MS
    (made, keyed) = yield [
        publish(queue, [b"1", b"2", b"3", b"4", b"5", b"6"], PublishOptions(tries=1, priority=2), now_ms=now),
        publish(queue, [b"k"], PublishOptions(key="k", delay_ms=60_000, ttl_ms=90_000), now_ms=now),
    ]
    shown = yield from peek(queue, now_ms=now)
    assert shown is not None
    assert shown.body == b"1"
    consumed = yield from consume_any([queue], ttr_ms=1_000, count=6, now_ms=now)
    ids = [job.job_id for job in consumed.jobs]
    assert tuple(ids) == made.job_ids
    # What depends on another operation goes into a later batch: a server that knows only some of the scripts runs the
    # others last.
    (extended,) = yield [extend(queue, ids[0], ttr_ms=900, now_ms=now)]
    assert extended == now + 900
    found = yield [
        release(queue, ids[0], attempt=1, now_ms=now),
        release(queue, ids[1], delay_ms=0, now_ms=now),
        fail(queue, ids[2], error="boom", now_ms=now),
        ack_attempt(queue, ids[3], attempt=1, now_ms=now),
        republish(queue, ids[4], b"new", PublishOptions(retention_ms=10), now_ms=now),
        ack(queue, [ids[5]], now_ms=now),
        publish(queue, [b"k"], PublishOptions(key="k"), now_ms=now),
    ]
    assert found[2].state is JobState.DEAD
    assert found[3].outcome is AckOutcome.ACKED
    assert found[6].job_ids == keyed.job_ids
    dead, ready = yield [dead_head(queue), size(queue)]
    assert (dead.size, ready) == (1, 3)
    (new,) = found[4].job_ids
    yield from _complete(queue, new)
    respawned = yield from respawn(queue, limit=1, ttl_ms=0, now_ms=now)
    dropped = yield from delete_dead(queue, limit=1, now_ms=now)
    assert (respawned, dropped) == (1, 0)
    moved = yield from reschedule(queue, keyed.job_ids, at_ms=now + 60_000, now_ms=now)
    (found,) = yield [scan_jobs(queue, JobState.DELAYED, JobFilter(key="k"), now_ms=now)]
    assert moved == (Rescheduled.MOVED,)
    assert [job.job_id for job in found.jobs] == list(keyed.job_ids)
    yield from delete_jobs(queue, [ids[2]], now_ms=now)


def _complete(queue: QueueKeys, job_id: str) -> Plan[None]:
    """Of three ready jobs the two with a priority come first; the third is completed and kept."""
    now = START_MS
    consumed = yield from consume_any([queue], ttr_ms=1_000, count=3, now_ms=now)
    assert consumed.jobs[2].job_id == job_id
    (acked,) = yield [ack_attempt(queue, job_id, result=b"done", now_ms=now)]
    kept, page, known = yield [
        result(queue, job_id),
        list_jobs(queue, JobState.WORKING, now_ms=now),
        detail(queue, job_id, now_ms=now),
    ]
    assert (acked.outcome, kept.body, len(page.jobs), known.state) == (AckOutcome.ACKED, b"done", 2, JobState.COMPLETED)
    (paused,) = yield [pause(queue, now_ms=now)]
    (nothing,) = yield [size(queue)]
    (resumed,) = yield [resume(queue, now_ms=now)]
    assert (paused, nothing, resumed) == (True, 0, True)
    yield [release(queue, job.job_id, now_ms=now) for job in consumed.jobs[:2]]


def _groups(queue: QueueKeys) -> Plan[None]:
    """Two members become a batch, and go with it."""
    now = START_MS + 10**10
    options = PublishOptions(group="g", group_max_size=2)
    yield [publish(queue, [b"1"], options, now_ms=now)]
    (page,) = yield [list_groups(queue, now_ms=now)]
    (made,) = yield [publish(queue, [b"2"], options, now_ms=now)]
    (flushed,) = yield [flush_group(queue, "g", now_ms=now)]
    (found,) = yield [find_batches(queue, made.job_ids)]
    batch_id = found[0].batch_id
    (batch,) = yield [find_batches(queue, (batch_id,))]
    assert (len(page.groups), flushed.batches, len(batch[0].members)) == (1, 0, 2)
    yield from delete_jobs(queue, [batch_id], now_ms=now)


def _end(queue: QueueKeys) -> Plan[None]:
    (counted,) = yield [stats(queue, now_ms=START_MS)]
    assert counted.counts[JobState.DEAD] == 2
    (trimmed,) = yield [trim_dead(queue, max_age_ms=None, max_count=1, now_ms=START_MS)]
    assert trimmed.jobs == 1
    yield from destroy(queue, now_ms=START_MS)
    count = yield from destroy(queue, everything=True, now_ms=START_MS)
    assert count == 1


def limits_of(token: str) -> list[Operation[object]]:
    """The verbs that belong to no queue."""
    given_back = LimitTaken(allowed=True, key=limit_key(token, "read", 2, 60_000), ticket="1")
    limit = RequestLimit(token_id=token, kind="read", allowance=2, interval_ms=60_000)
    return [take_token_limit(limit), give_back_token_limit(given_back)]  # type: ignore[list-item]
