"""What dialogs.js asks before a form is sent, as attributes of its button."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from dashboard.confirmations import (
    Confirmation,
    confirm_all,
    confirm_dead_all,
    confirm_dead_group,
    confirm_dead_selection,
    confirm_empty,
    confirm_job,
    confirm_selection,
    deletion_title_of,
)
from dashboard.error_messages import sentence_of
from dashboard.formatting import number
from queues.engine.values import JobState
from queues.services.dead_letters.actions import DeadVerb
from queues.services.dead_letters.filtering import DeadFilter
from queues.services.deletions import INTERRUPTED, LEFT_OUT, Deletion
from queues.services.jobs.actions import JobAct

register = template.Library()


@register.simple_tag
def asks_selection(act: JobAct, state: JobState, queue: str) -> SafeString:
    """Of a button that acts on the selected jobs."""
    return _attributes(confirm_selection(act, state=state, queue=queue))


@register.simple_tag
def asks_all(act: JobAct, state: JobState, queue: str, count: int, is_filtered: bool) -> SafeString:
    """Of a button that acts on all jobs of a state, or on those that a search matches."""
    return _attributes(confirm_all(act, state=state, queue=queue, count=count, is_filtered=is_filtered))


@register.simple_tag
def asks_empty(queue: str, count: int) -> SafeString:
    """Of the button that empties a queue."""
    return _attributes(confirm_empty(queue=queue, count=count))


@register.simple_tag
def asks_dead_selection() -> SafeString:
    """Of the button that deletes the selected dead letters."""
    return _attributes(confirm_dead_selection())


@register.simple_tag
def asks_dead_all(verb: str, chosen: DeadFilter, count: int) -> SafeString:
    """Of a button that acts on all dead letters that the filter matches."""
    return _attributes(confirm_dead_all(DeadVerb(verb), chosen=chosen, count=count))


@register.simple_tag
def asks_dead_group(verb: str) -> SafeString:
    """Of a button that acts on an error group; the row has `data-count`."""
    return _attributes(confirm_dead_group(DeadVerb(verb)))


@register.simple_tag
def asks_job(act: JobAct, job_id: str) -> SafeString:
    """Of a button on the page of a job."""
    return _attributes(confirm_job(act, job_id=job_id, with_undo=True))


@register.filter
def deletion_title(row: Deletion) -> str:
    """What is deleted: `300 ready jobs from payments.`"""
    return deletion_title_of(row)


@register.filter
def deletion_error(row: Deletion) -> str:
    """Why it failed."""
    if row.error == INTERRUPTED:
        return gettext("It was interrupted, and is not repeated because newer jobs would be deleted, too.")
    if row.error == LEFT_OUT:
        words = gettext("%(done)s deleted. No answer from %(pools)s: its dead letters were not deleted.")
        return words % {"done": number(row.done), "pools": ", ".join(row.progress.get(LEFT_OUT, ()))}
    return sentence_of(row.error)


@register.filter
def can_be_repeated(row: Deletion) -> bool:
    """Whether pools were left out that may answer by now."""
    return row.error == LEFT_OUT


def _attributes(asked: Confirmation | None) -> SafeString:
    if asked is None:
        return SafeString("")
    named = [("confirm", asked.question), ("confirm-yes", asked.button)]
    if asked.word:
        named.append(("confirm-word", asked.word))
    if asked.asks_from > 1:
        named.append(("confirm-from", str(asked.asks_from)))
    return format_html(
        "{}{}", format_html_join(" ", 'data-{}="{}"', named), SafeString(" data-confirm-safe" if asked.is_safe else "")
    )
