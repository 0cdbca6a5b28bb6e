"""Alert channels: list, make, change, delete, test. Used by pages and admin.

A channel of a namespace takes an administrator of it; one of all namespaces takes a superuser. A webhook has a secret
that signs it (Standard Webhooks), shown once. URLs are checked as those of push endpoints are: here what is known to
lead to no public address is refused, and the rest at each connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Count, Q

from queues.models import (
    ActivityAction,
    AlertChannel,
    AlertDelivery,
    AlertEvent,
    AlertTransport,
    IncidentKind,
    IncidentSeverity,
    Namespace,
)
from queues.models.alert import ADDRESSES_MAX, CHANNELS_MAX
from queues.pools.database import read_metadata

from ...activity import note_activity
from ...errors import AlertChannelNotFoundError, InvalidArgumentError, NamespaceNotFoundError, RoleTooLowError
from ...permissions import Role, User, check_role, roles_among, roles_of, sees_everything
from ...push.endpoints import check_url, new_entry
from ...push.secrets import key_of, new_secret

NAME_MAX: Final = 100
RECENT: Final = 20
"""Alerts that the page of a channel lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    """What the owner of a channel chooses. `kinds` empty: all."""

    name: str
    transport: str
    url: str = ""
    addresses: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    min_severity: str = IncidentSeverity.WARNING.value
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel as pages show it. `pool` and `namespace` empty: all namespaces."""

    pk: int
    pool: str
    namespace: str
    options: ChannelOptions
    last_sent_at: datetime | None
    last_error: str
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAlert:
    """What became of one alert."""

    at: datetime
    event: str
    words: str
    incident: int | None
    sent_at: datetime | None
    failed_at: datetime | None
    attempts: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSaved:
    """`secret`: of a new webhook, at the only moment when it is known."""

    channel: Channel
    secret: str = field(default="", repr=False)


def list_channels(*, user: User) -> Sequence[Channel]:
    """Those that `user` may change: of namespaces that they administer; all for a superuser.

    Raises MetadataUnavailableError.
    """
    waiting = Count("deliveries", filter=Q(deliveries__sent_at=None, deliveries__failed_at=None))
    rows = AlertChannel.objects.select_related("namespace__pool").annotate(waiting=waiting)
    rows = rows.order_by("namespace__name", "name", "pk")
    if sees_everything(user):
        return [_channel(row) for row in read_metadata(lambda: list(rows))]
    visible = Namespace.objects.visible_to(user).order_by().values("pk")
    found = read_metadata(lambda: list(rows.filter(namespace__in=visible)))
    channels = [_channel(row) for row in found]
    roles = roles_among(user=user, places={(one.pool, one.namespace) for one in channels})
    return [one for one in channels if roles.get((one.pool, one.namespace), 0) >= Role.ADMIN]


def places_to_alert(*, user: User) -> list[tuple[str, str]]:
    """Pool and name of each namespace that `user` may make channels for; two empty names: all namespaces."""
    places = [place for place, role in roles_of(user=user).items() if role >= Role.ADMIN]
    return [("", ""), *places] if sees_everything(user) else places


def read_channel(*, user: User, pk: int) -> tuple[Channel, Sequence[SentAlert]]:
    """One, with its latest alerts. Raises AlertChannelNotFoundError, RoleTooLowError, MetadataUnavailableError."""
    row = _find(user, pk)
    latest = read_metadata(lambda: list(row.deliveries.order_by("-pk")[:RECENT]))
    return _channel(row), [_sent(one) for one in latest]


def save_channel(
    *, user: User, options: ChannelOptions, pk: int | None = None, pool: str = "", namespace: str = ""
) -> ChannelSaved:
    """Make a channel, or change the one with this `pk`, which stays where it is.

    Raises InvalidArgumentError, NamespaceNotFoundError, RoleTooLowError, AlertChannelNotFoundError.
    """
    check_channel(options)
    secret = ""
    if pk is None:
        row = AlertChannel(namespace=_owner(user, pool, namespace))
        if AlertChannel.objects.filter(namespace=row.namespace).count() >= CHANNELS_MAX:
            raise InvalidArgumentError(f"invalid channel: there are {CHANNELS_MAX} already")
    else:
        row = _find(user, pk)
    if options.transport == AlertTransport.WEBHOOK and not row.secrets:
        secret = new_secret()
        row.secrets = [new_entry(key_of(secret))]
    row.name, row.transport = options.name, options.transport
    row.url = "" if options.transport == AlertTransport.EMAIL else options.url
    row.addresses = list(options.addresses) if options.transport == AlertTransport.EMAIL else []
    row.kinds, row.min_severity, row.enabled = list(options.kinds), options.min_severity, options.enabled
    row.save()
    _note(user, ActivityAction.CHANNEL_CREATED if pk is None else ActivityAction.CHANNEL_CHANGED, row)
    return ChannelSaved(channel=_channel(row), secret=secret)


def delete_channel(*, user: User, pk: int) -> None:
    """With what has not been sent yet. Raises AlertChannelNotFoundError, RoleTooLowError."""
    row = _find(user, pk)
    _note(user, ActivityAction.CHANNEL_DELETED, row)
    row.delete()


def send_test(*, user: User, pk: int) -> None:
    """Have a test sent, within seconds. Raises AlertChannelNotFoundError, RoleTooLowError."""
    row = _find(user, pk)
    with transaction.atomic():
        tests = AlertDelivery.objects.filter(channel=row, event=AlertEvent.TEST)
        tests.filter(sent_at=None, failed_at=None).delete()  # one at a time
        AlertDelivery.objects.create(channel=row, event=AlertEvent.TEST, severity=IncidentSeverity.INFO)
    _note(user, ActivityAction.CHANNEL_TESTED, row)


def check_channel(options: ChannelOptions) -> None:
    """Raise InvalidArgumentError for what cannot be saved: the words name the option."""
    if not options.name.strip() or len(options.name) > NAME_MAX or "\0" in options.name:
        raise InvalidArgumentError(f"invalid name: 1 to {NAME_MAX} characters")
    if options.transport not in AlertTransport.values:
        raise InvalidArgumentError(f"invalid transport: expected {_one_of(AlertTransport.values)}")
    if options.min_severity not in IncidentSeverity.values:
        raise InvalidArgumentError(f"invalid severity: expected {_one_of(IncidentSeverity.values)}")
    if not set(options.kinds) <= set(IncidentKind.values):
        raise InvalidArgumentError(f"invalid kinds: each is {_one_of(IncidentKind.values)}")
    if options.transport == AlertTransport.EMAIL:
        _check_addresses(options.addresses)
    else:
        check_url(options.url)


def _one_of(values: Sequence[str]) -> str:
    return f"one of {', '.join(values)}"


def _check_addresses(addresses: Sequence[str]) -> None:
    if not 1 <= len(addresses) <= ADDRESSES_MAX:
        raise InvalidArgumentError(f"invalid addresses: 1 to {ADDRESSES_MAX}")
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            raise InvalidArgumentError(f"invalid addresses: {address[:100]} is no e-mail address") from None


def _owner(user: User, pool: str, namespace: str) -> Namespace | None:
    if not namespace:
        if not sees_everything(user):
            raise RoleTooLowError
        return None
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.ADMIN)
    owner = Namespace.objects.filter(pool__name=pool, name=namespace).first()
    if owner is None:
        raise NamespaceNotFoundError
    return owner


def _find(user: User, pk: int) -> AlertChannel:
    row = read_metadata(AlertChannel.objects.select_related("namespace__pool").filter(pk=pk).first)
    if row is None:
        raise AlertChannelNotFoundError
    if sees_everything(user):
        return row
    if row.namespace is None:
        raise AlertChannelNotFoundError
    try:
        check_role(user=user, pool=row.namespace.pool.name, namespace=row.namespace.name, needed=Role.ADMIN)
    except NamespaceNotFoundError:
        raise AlertChannelNotFoundError from None
    return row


def _channel(row: AlertChannel) -> Channel:
    return Channel(
        pk=row.pk,
        pool=row.namespace.pool.name if row.namespace else "",
        namespace=row.namespace.name if row.namespace else "",
        options=ChannelOptions(
            name=row.name,
            transport=row.transport,
            url=row.url,
            addresses=tuple(row.addresses),
            kinds=tuple(row.kinds),
            min_severity=row.min_severity,
            enabled=row.enabled,
        ),
        last_sent_at=row.last_sent_at,
        last_error=row.last_error,
        waiting=getattr(row, "waiting", 0),
    )


def _sent(row: AlertDelivery) -> SentAlert:
    return SentAlert(
        at=row.created_at,
        event=row.event,
        words=str(AlertEvent(row.event).label),
        incident=row.incident_id,
        sent_at=row.sent_at,
        failed_at=row.failed_at,
        attempts=row.attempts,
        error=row.error,
    )


def _note(user: User, action: ActivityAction, row: AlertChannel) -> None:
    note_activity(
        user=user,
        action=action,
        pool=row.namespace.pool.name if row.namespace else "",
        namespace=row.namespace.name if row.namespace else "",
        target=row.name,
        detail=row.transport,
    )
