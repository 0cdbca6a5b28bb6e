"""Which jobs a page shows: the query string of the queue page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from queues.engine.values import JobFilter, JobState

_FIELDS: Final = {"id": "job_id", "key": "key", "attribute": "attribute", "error": "error", "body": "body"}
"""Parameter → field of JobFilter."""


def read_state(parameters: Mapping[str, str]) -> JobState:
    """`state`; what is no state means ready."""
    try:
        return JobState(parameters.get("state", JobState.READY))
    except ValueError:
        return JobState.READY


def read_filter(parameters: Mapping[str, str]) -> JobFilter:
    """The texts, without blanks around them."""
    return JobFilter(**{field: parameters.get(name, "").strip() for name, field in _FIELDS.items()})


def filter_fields(wanted: JobFilter) -> list[tuple[str, str]]:
    """Names and values for the hidden fields of a form that means the same jobs."""
    said = ((name, getattr(wanted, field)) for name, field in _FIELDS.items())
    return [(name, text) for name, text in said if text]


def write_query(state: JobState, wanted: JobFilter, **more: str | int | None) -> str:
    """`state=...&error=...`: what the two above read, with further parameters that are not None."""
    return urlencode(
        {"state": state.value}
        | dict(filter_fields(wanted))
        | {name: value for name, value in more.items() if value is not None}
    )
