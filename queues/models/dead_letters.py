"""ErrorTriage: what people decided about dead letters with alike errors. RespawnPlan: a respawn at a rate."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.lake.error_patterns import PATTERN_MAX

from .incident import NOTE_MAX
from .namespace import Namespace

FILTER_TEXT_MAX: Final = 1_024


class ErrorTriage(models.Model):
    """Dead letters of one namespace whose errors have one pattern: to whom they are assigned, and whether they are
    muted, that is, left out of incidents.

    Muted until `muted_until`, or until there are `mute_below` of them; both null: not muted. `counts`: by queue, how
    many of its dead letters are in the group and how many of these died lately, as of `counted_at`.
    """

    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="error_triage")
    pattern = models.CharField(_("error"), max_length=PATTERN_MAX)
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    assigned_to = models.CharField(_("assigned to"), max_length=150, blank=True)
    assigned_by = models.CharField(_("assigned by"), max_length=150, blank=True)
    assigned_at = models.DateTimeField(_("assigned"), null=True)
    note = models.CharField(_("note"), max_length=NOTE_MAX, blank=True)
    muted_at = models.DateTimeField(_("muted"), null=True)
    muted_by = models.CharField(_("muted by"), max_length=150, blank=True)
    muted_until = models.DateTimeField(_("muted until"), null=True)
    mute_below = models.PositiveBigIntegerField(_("muted below"), null=True)
    counts = models.JSONField(default=dict)
    counted_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("triage of errors")
        verbose_name_plural = _("triage of errors")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["namespace", "pattern"], name="error_triage_once_per_namespace")]

    def __str__(self) -> str:
        return self.pattern


class RespawnState(models.TextChoices):
    """How far a respawn at a rate is. `failed`: it cannot go on, `reason` says why."""

    RUNNING = "running", _("running")
    DONE = "done", _("done")
    STOPPED = "stopped", _("stopped")
    FAILED = "failed", _("failed")


class RespawnPlan(models.Model):
    """Dead letters that a filter means, made ready at a rate, by any pump.

    `like`, `error`, `day`, `pool`, `namespace` and `queue` are the filter; what died from `before_ms` on is not meant.
    `position`: up to where the dead letters have been looked at; `done`: how many were respawned; `left`: to be looked
    at. `stepped_at`: up to when the rate has been used up. A pump that takes a step holds the plan until `held_until`,
    so that another pump carries on if it dies.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    who = models.CharField(_("who"), max_length=150)
    pool = models.CharField(_("pool"), max_length=constants.NAME_MAX_BYTES, blank=True)
    namespace = models.CharField(_("namespace"), max_length=constants.NAME_MAX_BYTES, blank=True)
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, blank=True)
    error = models.CharField(max_length=FILTER_TEXT_MAX, blank=True)
    like = models.CharField(max_length=FILTER_TEXT_MAX, blank=True)
    day = models.DateField(null=True)
    before_ms = models.BigIntegerField()
    per_minute = models.PositiveIntegerField(_("jobs per minute"))
    state = models.CharField(
        _("state"), max_length=8, choices=RespawnState.choices, default=RespawnState.RUNNING, db_index=True
    )
    reason = models.CharField(max_length=200, blank=True)
    position = models.TextField(blank=True)
    done = models.PositiveBigIntegerField(_("respawned"), default=0)
    looked_at = models.PositiveBigIntegerField(default=0)
    left = models.PositiveBigIntegerField(_("left"), default=0)
    created_at = models.DateTimeField(_("started"), default=timezone.now)
    stepped_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(_("ended"), null=True)
    stopped_by = models.CharField(max_length=150, blank=True)
    held_until = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("respawn at a rate")
        verbose_name_plural = _("respawns at a rate")
        ordering = ["-pk"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"#{self.pk} {self.state}"
