"""What a person is asked before a destructive act: what, how many, from where. Pages and dialogs ask the same, and
name a deletion that can still be undone.

`NUMBER` stands for a number that only the page knows: of the rows that are selected when the button is pressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, npgettext

from dashboard.formatting import number
from queues.engine.values import JobState
from queues.services.dead_letters.actions import DeadVerb
from queues.services.dead_letters.filtering import DeadFilter
from queues.services.deletions import Deletion
from queues.services.jobs.actions import JobAct

NUMBER: Final = "{count}"
"""dialogs.js puts the number of selected rows here."""

_MANY: Final = 2
"""A number whose plural form stands for all greater ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """`button`: what the button says that does it. `word`: what has to be typed; "" nothing.

    `asks_from`: fewer jobs than these are acted on without a question. `is_safe`: nothing is lost by it.
    """

    question: str
    button: str
    word: str = ""
    asks_from: int = 1
    is_safe: bool = False


def count_jobs(state: JobState, count: int, shown: str = "") -> str:
    """`300 ready jobs`. `shown`: what stands for the number."""
    phrases: Mapping[JobState, str] = {
        JobState.READY: ngettext("%(count)s ready job", "%(count)s ready jobs", count),
        JobState.DELAYED: ngettext("%(count)s delayed job", "%(count)s delayed jobs", count),
        JobState.RETRY: ngettext("%(count)s job waiting for a retry", "%(count)s jobs waiting for a retry", count),
        JobState.WORKING: ngettext("%(count)s working job", "%(count)s working jobs", count),
        JobState.DEAD: ngettext("%(count)s dead letter", "%(count)s dead letters", count),
        JobState.COMPLETED: ngettext("%(count)s completed job", "%(count)s completed jobs", count),
        JobState.BLOCKED: ngettext("%(count)s blocked job", "%(count)s blocked jobs", count),
        JobState.GROUPED: ngettext("%(count)s grouped job", "%(count)s grouped jobs", count),
    }
    return phrases[state] % {"count": shown or number(count)}


def _button(act: JobAct, count: int, shown: str = "") -> str:
    phrases: Mapping[JobAct, str] = {
        JobAct.ACK: ngettext("Ack %(count)s job", "Ack %(count)s jobs", count),
        JobAct.RETRY: ngettext("Make %(count)s job ready", "Make %(count)s jobs ready", count),
        JobAct.RELEASE: ngettext("Release %(count)s job", "Release %(count)s jobs", count),
        JobAct.RESCHEDULE: ngettext("Reschedule %(count)s job", "Reschedule %(count)s jobs", count),
        JobAct.RESPAWN: ngettext("Respawn %(count)s job", "Respawn %(count)s jobs", count),
        JobAct.DELETE: ngettext("Delete %(count)s job", "Delete %(count)s jobs", count),
    }
    return phrases[act] % {"count": shown or number(count)}


def confirm_selected(
    act: JobAct, *, state: JobState, queue: str, count: int, with_undo: bool = False
) -> Confirmation | None:
    """Before an act on `count` selected jobs; None: it asks nothing. One job whose deletion can be undone: neither."""
    asked = _ask_for_selected(act, state, queue, count, "")
    return _sparing_one(asked) if with_undo and act is JobAct.DELETE else asked


def confirm_selection(act: JobAct, *, state: JobState, queue: str) -> Confirmation | None:
    """The same, with undo, for a page whose number of selected jobs changes: NUMBER stands in its texts."""
    asked = _ask_for_selected(act, state, queue, _MANY, NUMBER)
    return _sparing_one(asked) if act is JobAct.DELETE else asked


def _sparing_one(asked: Confirmation | None) -> Confirmation | None:
    return replace(asked, asks_from=2) if asked is not None else None


def _ask_for_selected(act: JobAct, state: JobState, queue: str, count: int, shown: str) -> Confirmation | None:
    named = {"jobs": count_jobs(state, count, shown), "queue": queue}
    if act is JobAct.DELETE:
        question = _("Delete %(jobs)s from %(queue)s?") % named
        return Confirmation(question=question, button=_button(act, count, shown))
    if act is JobAct.ACK:
        question = _("Ack %(jobs)s of %(queue)s, as if their consumers had done so?") % named
        return Confirmation(question=question, button=_button(act, count, shown), is_safe=True)
    return None


def confirm_all(act: JobAct, *, state: JobState, queue: str, count: int, is_filtered: bool) -> Confirmation:
    """Before an act on all jobs of a state, or on those of them that a search matches, whose number is not known.

    To delete them all takes the queue's name.
    """
    named = {"jobs": count_jobs(state, count), "queue": queue}
    if is_filtered:
        questions: Mapping[JobAct, str] = {
            JobAct.DELETE: _("Delete every match among %(jobs)s from %(queue)s?"),
            JobAct.RESPAWN: _("Respawn every match among %(jobs)s of %(queue)s?"),
            JobAct.RESCHEDULE: _("Reschedule every match among %(jobs)s of %(queue)s?"),
            JobAct.RETRY: _("Make every match among %(jobs)s of %(queue)s ready now?"),
        }
        buttons: Mapping[JobAct, str] = {
            JobAct.DELETE: _("Delete all matches"),
            JobAct.RESPAWN: _("Respawn all matches"),
            JobAct.RESCHEDULE: _("Reschedule all matches"),
            JobAct.RETRY: _("Make all matches ready"),
        }
        button = buttons[act]
    else:
        questions = {
            JobAct.DELETE: _("Delete %(jobs)s from %(queue)s?"),
            JobAct.RESPAWN: _("Respawn %(jobs)s of %(queue)s?"),
            JobAct.RESCHEDULE: _("Reschedule %(jobs)s of %(queue)s?"),
            JobAct.RETRY: _("Make %(jobs)s of %(queue)s ready now?"),
        }
        button = _button(act, count)
    is_deletion = act is JobAct.DELETE
    return Confirmation(
        question=questions[act] % named, button=button, word=queue if is_deletion else "", is_safe=not is_deletion
    )


