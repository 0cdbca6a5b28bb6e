"""Incident: something that needs a person, with a start, a peak, a size and an end. IncidentChange: its history."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from queues.engine import constants

from .namespace import Namespace

NOTE_MAX: Final = 2_000
"""Characters of a note."""


class IncidentKind(models.TextChoices):
    """What is wrong. The values are stored, and are what filters, alerts and metrics say."""

    NO_CONSUMER = "no_consumer", _("No consumer")
    TOO_SLOW = "too_slow", _("Too slow")
    JOBS_DYING = "jobs_dying", _("Dead letters")
    LEASES_EXPIRING = "leases_expiring", _("Leases expire")
    PAUSED = "paused", _("Paused with ready jobs")
    REDIS_AWAY = "redis_away", _("Redis does not answer")
    REDIS_UNUSABLE = "redis_unusable", _("Redis cannot be used")
    REDIS_FULL = "redis_full", _("Redis is almost full")
    PUMP_AWAY = "pump_away", _("No pump")
    PUMP_LATE = "pump_late", _("Pump is behind")
    EVENTS_DROPPED = "events_dropped", _("Events dropped")
    REPORT_FAILED = "report_failed", _("Report failed")
    OBJECTIVE_BURN = "objective_burn", _("Objective at risk")


class IncidentSeverity(models.TextChoices):
    """How soon somebody should look; `queues.services.incidents.severity` says when it is which."""

    CRITICAL = "critical", _("Critical")
    WARNING = "warning", _("Warning")
    INFO = "info", _("Info")


class IncidentChangeKind(models.TextChoices):
    """What happened to an incident."""

    OPENED = "opened", _("opened")
    SEVERITY = "severity", _("severity changed")
    ACKNOWLEDGED = "acknowledged", _("acknowledged")
    UNACKNOWLEDGED = "unacknowledged", _("acknowledgement taken back")
    NOTED = "noted", _("note added")
    RESOLVED = "resolved", _("resolved")
    REOPENED = "reopened", _("reopened")


class Incident(models.Model):
    """Open while `resolved_at` is null. Of one subject (kind, pool, namespace, queue) at most one is open: the
    constraint says so, so that two pumps that find the same thing make one incident of it.

    Names are kept as text. `scope` is the namespace as a row, and decides who may see the incident, as in Activity;
    an incident of a whole pool has no namespace, one of the whole installation has no pool either.

    `since`: when its cause began, which may be before it was noticed (`opened_at`); of a reopened one, when it began
    again. `size`: jobs that it concerns.
    `missed`: looks in a row that did not find the cause any more. `sizes`: points of the chart, [epoch s, size].
    """

    kind = models.CharField(_("kind"), max_length=32, choices=IncidentKind.choices)
    pool = models.CharField(_("pool"), max_length=constants.NAME_MAX_BYTES, blank=True)
    namespace = models.CharField(_("namespace"), max_length=constants.NAME_MAX_BYTES, blank=True)
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, blank=True)
    scope = models.ForeignKey(Namespace, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    severity = models.CharField(_("severity"), max_length=8, choices=IncidentSeverity.choices)
    worst = models.CharField(_("worst severity"), max_length=8, choices=IncidentSeverity.choices)
    since = models.DateTimeField(_("since"))
    opened_at = models.DateTimeField(_("opened"), default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    resolved_at = models.DateTimeField(_("resolved"), null=True)
    acknowledged_at = models.DateTimeField(_("acknowledged"), null=True)
    acknowledged_by = models.CharField(_("acknowledged by"), max_length=150, blank=True)
    size = models.PositiveBigIntegerField(_("jobs"), default=0)
    share = models.FloatField(_("share failing"), default=1.0)
    peak_size = models.PositiveBigIntegerField(_("jobs at the peak"), default=0)
    peak_at = models.DateTimeField(_("peak"), default=timezone.now)
    facts = models.JSONField(default=dict)
    sizes = models.JSONField(default=list)
    missed = models.PositiveSmallIntegerField(default=0)
    reopened = models.PositiveIntegerField(_("times reopened"), default=0)

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        ordering = ["-pk"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "pool", "namespace", "queue"],
                condition=models.Q(resolved_at__isnull=True),
                name="incident_one_open_per_subject",
            )
        ]
        indexes = [
            models.Index(fields=["pool", "resolved_at"], name="incident_by_pool"),
            models.Index(fields=["scope", "-id"], name="incident_by_scope"),
            models.Index(fields=["resolved_at"], name="incident_by_end"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.kind} {self.pool}:{self.namespace}/{self.queue}"

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """What it is about: kind, pool, namespace, queue."""
        return (self.kind, self.pool, self.namespace, self.queue)


class IncidentChange(models.Model):
    """A line of an incident's timeline. `who`: empty where no person did it."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField(_("when"), default=timezone.now)
    change = models.CharField(_("change"), max_length=16, choices=IncidentChangeKind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    who = models.CharField(_("who"), max_length=150, blank=True)
    note = models.CharField(_("note"), max_length=NOTE_MAX, blank=True)
    severity = models.CharField(_("severity"), max_length=8, choices=IncidentSeverity.choices)
    size = models.PositiveBigIntegerField(_("jobs"), default=0)

    class Meta:
        verbose_name = _("change of an incident")
        verbose_name_plural = _("changes of incidents")
        ordering = ["pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.incident_id} {self.change}"


class IncidentLook(models.Model):
    """When the watch last looked at a pool, so that of several processes one looks at a time.

    `subject`: a pool's name; empty for what concerns the whole installation. `jobs`: in the pool when it last answered.
    """

    subject = models.CharField(max_length=constants.NAME_MAX_BYTES, blank=True, unique=True)
    looked_at = models.DateTimeField()
    jobs = models.PositiveBigIntegerField(default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.subject or "*"
