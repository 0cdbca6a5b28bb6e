"""The filter of the dead letters as parameters of a URL or a form."""

from __future__ import annotations

from typing import Final

from django.http import QueryDict

from queues.services.dead_letters.places import DeadFilter, read_filter
from queues.services.errors import InvalidArgumentError

NAMES: Final = ("pool", "namespace", "queue", "error", "like", "day")


def filter_of(given: QueryDict) -> DeadFilter:
    """What a query string or a form says. `namespace` may be `POOL/NAMESPACE`. Raises InvalidArgumentError."""
    said = {name: given.get(name, "").strip() for name in NAMES}
    if "/" in said["namespace"]:
        said["pool"], _, said["namespace"] = said["namespace"].partition("/")
    return read_filter(**said)


def fields_of(chosen: DeadFilter) -> dict[str, str]:
    """The filter as parameters; those that are empty left out."""
    day = chosen.day.isoformat() if chosen.day is not None else ""
    values = (chosen.pool, chosen.namespace, chosen.queue, chosen.error, chosen.like, day)
    return {name: value for name, value in zip(NAMES, values, strict=True) if value}


def before_of(given: QueryDict) -> int | None:
    """What died from then on is not meant, ms. Raises InvalidArgumentError."""
    return _moment_of(given, "before_ms")


def since_of(given: QueryDict) -> int:
    """What died from then on is news, ms. Raises InvalidArgumentError."""
    return _moment_of(given, "since_ms") or 0


def _moment_of(given: QueryDict, name: str) -> int | None:
    text = given.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 15):
        raise InvalidArgumentError(f"invalid {name}")
    return int(text)
