"""The engine's rules as Django validators: one rule, one wording."""

from __future__ import annotations

import re
from typing import Final

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from queues.engine import backoff, constants, names, parse_url, queue_limits
from queues.engine.errors import InvalidArgumentError
from queues.http_client.headers import HeaderError, check_headers
from queues.http_client.urls import UrlError, parse_target
from queues.lake.local_days import UnknownZoneError, find_zone


def validate_name(name: str) -> None:
    """A pool or namespace name."""
    try:
        names.check_namespace(name)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Letters, digits, - and _ only, at most 255 characters (%(reason)s)."),
            code="invalid_name",
            params={"reason": str(error)},
        ) from error


def validate_queue(name: str) -> None:
    """A queue name."""
    try:
        names.check_queue(name)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Letters, digits, - and _ only, not beginning with _, at most 255 characters (%(reason)s)."),
            code="invalid_name",
            params={"reason": str(error)},
        ) from error


_SCHEDULE_NAME: Final = re.compile(r"[-_.:A-Za-z0-9]+\Z")
QUEUE_WORDS: Final = frozenset(
    {
        "ack",
        "bulk",
        "deadletter",
        "groups",
        "job",
        "jobs",
        "limit-keys",
        "pause",
        "peek",
        "push",
        "resume",
        "size",
        "stats",
    }
)
"""What may follow a queue's name in a path of the HTTP API. A queue may be called `schedules`, so these are no
schedules."""


def validate_schedule_name(name: str) -> None:
    """A schedule's name: it stands in paths, behind `schedules/`."""
    if len(name.encode("utf-8", "surrogatepass")) > constants.NAME_MAX_BYTES or not _SCHEDULE_NAME.match(name):
        raise ValidationError(_("Letters, digits, -, _, . and : only, at most 255 characters."), code="invalid_name")
    if name in QUEUE_WORDS or not name.strip("."):
        raise ValidationError(_("“%(name)s” cannot be a schedule's name."), code="reserved_name", params={"name": name})


def validate_backoff(text: str) -> None:
    """A backoff policy as `backoff=` takes it."""
    try:
        backoff.parse_backoff(text)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Expected none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq, with S and MAX in seconds above 0."),
            code="invalid_backoff",
        ) from error


def validate_limit_key(key: str) -> None:
    """A limit key as `limit_key=` takes it."""
    try:
        queue_limits.check_limit_key(key)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Printable text of at most %(most)s bytes."),
            code="invalid_limit_key",
            params={"most": constants.LIMIT_KEY_MAX_BYTES},
        ) from error


def validate_time_zone(name: str) -> None:
    """A time zone of the IANA database that hours of reports can follow."""
    try:
        find_zone(name)
    except UnknownZoneError as error:
        raise ValidationError(
            _("Unknown time zone. Expected a name of the IANA database, such as Europe/Berlin or Asia/Shanghai."),
            code="invalid_time_zone",
        ) from error


def validate_weights(text: str) -> None:
    """Weights of limit keys, a line for each."""
    try:
        queue_limits.parse_weights(text)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Expected KEY=WEIGHT on each line, with weights from 1 to %(most)s, for at most %(keys)s keys."),
            code="invalid_weights",
            params={"most": constants.LIMIT_WEIGHT_MAX, "keys": constants.LIMIT_WEIGHTS_MAX},
        ) from error


def validate_pool_url(url: str) -> None:
    """A Redis URL in one of the forms that the engine opens. The message does not repeat it: it may hold a password."""
    try:
        parse_url(url)
    except InvalidArgumentError as error:
        raise ValidationError("%(reason)s", code="invalid_url", params={"reason": _sentence(str(error))}) from error
    place, _question, query = url.partition("?")
    if "password=" in query or place.count("@") > 1:
        raise ValidationError(
            _("Write the password before the host (redis://user:password@host), any @ in it as %40."),
            code="password_place",
        )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def validate_push_url(url: str) -> None:
    """A URL that jobs may be posted to, as far as it shows without a lookup of its host."""
    try:
        parse_target(url)
    except UrlError as error:
        raise ValidationError("%(reason)s", code="invalid_url", params={"reason": _sentence(str(error))}) from error


def validate_push_headers(headers: object) -> None:
    """Headers of push requests: names to values."""
    try:
        check_headers(headers)
    except HeaderError as error:
        raise ValidationError("%(reason)s", code="invalid_headers", params={"reason": _sentence(str(error))}) from error
