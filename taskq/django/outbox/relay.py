"""Publishes what is in the outbox: in order per queue, at least once, and never a second time."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from django.db import connections, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Length, Now
from django.utils import timezone

from queues.engine import InvalidArgumentError, PublishOptions, TaskqError, prepare
from queues.engine.constants import BODY_MAX_BYTES, STAGE_PART_BYTES
from queues.engine.names import check_queue

from ...errors import NotConfiguredError
from ..models import REASON_MAX_CHARS
from .rows import MODEL, once_of, options_of

if TYPE_CHECKING:
    from ...app import App

logger = logging.getLogger("taskq.outbox")

BATCH: Final = 500
"""Rows that are locked, published and deleted together."""

TOGETHER_MAX: Final = 200
"""Jobs that one call publishes, or settles."""

BATCH_MAX_BYTES: Final = 8 * 1024 * 1024
"""Bodies of a batch."""

_UNREADABLE: Final = (ValueError, TypeError, AttributeError, OverflowError)
"""What Django raises for a value that is not of its column's kind."""

_HAS_DUE_AT: Final = ExpressionWrapper(Q(due_at__isnull=False), output_field=BooleanField())

COUNT_MAX: Final = 100_000
"""Waiting rows are not counted beyond this."""


@dataclass(slots=True)
class Relayed:
    """What a tick did. `error`: what kept it from going on; the rows that it concerns wait."""

    published: int = 0
    refused: int = 0
    error: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """`waiting`: rows, counted up to COUNT_MAX. `oldest_s`: the age of the first; 0: none waits. `refused`: rows that a
    person has to look at."""

    waiting: int
    oldest_s: float
    refused: int


@dataclass(slots=True)
class _Outcome:
    published: list[Any] = field(default_factory=list)
    refused: list[tuple[Any, str]] = field(default_factory=list)
    error: Exception | None = None


