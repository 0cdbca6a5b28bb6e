"""ReportDay and QueueDay: a day's report, and what it says of each namespace and queue; how large the lake is.

Days are UTC days, but for rows of namespaces that have a time zone. The figures come from the event lake by way of
`queues.reports`; each column of QueueDay that holds one bears its name there.
"""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Final

import orjson
from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import constants

from .namespace import Namespace


class _Encoder(json.JSONEncoder):
    """Thousands of queues' hours and histograms are written at once: orjson takes a tenth of the time."""

    def encode(self, o: Any) -> str:
        return orjson.dumps(o, option=orjson.OPT_NON_STR_KEYS).decode()


class _JSONField(models.JSONField):
    """As Django's, which it is to migrations."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.encoder = _Encoder

    def deconstruct(self) -> Any:
        name, _path, args, options = super().deconstruct()
        del options["encoder"]
        return name, "django.db.models.JSONField", args, options


ALL_QUEUES: Final = ""
"""`queue` of the row that sums up a namespace."""

COUNTS: Final = (
    "published",
    "consumed",
    "acked",
    "failed",
    "retried",
    "lease_lost",
    "expired",
    "dead",
    "respawned",
    "released",
    "deleted",
    "rescheduled",
    "duplicates",
    "bytes",
    "arrivals",
    "departures",
)
"""Figures that add up: over hours, queues and days."""

METRICS: Final = ("wait", "run", "total", "lateness")
"""What is measured, in ms: due → consumed, consumed → acked, published → acked, due → ready."""

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

METRIC_PARTS: Final = ("count", "mean", *QUANTILES, "max", "exact")
"""What is said of each metric, in columns `wait_count`, `wait_mean` and so on."""


class ReportState(models.TextChoices):
    """How the latest run for a day stands. What an earlier run reported is not touched by one that fails."""

    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class ReportTrigger(models.TextChoices):
    """Why a run was made."""

    SCHEDULED = "scheduled", _("scheduled")
    ASKED = "asked", _("asked for")


class ReportDay(models.Model):
    """Who computes a day's report, how far they are, and what the report in the database rests on.

    The first fields are about the latest run, those from `reported_run` on about the run whose rows are in QueueDay.
    `handed_on` is a digest of what the next day's report takes from this one, `taken_over` that of the report of the
    day before as this one found it: where they differ, this one is to be made again.
    """

    date = models.DateField(_("day"), primary_key=True)
    state = models.CharField(_("state"), max_length=16, choices=ReportState.choices)
    run = models.CharField(_("run"), max_length=64)
    trigger = models.CharField(_("reason"), max_length=16, choices=ReportTrigger.choices)
    claimed_by = models.CharField(_("computed by"), max_length=255, help_text=_("Host and process id."))
    claimed_at = models.DateTimeField(_("begun"))
    beat_at = models.DateTimeField(_("last sign of life"))
    finished_at = models.DateTimeField(_("ended"), null=True)
    stage = models.CharField(_("stage"), max_length=64, blank=True)
    share = models.FloatField(_("share done"), default=0.0)
    error = models.TextField(_("error"), blank=True)
    failures = models.PositiveSmallIntegerField(_("failures in a row"), default=0)

    reported_run = models.CharField(_("reported run"), max_length=64, blank=True)
    reported_at = models.DateTimeField(_("reported"), null=True)
    took_s = models.FloatField(_("took (s)"), null=True)
    events = models.PositiveBigIntegerField(_("events"), null=True)
    files = models.PositiveIntegerField(_("files"), null=True)
    warnings = models.JSONField(_("warnings"), default=list)
    reconciliation = models.JSONField(
        _("events by Redis's own count"), default=list, db_default=models.Value([], models.JSONField())
    )
    demo = models.BooleanField(_("demo data"), default=False)
    complete = models.BooleanField(_("day was over"), default=False)
    master = models.CharField(_("Spark master"), max_length=255, blank=True)
    mailed_at = models.DateTimeField(_("sent by e-mail"), null=True)
    last_event_at = models.DateTimeField(_("last event"), null=True)
    predecessor_run = models.CharField(
        _("run of the day before"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("Whose backlogs this day began with."),
    )
    taken_over = models.CharField(max_length=64, blank=True, default="", db_default="")
    handed_on = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("reports")
        ordering = ["-date"]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.date:%Y-%m-%d}"


class LakeMeasurement(models.Model):
    """How much the event lake held when a pump measured it last: one row."""

    measured_at = models.DateTimeField(_("measured"))
    bytes = models.PositiveBigIntegerField(_("bytes"))
    files = models.PositiveBigIntegerField(_("files"))
    days = models.PositiveIntegerField(_("days"))
    first_day = models.DateField(_("first day"), null=True)

    class Meta:
        verbose_name = _("size of the event lake")
        verbose_name_plural = _("sizes of the event lake")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.bytes} bytes at {self.measured_at:%Y-%m-%d %H:%M:%S}"


def _jobs() -> models.PositiveBigIntegerField[Any, Any]:
    return models.PositiveBigIntegerField(default=0)


def _ms() -> models.BigIntegerField[Any, Any]:
    """Null: there was nothing to measure. Negative where a Redis server's clock was set back in between."""
    return models.BigIntegerField(null=True)


