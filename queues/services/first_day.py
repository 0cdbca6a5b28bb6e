"""How far a new installation is: whether anybody has a token, has published, consumed and acked, and runs a worker.

Each answer is read from what these acts leave behind: rows of tokens, counters of queues, reports of days, presence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Final

from django.db.models import Max
from django.utils import timezone

from queues.engine import list_queues, namespace_minutes, stats
from queues.engine.errors import TaskqError
from queues.models import Namespace, QueueDay, Token
from queues.pools import reading_engine_for
from queues.pools.database import read_metadata
from queues.pools.ttl_cache import Recent

from .consumers.reading import read_consumers
from .permissions import Right, User, places_of, places_with, sees_everything
from .workers.reading import read_workers

NAMESPACES_MAX: Final = 5
QUEUES_MAX: Final = 20
"""Of each namespace. An installation with more namespaces is not new."""

MINUTES: Final = 1_440
NEW_FOR: Final = timedelta(days=7)
"""An installation whose first namespace is older is not new, whatever has been done in it."""

NEW_NAMESPACE: Final = "demo"
"""What the first namespace is called unless somebody says otherwise."""

FIRST_QUEUES: Final = ("greetings", "hello-tasks")
"""Those that the code to copy uses."""

RECENT_S: Final = 1.0
"""For how long an answer serves everybody who looks: pages ask every two seconds."""

_ACTS: Final = ("published", "consumed", "acked")


class FirstStep(StrEnum):
    """What a new user does, in this order."""

    TOKEN = "token"  # noqa: S105 - the word
    PUBLISH = "publish"
    CONSUME = "consume"
    ACK = "ack"
    WORKER = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgress:
    """`is_next`: the first that has not been done."""

    step: FirstStep
    is_done: bool
    is_next: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDay:
    """`is_new`: the overview should show the steps. `places`: where the person may make tokens.

    `away`: pools that did not answer, so that what was done there is not known.
    """

    steps: Sequence[StepProgress]
    places: Sequence[tuple[str, str]]
    may_make_namespaces: bool
    is_new: bool
    away: Sequence[str] = ()

    @property
    def namespace(self) -> str:
        """The one that the code to copy uses."""
        return self.places[0][1] if self.places else NEW_NAMESPACE


def read_first_day(*, user: User) -> FirstDay:
    """How far the namespaces are that `user` may see: a few queries, and a few round trips to each pool.

    Raises MetadataUnavailableError.
    """
    places = places_of(user=user)
    looked_at = places[:NAMESPACES_MAX]
    done, away = _read_acts(user, looked_at)
    steps = [StepProgress(step=step, is_done=step in done) for step in FirstStep]
    first_open = next((at for at, one in enumerate(steps) if not one.is_done), None)
    if first_open is not None:
        steps[first_open] = replace(steps[first_open], is_next=True)
    open_to = places_with(user=user, right=Right.CREATE_TOKENS)
    may_make = sees_everything(user)
    return FirstDay(
        steps=steps,
        places=open_to,
        may_make_namespaces=may_make,
        is_new=bool(open_to or may_make) and FirstStep.ACK not in done and not away and is_young(user=user),
        away=away,
    )


def is_young(*, user: User) -> bool:
    """Whether there are few namespaces that `user` sees, all of them made lately."""
    created = Namespace.objects.visible_to(user).order_by("created").values_list("created", flat=True)
    found = read_metadata(lambda: list(created[: NAMESPACES_MAX + 1]))
    return not found or (len(found) <= NAMESPACES_MAX and found[0] > timezone.now() - NEW_FOR)


def _read_acts(user: User, places: Sequence[tuple[str, str]]) -> tuple[set[FirstStep], list[str]]:
    """What has been done in these namespaces, and the pools that do not answer."""
    done: set[FirstStep] = set()
    if not places:
        return done, []
    pools = {pool for pool, _name in places}
    names = {name for _pool, name in places}
    visible = Namespace.objects.visible_to(user).filter(pool__name__in=pools, name__in=names)
    tokens = Token.objects.filter(namespace__in=visible.order_by(), revoked_at=None)
    if read_metadata(tokens.exists):
        done.add(FirstStep.TOKEN)
    counted = _reported(visible)
    away = []
    for pool in sorted(pools):
        try:
            mine = tuple(name for one, name in places if one == pool)
            counted |= _recent.get((pool, mine), partial(_counted, pool, mine))
        except TaskqError:
            away.append(pool)
    steps = dict(zip(_ACTS, (FirstStep.PUBLISH, FirstStep.CONSUME, FirstStep.ACK), strict=True))
    done |= {steps[act] for act in counted}
    if not away and _is_anybody_at_work(user):
        done.add(FirstStep.WORKER)
    return done, away


def _reported(visible: Collection[Namespace]) -> set[str]:
    """What reports of past days counted."""
    rows = QueueDay.objects.filter(scope__in=visible)
    sums = read_metadata(lambda: rows.aggregate(**{act: Max(act) for act in _ACTS}))
    return {act for act in _ACTS if sums[act]}


def _counted(pool: str, names: Sequence[str]) -> frozenset[str]:
    """What the queues' counters have of the last day, the running minute included."""
    engine = reading_engine_for(pool)
    queues = [
        (name, queue)
        for name in names
        for queue in engine.run(list_queues(engine.layout, name, limit=QUEUES_MAX)).names
    ]
    # A queue whose last job was acked is on no list any more; its counters stay for a while.
    asked = {*queues, *((name, queue) for name in names for queue in FIRST_QUEUES)}
    now = engine.batch([stats(engine.queue(*one)) for one in sorted(asked)])
    trends = engine.batch([namespace_minutes(name, count=MINUTES) for name in names])
    found = {act for one in now for act in _ACTS if getattr(one, f"{act}_per_s")}
    found |= {act for trend in trends for minute in trend for act in _ACTS if getattr(minute, act)}
    if any(sum(one.counts.values()) for one in now):
        found.add("published")
    return frozenset(found)


_recent: Final[Recent[tuple[str, tuple[str, ...]], frozenset[str]]] = Recent(RECENT_S)


def _is_anybody_at_work(user: User) -> bool:
    """Whether a worker of the SDK has reported, or a consumer waits for jobs."""
    return bool(read_workers(user=user).workers) or bool(read_consumers(user=user).waiting)
