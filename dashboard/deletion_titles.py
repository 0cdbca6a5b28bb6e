"""Deletions that can be undone, in words."""

from __future__ import annotations

from django.utils.translation import gettext as _

from dashboard.confirmations import count_jobs
from dashboard.formatting import number
from queues.engine.values import JobState
from queues.services.deletions import Deletion


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
