"""Whether the dead letters that somebody looks at are still those that there are. Counts only: no letter is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from .dead_filter import DeadFilter
from .dead_places import DeadPlaces, find_dead_places
from .visible import User


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadNews:
    """`died`: how many died since, whatever of. `has_changed`: they did, or others are gone."""

    died: int
    has_changed: bool


def mark_of(places: DeadPlaces) -> str:
    """A short word, another one when a queue has more or fewer dead letters, or the person other rights there."""
    told = "\n".join(f"{one.place} {one.count} {one.role}" for one in places.places)
    return hashlib.blake2b(f"{told}\n{places.away}".encode(), digest_size=8).hexdigest()


def read_dead_news(*, user: User, chosen: DeadFilter, since_ms: int, mark: str) -> DeadNews:
    """What happened since `since_ms`, when `mark_of` said `mark`; an empty mark asks only for what died.

    Raises NamespaceNotFoundError, MetadataUnavailableError, StoreUnavailableError.
    """
    died = find_dead_places(user=user, chosen=chosen, since_ms=since_ms).count
    if died or not mark:
        return DeadNews(died=died, has_changed=bool(died))
    return DeadNews(died=0, has_changed=mark != mark_of(find_dead_places(user=user, chosen=chosen)))
