"""Deletions that people asked for and can still undo: what is to be deleted, when, and how far it has come."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone

NAME_MAX: Final = 255
ERROR_MAX: Final = 100


class DeletionKind(models.TextChoices):
    """What is deleted: selected jobs, all of a state that match, a whole queue, or dead letters of several queues."""

    JOBS = "jobs"
    MATCHES = "matches"
    QUEUE = "queue"
    DEAD_LETTERS = "dead_letters"
    DEAD_MATCHES = "dead_matches"


class DeletionPhase(models.TextChoices):
    """A waiting deletion can be undone; a failed one has an error."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"
    FAILED = "failed"


class PendingDeletion(models.Model):
    """A deletion that is carried out once it is due. `count`: jobs when it was asked for.

    `request`: ids, filter and time of the request. `progress`: where the next batch begins. `claimed_at`: when a
    process last worked on it. `namespace` and `queue` are blank for dead letters of several queues.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12, choices=DeletionKind)
    phase = models.CharField(max_length=8, choices=DeletionPhase, default=DeletionPhase.WAITING)
    pool = models.CharField(max_length=NAME_MAX, blank=True)
    namespace = models.CharField(max_length=NAME_MAX, blank=True)
    queue = models.CharField(max_length=NAME_MAX, blank=True)
    job_state = models.CharField(max_length=9, blank=True)
    count = models.PositiveBigIntegerField()
    done = models.PositiveBigIntegerField(default=0)
    request = models.JSONField(default=dict)
    progress = models.JSONField(default=dict)
    due_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=ERROR_MAX, blank=True)

    class Meta:
        indexes = (
            models.Index(fields=["phase", "due_at"], name="deletion_due"),
            models.Index(fields=["pool", "namespace", "queue"], name="deletion_queue"),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.pool}/{self.namespace}/{self.queue}"

    @property
    def can_be_undone(self) -> bool:
        return self.phase == DeletionPhase.WAITING

    @property
    def is_filtered(self) -> bool:
        """Whether only what matches a search is deleted."""
        return bool(self.request.get("filter"))

    @property
    def left_ms(self) -> int:
        """Until it is due."""
        return max(0, round((self.due_at - timezone.now()).total_seconds() * 1000))

    @property
    def is_late(self) -> bool:
        """Whether it should have begun a while ago: no pump runs."""
        return self.can_be_undone and (timezone.now() - self.due_at).total_seconds() > LATE_S


LATE_S: Final = 5
