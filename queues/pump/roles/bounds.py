"""Dead-letter bounds: dead jobs older than a policy allows, or too many of them → gone, and counted in the stats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import add
from typing import Final

from queues.engine import Counts, Engine, constants, list_queues, trim_dead
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation, Plan, paced
from queues.services.policies import list_dead_bounds, policy_for

QUEUES_PER_TICK: Final = 100
"""A policy may hold for a whole namespace, and a namespace may have any number of queues."""


class DeadLetterBounds:
    """Walks over the queues that have bounds, a stretch per tick; after the last one, the next tick starts anew."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._walk: Iterator[Operation[Counts]] | None = None
        self._stretch: list[Operation[Counts]] = []

    def tick(self, engine: Engine, now_ms: int | None) -> Counts:
        """Trim a bounded batch of each queue in the stretch. `more`: a queue has more to trim, or the walk goes on."""
        try:
            if self._walk is None:
                self._walk = self._trims(engine, now_ms)
            if not self._stretch:
                self._stretch = list(islice(self._walk, QUEUES_PER_TICK))
            if not self._stretch:
                self._walk = None
                return Counts()
            results = engine.run(_one_after_another(self._stretch))
        except BaseException:
            self._walk, self._stretch = None, []
            raise
        trimmed = reduce(add, results)
        if not trimmed.more:
            self._stretch = []
        return trimmed + Counts(more=True)

    def _trims(self, engine: Engine, now_ms: int | None) -> Iterator[Operation[Counts]]:
        for queue in self._queues(engine):
            policy = policy_for(pool=self._pool, namespace=queue.namespace, queue=queue.queue)
            yield trim_dead(
                queue,
                max_age_ms=None if policy.dead_max_age_s is None else policy.dead_max_age_s * 1000,
                max_count=policy.dead_max_count,
                now_ms=now_ms,
            )

    def _queues(self, engine: Engine) -> Iterator[QueueKeys]:
        """Queues with bounds of their own, then all others of namespaces that have bounds."""
        bounds = list_dead_bounds(pool=self._pool)
        own = {(bound.namespace, bound.queue) for bound in bounds if bound.queue}
        for namespace, queue in sorted(own):
            yield engine.queue(namespace, queue)
        for namespace in [bound.namespace for bound in bounds if not bound.queue]:
            for queue in _names(engine, namespace):
                if (namespace, queue) not in own:
                    yield engine.queue(namespace, queue)


def _one_after_another(trims: Sequence[Operation[Counts]]) -> Plan[list[Counts]]:
    """With pauses: a bound that was just set may drop any number of dead letters."""
    results: list[Counts] = []
    for trim in trims:
        results += yield paced(trim, jobs=constants.DELETE_BATCH)
    return results


def _names(engine: Engine, namespace: str) -> Iterator[str]:
    after: str | None = None
    while True:
        page = engine.run(list_queues(engine.layout, namespace, after=after, limit=QUEUES_PER_TICK))
        yield from page.names
        after = page.after
        if after is None:
            return
