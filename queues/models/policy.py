"""QueuePolicy: defaults and bounds for a queue, or for all queues of a namespace."""

from __future__ import annotations

from typing import Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import constants

from .namespace import Namespace
from .validators import validate_backoff, validate_queue, validate_weights

OBJECTIVE_S: Final = 300
"""How long a ready job may wait if nobody set another objective."""

OBJECTIVE_TARGET: Final = 0.95
"""Which share of deliveries has to come in time if nobody set another one."""
OBJECTIVE_TARGET_MIN: Final = 0.5
OBJECTIVE_TARGET_MAX: Final = 0.9999

WHOLE_NAMESPACE: Final = ""
"""`queue` of the policy that all queues of the namespace inherit from."""


class QueuePolicy(models.Model):
    """What a publish or consume that does not say otherwise gets. Null: inherit from the namespace, then from taskq."""

    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, related_name="policies", verbose_name=_("namespace")
    )
    queue = models.CharField(
        _("queue"),
        max_length=constants.NAME_MAX_BYTES,
        blank=True,
        default=WHOLE_NAMESPACE,
        validators=[validate_queue],
        help_text=_("Blank: all queues of the namespace."),
    )
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
    ttr_s = models.PositiveBigIntegerField(
        _("time to run (s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.SECONDS_MAX)],
        help_text=_("How long a consumer may hold a job."),
    )
    backoff = models.CharField(
        _("backoff"),
        max_length=64,
        blank=True,
        default="",
        validators=[validate_backoff],
        help_text=_("How long a failed job waits: none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq."),
    )
    max_in_flight = models.PositiveIntegerField(
        _("in flight at most"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Jobs of one queue that may be worked on at the same time."),
    )
    dead_max_age_s = models.PositiveBigIntegerField(
        _("dead letters: oldest (s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.SECONDS_MAX)],
        help_text=_("Dead jobs older than this are dropped, and counted."),
    )
    dead_max_count = models.PositiveIntegerField(
        _("dead letters: at most"),
        null=True,
        blank=True,
        help_text=_("Dead jobs beyond this number are dropped, oldest first, and counted."),
    )
    rate = models.FloatField(
        _("rate (1/s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(constants.LIMIT_RATE_MIN), MaxValueValidator(constants.LIMIT_RATE_MAX)],
        help_text=_("Jobs of the queue that are delivered per second at most."),
    )
    burst = models.PositiveIntegerField(
        _("burst"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.LIMIT_BURST_MAX)],
        help_text=_("How many jobs the rate lets through at once after a pause."),
    )
    key_in_flight = models.PositiveIntegerField(
        _("per limit key: in flight at most"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Jobs with the same limit key that may be worked on at the same time."),
    )
    key_rate = models.FloatField(
        _("per limit key: rate (1/s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(constants.LIMIT_RATE_MIN), MaxValueValidator(constants.LIMIT_RATE_MAX)],
        help_text=_("Jobs with the same limit key that are delivered per second at most."),
    )
    key_burst = models.PositiveIntegerField(
        _("per limit key: burst"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.LIMIT_BURST_MAX)],
        help_text=_("How many jobs of a key its rate lets through at once after a pause."),
    )
    key_weight = models.PositiveIntegerField(
        _("per limit key: weight"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.LIMIT_WEIGHT_MAX)],
        help_text=_("Share of the queue that a key has if no other weight is given for it."),
    )
    key_weights = models.TextField(
        _("weights of limit keys"),
        blank=True,
        default="",
        max_length=8_192,
        validators=[validate_weights],
        help_text=_("A line for each key: KEY=WEIGHT. A key of weight 3 gets three jobs for one of weight 1."),
    )
    group_max_size = models.PositiveIntegerField(
        _("per group: members at most"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.GROUP_MAX_SIZE)],
        help_text=_("A group with so many members is flushed: they become one job."),
    )
    group_max_delay_s = models.PositiveBigIntegerField(
        _("per group: longest delay (s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.SECONDS_MAX)],
        help_text=_("A group is flushed so long after its oldest member came, however few they are."),
    )
    group_grace_period_s = models.PositiveBigIntegerField(
        _("per group: grace period (s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(constants.SECONDS_MAX)],
        help_text=_("A group is flushed when nobody has joined it for so long."),
    )
    objective_s = models.PositiveIntegerField(
        _("objective (s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("How long a ready job may wait before the queue is shown as needing attention."),
    )
    objective_target = models.FloatField(
        _("objective: share in time"),
        null=True,
        blank=True,
        validators=[MinValueValidator(OBJECTIVE_TARGET_MIN), MaxValueValidator(OBJECTIVE_TARGET_MAX)],
        help_text=_("Which share of deliveries has to come within the objective, such as 0.99. Blank: 0.95."),
    )

    class Meta:
        verbose_name = _("queue policy")
        verbose_name_plural = _("queue policies")
        ordering = ["namespace", "queue"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "queue"],
                name="policy_unique_per_queue",
                violation_error_message=_("This queue has a policy already."),
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.queue or '*'}"
