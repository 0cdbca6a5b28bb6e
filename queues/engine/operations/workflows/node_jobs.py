"""Operations on the jobs of a workflow's nodes: one for each script, in the partition of their queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import constants
from ...keys import QueueKeys
from ...operation import (
    Argument,
    Operation,
    Plan,
    Relay,
    Reply,
    clock_argument,
    expect_ok,
    in_pages,
    is_ok,
    is_ok_above_zero,
    tag_of,
)
from ...scripts import load
from .nodes import PendingJob

_PUBLISH = load("publish_nodes")
_FACTS = load("node_facts")
_REVIVE = load("revive_nodes")


def publish_nodes(
    queue: QueueKeys,
    jobs: Sequence[tuple[str, PendingJob]],
    *,
    dependants: Sequence[str],
    deadline_ms: int,
    now_ms: int | None = None,
) -> Operation[bool]:
    """Publish jobs of one queue, which share their options, under their ids; those that are there stay as they are.

    `dependants`: of each, the workflow as one more dependant. False: the deadline is over.
    """

    def decode(reply: Reply) -> bool:
        return tag_of(reply) != "late" and bool(expect_ok(_PUBLISH, reply))

    args: list[Argument] = []
    for (job_id, job), workflow in zip(jobs, dependants, strict=True):
        args += (job_id, len(job.waits), len(job.dependants) + 1, *job.waits, workflow, *job.dependants, job.body)
    head = (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, deadline_ms)
    keys = queue.select(_PUBLISH.keys)
    asks = any(wait[0] == "?" for _, job in jobs for wait in job.waits)
    return Operation(
        _PUBLISH,
        keys,
        (*head, *jobs[0][1].arguments, *args),
        decode,
        alone=True,
        replicated=True,
        relay=Relay(queue.partition, now_ms, is_ok) if asks else None,
    )


class Facts(NamedTuple):
    """Where a job is. `state`: `gone` if there is none. Times 0: there is none."""

    state: str
    attempts: int
    began_ms: int
    ended_ms: int
    error: str


def node_facts(
    queue: QueueKeys, job_ids: Sequence[str], *, now_ms: int | None = None
) -> Operation[tuple[int, tuple[Facts, ...]]]:
    """The server's time, and where each job is."""

    def decode(reply: Reply) -> tuple[int, tuple[Facts, ...]]:
        now, *found = expect_ok(_FACTS, reply)
        return int(now), tuple([_facts_of(one) for one in found])

    return Operation(_FACTS, queue.select(_FACTS.keys), (clock_argument(now_ms), *job_ids), decode, alone=True)


def facts_calls(
    jobs: Sequence[tuple[QueueKeys, str]], *, now_ms: int | None = None
) -> list[tuple[Sequence[int], Operation[tuple[int, tuple[Facts, ...]]]]]:
    """Calls that find where jobs are, each for a page of one queue, with the places of its jobs in `jobs`."""
    by_queue: dict[QueueKeys, list[int]] = defaultdict(list)
    for place, (queue, _) in enumerate(jobs):
        by_queue[queue].append(place)
    parts = [(queue, part) for queue, places in by_queue.items() for part in in_pages(places, constants.NODE_PAGE)]
    return [(part, node_facts(queue, [jobs[place][1] for place in part], now_ms=now_ms)) for queue, part in parts]


def find_facts(jobs: Sequence[tuple[QueueKeys, str]], *, now_ms: int | None = None) -> Plan[list[Facts]]:
    """Where each of these jobs is, in one round trip."""
    calls = facts_calls(jobs, now_ms=now_ms)
    answers = (yield [operation for _, operation in calls]) if calls else []
    found: dict[int, Facts] = {}
    for (places, _), (_, facts) in zip(calls, answers, strict=True):
        found.update(zip(places, facts, strict=True))
    return [found[place] for place in range(len(jobs))]


def _facts_of(fields: Sequence[Any]) -> Facts:
    state, attempts, began, ended, error = fields
    return Facts(state.decode(), int(attempts), int(began), int(ended), error.decode("utf-8", "replace"))


def revive_nodes(
    queue: QueueKeys,
    jobs: Sequence[tuple[str, Sequence[str]]],
    *,
    died_before_ms: int,
    now_ms: int | None = None,
) -> Operation[int]:
    """Revive dead jobs, each with what it waits for; those that died later stay dead. Returns how many."""
    args: list[Argument] = []
    for job_id, waits in jobs:
        args += (job_id, len(waits), *waits)
    head = (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, constants.NODE_TTL_S * 1000)
    return Operation(
        _REVIVE,
        queue.select(_REVIVE.keys),
        (*head, died_before_ms, *args),
        lambda reply: int(expect_ok(_REVIVE, reply)[0]),
        alone=True,
        relay=Relay(queue.partition, now_ms, is_ok_above_zero),
    )