def confirm_empty(*, queue: str, count: int) -> Confirmation:
    """Before a queue is emptied, whatever states its jobs are in; its name has to be typed."""
    text = npgettext(
        "empty a queue",
        "Delete all jobs from %(queue)s? It has %(count)s job, in any state.",
        "Delete all jobs from %(queue)s? It has %(count)s jobs, in all states.",
        count,
    )
    question = text % {"queue": queue, "count": number(count)}
    return Confirmation(question=question, button=_button(JobAct.DELETE, count), word=queue)


DEAD_WORD: Final = "delete"
"""What has to be typed to delete all dead letters of several queues."""


def confirm_dead_selected(*, count: int, shown: str = "", with_undo: bool = False) -> Confirmation:
    """Before selected dead letters are deleted, of whatever queues. One that can be undeleted is not asked about."""
    question = _("Delete %(jobs)s?") % {"jobs": count_jobs(JobState.DEAD, count, shown)}
    button = _button(JobAct.DELETE, count, shown)
    return Confirmation(question=question, button=button, asks_from=2 if with_undo else 1)


def confirm_dead_selection() -> Confirmation:
    """The same for a page whose number of selected dead letters changes: NUMBER stands in its texts."""
    return confirm_dead_selected(count=_MANY, shown=NUMBER, with_undo=True)


def confirm_dead_all(verb: DeadVerb, *, chosen: DeadFilter, count: int, is_group: bool = False) -> Confirmation:
    """Before all dead letters that a filter matches are respawned or deleted, of `count` in its queues.

    `is_group`: by the button of an error group.
    """
    named = {"jobs": count_jobs(JobState.DEAD, count), "queue": chosen.queue}
    is_deletion = verb is DeadVerb.DELETE
    if chosen.reads_errors:
        button = _("Delete all matches") if is_deletion else _("Respawn all matches")
        if chosen.queue:
            text = (
                _("Delete every match among %(jobs)s from %(queue)s?")
                if is_deletion
                else _("Respawn every match among %(jobs)s of %(queue)s?")
            )
        else:
            text = (
                _("Delete every match among %(jobs)s of several queues?")
                if is_deletion
                else _("Respawn every match among %(jobs)s of several queues?")
            )
    else:
        button = _button(JobAct.DELETE if is_deletion else JobAct.RESPAWN, count)
        if chosen.queue:
            text = _("Delete %(jobs)s from %(queue)s?") if is_deletion else _("Respawn %(jobs)s of %(queue)s?")
        else:
            text = _("Delete %(jobs)s?") if is_deletion else _("Respawn %(jobs)s?")
    word = DEAD_WORD if is_group else chosen.queue or DEAD_WORD
    return Confirmation(question=text % named, button=button, word=word if is_deletion else "", is_safe=not is_deletion)


def confirm_dead_group(verb: DeadVerb) -> Confirmation:
    """Before the dead letters of an error group are respawned or deleted; NUMBER stands for those found so far."""
    if verb is DeadVerb.DELETE:
        question = _("Delete all dead letters with this error? {count} were found so far.")
        return Confirmation(question=question, button=_("Delete all with this error"), word=DEAD_WORD)
    question = _("Respawn all dead letters with this error? {count} were found so far.")
    return Confirmation(question=question, button=_("Respawn all with this error"), is_safe=True)


def confirm_job(act: JobAct, *, job_id: str, with_undo: bool = False) -> Confirmation | None:
    """Before an act on one job; None: it asks nothing."""
    if act is JobAct.ACK:
        question = _("Ack job %(job)s, as if its consumer had done so?") % {"job": job_id}
        return Confirmation(question=question, button=_("Ack job"), is_safe=True)
    if act is JobAct.DELETE and not with_undo:
        return Confirmation(question=_("Delete job %(job)s?") % {"job": job_id}, button=_("Delete job"))
    return None


def deletion_title_of(row: Deletion) -> str:
    """`300 ready jobs from payments.`"""
    if row.job_state:
        jobs = count_jobs(JobState(row.job_state), row.count)
    else:
        jobs = _("all jobs (%(count)s)") % {"count": number(row.count)}
    named = {"jobs": jobs, "queue": row.queue}
    if row.is_filtered:
        text = _("every match among %(jobs)s from %(queue)s.") if row.queue else _("every match among %(jobs)s.")
        return text % named
    return (_("%(jobs)s from %(queue)s.") if row.queue else "%(jobs)s.") % named
