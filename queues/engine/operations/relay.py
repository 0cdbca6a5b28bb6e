"""Carries messages from the partition where something happened to those that it concerns (lua/lib/outgoing.lua).

Each message is read, told where it belongs, and then dropped, in this order: if a relay dies in between, the next one
tells it again, which changes nothing. So two relays at once do no harm either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from .. import constants
from ..errors import TaskqError
from ..keys import Layout, QueueKeys
from ..operation import Apart, Operation, Plan, in_pages
from ..record import BATCH_KEY
from ..values import Counts, Dependency
from . import dependencies
from .dependencies import Dependant, Settlement, Wait, Waits, can_be_waited_for, find_cycle
from .groups import find_batches
from .workflows.nodes import WORKFLOW_POLICY
from .workflows.noting import NodeEnd, note_ends

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Message:
    """KIND⇥QUEUE⇥... as lua/lib/outgoing.lua writes it."""

    text: str
    kind: str
    queue: QueueKeys
    rest: tuple[str, ...]


class _Rebound(NamedTuple):
    """`done`: dependants by message that wait for no other job: they are gone, or the other has been acked.

    `hot`, `untold`: of settling the latter.
    """

    done: dict[str, set[Dependant]]
    hot: set[int]
    untold: set[str]


def relay(
    layout: Layout,
    *,
    partitions: Collection[int] | None = None,
    rounds: int = constants.RELAY_ROUNDS,
    now_ms: int | None = None,
) -> Plan[Counts]:
    """Carry what is outgoing in these partitions (None: in all), and what comes of it. Bounded; `jobs`: unblocked ones.

    Raises the first error, after everything that could be carried was.
    """
    step = _Round(layout, now_ms)
    hot: Collection[int] = range(layout.partitions) if partitions is None else partitions
    while hot and rounds > 0:
        rounds -= 1
        hot = yield from step.run(sorted(hot))
        if step.errors:
            raise step.errors[0]
    return Counts(jobs=step.ended, more=bool(hot))


@dataclass(slots=True)
class _Round:
    """One look at each partition: a page of each of its earliest messages."""

    layout: Layout
    now_ms: int | None
    ended: int = 0
    errors: list[TaskqError] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    """Where the next page of a message begins, of those whose pages may leave something in place."""

    def run(self, partitions: Sequence[int]) -> Plan[set[int]]:
        """Returns the partitions that have to be looked at again."""
        heads = yield from self._apart([dependencies.read_outgoing(partition) for partition in partitions])
        hot: set[int] = set()
        messages: list[_Message] = []
        for partition, texts in zip(partitions, heads, strict=True):
            if texts:
                messages += _in_order([self._parse(text) for text in texts])
                hot.add(partition)
        if messages:
            of_kind: dict[str, list[_Message]] = defaultdict(list)
            for message in messages:
                of_kind[message.kind].append(message)
            hot |= yield from self._tell_dependants(of_kind["ended"] + of_kind["lost"])
            hot |= yield from self._tell_dependencies(of_kind["waits"] + of_kind["added"] + of_kind["left"])
        return hot

    def _parse(self, text: str) -> _Message:
        kind, queue, *rest = text.split("\t", 4)
        return _Message(text, kind, self.layout.named(queue.encode()), tuple(rest))

    # A job has ended: tell its dependants.

    def _tell_dependants(self, messages: Sequence[_Message]) -> Plan[set[int]]:
        members = yield from self._members_of([m for m in messages if m.kind == "ended" and m.rest[2] == BATCH_KEY])
        messages = [m for m in messages if m.kind != "ended" or m.rest[2] != BATCH_KEY or m.text in members]
        asked = [
            (message, operation)
            for message in messages
            for operation in self._pages(message, members.get(message.text, ()))
        ]
        pages = yield from self._apart([operation for _, operation in asked])
        found: dict[str, list[Dependant]] = {message.text: [] for message in messages}
        settlements: dict[str, list[Settlement]] = defaultdict(list)
        is_done = dict.fromkeys(found, True)
        for (message, _), page in zip(asked, pages, strict=True):
            if page is None:
                is_done[message.text] = False
                continue
            next_low, dependants = page
            if next_low:
                is_done[message.text] = False
                self.cursors[message.text] = next_low
            found[message.text] += dependants
            for dependant in dependants:
                if not _waits_for_key(message, dependant) and not _is_workflow(dependant):
                    settlements[dependant.queue].append(_settlement(message, dependant))
        untold_workflows = yield from self._tell_workflows(found, messages)
        hot, untold = yield from self._settle(settlements)
        untold |= untold_workflows
        bound = yield from self._rebind(messages, found)
        if bound is None:
            return hot
        hot |= bound.hot
        untold |= bound.untold
        forgotten: list[Operation[int]] = [
            dependencies.forget_dependants(
                message.queue,
                [
                    one
                    for one in found[message.text]
                    if one.queue not in untold and (one in bound.done[message.text] or not _stays(message, one))
                ],
                message=message.text
                if is_done[message.text] and not any(one.queue in untold for one in found[message.text])
                else "",
            )
            for message in messages
        ]
        yield from self._apart(forgotten)
        return hot

    def _rebind(self, messages: Sequence[_Message], found: Mapping[str, Sequence[Dependant]]) -> Plan[_Rebound | None]:
        """Have jobs wait for another job with the key. None: some calls have failed."""
        waiting = {
            message.text: [one for one in found[message.text] if _waits_for_key(message, one)] for message in messages
        }
        blocked = yield from self._blocked([one for ours in waiting.values() for one in ours])
        asked = [
            (message, ours)
            for message in messages
            if (ours := [one for one in waiting[message.text] if (one.queue, one.job_id) in blocked])
        ]
        answers = yield from self._apart(
            [dependencies.rebind_dependants(message.queue, ours) for message, ours in asked]
        )
        if None in answers:
            return None
        done = {text: {one for one in ours if (one.queue, one.job_id) not in blocked} for text, ours in waiting.items()}
        settlements: dict[str, list[Settlement]] = defaultdict(list)
        for (message, ours), outcomes in zip(asked, answers, strict=True):
            for one, outcome in zip(ours, outcomes or (), strict=True):
                if outcome == "acked":
                    done[message.text].add(one)
                    settlements[one.queue].append(_settlement(message, one)._replace(outcome=outcome))
        return _Rebound(done, *(yield from self._settle(settlements)))

    def _blocked(self, dependants: Sequence[Dependant]) -> Plan[set[tuple[str, str]]]:
        """Queue and id of those that are still blocked, as far as is known: a job that has gone waits for no other."""
        of_queue: dict[str, list[str]] = defaultdict(list)
        for one in dict.fromkeys(dependants):
            of_queue[one.queue].append(one.job_id)
        pages = [
            (self.layout.named(name.encode()), part)
            for name, ids in of_queue.items()
            for part in in_pages(ids, constants.DEPENDENCY_PAGE)
        ]
        answers = yield from self._apart(
            [
                dependencies.find_blocked(queue, [Dependency(queue=queue.queue, job_id=one) for one in ids])
                for queue, ids in pages
            ]
        )
        return {
            (queue.name.decode(), job_id)
            for (queue, ids), answer in zip(pages, answers, strict=True)
            for job_id, is_blocked in zip(ids, answer or [True] * len(ids), strict=True)
            if is_blocked
        }

    def _members_of(self, messages: Sequence[_Message]) -> Plan[dict[str, Sequence[tuple[str, str]]]]:
        """Jobs that became the batches that have ended, with their keys, by the text of the message."""
        found = yield from self._apart([find_batches(message.queue, (message.rest[0],)) for message in messages])
        batches = [
            (message, answer[0].members) for message, answer in zip(messages, found, strict=True) if answer is not None
        ]
        known = yield from self._apart([find_batches(message.queue, ids) for message, ids in batches])
        return {
            message.text: [(job_id, one.key) for job_id, one in zip(ids, answer, strict=True)]
            for (message, ids), answer in zip(batches, known, strict=True)
            if answer is not None
        }

    def _pages(
        self, message: _Message, members: Sequence[tuple[str, str]]
    ) -> Iterator[Operation[tuple[str, tuple[Dependant, ...]]]]:
        if message.kind == "lost":
            low = self.cursors.get(message.text, "-")
            yield dependencies.list_dependants(message.queue, low=low, high=f"({message.rest[0]}", lost=True)
            return
        job_id, outcome, key = message.rest
        if outcome == "respawned":  # concerns workflows only
            low, high = f"[{job_id}\t{WORKFLOW_POLICY}", f"({job_id}\tb"
            yield dependencies.list_dependants(message.queue, low=low, high=high, policies=WORKFLOW_POLICY)
            return
        for one, its_key in members:
            yield _dependants_of(message.queue, one, waiting=outcome != "dead")
            if can_be_waited_for(its_key):
                yield _dependants_of(message.queue, f":{its_key}", waiting=outcome == "acked")
        # Policies in order: a, c, f, w. The last of a dead job stay, as do those that wait for another with the key.
        yield _dependants_of(message.queue, job_id, waiting=outcome != "dead")
        if can_be_waited_for(key):  # not that of a batch
            yield _dependants_of(message.queue, f":{key}", waiting=outcome == "acked")

    def _tell_workflows(self, found: dict[str, list[Dependant]], messages: Sequence[_Message]) -> Plan[set[str]]:
        """Tell the workflows of these jobs, before the jobs that depend on them (`publishing` may tell those again).

        Returns the "queues" of workflows that could not be told.
        """
        ends = [
            (dependant, _node_end(message, dependant))
            for message in messages
            for dependant in found[message.text]
            if _is_workflow(dependant)
        ]
        if not ends:
            return set()
        answers = yield from note_ends(self.layout, [end for _, end in ends], now_ms=self.now_ms)
        self.errors += [answer for answer in answers if isinstance(answer, TaskqError)]
        return {
            dependant.queue
            for (dependant, _), answer in zip(ends, answers, strict=True)
            if isinstance(answer, TaskqError)
        }

    # A job depends on others, or no longer does: tell its dependencies.

    def _tell_dependencies(self, messages: Sequence[_Message]) -> Plan[set[int]]:
        pages = yield from self._apart([self._waits_of(message) for message in messages])
        known = [(message, page) for message, page in zip(messages, pages, strict=True) if page is not None]
        yield from self._unsubscribe([(message, page) for message, page in known if not page.is_blocked])
        return (yield from self._subscribe([(message, page) for message, page in known if page.is_blocked]))

    def _waits_of(self, message: _Message) -> Operation[Waits]:
        if message.kind != "left":
            return dependencies.list_waits(message.queue, job_id=message.rest[0], only="?")
        low = self.cursors.get(message.text, "-")
        return dependencies.list_left_waits(message.queue, low=low, high=f"({message.rest[0]}")

    def _subscribe(self, found: Sequence[tuple[_Message, Waits]]) -> Plan[set[int]]:
        nodes = {page.job_id for _, page in found if page.is_node}
        asked: list[tuple[QueueKeys, Sequence[Wait], Operation[tuple[str, ...]]]] = []
        for message, page in found:
            for queue, all_of_it in self._by_queue(message.queue, page.waits).items():
                for waits in in_pages(all_of_it, constants.SETTLE_PAGE):
                    operation = dependencies.subscribe(queue, message.queue, waits, now_ms=self.now_ms)
                    asked.append((message.queue, waits, operation))
        answers = yield from self._apart([operation for _, _, operation in asked])
        cycles: dict[str, str] = {}
        for message, page in found:
            if page.key or message.kind == "added":
                needed = [wait.dependency for wait in page.waits]
                cycle = yield from find_cycle(self.layout, message.queue, page.key, needed, job_id=page.job_id)
                if cycle:
                    cycles[page.job_id] = cycle
        settlements: dict[str, list[Settlement]] = defaultdict(list)
        for (queue, waits, _), outcomes in zip(asked, answers, strict=True):
            for wait, outcome in zip(waits, outcomes or (), strict=outcomes is not None):
                its = f"cycle {cycles[wait.job_id]}" if wait.job_id in cycles else outcome
                if its == "gone":  # as far as is known it was acked; those that nodes depend on would be kept
                    its = "deleted" if wait.job_id in nodes else "acked"
                settlements[queue.name.decode()].append(Settlement(wait.job_id, wait.text, its))
        for message, page in found:
            if not page.waits:  # all of it has been told
                settlements[message.queue.name.decode()].append(Settlement(page.job_id, "w", "waits"))
        hot, _ = yield from self._settle(settlements)
        return hot

    def _unsubscribe(self, found: Sequence[tuple[_Message, Waits]]) -> Plan[None]:
        asked = [
            (message.text, dependencies.unsubscribe(queue, message.queue, waits))
            for message, page in found
            for queue, waits in self._by_queue(message.queue, page.waits).items()
        ]
        answers = yield from self._apart([operation for _, operation in asked])
        untold = {text for (text, _), answer in zip(asked, answers, strict=True) if answer is None}
        forgotten = []
        for message, page in found:
            if message.text in untold:
                continue
            is_done = message.kind == "left" and not page.next_low
            if page.next_low:
                self.cursors[message.text] = page.next_low
            forgotten.append(
                dependencies.forget_waits(
                    message.queue,
                    page.waits,
                    job_id="" if message.kind == "left" else message.rest[0],
                    message=message.text if is_done else "",
                    now_ms=self.now_ms,
                )
            )
        yield from self._apart(forgotten)

    def _by_queue(self, dependant: QueueKeys, waits: Sequence[Wait]) -> dict[QueueKeys, list[Wait]]:
        found: dict[QueueKeys, list[Wait]] = defaultdict(list)
        for wait in [one for one in waits if not one.is_open_mark]:
            found[self.layout.queue(dependant.namespace, wait.dependency.queue)].append(wait)
        return found

    # Calls that both need.

    def _settle(self, settlements: dict[str, list[Settlement]]) -> Plan[tuple[set[int], set[str]]]:
        """Returns the partitions where messages were written, and the queues that could not be told."""
        asked: list[tuple[QueueKeys, Operation[dependencies.Settled]]] = []
        for name, all_of_it in settlements.items():
            queue = self.layout.named(name.encode())
            for part in in_pages(all_of_it, constants.SETTLE_PAGE):
                asked.append((queue, dependencies.settle(queue, part, now_ms=self.now_ms)))
        answers = yield from self._apart([operation for _, operation in asked])
        hot: set[int] = set()
        untold: set[str] = set()
        for (queue, _), settled in zip(asked, answers, strict=True):
            if settled is None:
                untold.add(queue.name.decode())
                continue
            self.ended += settled.ended
            if settled.messages:
                hot.add(queue.partition)
        return hot, untold

    def _apart(self, operations: Sequence[Operation[T]]) -> Plan[list[T | None]]:
        """Results in order; None in place of an error, which is noted."""
        if not operations:
            return []
        results: list[Any] = yield Apart(operations)
        self.errors += [result for result in results if isinstance(result, TaskqError)]
        return [None if isinstance(result, TaskqError) else result for result in results]


def _in_order(messages: Sequence[_Message]) -> Iterator[_Message]:
    """The messages in order: one about a whole queue waits until earlier ones about its jobs have been carried."""
    seen: set[bytes] = set()
    for message in messages:
        if message.kind not in ("lost", "left") or message.queue.name not in seen:
            yield message
        seen.add(message.queue.name)


def _dependants_of(queue: QueueKeys, target: str, *, waiting: bool) -> Operation[tuple[str, tuple[Dependant, ...]]]:
    high = f"({target}\n" if waiting else f"({target}\tg"
    return dependencies.list_dependants(queue, low=f"[{target}\t", high=high)


def _waits_for_key(message: _Message, dependant: Dependant) -> bool:
    """Whether it now waits for another job with the key: its own has gone without an ack."""
    return bool(dependant.key) and dependant.policy == "w" and _outcome(message) != "acked"


def _is_workflow(dependant: Dependant) -> bool:
    """Whether it is no job, but the workflow whose node the dependency is."""
    return dependant.policy == WORKFLOW_POLICY


def _node_end(message: _Message, dependant: Dependant) -> NodeEnd:
    return NodeEnd(dependant.job_id, int(dependant.key), message.queue, dependant.target, _outcome(message))


def _stays(message: _Message, dependant: Dependant) -> bool:
    """Whether it is to be told again: it waits for another job, or the job has not ended for good."""
    if _is_workflow(dependant):
        return _outcome(message) in ("dead", "respawned")
    return _waits_for_key(message, dependant)


def _outcome(message: _Message) -> str:
    return message.rest[1] if message.kind == "ended" else "deleted"


def _settlement(message: _Message, dependant: Dependant) -> Settlement:
    queue, outcome = message.queue.queue, _outcome(message)
    job_id = "" if dependant.key else dependant.target
    name = Dependency(queue=queue, job_id=job_id, key=dependant.key)
    return Settlement(dependant.job_id, f"{dependant.policy}{name}", outcome)
