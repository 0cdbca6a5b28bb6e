"""The engine's rules as Django validators: one rule, one wording."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from queues.engine import backoff, limits, names, parse_url, queue_limits
from queues.engine.errors import InvalidArgumentError


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


def validate_backoff(text: str) -> None:
    """A backoff policy as `backoff=` takes it."""
    try:
        backoff.parse_backoff(text)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Expected none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq, with S and MAX in seconds above 0."),
            code="invalid_backoff",
        ) from error


def validate_weights(text: str) -> None:
    """Weights of limit keys, a line for each."""
    try:
        queue_limits.parse_weights(text)
    except InvalidArgumentError as error:
        raise ValidationError(
            _("Expected KEY=WEIGHT on each line, with weights from 1 to %(most)s, for at most %(keys)s keys."),
            code="invalid_weights",
            params={"most": limits.LIMIT_WEIGHT_MAX, "keys": limits.LIMIT_WEIGHTS_MAX},
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
