"""Dependencies between jobs: what a blocked job waits for, who depends on a job, what passes between them, and cycles.

It has the steps of a relay (`relay.relay`), each one script call in one partition, and the form in which callers name a
job. `lua/settle.lua` frees a blocked job once its dependencies are met.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import Layout, QueueKeys, partition_keys
from ..names import is_job_id
from ..operation import Argument, Operation, Plan, Reply, clock_argument, expect_ok
from ..scripts import load
from ..values import Dependency, DependencyFailure

_SUBSCRIBE = load("subscribe")
_UNSUBSCRIBE = load("unsubscribe")
_LIST_WAITS = load("list_waits")
_LIST_DEPENDANTS = load("list_dependants")
_FORGET_WAITS = load("forget_waits")
_FORGET_DEPENDANTS = load("forget_dependants")
_REBIND = load("rebind_dependants")
_SETTLE = load("settle")
_FIND_BLOCKED = load("find_blocked")
_READ_OUTGOING = load("read_outgoing")

POLICIES: Final = {DependencyFailure.WAIT: "w", DependencyFailure.FAIL: "f", DependencyFailure.CONTINUE: "c"}
"""As lua/lib/waits.lua has them."""

STATES: Final = {"?": "waiting", "+": "waiting", "-": "failed"}
_QUEUE_NAME: Final = re.compile(r"[-_A-Za-z0-9]{1,255}\Z")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def parse_dependency(text: str, *, queue: str) -> Dependency:
    """`QUEUE/JOB_ID`, `QUEUE:KEY`; `JOB_ID` or `:KEY` in `queue`. Raises InvalidArgumentError."""
    head, colon, key = text.partition(":")
    if colon and "/" not in head:
        dependency = Dependency(queue=head or queue, key=key)
    else:
        named, _, job_id = text.rpartition("/")
        dependency = Dependency(queue=named or queue, job_id=job_id)
    check_dependency(dependency, text)
    return dependency


def can_be_waited_for(text: str) -> bool:
    """Whether jobs can depend on this idempotency key: no control characters, as dependants are stored with tabs."""
    return not _CONTROL.search(text) and 0 < len(text.encode()) <= constants.KEY_MAX_BYTES


def check_dependency(dependency: Dependency, text: str | None = None) -> None:
    """Raises InvalidArgumentError unless it can be the name of a job. `text`: as the caller wrote it."""
    is_id = not dependency.key and is_job_id(dependency.job_id)
    if (
        not (is_id or (not dependency.job_id and can_be_waited_for(dependency.key)))
        or _QUEUE_NAME.match(dependency.queue) is None
    ):
        shown = (str(dependency) if text is None else text).encode("utf-8", "replace").decode()
        raise InvalidArgumentError(f'invalid depends_on "{shown:.64}"')


class Wait(NamedTuple):
    """What a blocked job waits for, as `settle` takes it. `text`: policy and dependency."""

    job_id: str
    state: str
    text: str

    @property
    def is_open_mark(self) -> bool:
        """Whether it stands for dependencies to come, and for none that is there."""
        return len(self.text) == 1

    @property
    def policy(self) -> str:
        return self.text[0]

    @property
    def dependency(self) -> Dependency:
        queue, colon, key = self.text[1:].partition(":")
        if colon:
            return Dependency(queue=queue, key=key)
        queue, _, job_id = queue.partition("/")
        return Dependency(queue=queue, job_id=job_id)


class Waits(NamedTuple):
    """A page of what a job waits for. `total`: of all pages. `next_low`: where the next page begins, "" at the end.

    `is_node`: the job is a node of a workflow, so a dependency that is gone was not acked: those are kept.
    """

    job_id: str
    is_blocked: bool
    key: str
    total: int
    next_low: str
    waits: tuple[Wait, ...]
    is_node: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the job takes more dependencies. Said by the first page only, and only of all states."""
        return bool(self.waits) and self.waits[0].is_open_mark


class Dependant(NamedTuple):
    """A job `job_id` of the queue `queue` (`namespace/queue`) that depends on `target`: a job id, or `:` and a key."""

    target: str
    policy: str
    queue: str
    job_id: str
    key: str

    @property
    def member(self) -> str:
        """As it is stored."""
        return "\t".join(self)

    @property
    def is_workflow(self) -> bool:
        """Whether it is no job, but the workflow `job_id` whose node the target is (workflows/nodes.py)."""
        return self.queue.endswith("/*")


class Settlement(NamedTuple):
    """What has become of a dependency of a blocked job."""

    job_id: str
    wait: str
    outcome: str


class Settled(NamedTuple):
    """`ended`: jobs that are not blocked any more. `messages`: that were written in their partition."""

    ended: int
    messages: int


