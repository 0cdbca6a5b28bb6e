"""What the OpenAPI document says of the routes of incidents."""

from __future__ import annotations

from typing import Any, Final

from .documentation import Documentation, Parameter, Reply

INCIDENT: Final[dict[str, Any]] = {
    "incident": 17,
    "kind": "jobs_dying",
    "severity": "critical",
    "pool": "default",
    "namespace": "shop",
    "queue": "webhooks",
    "size": 120,
    "peak_size": 120,
    "peak_at": "2026-11-25T10:21:05.000Z",
    "since": "2026-11-25T10:21:05.000Z",
    "opened_at": "2026-11-25T10:21:05.000Z",
    "resolved_at": None,
    "acknowledged_at": None,
    "acknowledged_by": None,
    "reopened": 0,
    "facts": {"dead": 120, "died": 120},
}
_OPENED: Final = {
    "at": "2026-11-25T10:21:05.000Z",
    "change": "opened",
    "who": None,
    "note": "",
    "severity": "critical",
    "size": 120,
}
_NONE: Final = Reply(404, "there is no such incident, or not for this user", {"error": "incident not found"})
_FORBIDDEN: Final = Reply(403, "the user may not operate queues there", {"error": "permission denied"})
_NOTE: Final = 'optionally `{"note": TEXT}`, at most 2,000 characters'
_BAD_NOTE: Final = Reply(400, "no JSON object, or a note that is too long", {"error": "invalid note"})

LIST_INCIDENTS: Final = Documentation(
    group="staff",
    summary="Incidents of the namespaces that the user sees, the newest first",
    parameters=(
        Parameter("state", "string", "`open`, `resolved` or `all`", "open"),
        Parameter("kind", "string", "only of this kind, such as `no_consumer`"),
        Parameter("severity", "string", "only those whose worst severity was this: critical, warning, info"),
        Parameter("namespace", "string", "only of this one: POOL/NAMESPACE"),
        Parameter("queue", "string", "only of queues whose names contain this"),
        Parameter("limit", "integer", "how many at most, up to 200", 50),
        Parameter("before", "integer", "only older ones: `before` of the answer before"),
    ),
    replies=(
        Reply(200, "`before` null: there are no more", {"incidents": [INCIDENT], "before": None}),
        Reply(400, "a parameter that cannot be meant", {"error": "invalid state"}),
    ),
)
SHOW_INCIDENT: Final = Documentation(
    group="staff",
    summary="One incident with its timeline",
    replies=(
        Reply(200, "the incident", {**INCIDENT, "worst_severity": "critical", "timeline": [_OPENED]}),
        _NONE,
    ),
)
ACKNOWLEDGE: Final = Documentation(
    group="staff",
    summary="Say that somebody sees to an incident",
    body=_NOTE,
    body_type="application/json",
    replies=(Reply(204, "also when it was acknowledged or resolved already"), _BAD_NOTE, _FORBIDDEN, _NONE),
)
UNACKNOWLEDGE: Final = Documentation(
    group="staff",
    summary="Take the acknowledgement back",
    replies=(Reply(204, "also when there was none"), _FORBIDDEN, _NONE),
)
ADD_NOTE: Final = Documentation(
    group="staff",
    summary="Add a note to an incident",
    body='`{"note": TEXT}`, at most 2,000 characters',
    body_type="application/json",
    replies=(Reply(204, "written"), _BAD_NOTE, _FORBIDDEN, _NONE),
)
