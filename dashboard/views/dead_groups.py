"""Groups of dead letters as the page shows them: with their addresses, trends, shares, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dashboard.formatting import escape_visibly, visible_text
from queues.services.dead_letters.filtering import DeadFilter, DeadQueues
from queues.services.dead_letters.scanning import DeadGroup, DeadGroups, DeadStretch, count_queues, group_letters
from queues.services.dead_letters.triage import is_muted, list_triage, list_users
from queues.services.permissions import Role
from queues.services.tokens.secrets import DEFAULT_POOL

PLACES_SHOWN = 10
"""Namespaces of a group that its page has a form for."""


def groups_of(
    chosen: DeadFilter, dead_queues: DeadQueues, found: DeadStretch, fields: Mapping[str, str]
) -> dict[str, Any]:
    """Each group with the address of the page that shows only it, and its share of the largest."""
    groups: DeadGroups = group_letters(found.letters, before_ms=dead_queues.before_ms)
    queues = groups.queues if chosen.reads_errors else count_queues(dead_queues)
    errors = _linked(groups.errors, [{**fields, "like": group.key} for group in groups.errors])
    return {
        "errors": _with_triage(errors),
        "queues": _linked(queues, [{**fields, **names_of(group)} for group in queues]),
        "days": _linked(groups.days, [{**fields, "day": group.key} for group in groups.days]),
        "are_cut": groups.are_cut,
    }


def _linked(groups: Sequence[DeadGroup], fields: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    most = max((group.count for group in groups), default=1)
    return [
        {"group": group, "query": urlencode(its), "url": f"?{urlencode(its)}", "most": most}
        for group, its in zip(groups, fields, strict=True)
    ]


def _with_triage(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row with what was decided in its namespaces."""
    places = {place for row in rows for place, _ in row["group"].places}
    decided = list_triage(places=places, patterns={row["group"].key for row in rows})
    for row in rows:
        group: DeadGroup = row["group"]
        mine = [found for place, _ in group.places if (found := decided.get((*place, group.key)))]
        row["is_muted"] = bool(mine) and sum(map(is_muted, mine)) == len(group.places)
        row["assigned_to"] = ", ".join(dict.fromkeys(one.assigned_to for one in mine if one.assigned_to))
    return rows


def triage_of(chosen: DeadFilter, dead_queues: DeadQueues, errors: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of the one group that a page is about: what was decided in each of its namespaces, and who could see to it."""
    group = next((row["group"] for row in errors if row["group"].key == chosen.like), None)
    if group is None:
        return []
    roles = {(one.address.pool, one.address.namespace): one.role for one in dead_queues.queues}
    places = group.places[:PLACES_SHOWN]
    decided = list_triage(places=[place for place, _ in places], patterns=[chosen.like])
    shown = []
    for (pool, namespace), count in places:
        row = decided.get((pool, namespace, chosen.like))
        may_act = roles.get((pool, namespace), Role.READ) >= Role.OPERATE
        shown.append(
            {
                "pool": pool,
                "namespace": namespace,
                "count": count,
                "row": row,
                "is_muted": row is not None and is_muted(row),
                "may_act": may_act,
                "users": list_users(pool=pool, namespace=namespace) if may_act else (),
            }
        )
    return shown


def said(group: DeadGroup, fields: Mapping[str, str]) -> dict[str, Any]:
    """For dead_groups.js. `fields`: of the page that shows only this group."""
    return {
        "key": group.key,
        "html": escape_visibly(_label(group)),
        "count": group.count,
        "first_ms": group.first_ms,
        "last_ms": group.last_ms,
        "example": visible_text(group.example),
        "trend": group.trend,
        "url": f"?{urlencode(fields)}",
    }


def _label(group: DeadGroup) -> str:
    """What people read; as in _dead_group.html."""
    address = group.address
    if address is None:
        return group.key
    pool = "" if address.pool == DEFAULT_POOL else f" ({address.pool})"
    return f"{address.namespace}/{address.queue}{pool}"


def names_of(group: DeadGroup) -> dict[str, str]:
    """Of a group by queue: the fields of the filter that mean it."""
    address = group.address
    assert address is not None  # it is a group by queue
    return {"pool": address.pool, "namespace": address.namespace, "queue": address.queue}
