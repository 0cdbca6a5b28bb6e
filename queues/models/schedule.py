"""Schedule: jobs that are published by the clock. ScheduleFire: the history of what became of its due times."""

from __future__ import annotations

from typing import Any, Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import constants

from .namespace import Namespace
from .pool import Pool
from .validators import validate_backoff, validate_limit_key, validate_queue, validate_schedule_name

HISTORY_MAX: Final = 100
"""Fires that are remembered of each schedule, the newest."""

CATCH_UP_MAX: Final = 1_000
JITTER_MAX_S: Final = 86_400
ERROR_MAX: Final = 500


class ScheduleKind(models.TextChoices):
    """What says when it is due."""

    CRON = "cron", _("cron")
    INTERVAL = "interval", _("interval")
    ONCE = "once", _("once")


class CatchUp(models.TextChoices):
    """Which of the due times are fired afterwards that passed while nothing could be fired."""

    NONE = "none", _("none")
    LAST = "last", _("the last one")
    ALL = "all", _("all")


class Overlap(models.TextChoices):
    """What happens when the job of the fire before is still there."""

    ALLOW = "allow", _("allow")
    SKIP = "skip", _("skip")
    REPLACE = "replace", _("replace")


class ScheduleSource(models.TextChoices):
    """Who declares it: people (also by the HTTP API), or the code of an app."""

    PEOPLE = "people", _("people")
    CODE = "code", _("code")


class FireOutcome(models.TextChoices):
    """What became of a due time. `pending`: decided, and not known to be published yet."""

    PENDING = "pending", _("being published")
    FIRED = "fired", _("fired")
    SKIPPED = "skipped", _("skipped")
    MISSED = "missed", _("missed")
    FAILED = "failed", _("failed")


