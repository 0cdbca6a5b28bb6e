"""Push endpoints: make, change, delete, pause, rotate. Used by the API, the pages and the admin."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from ipaddress import ip_address
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from queues.http_client import AddressRules, UrlError, parse_target
from queues.models import Namespace, PushEndpoint
from queues.models.push import (
    CONCURRENCY_DEFAULT,
    CONCURRENCY_MAX,
    RATE_MAX_PER_S,
    RATE_MIN_PER_S,
    TIMEOUT_DEFAULT_S,
    TIMEOUT_MAX_S,
)
from queues.pools.database import read_metadata

from ..errors import InvalidArgumentError, NamespaceNotFoundError, PushEndpointNotFoundError
from .secrets import SECRETS_MAX, key_of, new_secret, seal, unseal

logger = logging.getLogger(__name__)

OVERLAP_DEFAULT_S: Final = 86_400
OVERLAP_MAX_S: Final = 30 * 86_400
PAUSED_BY_A_PERSON: Final = ""
"""Reason of a pause that somebody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """What the owner of an endpoint chooses."""

    url: str
    enabled: bool = True
    timeout_s: int = TIMEOUT_DEFAULT_S
    concurrency: int = CONCURRENCY_DEFAULT
    rate_per_s: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretInfo:
    """A secret as it is shown: when it was made, and until when it signs (None: as long as it is the newest)."""

    created_ms: int
    expires_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An endpoint as pages and the API show it: no secrets, and headers that look like secrets masked."""

    pk: int
    pool: str
    namespace: str
    queue: str
    options: EndpointOptions
    secrets: tuple[SecretInfo, ...]
    paused_at: datetime | None
    paused_reason: str
    created: datetime
    is_test_wanted: bool

    @property
    def is_active(self) -> bool:
        """Whether jobs are to be delivered."""
        return self.options.enabled and self.paused_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSaved:
    """`secret`: of an endpoint that was made just now, at the only moment when it is known."""

    endpoint: Endpoint
    created: bool
    secret: str | None = field(default=None, repr=False)


MASK: Final = "••••••"
_SECRET_WORDS: Final = ("auth", "cookie", "key", "secret", "token", "password", "signature")


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, with the values of those whose names sound like secrets masked."""
    return {
        name: MASK if any(word in name.lower() for word in _SECRET_WORDS) else value for name, value in headers.items()
    }


def save_endpoint(
    *,
    pool: str,
    namespace: str,
    queue: str,
    options: EndpointOptions,
    secret: str | None = None,
    only_new: bool = False,
    keep_masked: bool = False,
) -> EndpointSaved:
    """Make the endpoint of a queue, or change what it is; a pause stays. `secret`: chosen by the owner, for a new one.

    `only_new`: change none that there is. `keep_masked`: a header whose value is the mask keeps the value that it has,
    as long as the URL leads to the same server. Raises InvalidArgumentError, NamespaceNotFoundError; then nothing has
    changed.
    """
    check_options(options)
    if secret is not None:
        key_of(secret)
    owner = Namespace.objects.filter(pool__name=pool, name=namespace).first()
    if owner is None:
        raise NamespaceNotFoundError
    chosen = secret or new_secret()
    try:
        with transaction.atomic():
            row = PushEndpoint.objects.select_for_update(of=("self",)).filter(namespace=owner, queue=queue).first()
            if row is not None:
                if only_new:
                    raise InvalidArgumentError("invalid queue: it has a push endpoint already")
                if secret is not None:
                    raise InvalidArgumentError("invalid secret: the endpoint has one already, which can be rotated")
                _apply(row, _unmasked(row, options) if keep_masked else options)
                row.full_clean(validate_unique=False, validate_constraints=False)
                row.save()
                _log("changed", row)
                return EndpointSaved(endpoint=endpoint_of(row), created=False)
            row = PushEndpoint(namespace=owner, queue=queue, secrets=[new_entry(key_of(chosen))])
            _apply(row, options)
            row.full_clean(validate_unique=False, validate_constraints=False)  # the database has the last word
            row.save(force_insert=True)
    except ValidationError as error:
        raise InvalidArgumentError(_first_words(error)) from None
    except IntegrityError:  # somebody made it in the same moment
        return save_endpoint(
            pool=pool,
            namespace=namespace,
            queue=queue,
            options=options,
            secret=secret,
            only_new=only_new,
            keep_masked=keep_masked,
        )
    _log("created", row)
    return EndpointSaved(endpoint=endpoint_of(row), created=True, secret=chosen)


