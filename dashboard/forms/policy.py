"""What holds for one queue, as a person sets it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from queues.engine import limits

from .fields import seconds_field


def _rate_field(label: Any, *, help_text: Any) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        required=False,
        min_value=limits.LIMIT_RATE_MIN,
        max_value=limits.LIMIT_RATE_MAX,
        help_text=help_text,
    )


def _burst_field(label: Any, *, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, required=False, min_value=1, max_value=limits.LIMIT_BURST_MAX, help_text=help_text
    )


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
    rate = _rate_field(_("Rate (1/s)"), help_text=_("Jobs of the queue that are delivered per second at most."))
    burst = _burst_field(_("Burst"), help_text=_("How many jobs the rate lets through at once after a pause."))
    key_in_flight = forms.IntegerField(
        label=_("Per limit key: in flight at most"),
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text=_("Jobs with the same limit key that may be worked on at the same time."),
    )
    key_rate = _rate_field(
        _("Per limit key: rate (1/s)"),
        help_text=_("Jobs with the same limit key that are delivered per second at most."),
    )
    key_burst = _burst_field(
        _("Per limit key: burst"), help_text=_("How many jobs of a key its rate lets through at once after a pause.")
    )
    key_weight = forms.IntegerField(
        label=_("Per limit key: weight"),
        required=False,
        min_value=1,
        max_value=limits.LIMIT_WEIGHT_MAX,
        help_text=_("Share of the queue that a key has if no other weight is given for it."),
    )
    key_weights = forms.CharField(
        label=_("Weights of limit keys"),
        required=False,
        max_length=8_192,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("A line for each key: KEY=WEIGHT. A key of weight 3 gets three jobs for one of weight 1."),
    )
