"""What people are told of an error: in their language, and nothing of where Redis is.

What is wrong with an input the engine says in the English words of its HTTP contract; here these words are translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.forms import Form
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.services.errors import InvalidArgumentError, TaskqError
from queues.services.saved_views import NAME_MAX, VIEWS_MAX
from queues.services.schedules.timing import CronFieldError


class InputError(InvalidArgumentError):
    """What a person typed is wrong; `str(error)` is in the person's language already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputMessage:
    """What to say of a wrong input. `field`: of a form that has one of this name, the one that is wrong."""

    words: str | Promise
    field: str = ""


_NAME: Final = _("Names consist of letters, digits, - and _, at most 255 of them; a queue's does not begin with _.")
_TEXT: Final = _("The text to look for is too long.")
_ID: Final = _("Not a valid job id.")

_INPUT_MESSAGES: Final[tuple[tuple[str, InputMessage], ...]] = (
    (
        "ttl is shorter than delay",
        InputMessage(field="ttl_s", words=_("It would expire before it is due: it has to live longer than its delay.")),
    ),
    *(
        (f"invalid cron: {start}", InputMessage(field="cron", words=words))
        for start, words in (
            ("5 fields", _("A cron expression has 5 fields, or 6 with seconds first.")),
            ("unknown", _("The supported names are @yearly, @monthly, @weekly, @daily and @hourly.")),
            ("it is never", _("It is never due: none of the months has that day.")),
            ("longer", _("A cron expression has at most 200 characters.")),
        )
    ),
    ("invalid zone", InputMessage(field="zone", words=_("Unknown time zone: write Europe/Berlin, or UTC."))),
    ("invalid every", InputMessage(field="every", words=_("An interval takes from one second to ten years."))),
    ("invalid at: it has", InputMessage(field="at", words=_("That moment has passed."))),
    ("invalid at: expected", InputMessage(field="at", words=_("When is it due?"))),
    (
        "invalid jitter: it must",
        InputMessage(field="jitter_s", words=_("Jitter must be shorter than the time between two fires.")),
    ),
    (
        "invalid schedule name: it is",
        InputMessage(field="name", words=_("The API reserves this name.")),
    ),
    (
        "invalid schedule name",
        InputMessage(field="name", words=_("Letters, digits, -, _, . and : only, at most 255 characters.")),
    ),
    (
        "invalid queue: it has a push",
        InputMessage(field="queue", words=_("This queue already has a push endpoint: edit that one.")),
    ),
    ("invalid queue", InputMessage(field="queue", words=_NAME)),
    *(
        (f"invalid url: {start}", InputMessage(field="url", words=words))
        for start, words in (
            ("longer", _("A URL has at most 2,048 characters.")),
            ("it has blanks", _("A URL has no blanks and no control characters.")),
            ("it must begin", _("A URL begins with https:// or http://.")),
            ("credentials", _("A URL must not have credentials: send them in a header.")),
            ("a fragment", _("Leave out the fragment (#…): requests do not carry it.")),
            ("its path", _("Characters that are not ASCII must be percent-encoded in a URL.")),
            (
                "port",
                _("That port is not allowed: use 80, 443, or one above 1023 that no other protocol is known for."),
            ),
            ("it", _("The URL has no valid host.")),
            ("an address with", _("The URL has no valid host.")),
        )
    ),
    (
        "invalid url",
        InputMessage(field="url", words=_("Requests go to public addresses only, unless a setting allows others.")),
    ),
    *(
        (f"invalid headers: {start}", InputMessage(field="headers", words=words))
        for start, words in (
            ("more than", _("At most 20 headers.")),
            ("a header's name", _("The name of a header consists of letters, digits and -, at most 64 of them.")),
            ("the header", _("One of these headers is set by taskq itself, or occurs twice.")),
        )
    ),
    (
        "invalid headers",
        InputMessage(
            field="headers",
            words=_(
                "The value of a header has at most 1,024 ASCII characters. A value that is shown as dots has to be "
                "typed again when the URL leads to another server."
            ),
        ),
    ),
    ("invalid note: it is", InputMessage(field="note", words=_("Write something into the note first."))),
    ("invalid note", InputMessage(field="note", words=_("A note has at most 2,000 characters."))),
    (
        "invalid addresses",
        InputMessage(field="addresses", words=_("One to 20 e-mail addresses, separated by commas.")),
    ),
    ("invalid channel", InputMessage(words=_("There are 20 alert channels here already: delete one first."))),
    ("invalid timeout", InputMessage(field="timeout_s", words=_("From 1 to 300 seconds."))),
    ("invalid concurrency", InputMessage(field="concurrency", words=_("From 1 to 1,000."))),
    ("invalid rate", InputMessage(field="rate_per_s", words=_("From 0.01 to 10,000 per second."))),
    (
        "invalid group",
        InputMessage(
            field="group",
            words=format_lazy(
                _("The name of a group is printable text of at most {most} bytes."), most=constants.GROUP_MAX_BYTES
            ),
        ),
    ),
    ("invalid overlap", InputMessage(words=_("Not a valid overlap of two secrets."))),
    (
        "too many schedules",
        InputMessage(words=_("This namespace has as many schedules as it may have: delete some first.")),
    ),
    (
        "invalid name of a view",
        InputMessage(field="name", words=format_lazy(_("A view's name has 1 to {most} characters."), most=NAME_MAX)),
    ),
    (
        "too many views",
        InputMessage(words=format_lazy(_("You have {most} views: delete one first."), most=VIEWS_MAX)),
    ),
    (
        "too many respawns",
        InputMessage(words=_("Too many respawns are running: stop one, or wait for its end.")),
    ),
    ("too many deletions", InputMessage(words=_("Too many of your deletions are waiting: try again in a minute."))),
    ("the schedule is fired again", InputMessage(words=_("The schedule is just being fired: try again."))),
    ("invalid delay", InputMessage(field="delay_s", words=_("The delay is too long."))),
    ("invalid at", InputMessage(field="at", words=_("That time is too far away."))),
    ("invalid ttl", InputMessage(field="ttl_s", words=_("The time to live is too long."))),
    ("invalid retention", InputMessage(field="retention_s", words=_("The retention is too long."))),
    ("invalid key_ttl", InputMessage(field="key_ttl_s", words=_("The key cannot hold for so long."))),
    (
        "invalid key",
        InputMessage(
            field="key", words=format_lazy(_("A key has at most {most} bytes."), most=constants.KEY_MAX_BYTES)
        ),
    ),
    (
        "too many attributes",
        InputMessage(
            field="attributes",
            words=format_lazy(_("A job has at most {most} attributes."), most=constants.ATTRIBUTES_MAX),
        ),
    ),
    (
        "attribute too long",
        InputMessage(
            field="attributes",
            words=format_lazy(
                _("The name of an attribute has at most {name} bytes, its value {value}."),
                name=constants.ATTRIBUTE_NAME_MAX_BYTES,
                value=constants.ATTRIBUTE_VALUE_MAX_BYTES,
            ),
        ),
    ),
    ("body too large", InputMessage(field="body", words=_("A body has at most 1 MiB."))),
    ("empty description", InputMessage(field="description", words=_("Say what it is for."))),
    (
        "description too long",
        InputMessage(field="description", words=_("A description has at most 255 characters.")),
    ),
    (
        "description contains",
        InputMessage(field="description", words=_("A description has no control characters.")),
    ),
    ("token too", InputMessage(field="secret", words=_("A secret has 20 to 255 characters."))),
    (
        "token contains",
        InputMessage(
            field="secret",
            words=_("A secret consists of printable ASCII characters, without blanks, colons and slashes."),
        ),
    ),
    (
        "namespace exists",
        InputMessage(field="name", words=_("This pool has a namespace of that name already.")),
    ),
    ("namespace or queue name", InputMessage(words=_NAME)),
    ("namespace name", InputMessage(words=_NAME)),
    ("queue name", InputMessage(words=_NAME)),
    ("filter text too long", InputMessage(words=_TEXT)),
    ("invalid error", InputMessage(words=_TEXT)),
    ("invalid day", InputMessage(words=_("Not a valid day."))),
    ("invalid job id", InputMessage(words=_ID)),
    ("cannot ", InputMessage(words=_("That cannot be done with jobs in this state."))),
)
"""By how the engine's words begin; of two that begin alike the longer first."""

