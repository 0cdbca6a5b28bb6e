"""The sync of schedules that are declared with tasks with the taskq service, which fires them.

The service keeps schedules in its database, so they need its HTTP API: an app that reaches Redis directly says besides
where that is (TASKQ_HTTP_URL and TASKQ_TOKEN, or `App(service_url=..., token=...)`).
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .errors import NotConfiguredError
from .outcomes import seconds
from .schedule import Schedule

if TYPE_CHECKING:
    from .app import App
    from .brokers.http import HttpBroker
    from .task import Task

_NOT_IN_NAMES: Final = re.compile(r"[^-_.:A-Za-z0-9]")
NAME_MAX: Final = 255
PAGE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """The outcome of a sync: the names of schedules."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    removed: tuple[str, ...]


def contents(app: App) -> dict[str, dict[str, Any]]:
    """Name → what the API is sent, of each schedule of the app's tasks. Raises NotConfiguredError for two of one name,
    and TypeError for arguments that the task does not take.
    """
    found: dict[str, dict[str, Any]] = {}
    for task in app.tasks.values():
        for schedule in task.schedules:
            name = schedule.name or _NOT_IN_NAMES.sub("-", task.name)[:NAME_MAX]
            if name in found:
                raise NotConfiguredError(f"{task.name}: there are two schedules named {name}: give one of them a name=")
            found[name] = _content(task, schedule)
    return found


def app_name(app: App, fallback: str) -> str:
    """The app that schedules belong to: a sync removes only those of the same app."""
    return app.name or fallback


def has_schedules(app: App) -> bool:
    """Whether a task of the app declares one."""
    return any(task.schedules for task in app.tasks.values())


def schedule_broker(app: App) -> HttpBroker:
    """The service's HTTP API, for an app. Raises NotConfiguredError if the app reaches Redis and nothing says where it
    is.
    """
    from .brokers.choose import dev_settings
    from .brokers.http import HttpBroker

    if isinstance(app.broker, HttpBroker):
        return app.broker
    url, token = app.service
    url, token = url or os.environ.get("TASKQ_HTTP_URL"), token or os.environ.get("TASKQ_TOKEN")
    if not url:
        dev = dev_settings() or {}
        url, token = dev.get("http"), dev.get("token")
    if not url:
        raise NotConfiguredError(
            "schedules are kept by the taskq service, and this app reaches Redis directly: set TASKQ_HTTP_URL "
            "(https://...) and TASKQ_TOKEN, or App(service_url=..., token=...), or in Django TASKQ['SERVICE_URL']"
        )
    return HttpBroker(url, app.broker.namespace, token or "")


async def sync_schedules(app: App, name: str) -> Synced:
    """Bring the service's schedules of the app in line with its code. Doing it again changes nothing.

    Raises the engine's errors, and NotConfiguredError: also for a schedule that people, or another app, have made.
    """
    broker = schedule_broker(app)
    wanted = contents(app)
    try:
        known = await _known(broker, name)
        puts = {one: broker.put_schedule(one, wanted[one] | {"app": name}) for one in sorted(wanted)}
        created = [one for one, put in puts.items() if await broker.arun(put)]
        removed = sorted(known - wanted.keys())
        for one in removed:
            await broker.arun(broker.delete_schedule(one, app=name))
    finally:
        if broker is not app.broker:
            await broker.aclose()
    return Synced(created=tuple(created), updated=tuple(sorted(wanted.keys() - set(created))), removed=tuple(removed))


async def _known(broker: HttpBroker, name: str) -> set[str]:
    known: set[str] = set()
    after: str | None = None
    while True:
        names, after = await broker.arun(broker.schedules(app=name, after=after, limit=PAGE))
        known.update(names)
        if after is None:
            return known


def _content(task: Task[..., Any], schedule: Schedule) -> dict[str, Any]:
    from .brokers.http_json import whole_s

    if task.options.delay or task.options.at is not None:
        raise NotConfiguredError(f"{task.name}: a task with a schedule has neither delay= nor at=")
    prepared = task.prepare(task.options, schedule.args, schedule.kwargs)
    options = prepared.options
    limit_key = {} if options.limit_key is None else {"limit_key": options.limit_key}
    return {
        **dict(_when(schedule)),
        "queue": prepared.queue,
        "data": b64encode(prepared.body).decode("ascii"),
        "tries": options.tries,
        "ttl": whole_s(options.ttl_ms),
        "priority": options.priority,
        "backoff": str(options.backoff),
        "retention": whole_s(options.retention_ms),
        "attributes": None if options.attributes is None else dict(options.attributes),
        **limit_key,
        "catch_up": schedule.catch_up,
        "catch_up_max": schedule.catch_up_max,
        "jitter": round(seconds(schedule.jitter)),
        "overlap": schedule.overlap,
    }


def _when(schedule: Schedule) -> Iterator[tuple[str, Any]]:
    if schedule.cron is not None:
        yield "cron", schedule.cron
        yield "zone", schedule.zone
    elif schedule.every is not None:
        yield "every", seconds(schedule.every)
    elif schedule.at is not None:
        yield "at", schedule.at.timestamp()