def list_waits(
    queue: QueueKeys, *, job_id: str = "", key: str = "", only: str = "", limit: int = constants.DEPENDENCY_PAGE
) -> Operation[Waits]:
    """What a job waits for, by its id or its key; of a blocked one only what is in the state `only`."""
    return _list_waits(queue, (job_id, key, "", "", only, limit))


def list_left_waits(queue: QueueKeys, *, low: str, high: str) -> Operation[Waits]:
    """What jobs waited for that are not blocked any more, between two bounds as ZRANGEBYLEX takes them."""
    return _list_waits(queue, ("", "", low, high, "", constants.DEPENDENCY_PAGE))


def _list_waits(queue: QueueKeys, args: tuple[Argument, ...]) -> Operation[Waits]:
    def decode(reply: Reply) -> Waits:
        job_id, is_blocked, key, total, next_low, *members = expect_ok(_LIST_WAITS, reply)
        return Waits(
            job_id.decode(),
            bool(is_blocked),
            key.decode(),
            total,
            next_low.decode(),
            tuple(map(_wait_of, members)),
            is_blocked == 2,
        )

    return Operation(_LIST_WAITS, queue.select(_LIST_WAITS.keys), args, decode)


def _wait_of(member: bytes) -> Wait:
    job_id, _, rest = member.decode().partition("\t")
    return Wait(job_id, rest[0], rest[1:])


def _member_of(wait: Wait) -> str:
    return f"{wait.job_id}\t{wait.state}{wait.text}"


def list_dependants(
    queue: QueueKeys, *, low: str, high: str, policies: str = "acfw", lost: bool = False
) -> Operation[tuple[str, tuple[Dependant, ...]]]:
    """A page of the jobs that depend on jobs of a queue, and where the next page begins ("" at the end)."""

    def decode(reply: Reply) -> tuple[str, tuple[Dependant, ...]]:
        next_low, *members = expect_ok(_LIST_DEPENDANTS, reply)
        return next_low.decode(), tuple([Dependant(*member.decode().split("\t")) for member in members])

    args = (low, high, policies, int(lost), constants.DEPENDENCY_PAGE)
    return Operation(_LIST_DEPENDANTS, queue.select(_LIST_DEPENDANTS.keys), args, decode)


def list_job_dependants(
    queue: QueueKeys, *, job_id: str = "", key: str = ""
) -> Operation[tuple[str, tuple[Dependant, ...]]]:
    """The first page of the jobs that depend on a job by its id or key; before them its workflow, if it has one."""
    target = job_id or f":{key}"
    return list_dependants(queue, low=f"[{target}\t", high=f"({target}\n", policies="acfw")


def _subscriptions(name: bytes, waits: Sequence[Wait]) -> list[Argument]:
    args: list[Argument] = []
    for wait in waits:
        dependency = wait.dependency
        args += [dependency.job_id, dependency.key, wait.policy, name, wait.job_id]
    return args


def subscribe(
    queue: QueueKeys, dependant: QueueKeys, waits: Sequence[Wait], *, now_ms: int | None = None
) -> Operation[tuple[str, ...]]:
    """Have jobs of `queue` know that jobs of `dependant` wait for them. The outcome of each (lua/subscribe.lua)."""
    args = (clock_argument(now_ms), *_subscriptions(dependant.name, waits))
    return Operation(
        _SUBSCRIBE,
        queue.select(_SUBSCRIBE.keys),
        args,
        lambda reply: tuple([word.decode() for word in expect_ok(_SUBSCRIBE, reply)]),
    )


def unsubscribe(queue: QueueKeys, dependant: QueueKeys, waits: Sequence[Wait]) -> Operation[bool]:
    """Undo `subscribe`."""
    args = tuple(_subscriptions(dependant.name, waits))
    return Operation(
        _UNSUBSCRIBE,
        queue.select(_UNSUBSCRIBE.keys),
        args,
        lambda reply: not expect_ok(_UNSUBSCRIBE, reply),
    )


def settle(queue: QueueKeys, settlements: Sequence[Settlement], *, now_ms: int | None = None) -> Operation[Settled]:
    """Tell blocked jobs of `queue` what has become of their dependencies."""
    parts = [part for settlement in settlements for part in settlement]
    args = (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, *parts)
    return Operation(_SETTLE, queue.select(_SETTLE.keys), args, lambda reply: Settled(*expect_ok(_SETTLE, reply)))


def forget_waits(
    queue: QueueKeys, waits: Sequence[Wait], *, job_id: str = "", message: str = "", now_ms: int | None = None
) -> Operation[bool]:
    """Drop what jobs waited for that are not blocked any more; and a message that has been carried."""
    args = (clock_argument(now_ms), queue.name, job_id, message, *map(_member_of, waits))
    return Operation(
        _FORGET_WAITS,
        queue.select(_FORGET_WAITS.keys),
        args,
        lambda reply: not expect_ok(_FORGET_WAITS, reply),
    )