_CRON_FIELDS: Final[Mapping[str, Promise]] = {
    "second": _("second"),
    "minute": _("minute"),
    "hour": _("hour"),
    "day-of-month": _("day of the month"),
    "month": _("month"),
    "day-of-week": _("day of the week"),
}

_UNKNOWN_INPUT: Final = InputMessage(words=_("The URL or the form has a value that is not valid."))
"""What no page of ours asks for: an address was changed by hand, or is of another version."""


def input_message(error: InvalidArgumentError) -> InputMessage:
    """What to say of it, and beside which field."""
    if isinstance(error, InputError):
        return InputMessage(words=str(error))
    if isinstance(error, CronFieldError):
        names = {"field": _CRON_FIELDS[error.field], "text": error.text, "allowed": error.allowed}
        words = format_lazy(_("The {field} {text} cannot be read; allowed are {allowed}."), **names)
        return InputMessage(field="cron", words=words)
    return next((message for start, message in _INPUT_MESSAGES if str(error).startswith(start)), _UNKNOWN_INPUT)


def add_input_error(form: Form, error: InvalidArgumentError) -> None:
    """Say it in a form, beside the field that is wrong if the form has it."""
    wrong = input_message(error)
    form.add_error(wrong.field if wrong.field in form.fields else None, str(wrong.words))


