"""Groups of dead letters, as the page and its scripts show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dashboard.harmless import harmless, harmless_words
from queues.services.dead_letters.groups import DeadGroup, DeadGroups, count_queues, group_letters
from queues.services.dead_letters.places import DeadFilter, DeadPlaces
from queues.services.dead_letters.scanning import DeadStretch
from queues.services.tokens.secrets import DEFAULT_POOL

from .dead_filter import fields_of


def groups_of(chosen: DeadFilter, places: DeadPlaces, found: DeadStretch) -> dict[str, Any]:
    """Each group with the address of the page that shows only it, and its share of the largest."""
    groups: DeadGroups = group_letters(found.letters)
    queues = groups.queues if chosen.reads_errors else count_queues(places)
    base = fields_of(chosen)
    return {
        "errors": _linked(groups.errors, [base | {"like": group.key} for group in groups.errors]),
        "queues": _linked(queues, [base | names_of(group) for group in queues]),
        "days": _linked(groups.days, [base | {"day": group.key} for group in groups.days]),
        "are_cut": groups.are_cut,
    }


def _linked(groups: Sequence[DeadGroup], fields: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    most = max((group.count for group in groups), default=1)
    return [
        {"group": group, "url": f"?{urlencode(its)}", "most": most} for group, its in zip(groups, fields, strict=True)
    ]


def said(group: DeadGroup, fields: Mapping[str, str]) -> dict[str, Any]:
    """For dead_groups.js. `fields`: of the page that shows only this group."""
    return {
        "key": group.key,
        "html": harmless(_label(group)),
        "count": group.count,
        "first_ms": group.first_ms,
        "last_ms": group.last_ms,
        "example": harmless_words(group.example),
        "url": f"?{urlencode(fields)}",
    }


def _label(group: DeadGroup) -> str:
    """What people read; as in _dead_group.html."""
    place = group.place
    if place is None:
        return group.key
    pool = "" if place.pool == DEFAULT_POOL else f" ({place.pool})"
    return f"{place.namespace}/{place.queue}{pool}"


def names_of(group: DeadGroup) -> dict[str, str]:
    """Of a group by queue: the fields of the filter that mean it."""
    place = group.place
    assert place is not None  # it is a group by queue
    return {"pool": place.pool, "namespace": place.namespace, "queue": place.queue}
