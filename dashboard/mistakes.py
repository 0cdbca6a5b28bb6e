"""What a person did wrong, in their language: the engine says it in the English words of its HTTP contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from queues.engine import limits
from queues.engine.errors import InvalidArgumentError


class MistakeError(InvalidArgumentError):
    """`str(error)` is said in the person's language already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """`field`: of a form that has one of this name, the one that is wrong."""

    words: str | Promise
    field: str = ""


_NAME: Final = _("Names consist of letters, digits, - and _, at most 255 of them; a queue's does not begin with _.")
_TEXT: Final = _("The text to look for is too long.")
_ID: Final = _("That is no id of a job.")

_MISTAKES: Final[tuple[tuple[str, Mistake], ...]] = (
    (
        "ttl is shorter than delay",
        Mistake(field="ttl_s", words=_("It would expire before it is due: it has to live longer than its delay.")),
    ),
    ("invalid delay", Mistake(field="delay_s", words=_("The delay is too long."))),
    ("invalid at", Mistake(field="at", words=_("That time is too far away."))),
    ("invalid ttl", Mistake(field="ttl_s", words=_("The time to live is too long."))),
    ("invalid retention", Mistake(field="retention_s", words=_("The retention is too long."))),
    ("invalid key_ttl", Mistake(field="key_ttl_s", words=_("The key cannot hold for so long."))),
    (
        "invalid key",
        Mistake(field="key", words=format_lazy(_("A key has at most {most} bytes."), most=limits.KEY_MAX_BYTES)),
    ),
    (
        "too many attributes",
        Mistake(
            field="attributes",
            words=format_lazy(_("A job has at most {most} attributes."), most=limits.ATTRIBUTES_MAX),
        ),
    ),
    (
        "attribute too long",
        Mistake(
            field="attributes",
            words=format_lazy(
                _("The name of an attribute has at most {name} bytes, its value {value}."),
                name=limits.ATTRIBUTE_NAME_MAX_BYTES,
                value=limits.ATTRIBUTE_VALUE_MAX_BYTES,
            ),
        ),
    ),
    ("body too large", Mistake(field="body", words=_("A body has at most 1 MiB."))),
    ("namespace or queue name", Mistake(words=_NAME)),
    ("namespace name", Mistake(words=_NAME)),
    ("queue name", Mistake(words=_NAME)),
    ("filter text too long", Mistake(words=_TEXT)),
    ("invalid error", Mistake(words=_TEXT)),
    ("invalid day", Mistake(words=_("There is no such day."))),
    ("invalid job id", Mistake(words=_ID)),
    ("cannot ", Mistake(words=_("That cannot be done with jobs in this state."))),
)
"""By how the engine's words begin; of two that begin alike the longer first."""

_SENSELESS: Final = Mistake(words=_("Something in the address or the form has no meaning here."))
"""What no page of ours asks for: an address was changed by hand, or is of another version."""


def mistake_of(error: InvalidArgumentError) -> Mistake:
    """What to say of it, and beside which field."""
    if isinstance(error, MistakeError):
        return Mistake(words=str(error))
    return next((mistake for start, mistake in _MISTAKES if str(error).startswith(start)), _SENSELESS)
