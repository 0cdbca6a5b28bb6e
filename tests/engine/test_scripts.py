"""Header, body and call site of every script agree; only what every supported server has is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from importlib.resources import files
from typing import Any

import pytest

from queues.engine import (
    NO_BACKOFF,
    NO_LIMITS,
    AckOutcome,
    DeliveryNotes,
    Dependency,
    Engine,
    EntryRange,
    JobFilter,
    JobState,
    KeyMode,
    Layout,
    LimitTaken,
    Operation,
    PublishOptions,
    PumpBeat,
    RequestLimit,
    ScriptError,
    StoreUnavailableError,
    ack,
    ack_attempt,
    appended_events,
    beat,
    consume,
    count_jobs,
    count_live_jobs,
    dead_head,
    delete_dead,
    delete_jobs,
    destroy,
    detail,
    drain_state,
    extend,
    fail,
    find_batches,
    find_limit_keys,
    flush_due,
    flush_group,
    free_deleted,
    give_back_token_limit,
    lend_events_memory,
    list_active,
    list_groups,
    list_jobs,
    list_limit_keys,
    list_partition,
    list_pumps,
    list_queues,
    note_deliveries,
    partition_load,
    pause,
    peek,
    plan_drain,
    preview_backoff,
    promote_due,
    publish,
    publish_large,
    publish_once,
    read_deliveries,
    read_events,
    reclaim_ended,
    release,
    republish,
    reschedule,
    respawn,
    result,
    resume,
    scan_jobs,
    settle_once,
    size,
    stats,
    stream_end,
    sweep,
    take_token_limit,
    trim_dead,
    trim_drained,
    write_probe,
)
from queues.engine.constants import STAGE_MIN_BYTES
from queues.engine.keys import PARTITION_KEYS, QUEUE_KEYS, limit_key
from queues.engine.operations.consumers import held_queues, list_waiting, list_working, tell_waiting
from queues.engine.operations.dead_letters import scan_dead
from queues.engine.operations.dependencies import (
    Dependant,
    Settlement,
    Wait,
    find_blocked,
    forget_dependants,
    forget_waits,
    list_dependants,
    list_left_waits,
    list_waits,
    read_outgoing,
    rebind_dependants,
    settle,
    subscribe,
    unsubscribe,
)
from queues.engine.operations.maintain import promote, purge, reclaim
from queues.engine.operations.open_dependencies import _add
from queues.engine.operations.scan import find_key, has_job
from queues.engine.operations.survey import (
    add_minutes,
    namespace_minutes,
    queue_minutes,
    read_survey,
    survey,
    take_survey,
    write_survey,
)
from queues.engine.operations.workers import (
    WorkerCommand,
    WorkerCommandKind,
    annotate,
    cancel_job,
    command_workers,
    hold_key,
    list_workers,
    read_note,
    read_worker,
    worker_beat,
)
from queues.engine.operations.workflows import node_jobs, records
from queues.engine.operations.workflows.nodes import Fate, Node, PendingJob
from queues.engine.scripts import load, script_names
from queues.engine.stats.consumers import WaitingBeat
from tests.support.rows import in_one_test

from .test_ack import UNKNOWN
from .test_workers import WORKER

LUA = files("queues.engine") / "lua"
LIBRARIES = sorted(entry.name for entry in (LUA / "lib").iterdir())
QUEUE = Layout(4).queue("ns", "q")

REDIS_6_2 = set(
    """
    DECR DEL EXISTS EXPIRE GET HDEL HEXISTS HGET HGETALL HINCRBY HKEYS HLEN HMGET HRANDFIELD HSCAN HSET HSETNX HSTRLEN
    INCR LINDEX LLEN LPOP LPOS LPUSH LPUSHX LRANGE LTRIM PERSIST PEXPIRE PTTL PUBLISH RENAME RPUSH SET TIME UNLINK XADD
    XLEN XRANGE XREVRANGE XTRIM ZADD ZCARD ZCOUNT ZLEXCOUNT ZMSCORE ZPOPMIN ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREM
    ZREMRANGEBYLEX ZREMRANGEBYSCORE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZSCORE
    """.split()  # noqa: SIM905
)
"""Commands that may be used: each is in Redis 6.2, none costs O(size of a queue). Not KEYS, SCAN, LREM, LINSERT."""


def steps(plan: Any, *answers: Any) -> Iterator[Operation[Any]]:
    """The operations of a plan whose steps are answered so."""
    batch = next(plan)
    yield from batch
    for answer in answers:
        batch = plan.send([answer for _ in batch])
        yield from batch


def dependency_steps() -> Iterator[Operation[Any]]:
    """What a relay does."""
    wait = Wait(UNKNOWN, "?", "wq:k")
    yield from (
        read_outgoing(0),
        list_waits(QUEUE, key="k"),
        list_left_waits(QUEUE, low="-", high="+"),
        list_dependants(QUEUE, low="-", high="+"),
        subscribe(QUEUE, QUEUE, [wait]),
        unsubscribe(QUEUE, QUEUE, [wait]),
        settle(QUEUE, [Settlement(UNKNOWN, "wq:k", "acked")]),
        forget_waits(QUEUE, [wait]),
        rebind_dependants(QUEUE, [Dependant(UNKNOWN, "w", "ns/q", UNKNOWN, "k")]),
        find_blocked(QUEUE, [Dependency(queue="q", key="k")]),
        _add(QUEUE, UNKNOWN, [str(Dependency(queue="q", key="k"))], 1, None),
        forget_dependants(QUEUE, [Dependant(":k", "w", "ns/q", UNKNOWN, "k")]),
    )


def unstaging() -> Any:
    """What a large publish does when it fails."""
    plan = publish_large(QUEUE, [bytes(STAGE_MIN_BYTES)] * 2)
    next(plan)
    plan.send([1])
    return plan.throw(StoreUnavailableError("gone"))


def operations() -> list[Operation[Any]]:
    """Operations of every script."""
    layout = Layout(4)
    return [
        publish(QUEUE, [b"1", b"2"]),
        *steps(publish_large(QUEUE, [bytes(STAGE_MIN_BYTES)] * 2), 1, 1),
        *steps(publish_large(QUEUE, [b"1"] * 501, PublishOptions(dependencies_open=True)), 1, 1, 1),
        *unstaging(),
        republish(QUEUE, UNKNOWN, b"x"),
        *steps(consume(QUEUE, ttr_ms=1)),
        ack(QUEUE, [UNKNOWN]),
        ack_attempt(QUEUE, UNKNOWN, attempt=1, result=b"x"),
        fail(QUEUE, UNKNOWN, delay_ms=1),
        release(QUEUE, UNKNOWN),
        extend(QUEUE, UNKNOWN, ttr_ms=1),
        *steps(peek(QUEUE)),
        detail(QUEUE, UNKNOWN),
        result(QUEUE, UNKNOWN),
        list_jobs(QUEUE, JobState.READY),
        scan_jobs(QUEUE, JobState.READY, JobFilter()),
        *steps(reschedule(QUEUE, [UNKNOWN])),
        size(QUEUE),
        stats(QUEUE),
        has_job(QUEUE, UNKNOWN),
        pause(QUEUE),
        resume(QUEUE),
        *steps(destroy(QUEUE)),
        *steps(destroy(QUEUE, everything=True)),
        *steps(delete_jobs(QUEUE, [UNKNOWN])),
        *steps(delete_dead(QUEUE, limit=1)),
        *steps(free_deleted(Layout(1)), ["0123"]),
        *steps(list_queues(layout, "ns")),
        dead_head(QUEUE),
        scan_dead(QUEUE),
        *steps(respawn(QUEUE, ids=[UNKNOWN], ttl_ms=1)),
        trim_dead(QUEUE, max_age_ms=1, max_count=1),
        *steps(promote_due(layout), [QUEUE]),
        *steps(reclaim_ended(layout), [QUEUE]),
        *steps(sweep(layout), [QUEUE]),
        promote(QUEUE),
        reclaim(QUEUE),
        purge(QUEUE),
        take_token_limit(RequestLimit(token_id="token", kind="read", allowance=1, interval_ms=1)),
        beat(PumpBeat(pump="p", up_ms=1, roles={})),
        list_pumps(),
        preview_backoff(NO_BACKOFF, attempts=1),
        partition_load(1),
        list_partition(layout, 1, after=None, limit=1),
        tell_waiting(
            WaitingBeat(process="p", waiting=0, consumers=(), consumers_omitted=0, queues=(), queues_omitted=0)
        ),
        list_waiting(),
        held_queues(layout, 1, limit=1),
        list_working(QUEUE, limit=1),
        read_worker("ns", "w"),
        count_jobs(QUEUE),
        survey(QUEUE),
        list_active(layout, 1, start=0, limit=1),
        take_survey("p", hold_ms=1),
        write_survey({"ns": []}, gone=["old"]),
        read_survey(),
        add_minutes("ns", {1: [1] * 7}),
        namespace_minutes("ns", count=1),
        queue_minutes(QUEUE, count=1),
        drain_state(1),
        appended_events(1, since=date(2026, 3, 30)),
        lend_events_memory(1, 1),
        count_live_jobs(QUEUE),
        stream_end(1),
        read_events(1, after="1-0"),
        write_probe(1),
        plan_drain(1, "2-0", instead=EntryRange("1-0", "1-0")),
        trim_drained(1, EntryRange("1-0", "2-0"), written=1),
        publish(QUEUE, [b"1"], PublishOptions(key="k", key_mode=KeyMode.UNTIL_DONE)),
        publish_once(QUEUE, [b"1"], once=["a"]),
        settle_once(QUEUE, ["a"]),
        publish(QUEUE, [b"1"], PublishOptions(limit_key="k")),
        publish(QUEUE, [b"1"], PublishOptions(group="g")),
        *steps(flush_due(layout), [QUEUE]),
        flush_group(QUEUE, "g"),
        list_groups(QUEUE),
        find_batches(QUEUE, (UNKNOWN,)),
        *steps(consume(QUEUE, ttr_ms=1, queue_limits=NO_LIMITS)),
        list_limit_keys(QUEUE),
        find_limit_keys(QUEUE, "k"),
        hold_key(QUEUE, "k", UNKNOWN),
        find_key(QUEUE, "k"),
        worker_beat(WORKER, since_ms=0),
        next(list_workers())[0],
        next(list_workers("ns"))[0],
        next(cancel_job(QUEUE, UNKNOWN, given="1"))[0],
        command_workers(WorkerCommand(WorkerCommandKind.STOP, "w", "1", "ns")),
        annotate(QUEUE, UNKNOWN, {"percent": "1"}, keep_ms=1),
        read_note(QUEUE, UNKNOWN),
        publish(QUEUE, [b"1"], PublishOptions(depends_on=(Dependency(queue="q", key="k"),))),
        *dependency_steps(),
        note_deliveries(QUEUE, 1, DeliveryNotes(failed=1, streak=1, records=[(True, b"{}")])),
        read_deliveries(QUEUE, 1),
        give_back_token_limit(LimitTaken(allowed=True, key=limit_key("token", "write", 1, 1), ticket="1")),
        *workflow_steps(),
    ]


def workflow_steps() -> list[Operation[Any]]:
    workflow = Layout(3).workflow("ns", "w")
    node = Node("a", "q", UNKNOWN, "w", ())
    job = PendingJob(("", "", 1, 1, 0, b""), ("?wq/X",), (), b"")
    return [
        records.find_nodes(workflow, ["a"]),
        records.stage_nodes(workflow, [(UNKNOWN, b"1")]),
        records.commit_nodes(
            workflow, [(node, True)], base=None, digest="d", name="", retention_ms=1, needed=[1], now_ms=1
        ),
        records.read_unpublished(workflow),
        records.mark_published(workflow, [(0, UNKNOWN)]),
        records.note_nodes(workflow, [(0, Fate("done"))]),
        records.read_nodes(workflow, first=0, limit=1),
        records.list_partition_workflows(1, "ns", before="+", limit=1),
        records.cancel_record(workflow),
        records.retry_record(workflow),
        records.end_task(workflow),
        records.read_task(workflow),
        records.take_workflows(1),
        records.drop_staged(workflow, cursor="0"),
        records.forget_workflow(workflow),
        node_jobs.publish_nodes(QUEUE, [(UNKNOWN, job)], dependants=["a\tns/*\tw\t0"], deadline_ms=1),
        node_jobs.node_facts(QUEUE, [UNKNOWN]),
        node_jobs.revive_nodes(QUEUE, [(UNKNOWN, ())], died_before_ms=1),
    ]


CALLS = operations()


def body_of(script: str) -> str:
    """The script without its header and comments."""
    text = (LUA / f"{script}.lua").read_text()
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))


def test_every_script_is_called_by_an_operation() -> None:
    assert {operation.script.name for operation in CALLS} == set(script_names())


@in_one_test("operation", CALLS, title=lambda operation: operation.script.name)
def test_an_operation_passes_the_keys_and_arguments_of_the_header_and_refuses_a_strange_reply(
    operation: Operation[Any],
) -> None:
    script = operation.script
    assert len(operation.keys) == len(script.keys)
    assert len(operation.args) > len(script.args) - 1 if script.rest else len(operation.args) == len(script.args)
    for name, key in zip(script.keys, operation.keys, strict=True):
        if name in QUEUE_KEYS or name in PARTITION_KEYS:
            assert key.endswith(b":" + name.encode())
    for name, value in zip(script.args, operation.args, strict=False):
        if name == "queue":
            assert value == b"ns/q"
        if name == "channel":
            assert value == b"{tq%d}:wake" % QUEUE.partition
        if name == "cap":
            assert value == QUEUE.events_cap
    # Redis Cluster wants all keys of a call in one slot.
    assert len({key[: key.index(b"}")] for key in operation.keys}) == 1
    with pytest.raises(ScriptError, match=script.name):
        operation.decode([b"surprise", 1, 2])


@in_one_test("name", script_names())
def test_every_reply_of_a_script_is_listed_and_every_listed_one_is_given(name: str) -> None:
    script = load(name)
    given = set(re.findall(r"\{\s*'(\w+)'", script.source))
    for pair in re.findall(r"\{[^{}]* and '(\w+)' or '(\w+)',\s*\}", script.source):
        given |= set(pair)
    assert given
    assert given <= set(script.replies)
    for word in script.replies:
        assert f"'{word}'" in script.source, word


@in_one_test("path", [*(f"{name}.lua" for name in script_names()), *(f"lib/{name}" for name in LIBRARIES)])
def test_only_commands_that_every_supported_server_has_are_used(path: str) -> None:
    text = (LUA / path).read_text()
    called = set(re.findall(r"redis\.p?call\('(\w+)'", text))
    called |= set(re.findall(r"redis\.p?call\(\w+ and '(\w+)' or '\w+'", text))
    called |= set(re.findall(r"redis\.p?call\(\w+ and '\w+' or '(\w+)'", text))

    assert called <= REDIS_6_2
    assert len(re.findall(r"redis\.p?call\(", text)) == len(re.findall(r"redis\.p?call\((?:'|\w+ and ')", text))


@in_one_test("name", script_names())
def test_redis_compiles_the_script_under_the_sha_it_is_called_by(engine: Engine, name: str) -> None:
    script = load(name)

    assert engine.client.script_load(script.source) == script.sha


def test_outcomes_of_an_ack_are_those_the_script_gives() -> None:
    """That of an acked job is a number."""
    words = set(re.findall(r"'(deleted|missing|lost|too_large)'", body_of("ack")))

    assert {outcome.value for outcome in AckOutcome} == {"acked", *words}
