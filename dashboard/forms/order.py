"""What a person wants done with jobs: the fields that come with a button."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.mistakes import MistakeError
from queues.engine.errors import InvalidArgumentError
from queues.engine.ids import is_job_id
from queues.engine.values import JobState
from queues.services.jobs.actions import ChosenJob, JobAct, Order

from .fields import UNITS, moment_field, moment_ms, seconds_field, whole_number


class OrderForm(forms.Form):
    """`later` and `unit`, or `at`: of a reschedule. `ttl_s`: of a respawn."""

    act = forms.ChoiceField(choices=[(act.value, act.value) for act in JobAct])
    state = forms.ChoiceField(choices=[(state.value, state.value) for state in JobState])
    later = seconds_field(_("In"))
    unit = forms.ChoiceField(label=_("Unit"), choices=UNITS, required=False)
    at = moment_field(_("Or at"))
    ttl_s = seconds_field(_("Time to live (s)"), help_text=_("Blank: the queue's policy."))

    def order(self) -> Order:
        """Raises MistakeError, naming the first field that is wrong."""
        if not self.is_valid():
            name, wrong = next(iter(self.errors.items()))
            raise MistakeError(f"{self[name].label}: {wrong[0]}")
        data = self.cleaned_data
        act = JobAct(data["act"])
        if act is JobAct.RESCHEDULE and data["later"] is None and data["at"] is None:
            raise MistakeError(gettext("Say when the jobs are to be due."))
        return Order(
            act=act,
            state=JobState(data["state"]),
            at_ms=moment_ms(data["at"]),
            delay_ms=0 if data["at"] else (data["later"] or 0) * int(data["unit"] or 1) * 1000,
            ttl_s=data["ttl_s"],
        )


def read_chosen(values: list[Any]) -> list[ChosenJob]:
    """`ID` or `ID:ATTEMPT` of each job that was ticked. Raises InvalidArgumentError."""
    chosen = []
    for value in values:
        job_id, _colon, attempt = str(value).partition(":")
        number = whole_number(attempt or "0")
        if not is_job_id(job_id) or number is None:
            raise InvalidArgumentError("invalid job ids")
        chosen.append(ChosenJob(job_id=job_id, attempt=number))
    return chosen
