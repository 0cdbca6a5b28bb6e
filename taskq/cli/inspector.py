"""Commands that look at queues, jobs and workers, and act on them. `--json` prints what a program reads."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from queues.engine import JobDetail, JobState, QueueStats
from queues.engine.stats.heartbeats import WorkerBeat

from ..brokers import Broker, open_broker
from ..errors import JobGoneError, NotConfiguredError
from .printing import print_json, print_table, say

STATES: Final = ("ready", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped")
PAGE: Final = 100
BODY_SHOWN: Final = 60


def add_commands(commands: Any) -> None:
    """All of them."""

    def add(name: str, run: Callable[[Broker, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.add_argument("--url", help="where taskq is (TASKQ_URL)")
        parser.add_argument("--namespace", help="(TASKQ_NAMESPACE, else default)")
        parser.add_argument("--token", help="for HTTP (TASKQ_TOKEN)")
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.set_defaults(command=lambda options: run(_broker(options), options))
        return parser

    add("queues", _queues, "list the queues with their counts")
    add("stats", _stats, "numbers of one queue: counts, rates, percentiles").add_argument("queue")
    add("pause", _pause, "deliver no more jobs of a queue").add_argument("queue")
    add("resume", _resume, "deliver its jobs again").add_argument("queue")
    jobs = add("jobs", _jobs, "list jobs of a queue")
    jobs.add_argument("queue")
    jobs.add_argument("--state", choices=STATES, default="ready")
    jobs.add_argument("--limit", type=_count, default=PAGE)
    dead = add("dead", _dead, "list the dead letters of a queue, or make them ready again")
    dead.add_argument("queue")
    dead.add_argument("--limit", type=_count, default=PAGE)
    dead.add_argument("--retry", action="store_true", help="make those that are listed ready again, with one more try")
    job = add("job", _job, "show one job: state, attempts, errors, progress")
    _add_job(job)
    for name, act, text in (
        ("cancel", _cancel, "end a job: delete it if it waits, tell its worker if it runs"),
        ("retry", _retry, "have a job run now: one that waits for its time, or a dead letter"),
        ("delete", _delete, "delete a job, whatever its state"),
    ):
        _add_job(add(name, act, text))
    workers = add("workers", _workers, "list the workers and what they run")
    workers.add_argument("--quiet", metavar="ID", help="have this worker take no more jobs")
    workers.add_argument("--resume", metavar="ID", help="have it take jobs again")
    workers.add_argument("--stop", metavar="ID", help="have it finish what it runs, then end")


def _count(text: str) -> int:
    """For argparse, which names the option and what it was given."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queue")
    parser.add_argument("job")


def _broker(options: argparse.Namespace) -> Broker:
    return open_broker(options.url, namespace=options.namespace, token=options.token)


def _queues(broker: Broker, options: argparse.Namespace) -> int:
    rows = [broker.run(broker.stats(name)) for name in _queue_names(broker)]
    if options.json:
        return print_json([_stats_of(row) for row in rows])
    heads = ("queue", *STATES, "oldest ready", "")
    return print_table(
        heads, [(row.queue, *_counts(row), _age(row.oldest_ready_ms), "paused" if row.paused else "") for row in rows]
    )


def _queue_names(broker: Broker) -> Iterable[str]:
    after = None
    while True:
        page = broker.run(broker.queues(after=after, limit=PAGE))
        yield from page.names
        if page.after is None:
            return
        after = page.after


def _counts(row: QueueStats) -> list[str]:
    return [f"{row.counts[JobState(state)]:,}" for state in STATES]


def _stats_of(row: QueueStats) -> dict[str, Any]:
    return {
        "queue": row.queue,
        **{state: row.counts[JobState(state)] for state in STATES},
        "paused": row.paused,
        "oldest_ready_ms": row.oldest_ready_ms,
        "published_per_s": row.published_per_s,
        "consumed_per_s": row.consumed_per_s,
        "acked_per_s": row.acked_per_s,
        "failed_per_s": row.failed_per_s,
        "wait_ms": dict(row.wait_ms),
        "run_ms": dict(row.run_ms),
    }


def _stats(broker: Broker, options: argparse.Namespace) -> int:
    content = _stats_of(broker.run(broker.stats(options.queue)))
    if options.json:
        return print_json(content)
    return print_table(
        ("", options.queue), [(name, _shown(value)) for name, value in content.items() if name != "queue"]
    )


def _pause(broker: Broker, options: argparse.Namespace) -> int:
    broker.run(broker.pause(options.queue))
    return say(options, "paused", paused=True)


def _resume(broker: Broker, options: argparse.Namespace) -> int:
    broker.run(broker.resume(options.queue))
    return say(options, "resumed", paused=False)


def _jobs(broker: Broker, options: argparse.Namespace) -> int:
    return _print_jobs(_listed(broker, options.queue, JobState(options.state), options.limit), options)


def _listed(broker: Broker, queue: str, state: JobState, limit: int) -> list[JobDetail]:
    jobs: list[JobDetail] = []
    after = None
    while len(jobs) < limit:
        page = broker.run(broker.jobs(queue, state, after=after, limit=min(PAGE, limit - len(jobs))))
        jobs += page.jobs
        after = page.after
        if after is None:
            break
    return jobs


