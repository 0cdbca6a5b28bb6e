"""What a person does with one queue: set its policy, publish a job."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.engine.backoff import NO_BACKOFF, parse_backoff
from queues.engine.errors import InvalidArgumentError
from queues.engine.queue_limits import check_limit_key
from queues.engine.values import JobDetail
from queues.services.jobs.publishing import PublishRequest
from queues.services.policies import TARGET_MAX, TARGET_MIN

from .jobs import moment_field, moment_ms, seconds_field


def _rate_field(label: Any, *, help_text: Any) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        required=False,
        min_value=constants.LIMIT_RATE_MIN,
        max_value=constants.LIMIT_RATE_MAX,
        help_text=help_text,
    )


def _burst_field(label: Any, *, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, required=False, min_value=1, max_value=constants.LIMIT_BURST_MAX, help_text=help_text
    )


class PolicyForm(forms.Form):
    """What is left blank is inherited: from the namespace's policy, then from taskq."""

    tries = forms.IntegerField(
        label=_("Tries"),
        required=False,
        min_value=1,
        max_value=constants.TRIES_MAX,
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
    objective_target = forms.FloatField(
        label=_("Objective: share in time"),
        required=False,
        min_value=TARGET_MIN,
        max_value=TARGET_MAX,
        help_text=_("Which share of deliveries has to come within the objective, such as 0.99. Blank: 0.95."),
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
        max_value=constants.LIMIT_WEIGHT_MAX,
        help_text=_("Share of the queue that a key has if no other weight is given for it."),
    )
    key_weights = forms.CharField(
        label=_("Weights of limit keys"),
        required=False,
        max_length=8_192,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("A line for each key: KEY=WEIGHT. A key of weight 3 gets three jobs for one of weight 1."),
    )
    group_max_size = forms.IntegerField(
        label=_("Per group: members at most"),
        required=False,
        min_value=1,
        max_value=constants.GROUP_MAX_SIZE,
        help_text=_("A group with so many members is flushed: they become one job."),
    )
    group_max_delay_s = seconds_field(
        _("Per group: longest delay (s)"),
        help_text=_("A group is flushed so long after its oldest member came, however few they are."),
        least=1,
    )
    group_grace_period_s = seconds_field(
        _("Per group: grace period (s)"),
        help_text=_("A group is flushed when nobody has joined it for so long."),
        least=1,
    )


def decode_body(form: forms.Form, data: dict[str, Any]) -> None:
    """Set `data["bytes"]` to the body that was typed, as text or as base64. Text that is no base64 is an error."""
    text = data.get("body", "").replace("\r\n", "\n")  # which browsers make of every line's end
    if data.get("encoding") != "base64":
        data["bytes"] = text.encode("utf-8", "replace")
        return
    try:
        data["bytes"] = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        form.add_error("body", gettext("This is not base64."))


class PublishForm(forms.Form):
    """Every option of a publish. What is left blank is up to the queue's policy, then to taskq."""

    body = forms.CharField(
        label=_("Body"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"})
    )
    encoding = forms.ChoiceField(
        label=_("The body is"), choices=[("text", _("text (UTF-8)")), ("base64", _("base64, of any bytes"))]
    )
    delay_s = seconds_field(_("Delay (s)"), help_text=_("Until the job is due."))
    at = moment_field(_("Or due at"))
    ttl_s = seconds_field(_("Time to live (s)"), help_text=_("0: it never expires."))
    tries = forms.IntegerField(
        label=_("Tries"),
        required=False,
        min_value=1,
        max_value=constants.TRIES_MAX,
        help_text=_("How many times it may be delivered."),
    )
    priority = forms.IntegerField(
        label=_("Priority"),
        required=False,
        min_value=constants.PRIORITY_MIN,
        max_value=constants.PRIORITY_MAX,
        help_text=_("Higher goes first; 0 is usual."),
    )
    backoff = forms.CharField(
        label=_("Backoff"),
        required=False,
        max_length=64,
        help_text=_("none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq"),
    )
    retention_s = seconds_field(_("Retention (s)"), help_text=_("How long it is kept once it is completed."))
    key = forms.CharField(
        label=_("Idempotency key"),
        required=False,
        help_text=_("A second job with the same key is not published."),
    )
    key_ttl_s = seconds_field(_("Key holds for (s)"), help_text=_("Blank: as long as the job lives."), least=1)
    limit_key = forms.CharField(
        label=_("Limit key"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("The tenant or account whose jobs share the queue fairly with those of others."),
    )
    group = forms.CharField(
        label=_("Group"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Jobs of a group gather until it is flushed, and are then delivered as one."),
    )
    attributes = forms.CharField(
        label=_("Attributes"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_("A NAME=VALUE on each line."),
    )

    def clean_backoff(self) -> Any:
        text = self.cleaned_data["backoff"]
        try:
            return parse_backoff(text) if text else None
        except InvalidArgumentError as error:
            raise ValidationError(
                gettext("Expected none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq, with S and MAX in seconds.")
            ) from error

    def clean_limit_key(self) -> str:
        """Checked; "" for none. A group is checked by the engine, as is a key."""
        key = str(self.cleaned_data["limit_key"])
        try:
            if key:
                check_limit_key(key)
        except InvalidArgumentError as error:
            most = constants.LIMIT_KEY_MAX_BYTES
            raise ValidationError(gettext("Printable text of at most %(most)s bytes.") % {"most": most}) from error
        return key

    def clean_attributes(self) -> dict[str, str] | None:
        attributes: dict[str, str] = {}
        for line in self.cleaned_data["attributes"].splitlines():
            if line.strip():
                name, is_pair, value = line.partition("=")
                if not is_pair or not name.strip():
                    raise ValidationError(gettext("Expected NAME=VALUE: %(line)s"), params={"line": line[:80]})
                attributes[name.strip()] = value.strip()
        return attributes or None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("delay_s") and data.get("at"):
            self.add_error("at", gettext("Enter a delay or a time, not both."))
        if data.get("key_ttl_s") and not data.get("key"):
            self.add_error("key_ttl_s", gettext("Needs an idempotency key."))
        if data.get("limit_key") and data.get("group"):
            self.add_error("group", gettext("Enter a limit key or a group, not both."))
        decode_body(self, data)
        if len(data.get("bytes", b"")) > constants.BODY_MAX_BYTES:
            self.add_error("body", gettext("A body has at most 1 MiB."))
        return data

    def request(self) -> PublishRequest:
        """What was asked for. Only of a valid form."""
        data = self.cleaned_data
        key_ttl_s = data["key_ttl_s"]
        return PublishRequest(
            delay_ms=(data["delay_s"] or 0) * 1000,
            at_ms=moment_ms(data["at"]),
            ttl_s=data["ttl_s"],
            tries=data["tries"],
            priority=data["priority"] or 0,
            key=data["key"] or None,
            key_ttl_ms=None if key_ttl_s is None else key_ttl_s * 1000,
            backoff=data["backoff"],
            retention_ms=(data["retention_s"] or 0) * 1000,
            attributes=data["attributes"],
            limit_key=data["limit_key"] or None,
            group=data["group"] or None,
        )


def publish_fields(job: JobDetail) -> dict[str, Any]:
    """What a form is filled with to publish a job again: body and options, but no key, which it would still hold."""
    fields: dict[str, Any] = {
        "encoding": "text",
        "tries": job.tries,
        "ttl_s": round((job.expires_ms - job.published_ms) / 1000) if job.expires_ms else 0,
        "priority": job.priority or None,
        "backoff": str(job.backoff) if job.backoff != NO_BACKOFF else "",
        "retention_s": job.retention_ms // 1000 or None,
        "limit_key": job.limit_key,
        "group": job.group,
        "attributes": "\n".join(f"{name}={value}" for name, value in (job.attributes or {}).items()),
    }
    try:
        text = job.body.decode()
    except UnicodeDecodeError:
        text = ""
    if "\r" in text or "\0" in text or text.encode() != job.body:  # what a text field would change
        return fields | {"encoding": "base64", "body": base64.b64encode(job.body).decode()}
    return fields | {"body": text}
