"""Jobs as rows of the outbox, and rows as jobs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from django.apps import apps
from django.conf import settings
from django.db import router
from django.utils import timezone

from queues.engine import (
    DEFAULT_OPTIONS,
    BackoffKind,
    InvalidArgumentError,
    KeyMode,
    PublishOptions,
    once_key,
    parse_backoff,
    prepare,
)
from queues.engine.constants import BODY_MAX_BYTES, DEFAULT_TTL_S, SECONDS_MAX
from queues.engine.names import check_queue

from ...errors import NotConfiguredError
from ...job import Job
from ..models import Outbox

if TYPE_CHECKING:
    from queues.engine import Backoff

    from ...app import App
    from ...task import Prepared, Task

INSERT_BATCH: Final = 500
_WITH_COLUMN: Final = frozenset(
    {
        *("delay_ms", "at_ms", "ttl_ms", "tries", "priority", "key", "key_ttl_ms", "key_mode", "key_max_wait_ms"),
        *("backoff", "retention_ms", "attributes", "limit_key"),
    }
)
"""Options of a publish that a row of the outbox can hold."""
MODEL: Any = Outbox
"""Untyped: whether the model is installed is up to the project."""


class OutboxJob(Job[Any]):
    """A job that was written to the outbox. Its `id` is empty until `find` has found it."""

    __slots__ = ("_uid",)

    def __init__(self, app: App, queue: str, uid: uuid.UUID, task: Task[..., Any] | None = None) -> None:
        super().__init__(app, queue, "", task=task)
        self._uid = uid

    def find(self) -> bool:
        """Look for the job, and note its id. False: the relay has not published it yet (or its time is over)."""
        return self._note(self._app.broker.run(self._app.broker.find_key(self.queue, self._key)))

    async def afind(self) -> bool:
        """The same for asyncio."""
        return self._note(await self._app.broker.arun(self._app.broker.find_key(self.queue, self._key)))

    @property
    def _key(self) -> str:
        return once_key(once_of(self._uid))

    def _note(self, job_id: str | None) -> bool:
        self.id = job_id or ""
        return job_id is not None


def once_of(uid: uuid.UUID) -> str:
    """The id by which the publish of a row is known when it is repeated."""
    return f"outbox:{uid.hex}"


def database_of(outbox: bool | str) -> str:
    """The alias of the database whose outbox is meant. Raises NotConfiguredError without the app."""
    if not apps.is_installed("taskq.django"):
        raise NotConfiguredError("outbox= needs 'taskq.django' in INSTALLED_APPS, and its migrations")
    return outbox if isinstance(outbox, str) else str(router.db_for_write(Outbox))


def write_rows(app: App, jobs: Sequence[tuple[Task[..., Any] | None, Prepared]], using: str) -> list[OutboxJob]:
    """Write jobs into the outbox, in the transaction that the caller is in, if any.

    Raises InvalidArgumentError, as a publish does, and the database's errors.
    """
    rows, written = [], []
    for task, prepared in jobs:
        check_queue(prepared.queue)
        if len(prepared.body) > BODY_MAX_BYTES:
            raise InvalidArgumentError("body too large")
        prepare(prepared.options)
        _check_columns(prepared.options)
        uid = uuid.uuid4()
        rows.append(_row_of(app.broker.namespace, prepared.queue, prepared.body, prepared.options, uid))
        written.append(OutboxJob(app, prepared.queue, uid, task))
    MODEL.objects.using(using).bulk_create(rows, batch_size=INSERT_BATCH)
    return written


def _row_of(namespace: str, queue: str, body: bytes, options: PublishOptions, uid: uuid.UUID) -> Any:
    if options.group is not None:
        raise InvalidArgumentError("group and outbox exclude each other")
    return MODEL(
        uid=uid,
        namespace=namespace,
        queue=queue,
        body=body,
        delay=options.delay_ms / 1000,
        due_at=None if options.at_ms is None else _to_datetime(options.at_ms),
        ttl=options.ttl_ms / 1000,
        tries=options.tries,
        priority=options.priority,
        backoff=_backoff_text(options.backoff),
        retention=options.retention_ms / 1000,
        idempotency_key=options.key or "",
        key_mode=KeyMode(options.key_mode).value,
        key_ttl=None if options.key_ttl_ms is None else options.key_ttl_ms / 1000,
        key_max_wait=options.key_max_wait_ms / 1000,
        attributes=None if options.attributes is None else dict(options.attributes),
        limit_key=options.limit_key or "",
    )


def _check_columns(options: PublishOptions) -> None:
    """Raise InvalidArgumentError for an option that the table has no column for: it would be lost."""
    for one in fields(options):
        if one.name not in _WITH_COLUMN and getattr(options, one.name) != getattr(DEFAULT_OPTIONS, one.name):
            raise InvalidArgumentError(f"{one.name} cannot be written to the outbox")


def options_of(row: Any) -> PublishOptions:
    """The options of a row as OutboxRelay reads it, with `now`, the database's time. Raises InvalidArgumentError.

    What is left of a delay is counted by the database's clock, however late the row is published.
    """
    delay_ms = _ms("delay", row.delay)
    if delay_ms:
        delay_ms = max(0, delay_ms - round((row.now - row.created_at).total_seconds() * 1000))
    if row.has_due_at and row.due_at is None:  # so Django reads a text that is no time
        raise InvalidArgumentError("invalid due_at")
    attributes = row.attributes
    if attributes is not None and not (
        isinstance(attributes, dict) and all(isinstance(text, str) for text in attributes.values())
    ):
        raise InvalidArgumentError("invalid attributes: an object of texts is needed")
    try:
        mode = KeyMode(row.key_mode or KeyMode.WINDOW)
    except ValueError:
        raise InvalidArgumentError("invalid key_mode") from None
    return PublishOptions(
        delay_ms=delay_ms,
        at_ms=None if row.due_at is None else _to_ms(row.due_at),
        ttl_ms=DEFAULT_TTL_S * 1000 if row.ttl is None else _ms("ttl", row.ttl),
        tries=row.tries,
        priority=row.priority,
        backoff=parse_backoff(row.backoff or "none"),
        retention_ms=_ms("retention", row.retention),
        key=row.idempotency_key or None,
        key_mode=mode if row.idempotency_key else KeyMode.WINDOW,
        key_ttl_ms=None if row.key_ttl is None or not row.idempotency_key else _ms("key_ttl", row.key_ttl),
        key_max_wait_ms=_ms("key_max_wait", row.key_max_wait) if row.idempotency_key else 0,
        attributes=attributes or None,
        limit_key=row.limit_key or None,
    )


def _ms(name: str, seconds: float) -> int:
    if not 0 <= seconds <= SECONDS_MAX:
        raise InvalidArgumentError(f"invalid {name}")
    return round(seconds * 1000)


def _backoff_text(backoff: Backoff) -> str:
    """As `parse_backoff` reads it, to the millisecond."""
    if backoff.kind in (BackoffKind.NONE, BackoffKind.SIDEKIQ):
        return str(backoff)
    numbers = [backoff.base_ms, backoff.cap_ms] if backoff.kind is BackoffKind.EXPONENTIAL else [backoff.base_ms]
    suffix = "@failures" if backoff.failures_only else ""
    return ":".join([backoff.kind.name.lower(), *[f"{ms / 1000:.3f}" for ms in numbers]]) + suffix


def _to_datetime(ms: int) -> datetime:
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at if settings.USE_TZ else timezone.make_naive(at)


def _to_ms(at: datetime) -> int:
    return round((timezone.make_aware(at) if timezone.is_naive(at) else at).timestamp() * 1000)
