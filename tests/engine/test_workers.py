"""What workers say of themselves and of their jobs, and what they are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queues.engine import InvalidArgumentError, JobNotFoundError, JobState
from queues.engine.keys import worker_beats_key, worker_commands_key, worker_namespaces_key, workers_key
from queues.engine.operations.workers import (
    COMMANDS_KEPT_MS,
    COMMANDS_MAX,
    FORGET_WORKER_MS,
    LOG_MAX_BYTES,
    TOLD_MAX,
    WORKERS_MAX,
    WorkerCommand,
    WorkerCommandKind,
    annotate,
    cancel_job,
    command_workers,
    list_workers,
    read_command,
    read_note,
    worker_beat,
)
from queues.engine.stats.heartbeats import (
    WORKER_RECORD_MAX_BYTES,
    ParkedTask,
    RunningJob,
    WorkerBeat,
    pack_worker,
    unpack_worker,
)
from tests.support.rows import in_one_test

from .test_ack import UNKNOWN
from .world import World

JOB = RunningJob(queue="orders", job_id=UNKNOWN, attempt=2, task="shop.close", run_ms=1_500, percent=30.0, note="küche")
WORKER = WorkerBeat(
    worker="host:1:ab",
    host="host",
    pid=1,
    version="0.1",
    namespace="shop",
    state="running",
    queues={"orders": 3},
    concurrency=10,
    up_ms=60_000,
    done=5,
    failed=1,
    cpu_percent=12.5,
    memory_bytes=40_000_000,
    running=(JOB,),
    parked=(ParkedTask(queue="orders", task="shop.new", reason="unknown", jobs=3),),
)


def beat(
    world: World, worker: WorkerBeat = WORKER, *, since_ms: int = 1, ends: bool = False
) -> tuple[WorkerCommand, ...]:
    return world.run(worker_beat(worker, since_ms=since_ms, ends=ends, now_ms=world.now_ms)).commands


def known(world: World) -> tuple[WorkerBeat, ...]:
    return world.run(list_workers(now_ms=world.now_ms))


def command(world: World, target: str, kind: WorkerCommandKind = WorkerCommandKind.CANCEL) -> None:
    world.run(command_workers(WorkerCommand(kind, target, str(world.now_ms), "shop"), now_ms=world.now_ms))


def test_a_worker_is_shown_as_it_said_and_older_by_the_time_since_then(world: World) -> None:
    beat(world)
    world.advance(1_000)

    older = replace(WORKER, age_ms=1_000, up_ms=61_000, running=(replace(JOB, run_ms=2_500),))
    assert known(world) == (older,)


def test_a_worker_that_ends_or_falls_silent_is_forgotten_and_nothing_stays(world: World) -> None:
    beat(world)
    beat(world, replace(WORKER, worker="other"))
    beat(world, ends=True)
    assert [one.worker for one in known(world)] == ["other"]

    world.advance(FORGET_WORKER_MS)
    assert known(world) == ()
    beat(world, ends=True)
    assert world.client.exists(workers_key("shop"), worker_beats_key("shop"), worker_namespaces_key()) == 0


def test_a_bounded_number_of_workers_is_known_of_each_namespace(world: World) -> None:
    beat(world, replace(WORKER, worker="of another namespace", namespace="bank"))
    for number in range(WORKERS_MAX + 5):
        world.advance(1)
        beat(world, replace(WORKER, worker=f"w{number:05}"))

    names = [one.worker for one in known(world) if one.namespace == "shop"]
    assert len(names) == WORKERS_MAX
    assert names[0] == "w00005"
    assert [one.worker for one in known(world) if one.namespace == "bank"] == ["of another namespace"]


def test_a_worker_of_the_future_is_forgotten_when_the_clock_is_put_back(world: World) -> None:
    beat(world, replace(WORKER, worker="before"))
    world.advance(-10_000)
    beat(world)

    assert [one.worker for one in known(world)] == [WORKER.worker]


def test_commands_come_with_the_next_beat_once_and_for_some_time(world: World) -> None:
    command(world, UNKNOWN)
    first = world.run(worker_beat(WORKER, since_ms=0, now_ms=world.now_ms))
    assert first.commands == (), "those from before its time are not for it"
    world.advance(10_000)
    command(world, UNKNOWN)
    command(world, "a job of another worker")
    command(world, WORKER.worker, WorkerCommandKind.QUIET)

    assert {(one.kind, one.target) for one in beat(world, since_ms=first.since_ms)} == {
        (WorkerCommandKind.CANCEL, UNKNOWN),
        (WorkerCommandKind.QUIET, WORKER.worker),
    }
    world.advance(60_000)
    later = world.run(worker_beat(WORKER, since_ms=world.now_ms, now_ms=world.now_ms))
    assert later.commands == ()
    world.advance(COMMANDS_KEPT_MS)
    command(world, WORKER.worker, WorkerCommandKind.STOP)
    assert [one.kind for one in beat(world)] == [WorkerCommandKind.STOP]


def test_a_bounded_number_of_commands_is_kept(world: World) -> None:
    commands = worker_commands_key("shop")
    world.client.zadd(commands, {b"cancel\tshop/x\t%d\t0" % n: world.now_ms for n in range(COMMANDS_MAX)})
    world.advance(1)
    command(world, UNKNOWN)

    assert world.client.zcard(commands) == COMMANDS_MAX
    assert [one.target for one in beat(world)] == [UNKNOWN]
    told = world.run(worker_beat(replace(WORKER, running_untold=1), since_ms=1, now_ms=world.now_ms)).commands
    assert len(told) == TOLD_MAX
    assert told[-1].target == UNKNOWN, "the latest ones"


def test_what_is_no_command_is_passed_over(world: World) -> None:
    world.client.zadd(
        worker_commands_key("shop"), {b"explode\tx\t1": world.now_ms, b"\xff": world.now_ms, b"": world.now_ms}
    )

    assert beat(world) == ()
    assert read_command(b"stop\tw") is None


def test_a_record_is_bounded_and_says_what_it_leaves_out() -> None:
    many = replace(
        WORKER,
        running=tuple(replace(JOB, job_id=f"{n:026}", note="x" * 200) for n in range(1_000)),
        parked=tuple(ParkedTask(queue="q", task="t" * 200, reason="r" * 200, jobs=n) for n in range(1_000)),
    )
    record = pack_worker(many)
    read = unpack_worker(b"shop/w", record, 0)

    assert len(record) <= WORKER_RECORD_MAX_BYTES
    assert read is not None
    assert len(read.running) + read.running_untold == 1_000
    assert len(read.parked) + read.parked_untold == 1_000
    assert read.running
    assert read.parked


@in_one_test("record", [b"", b"[]", b"{}", b'{"running":1}', b"\xff", b'{"running":[],"parked":[],"up_ms":"x"}'])
def test_a_record_that_another_version_wrote_is_left_out(record: bytes) -> None:
    assert unpack_worker(b"shop/w", record, 0) is None


def test_notes_replace_fields_add_lines_and_expire(world: World) -> None:
    def say(fields: dict[str, str], *lines: str, keep_ms: int = 60_000) -> None:
        world.run(annotate(world.queue, job_id, fields, lines=lines, keep_ms=keep_ms))

    job_id = world.job_in("working")
    say({"percent": "10", "note": "begun"}, "one", "two\nlines")
    say({"percent": "20"}, "three")
    say({})

    note = world.run(read_note(world.queue, job_id))
    assert note == {"percent": b"20", "note": b"begun", "log": b"one\ntwo lines\nthree\n"}
    (key,) = world.client.keys("*note*")
    assert 0 < world.client.pttl(key) <= 60_000
    say({}, keep_ms=1_000)
    assert world.client.pttl(key) > 1_000, "a later word does not shorten what an earlier one asked for"


def test_of_a_job_that_does_not_exist_nothing_is_kept(world: World) -> None:
    with pytest.raises(JobNotFoundError):
        world.run(annotate(world.queue, UNKNOWN, {"percent": "1"}, lines=["one"], keep_ms=60_000))
    assert world.client.keys("*note*") == []


def test_a_log_keeps_its_last_lines_whole(world: World) -> None:
    job_id = world.job_in("working")
    for number in range(40):
        world.run(annotate(world.queue, job_id, {}, lines=[f"{number:02}" + "x" * 998], keep_ms=60_000))

    log = world.run(read_note(world.queue, job_id))["log"]
    assert len(log) <= LOG_MAX_BYTES
    lines = log.decode().splitlines()
    assert lines[-1].startswith("39x")
    assert {len(line) for line in lines} == {1_000}


def test_a_field_that_is_too_long_is_refused(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="cursor is longer than 65536 bytes"):
        annotate(world.queue, UNKNOWN, {"cursor": "x" * 70_000}, keep_ms=1)


@pytest.mark.parametrize("place", ["ready", "ready by priority", "delayed", "retry"])
def test_a_job_that_waits_is_deleted_by_its_cancellation(world: World, place: str) -> None:
    job_id = world.job_in(place)

    state = world.run(cancel_job(world.queue, job_id, given="1", now_ms=world.now_ms))

    assert state is not None
    assert place.startswith(state)
    assert world.places() == {}


def test_of_a_job_that_runs_its_worker_is_told_and_an_ended_one_stays(world: World) -> None:
    dead = world.job_in("dead")
    job_id = world.job_in("working")

    assert world.run(cancel_job(world.queue, job_id, given="1", now_ms=world.now_ms)) is JobState.WORKING
    holder = replace(WORKER, running=(replace(JOB, job_id=job_id, attempt=1),))
    assert [one.target for one in beat(world, holder)] == [job_id]
    assert beat(world, replace(holder, worker="another", running=())) == ()
    assert world.run(cancel_job(world.queue, dead, given="1", now_ms=world.now_ms)) is JobState.DEAD
    assert world.run(cancel_job(world.queue, UNKNOWN, given="1", now_ms=world.now_ms)) is None
    assert world.places() == {dead: "dead", job_id: "working"}
