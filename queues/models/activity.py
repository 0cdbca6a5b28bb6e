"""Activity: who did what, kept for those who ask later."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from queues.engine import constants

from .namespace import Namespace

DETAIL_MAX: Final = 500
"""Characters of what an act was about."""


class ActivityAction(models.TextChoices):
    """What people do. The values are stored, and are what filters in URLs say."""

    PAUSED = "paused", _("paused")
    RESUMED = "resumed", _("resumed")
    EMPTIED = "emptied", _("emptied")
    DESTROYED = "destroyed", _("destroyed")
    FLUSHED = "flushed", _("group flushed")
    PUBLISHED = "published", _("published")
    ACKED = "acked", _("acked")
    RETRIED = "retried", _("retried now")
    RELEASED = "released", _("released")
    RESCHEDULED = "rescheduled", _("rescheduled")
    DELETED = "deleted", _("deleted")
    RESPAWNED = "respawned", _("respawned")
    RESPAWN_STARTED = "respawn_started", _("respawn at a rate started")
    RESPAWN_STOPPED = "respawn_stopped", _("respawn at a rate stopped")
    ERRORS_ASSIGNED = "errors_assigned", _("errors assigned")
    ERRORS_MUTED = "errors_muted", _("errors muted")
    ERRORS_UNMUTED = "errors_unmuted", _("errors no longer muted")
    CANCELLED = "cancelled", _("cancelled")
    WORKER_QUIETED = "worker_quieted", _("worker quieted")
    WORKER_RESUMED = "worker_resumed", _("worker resumed")
    WORKER_STOPPED = "worker_stopped", _("worker stopped")
    POLICY_CHANGED = "policy_changed", _("policy changed")
    POLICY_DELETED = "policy_deleted", _("policy deleted")
    PUSH_CREATED = "push_created", _("push endpoint created")
    PUSH_CHANGED = "push_changed", _("push endpoint changed")
    PUSH_DELETED = "push_deleted", _("push endpoint deleted")
    PUSH_PAUSED = "push_paused", _("push paused")
    PUSH_RESUMED = "push_resumed", _("push resumed")
    PUSH_TESTED = "push_tested", _("push tested")
    PUSH_SECRET_ROTATED = "push_secret_rotated", _("push secret rotated")
    INCIDENT_ACKNOWLEDGED = "incident_acknowledged", _("incident acknowledged")
    INCIDENT_UNACKNOWLEDGED = "incident_unacknowledged", _("incident no longer acknowledged")
    INCIDENT_NOTED = "incident_noted", _("note on an incident")
    CHANNEL_CREATED = "channel_created", _("alert channel created")
    CHANNEL_CHANGED = "channel_changed", _("alert channel changed")
    CHANNEL_DELETED = "channel_deleted", _("alert channel deleted")
    CHANNEL_TESTED = "channel_tested", _("alert channel tested")
    SCHEDULE_CREATED = "schedule_created", _("schedule created")
    SCHEDULE_CHANGED = "schedule_changed", _("schedule changed")
    SCHEDULE_DELETED = "schedule_deleted", _("schedule deleted")
    SCHEDULE_PAUSED = "schedule_paused", _("schedule paused")
    SCHEDULE_RESUMED = "schedule_resumed", _("schedule resumed")
    SCHEDULE_RUN = "schedule_run", _("schedule run now")
    WORKFLOW_CANCELLED = "workflow_cancelled", _("workflow cancelled")
    WORKFLOW_RETRIED = "workflow_retried", _("workflow retried")
    TOKEN_CREATED = "token_created", _("token created")
    TOKEN_CHANGED = "token_changed", _("token changed")
    TOKEN_REVOKED = "token_revoked", _("token revoked")
    TOKEN_DELETED = "token_deleted", _("token deleted")
    LIMIT_CHANGED = "limit_changed", _("limit changed")
    LIMIT_DELETED = "limit_deleted", _("limit deleted")
    NAMESPACE_CREATED = "namespace_created", _("namespace created")
    NAMESPACE_CHANGED = "namespace_changed", _("namespace changed")
    NAMESPACE_DELETED = "namespace_deleted", _("namespace deleted")
    POOL_CREATED = "pool_created", _("pool created")
    POOL_CHANGED = "pool_changed", _("pool changed")
    POOL_DELETED = "pool_deleted", _("pool deleted")
    LAKE_DAY_DELETED = "lake_day_deleted", _("day deleted from the event lake")
    PERSON_CREATED = "person_created", _("account created")
    PERSON_CHANGED = "person_changed", _("account changed")
    PERSON_DELETED = "person_deleted", _("account deleted")
    GROUP_CREATED = "group_created", _("group created")
    GROUP_CHANGED = "group_changed", _("group changed")
    GROUP_DELETED = "group_deleted", _("group deleted")
    ACCESS_LOG_SWITCHED = "access_log_switched", _("access log switched")
    SIGNED_IN = "signed_in", _("signed in")


class Activity(models.Model):
    """One act. Names are kept as text, so that they can be read when what they named is gone.

    `scope` is the namespace as a row, and decides who may see the act. It becomes null when that row is deleted:
    the owner of a new namespace of the same name does not inherit the old one's past.
    """

    at = models.DateTimeField(_("when"), default=timezone.now)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("account")
    )
    who = models.CharField(_("who"), max_length=150, blank=True)
    action = models.CharField(_("action"), max_length=32)
    scope = models.ForeignKey(
        Namespace, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("scope"), db_index=False
    )
    pool = models.CharField(_("pool"), max_length=constants.NAME_MAX_BYTES, blank=True)
    namespace = models.CharField(_("namespace"), max_length=constants.NAME_MAX_BYTES, blank=True)
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, blank=True)
    target = models.CharField(_("target"), max_length=255, blank=True)
    count = models.PositiveBigIntegerField(_("count"), null=True)
    detail = models.CharField(_("detail"), max_length=DETAIL_MAX, blank=True)
    run = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        verbose_name = _("activity")
        verbose_name_plural = _("activity")
        ordering = ["-pk"]
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["scope", "-id"], name="activity_by_scope"),
            models.Index(fields=["who", "-id"], name="activity_by_person"),
            models.Index(fields=["at"], name="activity_by_time"),
            models.Index(fields=["target", "-id"], name="activity_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.who} {self.action} {self.target or self.queue or self.namespace}"