def find_endpoint(*, pool: str, namespace: str, queue: str) -> Endpoint:
    """Raises PushEndpointNotFoundError, MetadataUnavailableError."""
    return endpoint_of(_row(pool=pool, namespace=namespace, queue=queue))


def delete_endpoint(*, pool: str, namespace: str, queue: str) -> bool:
    """Delete it; jobs stay in the queue. Whether there was one."""
    deleted, _ = _rows(pool=pool, namespace=namespace, queue=queue).delete()
    if deleted:
        logger.info("push endpoint deleted", extra={"action": "push.delete", "namespace": namespace, "queue": queue})
    return bool(deleted)


def set_endpoint_paused(
    *, pool: str, namespace: str, queue: str, paused: bool, reason: str = PAUSED_BY_A_PERSON
) -> bool:
    """Deliver nothing, or deliver again. Whether that changed anything. Raises PushEndpointNotFoundError."""
    rows = _rows(pool=pool, namespace=namespace, queue=queue)
    if paused:
        changed = rows.filter(paused_at=None).update(paused_at=timezone.now(), paused_reason=reason[:500])
    else:
        changed = rows.exclude(paused_at=None).update(paused_at=None, paused_reason="")
    if not changed and not rows.exists():
        raise PushEndpointNotFoundError
    return bool(changed)


def rotate_secret(*, pool: str, namespace: str, queue: str, overlap_s: int = OVERLAP_DEFAULT_S) -> str:
    """A new secret; those before sign as well for `overlap_s` more. Raises PushEndpointNotFoundError."""
    if not 0 <= overlap_s <= OVERLAP_MAX_S:
        raise InvalidArgumentError("invalid overlap")
    secret = new_secret()
    with transaction.atomic():
        row = _rows(pool=pool, namespace=namespace, queue=queue).select_for_update(of=("self",)).first()
        if row is None:
            raise PushEndpointNotFoundError
        now = now_ms()
        until = now + overlap_s * 1000
        kept = [
            {**one, "expires_ms": min(until, one["expires_ms"] or until)}
            for one in row.secrets
            if overlap_s and (one["expires_ms"] is None or one["expires_ms"] > now)
        ]
        row.secrets = [new_entry(key_of(secret)), *kept][:SECRETS_MAX]
        row.save(update_fields=["secrets"])
    _log("rotated", row)
    return secret


def request_test(*, pool: str, namespace: str, queue: str) -> None:
    """Have a pusher send a test request, also to an endpoint that is paused. Raises PushEndpointNotFoundError."""
    if not _rows(pool=pool, namespace=namespace, queue=queue).update(test_wanted_at=timezone.now()):
        raise PushEndpointNotFoundError


def check_options(options: EndpointOptions) -> None:
    """Raise InvalidArgumentError for what cannot be saved: the words name the option."""
    check_url(options.url)
    if not 1 <= options.timeout_s <= TIMEOUT_MAX_S:
        raise InvalidArgumentError(f"invalid timeout: 1 to {TIMEOUT_MAX_S} seconds")
    if not 1 <= options.concurrency <= CONCURRENCY_MAX:
        raise InvalidArgumentError(f"invalid concurrency: 1 to {CONCURRENCY_MAX:,}")
    if options.rate_per_s is not None and not RATE_MIN_PER_S <= options.rate_per_s <= RATE_MAX_PER_S:
        raise InvalidArgumentError(f"invalid rate: {RATE_MIN_PER_S} to {RATE_MAX_PER_S:,.0f} per second")


