"""Dead letters by what their errors have in common, by queue or by day; and whether there are new ones since a page
was made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ..permissions import User
from .filtering import DeadFilter, DeadQueues, QueueAddress, find_dead_queues
from .scanning import DeadLetter

GROUPS_MAX: Final = 100
"""Of more groups than this, only the largest are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroup:
    """Some dead letters with something in common. Times: of the first and last death, ms; None: not looked at yet.

    `key`: a pattern, `str(address)`, or a day as `2026-11-21`. `example`: the last error. `address`: of a group
    by queue.
    """

    key: str
    count: int
    first_ms: int | None = None
    last_ms: int | None = None
    example: str = ""
    address: QueueAddress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroups:
    """Each the largest first, but days the latest first. `are_cut`: there are more groups than are told apart."""

    errors: tuple[DeadGroup, ...]
    queues: tuple[DeadGroup, ...]
    days: tuple[DeadGroup, ...]
    are_cut: bool


def group_letters(letters: Iterable[DeadLetter]) -> DeadGroups:
    """Groups of what a stretch found."""
    found = list(letters)
    errors = _by_size(_grouped(found, lambda letter: letter.pattern))
    queues = _by_size(_grouped(found, lambda letter: str(letter.address), with_address=True))
    days = sorted(_grouped(found, _day_of), key=lambda group: group.key, reverse=True)
    return DeadGroups(
        errors=tuple(errors[:GROUPS_MAX]),
        queues=tuple(queues[:GROUPS_MAX]),
        days=tuple(days[:GROUPS_MAX]),
        are_cut=max(len(errors), len(queues), len(days)) > GROUPS_MAX,
    )


def count_queues(dead_queues: DeadQueues) -> tuple[DeadGroup, ...]:
    """Groups by queue that are exact without looking at a single dead letter, for a filter that reads no errors."""
    groups = [DeadGroup(key=str(one.address), count=one.count, address=one.address) for one in dead_queues.queues]
    return tuple(_by_size(groups)[:GROUPS_MAX])


def _by_size(groups: list[DeadGroup]) -> list[DeadGroup]:
    return sorted(groups, key=lambda group: (-group.count, group.key))


def _day_of(letter: DeadLetter) -> str:
    return datetime.fromtimestamp(letter.job.died_ms / 1000, UTC).date().isoformat()


def _grouped(
    letters: Iterable[DeadLetter], key_of: Callable[[DeadLetter], str], *, with_address: bool = False
) -> list[DeadGroup]:
    by_key: dict[str, list[DeadLetter]] = {}
    for letter in letters:
        by_key.setdefault(key_of(letter), []).append(letter)
    return [_group(key, members, with_address) for key, members in by_key.items()]


def _group(key: str, members: list[DeadLetter], with_address: bool) -> DeadGroup:
    last = max(members, key=lambda letter: letter.job.died_ms)
    return DeadGroup(
        key=key,
        count=len(members),
        first_ms=min(letter.job.died_ms for letter in members),
        last_ms=last.job.died_ms,
        example=last.job.error,
        address=last.address if with_address else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadNews:
    """`died`: how many died since, whatever of. `has_changed`: they did, or others are gone."""

    died: int
    has_changed: bool


def mark_of(dead_queues: DeadQueues) -> str:
    """A short word, another one when a queue has more or fewer dead letters, or the person other rights there."""
    told = "\n".join(f"{one.address} {one.count} {one.role}" for one in dead_queues.queues)
    return hashlib.blake2b(f"{told}\n{dead_queues.away}".encode(), digest_size=8).hexdigest()


def read_dead_news(*, user: User, chosen: DeadFilter, since_ms: int, mark: str) -> DeadNews:
    """What happened since `since_ms`, when `mark_of` said `mark`; an empty mark asks only for what died.

    Raises NamespaceNotFoundError, MetadataUnavailableError, StoreUnavailableError.
    """
    died = find_dead_queues(user=user, chosen=chosen, since_ms=since_ms).count
    if died or not mark:
        return DeadNews(died=died, has_changed=bool(died))
    return DeadNews(died=0, has_changed=mark != mark_of(find_dead_queues(user=user, chosen=chosen)))