class OutboxRelay:
    """Publishes the rows of a database's outbox that are for an app's namespace.

    Any number of relays may run. Where the database can skip locked rows, each queue is published by one of them at a
    time: by the one that has locked its first row. Elsewhere two may publish the same rows, which changes nothing: each
    row's publish has an id of its own, by which the engine knows a repetition. For the same reason a relay may die at
    any point. Rows are never passed by: each tick looks for all that wait, whatever their ids.
    """

    def __init__(self, app: App, *, using: str, takes_unnamed: bool = True, batch: int = BATCH) -> None:
        """`takes_unnamed`: also publish rows that name no namespace."""
        self.app = app
        self.using = using
        self.batch = batch
        self.namespaces = [app.broker.namespace, *([""] if takes_unnamed else [])]

    def tick(self) -> Relayed:
        """Publish up to `batch` rows. Raises the database's errors: then nothing is changed but in Redis."""
        with self._transaction():
            rows = self._load_bodies(self._lock(self._first_rows()))
            outcome = self._publish(rows)
            self._delete(outcome.published)
            for row, reason in outcome.refused:
                self._refuse(row.pk, reason)
        self._settle(outcome.published)
        return Relayed(len(outcome.published), len(outcome.refused), outcome.error)

    def lag(self) -> Lag:
        """How many rows wait, and for how long."""
        first = next(iter(self._first_rows(1)), None)
        return Lag(
            waiting=self._waiting[:COUNT_MAX].count(),
            oldest_s=0.0 if first is None else max(0.0, (first.now - first.created_at).total_seconds()),
            refused=self._table.filter(refused_at__isnull=False)[:COUNT_MAX].count(),
        )

    # Rows.

    @property
    def _table(self) -> Any:
        return MODEL.objects.using(self.using)

    @property
    def _waiting(self) -> Any:
        return self._table.filter(refused_at__isnull=True, namespace__in=self.namespaces)

    @property
    def _features(self) -> Any:
        return connections[self.using].features

    def _transaction(self) -> AbstractContextManager[Any]:
        """Locks need one. SQLite has none, and a transaction would keep others from writing for as long."""
        return (
            transaction.atomic(using=self.using) if self._features.has_select_for_update else contextlib.nullcontext()
        )

    def _first_rows(self, count: int | None = None) -> list[Any]:
        """Those that wait longest, without their bodies, which together have BATCH_MAX_BYTES at most."""
        try:
            rows = list(self._first(count or self.batch))
        except _UNREADABLE:
            self._set_aside_unreadable(count or self.batch)
            rows = list(self._first(count or self.batch))
        size, taken = 0, 0
        for row in rows:
            size += min(row.size, BODY_MAX_BYTES)
            if taken and size > BATCH_MAX_BYTES:
                break
            taken += 1
        return rows[:taken]

    def _first(self, count: int) -> Any:
        """`refused_at`, which is NULL, is named for the index."""
        rows = self._waiting.defer("body").annotate(now=Now(), size=Length("body"), has_due_at=_HAS_DUE_AT)
        return rows.order_by("refused_at", "id")[:count]

    def _set_aside_unreadable(self, count: int) -> None:
        """SQLite stores any value in any column: no row may stop the others."""
        for pk in list(self._waiting.order_by("refused_at", "id").values_list("pk", flat=True)[:count]):
            try:
                self._table.filter(pk=pk).first()
            except _UNREADABLE as error:
                self._refuse(pk, f"the row cannot be read: {error}")

    def _delete(self, rows: Sequence[Any]) -> None:
        self._table.filter(pk__in=[row.pk for row in rows]).delete()

    def _refuse(self, pk: int, reason: str) -> None:
        self._table.filter(pk=pk).update(refused_at=timezone.now(), reason=reason[:REASON_MAX_CHARS])

    def _load_bodies(self, rows: list[Any]) -> list[Any]:
        """The rows with their bodies; without those that another relay has published meanwhile."""
        ids = [row.pk for row in rows if row.size <= BODY_MAX_BYTES]
        bodies = dict(self._table.filter(pk__in=ids).values_list("pk", "body"))
        for row in rows:
            body = bodies.get(row.pk, b"")
            row.body = body.encode() if isinstance(body, str) else bytes(body)  # SQLite keeps a text as such
        return [row for row in rows if row.pk in bodies or row.size > BODY_MAX_BYTES]

    def _lock(self, rows: list[Any]) -> list[Any]:
        """Those of the rows that are this relay's until the transaction ends.

        A relay that locks the first row of a queue has the queue. A row whose transaction committed late, before that
        one, may be locked by another relay at the same time; it has no place in the order of those behind it.
        """
        if not self._features.has_select_for_update or not rows:
            return rows
        heads: dict[str, int] = {}
        for row in rows:
            heads.setdefault(row.queue, row.pk)
        own_heads = self._lock_ids(heads.values())
        own = {queue for queue, head in heads.items() if head in own_heads}
        locked = own_heads | self._lock_ids(row.pk for row in rows if row.queue in own and row.pk not in own_heads)
        return [row for row in rows if row.pk in locked]

    def _lock_ids(self, ids: Iterable[int]) -> set[int]:
        """The rows among these that no other process has locked, and that still wait."""
        skip_locked = self._features.has_select_for_update_skip_locked
        free = self._table.filter(pk__in=list(ids), refused_at__isnull=True).order_by("id")
        return set(free.select_for_update(skip_locked=skip_locked).values_list("pk", flat=True))

    # Publishing.

    def _publish(self, rows: Sequence[Any]) -> _Outcome:
        """Publish queue by queue, until something fails that is no fault of a row."""
        outcome = _Outcome()
        queues: dict[str, list[Any]] = {}
        for row in rows:
            queues.setdefault(row.queue, []).append(row)
        for queue, its_rows in queues.items():
            good = [(row, options) for row in its_rows if (options := self._check(row, outcome)) is not None]
            for group, options in self._groups(good):
                try:
                    self._publish_group(queue, group, options, outcome)
                except (TaskqError, NotConfiguredError) as error:
                    outcome.error = error
                    return outcome
        return outcome

    def _check(self, row: Any, outcome: _Outcome) -> PublishOptions | None:
        """The options of a row; None: it can never be published, and is set aside."""
        try:
            check_queue(row.queue)
            if row.size > BODY_MAX_BYTES:
                raise InvalidArgumentError("body too large")
            options = options_of(row)
            prepare(options)
            return options
        except (InvalidArgumentError, *_UNREADABLE) as error:
            outcome.refused.append((row, str(error)))
            return None

    def _groups(self, rows: Sequence[tuple[Any, PublishOptions]]) -> Iterator[tuple[list[Any], PublishOptions]]:
        """Neighbours with equal options, as many as one call may publish. One with a key goes alone."""
        most = min(TOGETHER_MAX, self.app.broker.once_max)
        group: list[Any] = []
        shared, size = PublishOptions(), 0
        for row, options in rows:
            size += len(row.body)
            fits = options == shared and options.key is None and len(group) < most and size <= STAGE_PART_BYTES
            if group and not fits:
                yield group, shared
                group, size = [], len(row.body)
            group.append(row)
            shared = options
        if group:
            yield group, shared

    def _publish_group(self, queue: str, group: list[Any], options: PublishOptions, outcome: _Outcome) -> None:
        broker = self.app.broker
        bodies, once = [row.body for row in group], [once_of(row.uid) for row in group]
        try:
            broker.run(broker.publish_once(queue, bodies, options, once=once))
        except InvalidArgumentError as error:
            if len(group) == 1:
                outcome.refused.append((group[0], str(error)))
                return
            for row in group:
                self._publish_group(queue, [row], options, outcome)
            return
        outcome.published += group

    def _settle(self, rows: Sequence[Any]) -> None:
        """Have the ids of published rows forgotten: they will not be repeated. On failure they are kept for a day."""
        broker = self.app.broker
        queues: dict[str, list[str]] = {}
        for row in rows:
            queues.setdefault(row.queue, []).append(once_of(row.uid))
        for queue, once in queues.items():
            for first in range(0, len(once), TOGETHER_MAX):
                work = broker.settle_once(queue, once[first : first + TOGETHER_MAX])
                if work is not None:
                    with contextlib.suppress(TaskqError):
                        broker.run(work)
