"""What holds for one queue, as a person sets it."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from queues.engine import limits

from .fields import seconds_field


class PolicyForm(forms.Form):
    """What is left blank is inherited: from the namespace's policy, then from taskq."""

    tries = forms.IntegerField(
        label=_("Tries"),
        required=False,
        min_value=1,
        max_value=limits.TRIES_MAX,
        help_text=_("How many times a job may be delivered."),
    )
    ttl_s = seconds_field(_("Time to live (s)"), help_text=_("Until a job expires. 0: never."))
    backoff = forms.CharField(
        label=_("Backoff"),
        required=False,
        max_length=64,
        help_text=_("How long a failed job waits: none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq."),
    )
    ttr_s = seconds_field(_("Time to run (s)"), help_text=_("How long a consumer may hold a job."), least=1)
    max_in_flight = forms.IntegerField(
        label=_("In flight at most"),
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text=_("Jobs that may be worked on at the same time."),
    )
    dead_max_age_s = seconds_field(
        _("Dead letters: oldest (s)"), help_text=_("Dead jobs older than this are dropped, and counted."), least=1
    )
    dead_max_count = forms.IntegerField(
        label=_("Dead letters: at most"),
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Dead jobs beyond this number are dropped, oldest first, and counted."),
    )
    objective_s = seconds_field(
        _("Objective (s)"),
        help_text=_("How long a ready job may wait before the queue is shown as needing attention."),
        least=1,
    )
