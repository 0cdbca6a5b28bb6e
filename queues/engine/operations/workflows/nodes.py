"""How nodes are stored: as text with tabs between its fields; and the bodies of those that are not published yet."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from ...operation import Argument
from ...values import Dependency
from ..dependencies import POLICIES

WORKFLOW_POLICY: Final = "a"
"""Stands for the policy of a dependant that is a workflow, which is told each time the job ends or begins again."""

WORKFLOW_QUEUE: Final = "*"
"""Stands for the queue of such a dependant: no queue has this name."""

_POLICY_NAMES: Final = {letter: str(policy) for policy, letter in POLICIES.items()}


class Node(NamedTuple):
    """`#N` of the record (lua/lib/workflow.lua). `needs`: numbers of the nodes that it depends on."""

    name: str
    queue: str
    job_id: str
    policy: str
    needs: tuple[int, ...]

    @property
    def on_failure(self) -> str:
        return _POLICY_NAMES[self.policy]

    @property
    def text(self) -> str:
        return "\t".join((self.name, self.queue, self.job_id, self.policy, ",".join(map(str, self.needs))))


def node_of(raw: bytes) -> Node:
    name, queue, job_id, policy, needs = raw.decode().split("\t")
    return Node(name, queue, job_id, policy, tuple(map(int, needs.split(","))) if needs else ())


class Fate(NamedTuple):
    """`@N` of the record: what became of a node. `outcome` "": nothing final. Times 0: there is none."""

    outcome: str = ""
    as_of_ms: int = 0
    began_ms: int = 0
    ended_ms: int = 0
    attempts: int = 0
    error: str = ""

    @property
    def rest(self) -> str:
        """The fields behind outcome and time."""
        return f"{self.began_ms}\t{self.ended_ms}\t{self.attempts}\t{self.error}"


PENDING: Final = Fate("pending")
"""The fate of a node whose job is still to be published."""


def fate_of(raw: bytes) -> Fate:
    if not raw:
        return Fate()
    outcome, as_of, began, ended, attempts, error = raw.decode("utf-8", "replace").split("\t", 5)
    return Fate(outcome, int(as_of), int(began), int(ended), int(attempts), error)


class PendingJob(NamedTuple):
    """What a node's job is published with. `arguments`: those of options, as publish_nodes takes them.

    `waits`: states, policies and dependencies (lua/lib/waits.lua). `dependants`: as `dependant_text` has them.
    """

    arguments: tuple[Argument, ...]
    waits: tuple[str, ...]
    dependants: tuple[str, ...]
    body: bytes

    def pack(self) -> bytes:
        head = [
            [one.decode("latin-1") if isinstance(one, bytes) else one for one in self.arguments],
            self.waits,
            self.dependants,
        ]
        return json.dumps(head, separators=(",", ":")).encode() + b"\n" + self.body


_OPTIONS_PLACE: Final = 5
"""The place of the packed options, which are bytes, among the arguments."""


def pending_of(raw: bytes) -> PendingJob:
    head, _, body = raw.partition(b"\n")
    arguments, waits, dependants = json.loads(head)
    arguments[_OPTIONS_PLACE] = arguments[_OPTIONS_PLACE].encode("latin-1")
    return PendingJob(tuple(arguments), tuple(waits), tuple(dependants), body)


def dependant_text(policy: str, queue_name: str, job_id: str) -> str:
    """A dependant as lua/subscribe.lua has it, without the job that it depends on."""
    return "\t".join((policy, queue_name, job_id, ""))


def wait_text(state: str, policy: str, dependency: Dependency) -> str:
    return f"{state}{policy}{dependency}"
