"""A schedule that a person makes or edits."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.services.schedules.values import CatchUp, Overlap, ScheduleFields, ScheduleKind

from .jobs import UNITS, moment_field, moment_ms, seconds_field
from .queue import PublishForm, decode_body

KINDS: Final = (
    (ScheduleKind.CRON.value, _("by a cron expression")),
    (ScheduleKind.INTERVAL.value, _("at an interval")),
    (ScheduleKind.ONCE.value, _("once")),
)
TIMING: Final = ("kind", "cron", "zone", "every", "unit", "at", "jitter_s")
"""Fields that say when it fires; the rest says what its job is."""

_TEXT: Final = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})


class ScheduleForm(forms.Form):
    """When, where to and what. `is_new`: it has a name yet to be chosen."""

    name = forms.CharField(label=_("Name"), max_length=constants.NAME_MAX_BYTES, widget=_TEXT)
    kind = forms.ChoiceField(label=_("Fires"), choices=KINDS)
    cron = forms.CharField(
        label=_("Cron expression"),
        required=False,
        max_length=200,
        widget=_TEXT,
        help_text=_("minute hour day month weekday, or 6 fields with seconds first; or @daily"),
    )
    zone = forms.CharField(
        label=_("Time zone"),
        required=False,
        max_length=64,
        initial="UTC",
        widget=_TEXT,
        help_text=_("of the cron expression, as Europe/Berlin"),
    )
    every = forms.FloatField(label=_("Every"), required=False, min_value=0)
    unit = forms.ChoiceField(label=_("Unit"), choices=UNITS, required=False, initial="60")
    at = moment_field(_("Once at"))
    jitter_s = seconds_field(_("Jitter (s)"), help_text=_("Each fire is up to so much later, to spread the load."))
    queue = forms.CharField(label=_("Queue"), max_length=constants.NAME_MAX_BYTES, widget=_TEXT)
    body = PublishForm.declared_fields["body"]
    encoding = PublishForm.declared_fields["encoding"]
    tries = PublishForm.declared_fields["tries"]
    ttl_s = PublishForm.declared_fields["ttl_s"]
    priority = PublishForm.declared_fields["priority"]
    backoff = forms.CharField(
        label=_("Backoff"),
        required=False,
        max_length=64,
        help_text=_("none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq"),
    )
    retention_s = PublishForm.declared_fields["retention_s"]
    catch_up = forms.ChoiceField(
        label=_("Catch up"),
        choices=[
            (CatchUp.LAST.value, _("with the last one")),
            (CatchUp.NONE.value, _("with none")),
            (CatchUp.ALL.value, _("with all of them")),
        ],
        help_text=_("What is fired afterwards of the due times that passed while nothing could be fired."),
    )
    catch_up_max = forms.IntegerField(
        label=_("Catch up with at most"),
        required=False,
        min_value=1,
        max_value=1_000,
        initial=100,
        help_text=_("of “all of them”, the newest"),
    )
    overlap = forms.ChoiceField(
        label=_("If the job before is still there"),
        choices=[
            (Overlap.ALLOW.value, _("publish another one")),
            (Overlap.SKIP.value, _("skip this time")),
            (Overlap.REPLACE.value, _("replace it: cancel the job before")),
        ],
    )
    limit_key = PublishForm.declared_fields["limit_key"]
    attributes = PublishForm.declared_fields["attributes"]

    def __init__(self, *args: Any, is_new: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_new:
            del self.fields["name"]

    clean_attributes = PublishForm.clean_attributes
    clean_limit_key = PublishForm.clean_limit_key

    def clean_backoff(self) -> str:
        """Checked, and kept as it was typed."""
        PublishForm.clean_backoff(self)  # type: ignore[arg-type]
        return str(self.cleaned_data["backoff"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        decode_body(self, data)
        needed = {"cron": "cron", "interval": "every", "once": "at"}.get(data.get("kind", ""))
        if needed and not data.get(needed) and needed not in self.errors:
            self.add_error(needed, gettext("This field is required."))
        return data

    def schedule_fields(self) -> ScheduleFields:
        """What was asked for. Only of a valid form."""
        data = self.cleaned_data
        every = data["every"]
        return ScheduleFields(
            queue=data["queue"],
            kind=ScheduleKind(data["kind"]),
            cron=data["cron"],
            interval_ms=None if every is None else round(every * int(data["unit"] or 1) * 1000),
            at_ms=moment_ms(data["at"]),
            zone=data["zone"] or "UTC",
            body=data["bytes"],
            tries=data["tries"],
            ttl_s=data["ttl_s"],
            priority=data["priority"] or 0,
            backoff=data["backoff"],
            retention_s=data["retention_s"] or 0,
            attributes=data["attributes"],
            limit_key=data["limit_key"],
            catch_up=CatchUp(data["catch_up"]),
            catch_up_max=data["catch_up_max"] or 100,
            jitter_s=data["jitter_s"] or 0,
            overlap=Overlap(data["overlap"]),
        )


class PreviewForm(forms.Form):
    """The fields of a schedule that say when it fires."""

    kind = ScheduleForm.declared_fields["kind"]
    cron = ScheduleForm.declared_fields["cron"]
    zone = ScheduleForm.declared_fields["zone"]
    every = ScheduleForm.declared_fields["every"]
    unit = ScheduleForm.declared_fields["unit"]
    at = ScheduleForm.declared_fields["at"]
    jitter_s = ScheduleForm.declared_fields["jitter_s"]

    def schedule_fields(self) -> ScheduleFields:
        """As far as timing goes. Only of a valid form."""
        data = self.cleaned_data
        every = data["every"]
        return ScheduleFields(
            queue="any",
            kind=ScheduleKind(data["kind"]),
            cron=data["cron"],
            interval_ms=None if every is None else round(every * int(data["unit"] or 1) * 1000),
            at_ms=moment_ms(data["at"]),
            zone=data["zone"] or "UTC",
            jitter_s=data["jitter_s"] or 0,
        )


def initial_of(fields: ScheduleFields) -> dict[str, Any]:
    """What the form shows of a schedule that there is."""
    try:
        body, encoding = fields.body.decode("utf-8"), "text"
        if "\0" in body or "\r" in body:  # which a form would not bring back
            raise ValueError
    except ValueError:
        body, encoding = base64.b64encode(fields.body).decode("ascii"), "base64"
    every, unit = _in_units(fields.interval_ms)
    return {
        "kind": fields.kind.value,
        "cron": fields.cron,
        "zone": fields.zone,
        "every": every,
        "unit": unit,
        "at": None if fields.at_ms is None else datetime.fromtimestamp(fields.at_ms / 1000, UTC).replace(tzinfo=None),
        "jitter_s": fields.jitter_s or None,
        "queue": fields.queue,
        "body": body,
        "encoding": encoding,
        "tries": fields.tries,
        "ttl_s": fields.ttl_s,
        "priority": fields.priority or None,
        "backoff": fields.backoff,
        "retention_s": fields.retention_s or None,
        "catch_up": fields.catch_up.value,
        "catch_up_max": fields.catch_up_max,
        "overlap": fields.overlap.value,
        "limit_key": fields.limit_key,
        "attributes": "\n".join(f"{name}={value}" for name, value in (fields.attributes or {}).items()),
    }


def _in_units(interval_ms: int | None) -> tuple[float | None, str]:
    """A length of time in the largest unit of which it is a whole number."""
    if interval_ms is None:
        return None, "60"
    for unit, _name in reversed(UNITS):
        if interval_ms % (int(unit) * 1000) == 0:
            return interval_ms // (int(unit) * 1000), unit
    return interval_ms / 1000, "1"
