"""What pages and the API show of push endpoints: their latest deliveries, how healthy they are, which pushers run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from queues.engine import JobState, PushDeliveries, PusherBeat, PushHealth, count_jobs, list_pushers, read_deliveries
from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation
from queues.models import Namespace, PushEndpoint
from queues.pools import reading_engine_for
from queues.pools.database import read_metadata

from ..errors import PushEndpointNotFoundError
from ..permissions import Role, User, role_in, roles_of
from .endpoints import Endpoint, endpoint_of, find_endpoint
from .records import DeliveryRecord, unpack_record

ROWS_SHOWN: Final = 250
PUSHER_ALIVE_MS: Final = 10_000
FAILING_STREAK: Final = 3
"""So many failures in a row make an endpoint "failing"."""


class EndpointState(StrEnum):
    """How an endpoint is doing. `idle`: nothing was delivered in the last week."""

    DISABLED = "disabled"
    PAUSED = "paused"
    FAILING = "failing"
    HEALTHY = "healthy"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """An endpoint in a list. `health` None: its pool does not answer. `waiting`: jobs that are ready, or will be.

    `latest`: the newest delivery of the last week.
    """

    endpoint: Endpoint
    health: PushHealth | None
    waiting: int
    dead: int
    latest: DeliveryRecord | None = None
    may_operate: bool = False

    @property
    def state(self) -> EndpointState:
        if not self.endpoint.options.enabled:
            return EndpointState.DISABLED
        if self.endpoint.paused_at is not None:
            return EndpointState.PAUSED
        if self.health is None or not (self.health.ok_at_ms or self.health.failed_at_ms):
            return EndpointState.IDLE
        return EndpointState.FAILING if self.health.streak >= FAILING_STREAK else EndpointState.HEALTHY


@dataclass(frozen=True, slots=True, kw_only=True)
class PushView:
    """The endpoints that a person may see. `more`: that are not listed. `away`: pools that do not answer.

    `silent`: pools with active endpoints of theirs and without a pusher; nothing is delivered there. `open_to`: the
    namespaces in which this person may make endpoints.
    """

    rows: tuple[EndpointRow, ...]
    namespaces: tuple[tuple[str, str], ...]
    pushers: int
    more: int
    away: tuple[str, ...]
    silent: tuple[str, ...]
    open_to: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointView:
    """One endpoint with its deliveries, the newest first."""

    row: EndpointRow
    role: Role
    recent: tuple[DeliveryRecord, ...]
    failures: tuple[DeliveryRecord, ...]
    pushers: int
    in_flight: int


def deliveries_of(*, queue: QueueKeys, endpoint: Endpoint) -> Operation[PushDeliveries]:
    """The latest deliveries of an endpoint."""
    return read_deliveries(queue, endpoint.pk)


def read_records(packed: Sequence[bytes]) -> tuple[DeliveryRecord, ...]:
    """Deliveries as values; without those that another version of taskq wrote."""
    return tuple(record for record in map(unpack_record, packed) if record is not None)


def read_endpoints(*, user: User, namespace: str = "", text: str = "") -> PushView:
    """Endpoints of the namespaces that `user` may see; of one, if `namespace` (`pool/name`) says so.

    `text`: part of a queue's name or of a URL. One round trip to each pool. Raises MetadataUnavailableError.
    """
    roles = roles_of(user=user)
    rows = PushEndpoint.objects.select_related("namespace__pool").order_by("namespace__name", "queue")
    rows = rows.filter(namespace__in=Namespace.objects.visible_to(user).order_by().values("pk"))
    found = [endpoint_of(row) for row in read_metadata(lambda: list(rows))]
    listed = [
        one
        for one in found
        if (not namespace or f"{one.pool}/{one.namespace}" == namespace)
        and (text.lower() in one.queue.lower() or text.lower() in one.options.url.lower())
    ]
    shown, away, silent, alive = list[EndpointRow](), list[str](), list[str](), 0
    for pool in sorted({one.pool for one in listed}):
        of_pool = [one for one in listed if one.pool == pool][:ROWS_SHOWN]
        read, pushers = _read_pool(pool, of_pool)
        if pushers is None:
            away.append(pool)
        else:
            alive += len(pushers)
            if not pushers and any(one.is_active for one in of_pool):
                silent.append(pool)
        for row in read:
            role = roles.get((row.endpoint.pool, row.endpoint.namespace), Role.READ)
            shown.append(replace(row, may_operate=role >= Role.OPERATE))
    return PushView(
        rows=tuple(shown[:ROWS_SHOWN]),
        namespaces=tuple(roles),
        pushers=alive,
        more=max(0, len(listed) - ROWS_SHOWN),
        away=tuple(away),
        silent=tuple(silent),
        open_to=tuple(place for place, role in roles.items() if role >= Role.ADMIN),
    )


def read_endpoint(*, user: User, pool: str, namespace: str, queue: str) -> EndpointView:
    """One endpoint. Raises NamespaceNotFoundError, PushEndpointNotFoundError, StoreUnavailableError."""
    role = role_in(user=user, pool=pool, namespace=namespace)
    endpoint = find_endpoint(pool=pool, namespace=namespace, queue=queue)
    engine = reading_engine_for(pool)
    keys = engine.queue(namespace, queue)
    deliveries, counts, beats = engine.batch([read_deliveries(keys, endpoint.pk), count_jobs(keys), list_pushers()])
    alive = _alive(beats)
    name = f"{namespace}/{queue}"
    return EndpointView(
        row=_row(endpoint, deliveries, counts, may_operate=role >= Role.OPERATE),
        role=role,
        recent=read_records(deliveries.recent),
        failures=read_records(deliveries.failures),
        pushers=len(alive),
        in_flight=sum(beat.queues[name].in_flight for beat in alive if name in beat.queues),
    )


def read_endpoint_row(*, pool: str, namespace: str, queue: str) -> EndpointRow | None:
    """The endpoint of a queue and how it does; None: it has none.

    Raises StoreUnavailableError, MetadataUnavailableError.
    """
    try:
        endpoint = find_endpoint(pool=pool, namespace=namespace, queue=queue)
    except PushEndpointNotFoundError:
        return None
    engine = reading_engine_for(pool)
    keys = engine.queue(namespace, queue)
    deliveries, counts = engine.batch([read_deliveries(keys, endpoint.pk, most=1), count_jobs(keys)])
    return _row(endpoint, deliveries, counts)


def _read_pool(pool: str, endpoints: Sequence[Endpoint]) -> tuple[list[EndpointRow], list[PusherBeat] | None]:
    try:
        engine = reading_engine_for(pool)
        queues = [engine.queue(one.namespace, one.queue) for one in endpoints]
        reading = [read_deliveries(queue, one.pk, most=1) for queue, one in zip(queues, endpoints, strict=True)]
        beats, *found = engine.batch([list_pushers(), *reading, *[count_jobs(queue) for queue in queues]])
    except TaskqError:
        return [EndpointRow(endpoint=one, health=None, waiting=0, dead=0) for one in endpoints], None
    half = len(endpoints)
    rows = [_row(one, found[place], found[half + place]) for place, one in enumerate(endpoints)]
    return rows, _alive(beats)


def _alive(beats: Sequence[PusherBeat]) -> list[PusherBeat]:
    return [beat for beat in beats if beat.age_ms < PUSHER_ALIVE_MS]


def _row(
    endpoint: Endpoint, deliveries: PushDeliveries, counts: dict[JobState, int], *, may_operate: bool = False
) -> EndpointRow:
    latest = read_records(deliveries.recent[:1])
    waiting = (JobState.READY, JobState.DELAYED, JobState.RETRY)
    return EndpointRow(
        endpoint=endpoint,
        health=deliveries.health,
        waiting=sum(counts[state] for state in waiting),
        dead=counts[JobState.DEAD],
        latest=latest[0] if latest else None,
        may_operate=may_operate,
    )