def _mean_ms() -> models.FloatField[Any, Any]:
    return models.FloatField(null=True)


def _exact() -> models.BooleanField[Any, Any]:
    """Whether the percentiles are exact, or within the error that docs/reports.md states."""
    return models.BooleanField(default=True)


class QueueDay(models.Model):
    """What a report says of a queue, or of a namespace (`queue` ""). Names are kept as text, as in Activity.

    `scope` is the namespace as a row, and decides who may read this. It is null when the namespace is gone, or was made
    after the day: the owner of a name that others had before does not inherit their past.

    A namespace with a time zone has rows of two kinds. Those of UTC days (`local_date` null) are part of totals, and
    not `is_own`. Those of its own days are what its pages show: `local_date` in `time_zone`, the zone of that day.
    `day` is then the report that they were made with: of the UTC day in which the local day ends, or before that the
    present one. `complete`: the local day was over.

    JSON: `hours` a list of objects with the figures of an hour; `histograms` {metric: {bucket: jobs}}, buckets as in
    queues.lake.sketch; `tries`, `errors`, `slowest`, `changes` lists of rows as the report has them.
    """

    day = models.ForeignKey(ReportDay, on_delete=models.CASCADE, related_name="rows", db_index=False)
    scope = models.ForeignKey(Namespace, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    local_date = models.DateField(null=True)
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    is_own = models.BooleanField(default=True, db_default=True)
    complete = models.BooleanField(null=True)
    pool = models.CharField(_("pool"), max_length=constants.NAME_MAX_BYTES)
    namespace = models.CharField(_("namespace"), max_length=constants.NAME_MAX_BYTES)
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, blank=True)

    published = _jobs()
    consumed = _jobs()
    acked = _jobs()
    failed = _jobs()
    retried = _jobs()
    lease_lost = _jobs()
    expired = _jobs()
    dead = _jobs()
    respawned = _jobs()
    released = _jobs()
    deleted = _jobs()
    rescheduled = _jobs()
    duplicates = _jobs()
    bytes = models.PositiveBigIntegerField(default=0, help_text=_("Of the bodies that were published."))
    arrivals = _jobs()
    departures = _jobs()

    wait_count = _jobs()
    wait_mean = _mean_ms()
    wait_p50 = _ms()
    wait_p90 = _ms()
    wait_p95 = _ms()
    wait_p99 = _ms()
    wait_max = _ms()
    wait_exact = _exact()

    run_count = _jobs()
    run_mean = _mean_ms()
    run_p50 = _ms()
    run_p90 = _ms()
    run_p95 = _ms()
    run_p99 = _ms()
    run_max = _ms()
    run_exact = _exact()

    total_count = _jobs()
    total_mean = _mean_ms()
    total_p50 = _ms()
    total_p90 = _ms()
    total_p95 = _ms()
    total_p99 = _ms()
    total_max = _ms()
    total_exact = _exact()

    lateness_count = _jobs()
    lateness_mean = _mean_ms()
    lateness_p50 = _ms()
    lateness_p90 = _ms()
    lateness_p95 = _ms()
    lateness_p99 = _ms()
    lateness_max = _ms()
    lateness_exact = _exact()

    success_rate = models.FloatField(null=True)
    backlog = models.BigIntegerField(null=True, help_text=_("Jobs that were there when the day ended."))
    backlog_base_known = models.BooleanField(default=False)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)

    hours = _JSONField(default=list)
    histograms = _JSONField(default=dict)
    tries = _JSONField(default=list)
    errors = _JSONField(default=list)
    slowest = _JSONField(default=list)
    changes = _JSONField(default=list)
    flagged = models.PositiveSmallIntegerField(default=0, help_text=_("How many of the changes are out of line."))

    objective_s = models.PositiveIntegerField(null=True)
    objective_target = models.FloatField(null=True, help_text=_("Share of deliveries that had to."))
    objective_met = models.BooleanField(null=True)
    objective_share = models.FloatField(null=True, help_text=_("Share of deliveries that waited no longer than that."))

    class Meta:
        verbose_name = _("report of a queue")
        verbose_name_plural = _("reports of queues")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["day", "pool", "namespace", "queue"],
                condition=models.Q(local_date=None),
                name="queue_day_unique",
            ),
            models.UniqueConstraint(
                fields=["local_date", "pool", "namespace", "queue"],
                condition=models.Q(local_date__isnull=False),
                name="queue_local_day_unique",
            ),
        ]
        indexes = [
            models.Index(fields=["scope", "day"], name="queue_day_by_scope"),
            models.Index(fields=["pool", "namespace", "queue", "day"], name="queue_day_by_queue"),
        ]

    @property
    def report_date(self) -> date:
        """The day that it is about, in UTC or the zone."""
        return self.local_date or self.day_id

    def __str__(self) -> str:
        return f"{self.report_date:%Y-%m-%d} {self.pool}:{self.namespace}/{self.queue or '*'}"
