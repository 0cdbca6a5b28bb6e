"""What a detector finds: the value that becomes an incident, and the look that brings it.

A detector is any code that knows what is wrong with something now. It makes a `Look` for each pool: which kinds it
speaks for, and all its findings of these kinds. An open incident of such a kind that a look does not bring again is on
its way to being resolved, so a detector that could not see a pool makes no look at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from queues.models import IncidentKind, IncidentSeverity

Fact: TypeAlias = str | int | float | bool | None
"""What JSON can hold and a sentence can say."""

Subject: TypeAlias = tuple[str, str, str, str]
"""Kind, pool, namespace and queue: of each there is one open incident at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong at this moment.

    `pool` empty: the whole installation; `namespace` and `queue` empty: the whole pool. `size`: jobs that it concerns.
    `share`: of the work that this subject does, how much fails, 0 to 1. `since`: when the cause began.
    `facts`: what the sentence about it says besides, by kind (`queues.services.incidents.wording`). `ceiling`: it is
    never more severe, however great its impact.
    """

    kind: IncidentKind
    pool: str
    namespace: str = ""
    queue: str = ""
    size: int
    share: float = 1.0
    since: datetime
    facts: Mapping[str, Fact] = field(default_factory=dict)
    ceiling: IncidentSeverity = IncidentSeverity.CRITICAL

    @property
    def subject(self) -> Subject:
        return (self.kind.value, self.pool, self.namespace, self.queue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one detector found in one pool. It speaks for `kinds` there, and for nothing else."""

    pool: str
    kinds: frozenset[IncidentKind]
    findings: tuple[Finding, ...]
