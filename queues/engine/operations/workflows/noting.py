"""Records what has become of nodes: asks where their jobs are, then writes it to the workflows.

What is written is as old as the question, by the clock of the partition that was asked; what is older than what is
known changes nothing. So it may be done twice, and by several processes at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ... import constants
from ...errors import TaskqError
from ...keys import Layout, QueueKeys
from ...operation import Apart, Operation, Plan, in_pages
from . import node_jobs, records
from .node_jobs import Facts
from .nodes import Fate

_OUTCOMES: Final[Mapping[str, str]] = {"completed": "done", "dead": "dead"}
_GONE: Final[Mapping[str, str]] = {"acked": "done", "deleted": "deleted", "expired": "expired"}
"""What has become of a job that is gone, by the message about it. Without one nothing is known or written."""


class NodeEnd(NamedTuple):
    """A node whose job has ended or begun again. `told`: the outcome in the message (lua/lib/outgoing.lua), or ""."""

    workflow_id: str
    number: int
    queue: QueueKeys
    job_id: str
    told: str = ""


def note_ends(layout: Layout, ends: Sequence[NodeEnd], *, now_ms: int | None = None) -> Plan[list[bool | TaskqError]]:
    """Of each whether that has been done, or why not. Workflows that are gone need to know nothing."""
    outcome: dict[int, bool | TaskqError] = dict.fromkeys(range(len(ends)), True)
    fates: dict[tuple[str, str], list[tuple[int, int, Fate]]] = defaultdict(list)
    for places, answer in (yield from _ask(ends, now_ms)):
        if isinstance(answer, TaskqError):
            outcome |= dict.fromkeys(places, answer)
            continue
        as_of, found = answer
        for place, facts in zip(places, found, strict=True):
            end = ends[place]
            fate = _fate(facts, as_of, end.told)
            if fate is not None:
                fates[end.queue.namespace, end.workflow_id].append((place, end.number, fate))
    parts: list[list[int]] = []
    operations: list[Operation[Any]] = []
    for (namespace, workflow_id), its in fates.items():
        for part in in_pages(its, constants.NODE_PAGE):
            parts.append([place for place, _, _ in part])
            operations.append(
                records.note_nodes(
                    layout.workflow(namespace, workflow_id),
                    [(number, fate) for _, number, fate in part],
                    now_ms=now_ms,
                )
            )
    answers = (yield Apart(operations)) if operations else []
    for part_places, noted in zip(parts, answers, strict=True):
        if isinstance(noted, TaskqError):
            outcome |= dict.fromkeys(part_places, noted)
    return [outcome[place] for place in range(len(ends))]


def _ask(ends: Sequence[NodeEnd], now_ms: int | None) -> Plan[list[tuple[Sequence[int], Any]]]:
    """Where the jobs are: places among `ends`, and the answer for these or an error."""
    calls = node_jobs.facts_calls([(end.queue, end.job_id) for end in ends], now_ms=now_ms)
    answers = (yield Apart([operation for _, operation in calls])) if calls else []
    return [(places, answer) for (places, _), answer in zip(calls, answers, strict=True)]


def _fate(facts: Facts, as_of: int, told: str) -> Fate | None:
    if facts.state == "gone":
        outcome = _GONE.get(told, "")
        return Fate(outcome, as_of, 0, as_of, 0, "") if outcome else None
    return Fate(_OUTCOMES.get(facts.state, ""), as_of, facts.began_ms, facts.ended_ms, facts.attempts, facts.error)