class Schedule(models.Model):
    """`due_at`: the next due time; `fire_at`: the same with its jitter, null while nothing is to be fired.

    `fires` numbers the rows of the history; `last_fired` is the number of the last one that made a job.
    """

    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, related_name="schedules", verbose_name=_("namespace")
    )
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="+", editable=False, db_index=False)
    """That of its namespace, for the index by which a pump finds what is due."""
    name = models.CharField(_("name"), max_length=constants.NAME_MAX_BYTES, validators=[validate_schedule_name])
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, validators=[validate_queue])
    body = models.BinaryField(_("body"), blank=True, default=b"")
    body_bytes = models.PositiveIntegerField(editable=False, default=0)
    tries = models.PositiveIntegerField(
        _("tries"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.TRIES_MAX)],
        help_text=_("How many times a job may be delivered."),
    )
    ttl_s = models.PositiveBigIntegerField(
        _("time to live (s)"),
        null=True,
        blank=True,
        validators=[MaxValueValidator(constants.SECONDS_MAX)],
        help_text=_("Until a job expires. 0: never."),
    )
    priority = models.SmallIntegerField(
        _("priority"),
        default=0,
        validators=[MinValueValidator(constants.PRIORITY_MIN), MaxValueValidator(constants.PRIORITY_MAX)],
    )
    backoff = models.CharField(_("backoff"), max_length=64, blank=True, default="", validators=[validate_backoff])
    retention_s = models.PositiveBigIntegerField(
        _("retention (s)"), default=0, validators=[MaxValueValidator(constants.SECONDS_MAX)]
    )
    attributes = models.JSONField(_("attributes"), null=True, blank=True)
    limit_key = models.CharField(
        _("limit key"),
        max_length=constants.LIMIT_KEY_MAX_BYTES,
        blank=True,
        default="",
        db_default="",
        validators=[validate_limit_key],
        help_text=_("The tenant or account whose jobs share the queue fairly with those of others."),
    )
    kind = models.CharField(_("kind"), max_length=8, choices=ScheduleKind.choices, default=ScheduleKind.CRON)
    cron = models.CharField(
        _("cron expression"),
        max_length=200,
        blank=True,
        default="",
        help_text=_("5 fields, or 6 with seconds first; or @hourly, @daily, @weekly, @monthly, @yearly."),
    )
    interval_ms = models.PositiveBigIntegerField(_("interval (ms)"), null=True, blank=True)
    starts_at = models.DateTimeField(
        _("starts at"), null=True, blank=True, help_text=_("From which moment an interval is counted.")
    )
    at = models.DateTimeField(_("at"), null=True, blank=True)
    zone = models.CharField(
        _("time zone"), max_length=64, default="UTC", help_text=_("In which the cron expression is meant.")
    )
    paused = models.BooleanField(_("paused"), default=False)
    catch_up = models.CharField(
        _("catch up"),
        max_length=4,
        choices=CatchUp.choices,
        default=CatchUp.LAST,
        help_text=_("Which due times are fired afterwards that passed while nothing could be fired."),
    )
    catch_up_max = models.PositiveIntegerField(
        _("catch up at most"),
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(CATCH_UP_MAX)],
        help_text=_("With “all”: so many, the newest."),
    )
    jitter_s = models.PositiveIntegerField(
        _("jitter (s)"),
        default=0,
        validators=[MaxValueValidator(JITTER_MAX_S)],
        help_text=_("Each fire is up to so much later than due, so that many schedules do not fire at once."),
    )
    overlap = models.CharField(
        _("overlap"),
        max_length=7,
        choices=Overlap.choices,
        default=Overlap.ALLOW,
        help_text=_("When the job of the fire before is still there."),
    )
    source = models.CharField(
        _("declared by"), max_length=6, choices=ScheduleSource.choices, default=ScheduleSource.PEOPLE, editable=False
    )
    app = models.CharField(_("app"), max_length=255, blank=True, default="", editable=False)
    due_at = models.DateTimeField(_("next due"), null=True, editable=False)
    fire_at = models.DateTimeField(_("next fire"), null=True, editable=False)
    fires = models.PositiveBigIntegerField(editable=False, default=0)
    last_fired = models.PositiveBigIntegerField(editable=False, null=True)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    updated = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        ordering = ["namespace", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "name"],
                name="schedule_unique_in_namespace",
                violation_error_message=_("This namespace has a schedule of that name already."),
            )
        ]
        indexes = [models.Index(fields=["pool", "fire_at"], name="schedule_by_fire")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def save(self, **options: Any) -> None:
        """A namespace never moves, so its pool is known from the first save on."""
        if not self.pool_id:
            self.pool_id = self.namespace.pool_id
        super().save(**options)


class ScheduleFire(models.Model):
    """What became of a due time; of several in a row if `count` is more than 1: those from `due_at` to `until`.

    A row that says `pending` was written in the same transaction that took the due time off the schedule. Whoever
    wrote it publishes the job, and if that process died, any pump does: the schedule and the due time are the job's
    idempotency key, so that it is published once. `replaces`: the job that is to be cancelled then.
    """

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="history")
    number = models.PositiveBigIntegerField()
    due_at = models.DateTimeField(_("due"))
    until = models.DateTimeField(null=True)
    count = models.PositiveIntegerField(default=1)
    manual = models.BooleanField(_("run now"), default=False)
    outcome = models.CharField(_("outcome"), max_length=7, choices=FireOutcome.choices)
    decided_at = models.DateTimeField()
    fired_at = models.DateTimeField(_("fired"), null=True)
    key_ttl_s = models.PositiveBigIntegerField(default=3_600)
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, blank=True, default="")
    job_id = models.CharField(_("job"), max_length=26, blank=True, default="")
    replaces_queue = models.CharField(max_length=constants.NAME_MAX_BYTES, blank=True, default="")
    replaces = models.CharField(max_length=26, blank=True, default="")
    error = models.CharField(_("error"), max_length=ERROR_MAX, blank=True, default="")

    class Meta:
        verbose_name = _("fire of a schedule")
        verbose_name_plural = _("fires of schedules")
        ordering = ["schedule", "-number"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["schedule", "number"], name="fire_unique_in_schedule")]
        indexes = [models.Index(fields=["outcome", "decided_at"], name="fire_by_outcome")]

    def __str__(self) -> str:
        return f"{self.schedule_id} #{self.number} {self.outcome}"
