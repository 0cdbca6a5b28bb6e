"""Dead letters in groups: by what they died of, by queue, by day."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .dead_letters import DeadLetter
from .dead_places import DeadPlaces, Place

GROUPS_MAX: Final = 100
"""Of more groups than this, only the largest are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroup:
    """Some dead letters with something in common. Times: of the first and last death, ms; None: not looked at yet.

    `key`: a pattern, `str(place)`, or a day as `2026-11-21`. `example`: the last error. `place`: of a group by queue.
    """

    key: str
    count: int
    first_ms: int | None = None
    last_ms: int | None = None
    example: str = ""
    place: Place | None = None


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
    queues = _by_size(_grouped(found, lambda letter: str(letter.place), with_place=True))
    days = sorted(_grouped(found, _day_of), key=lambda group: group.key, reverse=True)
    return DeadGroups(
        errors=tuple(errors[:GROUPS_MAX]),
        queues=tuple(queues[:GROUPS_MAX]),
        days=tuple(days[:GROUPS_MAX]),
        are_cut=max(len(errors), len(queues), len(days)) > GROUPS_MAX,
    )


def count_queues(places: DeadPlaces) -> tuple[DeadGroup, ...]:
    """Groups by queue that are exact without looking at a single dead letter, for a filter that reads no errors."""
    groups = [DeadGroup(key=str(one.place), count=one.count, place=one.place) for one in places.places]
    return tuple(_by_size(groups)[:GROUPS_MAX])


def _by_size(groups: list[DeadGroup]) -> list[DeadGroup]:
    return sorted(groups, key=lambda group: (-group.count, group.key))


def _day_of(letter: DeadLetter) -> str:
    return datetime.fromtimestamp(letter.job.died_ms / 1000, UTC).date().isoformat()


def _grouped(
    letters: Iterable[DeadLetter], key_of: Callable[[DeadLetter], str], *, with_place: bool = False
) -> list[DeadGroup]:
    by_key: dict[str, list[DeadLetter]] = {}
    for letter in letters:
        by_key.setdefault(key_of(letter), []).append(letter)
    return [_group(key, members, with_place) for key, members in by_key.items()]


def _group(key: str, members: list[DeadLetter], with_place: bool) -> DeadGroup:
    last = max(members, key=lambda letter: letter.job.died_ms)
    return DeadGroup(
        key=key,
        count=len(members),
        first_ms=min(letter.job.died_ms for letter in members),
        last_ms=last.job.died_ms,
        example=last.job.error,
        place=last.place if with_place else None,
    )
