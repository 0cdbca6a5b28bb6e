"""Staff: incidents of the namespaces that they see; acknowledge them, add notes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from queues.services.incidents.actions import acknowledge_incident, add_note, unacknowledge_incident
from queues.services.incidents.lines import IncidentLine
from queues.services.incidents.reading import IncidentFilter, IncidentView, list_incidents, read_incident
from queues.services.incidents.wording import kinds, severities

from ..context import ApiContext
from ..http.body import read_object
from ..http.errors import ParameterError
from ..http.request import ApiRequest
from ..http.response import NO_CONTENT, ApiResponse, json_response

LIMIT_DEFAULT: Final = 50
LIMIT_MAX: Final = 200
STATES: Final = ("open", "resolved", "all")


async def list_all(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The newest first; `before` of an answer goes into the next request."""
    query = request.query
    state = query.get("state") or "open"
    if state not in STATES:
        raise ParameterError("invalid state")
    chosen = IncidentFilter(
        state="" if state == "all" else state,
        kind=_one_of("kind", query.get("kind", ""), kinds()),
        severity=_one_of("severity", query.get("severity", ""), severities()),
        namespace=query.get("namespace", ""),
        queue=query.get("queue", ""),
    )
    limit = _number("limit", query.get("limit", ""), LIMIT_MAX) or LIMIT_DEFAULT
    before = _number("before", query.get("before", ""), 2**63 - 1)
    page = await context.call(list_incidents, user=request.staff, chosen=chosen, before=before, most=limit)
    return json_response(200, {"incidents": [_present(line) for line in page.lines], "before": page.before})


async def show(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """One, with its timeline."""
    return json_response(200, _present_view(await context.call(read_incident, user=request.staff, pk=_id(request))))


async def acknowledge(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """204 also when it is acknowledged or resolved already; a note is kept in any case."""
    note = await _note(request)
    await context.call(acknowledge_incident, user=request.staff, pk=_id(request), note=note)
    return NO_CONTENT


async def unacknowledge(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """204 also when nobody has acknowledged it."""
    await context.call(unacknowledge_incident, user=request.staff, pk=_id(request))
    return NO_CONTENT


async def note(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A note for the timeline."""
    text = await _note(request)
    await context.call(add_note, user=request.staff, pk=_id(request), note=text)
    return NO_CONTENT


async def _note(request: ApiRequest) -> str:
    text = (await read_object(request)).get("note", "")
    if not isinstance(text, str):
        raise ParameterError("invalid note")
    return text


def _id(request: ApiRequest) -> int:
    """0, which no incident has, for what is no number."""
    text = request.path["incident"]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _one_of(name: str, value: str, allowed: list[tuple[str, str]]) -> str:
    if value and value not in dict(allowed):
        raise ParameterError(f"invalid {name}")
    return value


def _number(name: str, text: str, most: int) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most):
        raise ParameterError(f"invalid {name}")
    return int(text)


def _present(line: IncidentLine) -> dict[str, Any]:
    return {
        "incident": line.pk,
        "kind": line.kind,
        "severity": line.severity.value,
        "pool": line.pool,
        "namespace": line.namespace,
        "queue": line.queue,
        "size": line.size,
        "peak_size": line.peak_size,
        "peak_at": _iso(line.peak_at),
        "since": _iso(line.since),
        "opened_at": _iso(line.opened_at),
        "resolved_at": _iso(line.resolved_at),
        "acknowledged_at": _iso(line.acknowledged_at),
        "acknowledged_by": line.acknowledged_by or None,
        "reopened": line.reopened,
        "facts": dict(line.facts),
    }


def _present_view(view: IncidentView) -> dict[str, Any]:
    timeline = [
        {
            "at": _iso(entry.at),
            "change": entry.change,
            "who": entry.who or None,
            "note": entry.note,
            "severity": entry.severity.value,
            "size": entry.size,
        }
        for entry in view.timeline
    ]
    return {**_present(view.line), "worst_severity": view.worst.value, "timeline": timeline}


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
