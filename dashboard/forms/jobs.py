"""Jobs on the queue page: which of them it shows, and what a person wants done with them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dashboard.error_messages import InputError
from queues.engine import constants
from queues.engine.errors import InvalidArgumentError
from queues.engine.names import is_job_id
from queues.engine.values import JobFilter, JobState
from queues.services.jobs.actions import ChosenJob, JobAct, Order

from .durations import DurationField

UNITS: Final = (("1", _("seconds")), ("60", _("minutes")), ("3600", _("hours")), ("86400", _("days")))
"""Seconds of each unit in which people give lengths of time."""

DIGITS_MAX: Final = 16


def seconds_field(label: Any, *, help_text: Any = "", least: int = 0) -> DurationField:
    """A length of time with its unit (`90`, `5m`, `1d`) in whole seconds, or nothing said."""
    return DurationField(label=label, help_text=help_text, least_s=least)


def moment_field(label: Any) -> forms.DateTimeField:
    """A moment in UTC, or nothing said. Where scripts run, moments.js lets people type their own time."""
    return forms.DateTimeField(
        label=label,
        help_text=_("in UTC"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1", "data-moment": True}),
        input_formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"],
    )


def moment_ms(moment: datetime | None) -> int | None:
    """What such a field holds, in ms since the epoch: its numbers are UTC, whatever Django's zone is."""
    return None if moment is None else round(moment.replace(tzinfo=UTC).timestamp() * 1000)


def whole_number(text: str) -> int | None:
    """A number from 0 on, as addresses and hidden fields hold it; None for what is none, or longer than any of ours."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < DIGITS_MAX else None


LATEST_FIRST: Final = frozenset({JobState.READY, JobState.WORKING, JobState.DEAD, JobState.COMPLETED})
"""States whose latest jobs are shown first; of the others those that are due next."""

_FIELDS: Final = {"id": "job_id", "key": "key", "attribute": "attribute", "error": "error", "body": "body"}
"""Parameter → field of JobFilter."""


def read_state(parameters: Mapping[str, str]) -> JobState:
    """`state`; what is no state means ready."""
    try:
        return JobState(parameters.get("state", JobState.READY))
    except ValueError:
        return JobState.READY


def read_latest_first(parameters: Mapping[str, str], state: JobState) -> bool:
    """`order=latest` or `order=earliest`; else what is usual for the state."""
    order = parameters.get("order")
    return order == "latest" if order in ("latest", "earliest") else state in LATEST_FIRST


def write_order(state: JobState, *, latest_first: bool) -> str | None:
    """The `order` that the above reads; None for the usual one."""
    if latest_first == (state in LATEST_FIRST):
        return None
    return "latest" if latest_first else "earliest"


def read_filter(parameters: Mapping[str, str]) -> JobFilter:
    """The texts, without blanks around them."""
    return JobFilter(**{field: without_nul(parameters.get(name, "")).strip() for name, field in _FIELDS.items()})


def without_nul(text: str) -> str:
    """With another character in the place of U+0000, which some databases refuse: it still matches nothing."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def filter_fields(wanted: JobFilter) -> list[tuple[str, str]]:
    """Names and values for the hidden fields of a form that means the same jobs."""
    said = ((name, getattr(wanted, field)) for name, field in _FIELDS.items())
    return [(name, text) for name, text in said if text]


def write_query(state: JobState, wanted: JobFilter, **more: str | int | None) -> str:
    """`state=...&error=...`: what the two above read, with further parameters that are not None."""
    return urlencode(
        {"state": state.value}
        | dict(filter_fields(wanted))
        | {name: value for name, value in more.items() if value is not None}
    )


class OrderForm(forms.Form):
    """`later` and `unit`, or `at`: of a reschedule. `ttl_s`: of a respawn."""

    act = forms.ChoiceField(choices=[(act.value, act.value) for act in JobAct])
    state = forms.ChoiceField(choices=[(state.value, state.value) for state in JobState])
    later = forms.IntegerField(label=_("In"), required=False, min_value=0, max_value=constants.SECONDS_MAX)
    unit = forms.ChoiceField(label=_("Unit"), choices=UNITS, required=False)
    at = moment_field(_("Or at"))
    ttl_s = seconds_field(_("Time to live"), help_text=_("Blank: the queue's policy."))

    def order(self) -> Order:
        """Raises InputError, naming the first field that is wrong."""
        if not self.is_valid():
            name, wrong = next(iter(self.errors.items()))
            raise InputError(f"{self[name].label}: {wrong[0]}")
        data = self.cleaned_data
        act = JobAct(data["act"])
        if act is JobAct.RESCHEDULE and data["later"] is None and data["at"] is None:
            raise InputError(gettext("Enter when the jobs are due."))
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
