"""Schedules as JSON: what a client sends, and what it is shown."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import orjson

from queues.engine.limits import MEBIBYTE, PRIORITY_MAX, PRIORITY_MIN, SECONDS_MAX, TRIES_MAX
from queues.services.schedules.reading import ScheduleDetail
from queues.services.schedules.values import CatchUp, Fire, Overlap, ScheduleFields, ScheduleKind, ScheduleView

from ..http.errors import ParameterError

BODY_LIMIT: Final = 2 * MEBIBYTE
"""Of the request: room for the largest job body in base64."""

APP_MAX: Final = 255

_WHEN: Final = ("cron", "every", "at")
_KNOWN: Final = frozenset(
    {
        *_WHEN,
        *("queue", "body", "data", "start", "zone", "tries", "ttl", "priority", "backoff", "retention", "attributes"),
        *("catch_up", "catch_up_max", "jitter", "overlap", "paused", "app"),
    }
)


def fields_of(content: dict[str, Any]) -> ScheduleFields:
    """What the client wants. Raises ParameterError, which names the member that is wrong."""
    unknown = sorted(content.keys() - _KNOWN)
    if unknown:
        raise ParameterError(f"unknown {unknown[0][:40]!r}; there are {', '.join(sorted(_KNOWN))}")
    given = [name for name in _WHEN if content.get(name) is not None]
    if len(given) != 1:
        raise ParameterError(f"expected one of cron, every and at, not {len(given)}")
    kind = {"cron": ScheduleKind.CRON, "every": ScheduleKind.INTERVAL, "at": ScheduleKind.ONCE}[given[0]]
    if kind is not ScheduleKind.INTERVAL and content.get("start") is not None:
        raise ParameterError("start needs every")
    if "queue" not in content:
        raise ParameterError("invalid queue: it is missing")
    every = _number(content, "every", least=0, most=SECONDS_MAX)
    return ScheduleFields(
        queue=_text(content, "queue"),
        kind=kind,
        cron=_text(content, "cron"),
        interval_ms=None if every is None else round(every * 1000),
        starts_ms=_moment(content, "start"),
        at_ms=_moment(content, "at"),
        zone=_text(content, "zone") or "UTC",
        body=_body(content),
        tries=_whole(content, "tries", least=1, most=TRIES_MAX),
        ttl_s=_whole(content, "ttl", least=0, most=SECONDS_MAX),
        priority=_whole(content, "priority", least=PRIORITY_MIN, most=PRIORITY_MAX) or 0,
        backoff=_text(content, "backoff"),
        retention_s=_whole(content, "retention", least=0, most=SECONDS_MAX) or 0,
        attributes=_attributes(content),
        catch_up=_choice(content, "catch_up", CatchUp, CatchUp.LAST),
        catch_up_max=_whole(content, "catch_up_max", least=1, most=1_000) or 100,
        jitter_s=_whole(content, "jitter", least=0, most=86_400) or 0,
        overlap=_choice(content, "overlap", Overlap, Overlap.ALLOW),
        paused=_flag(content, "paused"),
    )


def app_of(content: dict[str, Any]) -> str:
    """The app whose code declares it; "": none does."""
    app = _text(content, "app")
    if len(app) > APP_MAX or not app.isprintable():
        raise ParameterError("invalid app")
    return app


def present_schedule(schedule: ScheduleView) -> dict[str, Any]:
    """Without its body."""
    fields = schedule.fields
    return {
        "name": schedule.name,
        "queue": fields.queue,
        "state": schedule.state.value,
        "kind": fields.kind.value,
        "cron": fields.cron or None,
        "every": None if fields.interval_ms is None else fields.interval_ms / 1000,
        "start_ms": fields.starts_ms,
        "at_ms": fields.at_ms,
        "zone": fields.zone,
        "next_ms": schedule.next_ms,
        "body_bytes": schedule.body_bytes,
        "tries": fields.tries,
        "ttl": fields.ttl_s,
        "priority": fields.priority,
        "backoff": fields.backoff or None,
        "retention": fields.retention_s,
        "attributes": fields.attributes,
        "catch_up": fields.catch_up.value,
        "catch_up_max": fields.catch_up_max,
        "jitter": fields.jitter_s,
        "overlap": fields.overlap.value,
        "source": schedule.source.value,
        "app": schedule.app or None,
        "last": None if schedule.last is None else present_fire(schedule.last),
    }


def present_detail(detail: ScheduleDetail) -> dict[str, Any]:
    """With its body in base64, its next fires and its history."""
    return {
        **present_schedule(detail.schedule),
        "data": b64encode(detail.schedule.fields.body).decode("ascii"),
        "upcoming_ms": detail.upcoming_ms,
        "history": [present_fire(fire) for fire in detail.fires],
    }


def present_fire(fire: Fire) -> dict[str, Any]:
    """A row of the history."""
    return {
        "outcome": fire.outcome.value,
        "due_ms": fire.due_ms,
        "until_ms": fire.until_ms,
        "count": fire.count,
        "manual": fire.manual,
        "fired_ms": fire.fired_ms,
        "queue": fire.queue or None,
        "job_id": fire.job_id or None,
        "error": fire.error or None,
    }


def _body(content: dict[str, Any]) -> bytes:
    """`body`: a text as it is, an object or array as its JSON; `data`: any bytes in base64."""
    body, data = content.get("body"), content.get("data")
    if body is not None and data is not None:
        raise ParameterError("body and data exclude each other")
    if data is not None:
        try:
            return b64decode(data if isinstance(data, str) else "?", validate=True)
        except ValueError:
            raise ParameterError("invalid data: it is not base64") from None
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, dict | list):
        return orjson.dumps(body)
    raise ParameterError("invalid body: expected a text, an object or an array; any bytes go into data, in base64")


def _attributes(content: dict[str, Any]) -> dict[str, str] | None:
    value = content.get("attributes")
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ParameterError("invalid attributes: expected an object of texts")
    if any("\0" in text for pair in value.items() for text in pair):  # which PostgreSQL does not keep
        raise ParameterError("invalid attributes: they have no character U+0000")
    return value


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ParameterError(f"invalid {name}: expected a text")
    return value


def _flag(content: dict[str, Any], name: str) -> bool | None:
    value = content.get(name)
    if value is not None and not isinstance(value, bool):
        raise ParameterError(f"invalid {name}: expected true or false")
    return value


def _whole(content: dict[str, Any], name: str, *, least: int, most: int) -> int | None:
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(f"invalid {name}: expected a whole number from {least} to {most}")
    return value


def _number(content: dict[str, Any], name: str, *, least: float, most: float) -> float | None:
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ParameterError(f"invalid {name}: expected a number of seconds")
    return value


def _moment(content: dict[str, Any], name: str) -> int | None:
    """Epoch seconds, or ISO 8601 with a zone, in ms."""
    value = content.get(name)
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None:
                return round(moment.timestamp() * 1000)
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e12:
            return round(value * 1000)
    except (ValueError, OverflowError):
        pass
    raise ParameterError(f"invalid {name}: expected a moment, epoch seconds or ISO 8601 with a zone")


def _choice(content: dict[str, Any], name: str, kind: Callable[[str], Any], default: Any) -> Any:
    value = content.get(name)
    if value is None:
        return default
    try:
        return kind(value if isinstance(value, str) else "")
    except ValueError:
        raise ParameterError(f"invalid {name}: expected {', '.join(kind.values)}") from None  # type: ignore[attr-defined]