def endpoint_of(row: PushEndpoint) -> Endpoint:
    """A row as a value."""
    return Endpoint(
        pk=row.pk,
        pool=row.namespace.pool.name,
        namespace=row.namespace.name,
        queue=row.queue,
        options=EndpointOptions(
            url=row.url,
            enabled=row.enabled,
            timeout_s=row.timeout_s,
            concurrency=row.concurrency,
            rate_per_s=row.rate_per_s,
            headers=masked(row.headers),
        ),
        secrets=tuple(
            SecretInfo(created_ms=one["created_ms"], expires_ms=one["expires_ms"])
            for one in row.secrets
            if one["expires_ms"] is None or one["expires_ms"] > now_ms()
        ),
        paused_at=row.paused_at,
        paused_reason=row.paused_reason,
        created=row.created,
        is_test_wanted=row.test_wanted_at is not None,
    )


def new_entry(key: bytes) -> dict[str, Any]:
    """A secret as its row keeps it."""
    return {"sealed": seal(key), "created_ms": now_ms(), "expires_ms": None}


def signing_keys(entries: Iterable[Mapping[str, Any]]) -> tuple[bytes, ...]:
    """Those of a row's secrets that sign now, the newest first. Raises UnreadableSecretError."""
    now = now_ms()
    return tuple(unseal(one["sealed"]) for one in entries if one["expires_ms"] is None or one["expires_ms"] > now)


def now_ms() -> int:
    """By this host's clock: rotations take hours."""
    return round(timezone.now().timestamp() * 1000)


def _rows(*, pool: str, namespace: str, queue: str) -> Any:
    return PushEndpoint.objects.filter(namespace__pool__name=pool, namespace__name=namespace, queue=queue)


def _row(*, pool: str, namespace: str, queue: str) -> PushEndpoint:
    rows = _rows(pool=pool, namespace=namespace, queue=queue).select_related("namespace__pool")
    row: PushEndpoint | None = read_metadata(rows.first)
    if row is None:
        raise PushEndpointNotFoundError
    return row


def _unmasked(row: PushEndpoint, options: EndpointOptions) -> EndpointOptions:
    """With the values of masked headers. None of them goes to another server than the one that it was meant for."""
    kept = [name for name, value in options.headers.items() if value == MASK and name in row.headers]
    if not kept:
        return options
    if _server_of(row.url) != _server_of(options.url):
        raise InvalidArgumentError(f"invalid headers: the value of {kept[0]} is not kept for another server")
    return replace(options, headers={**options.headers, **{name: row.headers[name] for name in kept}})


def _server_of(url: str) -> tuple[str, str, int]:
    target = parse_target(url)
    return target.scheme, target.host, target.port


def _apply(row: PushEndpoint, options: EndpointOptions) -> None:
    row.url, row.enabled = options.url, options.enabled
    row.timeout_s, row.concurrency, row.rate_per_s = options.timeout_s, options.concurrency, options.rate_per_s
    row.headers = dict(options.headers)


_MEMBERS: Final = {"timeout_s": "timeout", "rate_per_s": "rate"}


def _first_words(error: ValidationError) -> str:
    name, messages = next(iter(error.message_dict.items()))
    words = str(messages[0]).rstrip(".")
    return f"invalid {_MEMBERS.get(name, name)}: {words[:1].lower()}{words[1:]}"


def _log(what: str, row: PushEndpoint) -> None:
    fields = {"action": f"push.{what}", "namespace": row.namespace.name, "queue": row.queue}
    logger.info("push endpoint %s", what, extra=fields)


def address_rules() -> AddressRules:
    """Public addresses, and the networks of TASKQ_PUSH_ALLOWED_NETWORKS."""
    return AddressRules.of(settings.TASKQ_PUSH_ALLOWED_NETWORKS)


def check_url(url: str) -> None:
    """Raise InvalidArgumentError for a URL that no request can be sent to.

    What its name means is found out, and checked, at each new connection.
    """
    try:
        target = parse_target(url)
    except UrlError as error:
        raise InvalidArgumentError(f"invalid url: {error}") from None
    is_local = target.host == "localhost" or target.host.endswith(".localhost")
    address = "127.0.0.1" if is_local else target.host
    try:
        ip_address(address)
    except ValueError:
        return
    if not address_rules().permits(address):
        raise InvalidArgumentError(f"invalid url: {target.host} is not a public address")
