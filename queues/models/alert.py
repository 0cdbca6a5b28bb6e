"""AlertChannel: whom incidents are told to. AlertDelivery: what is to be told to a channel, and what became of it."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from queues.http_client.urls import URL_MAX_CHARS

from .incident import Incident, IncidentSeverity
from .namespace import Namespace
from .validators import validate_push_url

ADDRESSES_MAX: Final = 20
"""Recipients of one channel."""

CHANNELS_MAX: Final = 20
"""Channels of one namespace, and as many of the whole installation."""

ERROR_MAX: Final = 500


class AlertTransport(models.TextChoices):
    """How a channel is reached."""

    WEBHOOK = "webhook", _("webhook")
    SLACK = "slack", _("Slack-compatible webhook")
    EMAIL = "email", _("e-mail")


class AlertEvent(models.TextChoices):
    """What is told about an incident."""

    OPENED = "opened", _("opened")
    WORSE = "worse", _("worse")
    RESOLVED = "resolved", _("resolved")
    TEST = "test", _("test")


class AlertChannel(models.Model):
    """`namespace` null: all namespaces, and the whole installation. A namespace's channel is also told of the
    incidents of its pool, which concern every namespace there.

    `kinds`: values of IncidentKind; none: all kinds. `secrets`: as of PushEndpoint, what signs webhooks.
    """

    namespace = models.ForeignKey(
        Namespace,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="alert_channels",
        verbose_name=_("namespace"),
        help_text=_("Blank: all namespaces, and incidents of the whole installation."),
    )
    name = models.CharField(_("name"), max_length=100)
    transport = models.CharField(_("transport"), max_length=8, choices=AlertTransport.choices)
    url = models.CharField(_("URL"), max_length=URL_MAX_CHARS, blank=True, validators=[validate_push_url])
    addresses = models.JSONField(_("e-mail addresses"), default=list, blank=True)
    kinds = models.JSONField(_("kinds"), default=list, blank=True)
    min_severity = models.CharField(
        _("minimum severity"),
        max_length=8,
        choices=IncidentSeverity.choices,
        default=IncidentSeverity.WARNING,
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    secrets = models.JSONField(default=list, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    last_sent_at = models.DateTimeField(_("last sent"), null=True, editable=False)
    last_error = models.CharField(_("last error"), max_length=ERROR_MAX, blank=True, default="", editable=False)

    class Meta:
        verbose_name = _("alert channel")
        verbose_name_plural = _("alert channels")
        ordering = ["namespace", "name"]

    def __str__(self) -> str:
        return f"{self.namespace or '*'} {self.name}"


class AlertDelivery(models.Model):
    """One thing to tell one channel. The constraint makes sure that it is told once.

    `occurrence`: how often the incident had been reopened. `due_at`: when it is tried next. A sender puts its own
    `claim` on it first, which expires at `due_at`. It is finished when `sent_at` or `failed_at` is set.
    """

    channel = models.ForeignKey(AlertChannel, on_delete=models.CASCADE, related_name="deliveries")
    incident = models.ForeignKey(Incident, null=True, on_delete=models.CASCADE, related_name="alerts")
    event = models.CharField(max_length=8, choices=AlertEvent.choices)
    severity = models.CharField(max_length=8, choices=IncidentSeverity.choices)
    occurrence = models.PositiveIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    claim = models.CharField(max_length=40, blank=True, default="")
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=ERROR_MAX, blank=True, default="")

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        ordering = ["pk"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "incident", "event", "severity", "occurrence"], name="alert_once_per_channel"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"], name="alert_due", condition=models.Q(sent_at__isnull=True, failed_at__isnull=True)
            ),
            models.Index(fields=["created_at"], name="alert_by_age"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.event} {self.incident_id} to {self.channel_id}"