_SENTENCES: Final[Mapping[str, Promise]] = {
    "role_too_low": _("You don't have permission"),
    "namespace_not_found": _("Not found, or you don't have access"),
    "pool_not_found": _("Not found, or you don't have access"),
    "job_not_found": _("Not found, or you don't have access"),
    "queue_not_found": _("Queue not found: it has no jobs, was not used in the last 10 minutes, and has no consumers"),
    "worker_not_found": _("Worker not found, or it has not reported lately"),
    "push_endpoint_not_found": _("Not found, or you don't have access"),
    "token_not_found": _("Token not found, or revoked already"),
    "deletion_not_found": _("Not found, or you don't have access"),
    "incident_not_found": _("Not found, or you don't have access"),
    "alert_channel_not_found": _("Not found, or you don't have access"),
    "workflow_not_found": _("Workflow not found, or its retention is over"),
    "workflow_conflict": _("The workflow is not in a state in which that can be done"),
    "schedule_not_found": _("Not found, or you don't have access"),
    "schedule_taken": _("This schedule is declared elsewhere, or there is one of that name already"),
    "lease_lost": _("The job has changed meanwhile: look at it again."),
    "metadata_unavailable": _("The database does not answer"),
    "store_unavailable": _("Redis does not answer"),
    "search_busy": _("Your last search is still under way. Wait a moment, and search again."),
    "not_replicated": _("Published, but too few replicas have confirmed it: a failover may lose it"),
    "store_full": _("Redis is full"),
    "layout_mismatch": _("Redis holds the jobs of another version of taskq, or of a pool with other partitions"),
}
"""By the code of the error, in a sentence."""


def sentence_of(code: str) -> str:
    """The sentence for an error's code; the code itself if there is none."""
    return str(_SENTENCES.get(code, code))


def is_explained(error: TaskqError) -> bool:
    """Whether there is a sentence for it. Any other error is a defect, which no page expects."""
    return isinstance(error, InvalidArgumentError) or error.code in _SENTENCES


def error_message(error: TaskqError) -> str:
    """The sentence for an error that is explained."""
    if isinstance(error, InvalidArgumentError):
        return str(input_message(error).words)
    return str(_SENTENCES[error.code])