def _print_jobs(jobs: Sequence[JobDetail], options: argparse.Namespace) -> int:
    if options.json:
        return print_json([_detail_of(job) for job in jobs])
    rows = [
        (
            job.job_id,
            _task(job),
            f"{job.used}/{job.tries}",
            _time(job.due_ms),
            _error(job) or _text(job.body)[:BODY_SHOWN],
        )
        for job in jobs
    ]
    return print_table(("job", "task", "tries", "due", "last error, or body"), rows)


def _dead(broker: Broker, options: argparse.Namespace) -> int:
    jobs = _listed(broker, options.queue, JobState.DEAD, options.limit)
    if not options.retry:
        return _print_jobs(jobs, options)
    number = broker.run(broker.respawn(options.queue, [job.job_id for job in jobs])) if jobs else 0
    return say(options, f"{number} ready again", respawned=number)


def _job(broker: Broker, options: argparse.Namespace) -> int:
    found = broker.run(broker.detail(options.queue, options.job))
    if found is None:
        raise JobGoneError(options.job)
    content = _detail_of(found)
    note = broker.run(broker.note(options.queue, options.job))
    content |= {name: text.decode("utf-8", "replace") for name, text in note.items()}
    if options.json:
        return print_json(content)
    return print_table(("", options.job), [(name, _shown(value)) for name, value in content.items()])


def _detail_of(job: JobDetail) -> dict[str, Any]:
    return {
        "job": job.job_id,
        "queue": job.queue,
        "state": job.state.value,
        "task": _task(job),
        "attempt": job.attempt,
        "tries": f"{job.used}/{job.tries}",
        "priority": job.priority,
        "published": _time(job.published_ms),
        "due": _time(job.due_ms),
        "lease_ends": _time(job.lease_end_ms),
        "worker": job.consumer,
        "key": job.key,
        "limit_key": job.limit_key,
        "body": _text(job.body),
        "errors": [
            {"attempt": one.attempt, "ended": _time(one.ended_ms), "outcome": one.outcome, "error": one.error}
            for one in job.history
        ],
    }


def _cancel(broker: Broker, options: argparse.Namespace) -> int:
    state = broker.run(broker.cancel(options.queue, options.job))
    if state is None:
        raise JobGoneError(options.job)
    words = {
        JobState.WORKING: "its worker is told",
        JobState.DEAD: "it is dead already",
        JobState.COMPLETED: "it is done already",
    }
    return say(options, words.get(state, "deleted"), was=state.value)


def _retry(broker: Broker, options: argparse.Namespace) -> int:
    ids = [options.job]
    number = broker.run(broker.run_now(options.queue, ids)) or broker.run(broker.respawn(options.queue, ids))
    if not number:
        raise NotConfiguredError(f"job {options.job} waits for no time and is no dead letter, or does not exist")
    return say(options, "ready", retried=number)


def _delete(broker: Broker, options: argparse.Namespace) -> int:
    number = broker.run(broker.delete(options.queue, [options.job]))
    if not number:
        raise JobGoneError(options.job)
    return say(options, "deleted", deleted=number)


def _workers(broker: Broker, options: argparse.Namespace) -> int:
    import uuid

    from queues.engine import WorkerCommand, WorkerCommandKind

    for kind in (WorkerCommandKind.QUIET, WorkerCommandKind.RESUME, WorkerCommandKind.STOP):
        if target := getattr(options, kind.value):
            if target not in {one.worker for one in broker.run(broker.workers())}:
                raise NotConfiguredError(f"there is no worker {target}")
            broker.run(broker.command(WorkerCommand(kind, target, uuid.uuid4().hex)))
            return say(options, f"{target} is told", worker=target, command=kind.value)
    beats = broker.run(broker.workers())
    if options.json:
        return print_json([_worker_of(beat) for beat in beats])
    rows = [
        (
            beat.worker,
            beat.state,
            ",".join(beat.queues),
            f"{len(beat.running) + beat.running_untold}/{beat.concurrency}",
            f"{beat.done:,}",
            f"{beat.failed:,}",
            f"{beat.cpu_percent:g} %",
            f"{beat.memory_bytes / 2**20:.0f} MiB",
            ", ".join(f"{one.task}: {one.reason} ({one.jobs})" for one in beat.parked),
        )
        for beat in beats
    ]
    return print_table(("worker", "state", "queues", "running", "done", "failed", "CPU", "memory", "parked"), rows)


def _worker_of(beat: WorkerBeat) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(beat)


_TASK_FIRST: Final = re.compile(r'\s*\{\s*"task"\s*:\s*("(?:[^"\\]|\\.)*")')


def _task(job: JobDetail) -> str:
    """The name of the task that a job calls, "" if its body is none of a task. Anybody may have written that."""
    text = _text(job.body)
    try:
        if len(job.body) < job.body_bytes:  # a listing has the beginning of the body only, where the library puts it
            found = _TASK_FIRST.match(text)
            name = json.loads(found[1]) if found else ""
        else:
            name = json.loads(text)["task"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _error(job: JobDetail) -> str:
    return job.history[-1].error.partition("\n")[0] if job.history else ""


def _time(ms: int | None) -> str:
    return "" if not ms else datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")


def _age(ms: int | None) -> str:
    return "" if ms is None else f"{ms / 1_000:.1f} s"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