def forget_dependants(queue: QueueKeys, dependants: Sequence[Dependant], *, message: str = "") -> Operation[int]:
    """Drop those that have been told, and the message if all dependants that it concerns have been told."""
    return Operation(
        _FORGET_DEPENDANTS,
        queue.select(_FORGET_DEPENDANTS.keys),
        (message, *[dependant.member for dependant in dependants]),
        lambda reply: int(expect_ok(_FORGET_DEPENDANTS, reply)[0]),
    )


def find_blocked(queue: QueueKeys, jobs: Sequence[Dependency]) -> Operation[tuple[bool, ...]]:
    """Whether each of these jobs of a queue is blocked."""
    return Operation(
        _FIND_BLOCKED,
        queue.select(_FIND_BLOCKED.keys),
        tuple([part for job in jobs for part in (job.job_id, job.key)]),
        lambda reply: tuple(map(bool, expect_ok(_FIND_BLOCKED, reply))),
    )


def rebind_dependants(queue: QueueKeys, dependants: Sequence[Dependant]) -> Operation[tuple[str, ...]]:
    """Have these wait for another job with the key, since the one that had it has gone. The outcome of each."""
    return Operation(
        _REBIND,
        queue.select(_REBIND.keys),
        tuple([dependant.member for dependant in dependants]),
        lambda reply: tuple([word.decode() for word in expect_ok(_REBIND, reply)]),
    )


def read_outgoing(partition: int, *, limit: int = constants.RELAY_MESSAGES) -> Operation[tuple[str, ...]]:
    """Messages of a partition that are still to be carried, the earliest first."""
    return Operation(
        _READ_OUTGOING,
        (partition_keys(partition)["outgoing"],),
        (limit,),
        lambda reply: tuple([message.decode() for message in expect_ok(_READ_OUTGOING, reply)]),
    )


def find_cycle(
    layout: Layout, queue: QueueKeys, key: str, depends_on: Sequence[Dependency], *, job_id: str = ""
) -> Plan[str]:
    """The cycle that a job with this key is in if it depends on these, `QUEUE:KEY → ... → QUEUE:KEY`; "" if none.

    `job_id`: of a job that is there already, and takes more dependencies. Any other can be in a cycle only by its key:
    nothing depends on an id that was not given yet.
    """
    names = [str(Dependency(queue=queue.queue, key=key))] if key else []
    names += [str(Dependency(queue=queue.queue, job_id=job_id))] if job_id else []
    came_from = {str(one): names[0] for one in depends_on}
    to_ask, to_list = deque(dict.fromkeys(depends_on)), deque[Dependency]()
    looks = 0
    while not (closing := [name for name in names if name in came_from]):
        if to_ask:
            part = [to_ask.popleft() for _ in range(min(len(to_ask), constants.DEPENDENCY_PAGE))]
            to_list += yield from _blocked_among(layout, queue.namespace, part)
            continue
        if not to_list or looks >= constants.CYCLE_LOOKS or len(came_from) >= constants.CYCLE_NAMES:
            return ""
        part = [to_list.popleft() for _ in range(min(len(to_list), constants.CYCLE_LOOKS_AT_ONCE))]
        looks += len(part)
        found = yield [
            list_waits(layout.queue(queue.namespace, one.queue), job_id=one.job_id, key=one.key) for one in part
        ]
        for one, page in zip(part, found, strict=True):
            for wait in page.waits if page.is_blocked else ():
                if not wait.is_open_mark and str(wait.dependency) not in came_from:
                    came_from[str(wait.dependency)] = str(one)
                    to_ask.append(wait.dependency)
    cycle = [names[0], came_from[closing[0]]]
    while cycle[-1] != names[0]:
        cycle.append(came_from[cycle[-1]])
    return " → ".join(reversed(cycle))


def _blocked_among(layout: Layout, namespace: str, jobs: Sequence[Dependency]) -> Plan[list[Dependency]]:
    """Those of the jobs that are blocked: only these depend on others."""
    of_queue: dict[str, list[Dependency]] = defaultdict(list)
    for job in jobs:
        of_queue[job.queue].append(job)
    answers = yield [find_blocked(layout.queue(namespace, name), ours) for name, ours in of_queue.items()]
    return [
        job
        for ours, answer in zip(of_queue.values(), answers, strict=True)
        for job, is_blocked in zip(ours, answer, strict=True)
        if is_blocked
    ]


def refuse_cycle(
    layout: Layout, queue: QueueKeys, key: str, depends_on: Sequence[Dependency], *, job_id: str = ""
) -> Plan[None]:
    """Raises InvalidArgumentError, with the cycle named, if a job with this key would wait for itself."""
    cycle = yield from find_cycle(layout, queue, key, depends_on, job_id=job_id)
    if cycle:
        raise InvalidArgumentError(f"depends_on makes a cycle: {cycle:.512}")
