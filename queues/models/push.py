"""PushEndpoint: a URL that the jobs of a queue are delivered to."""

from __future__ import annotations

from typing import Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.http_client.urls import URL_MAX_CHARS

from .namespace import Namespace
from .validators import validate_push_headers, validate_push_url, validate_queue

TIMEOUT_DEFAULT_S: Final = 15
TIMEOUT_MAX_S: Final = 300
CONCURRENCY_DEFAULT: Final = 10
CONCURRENCY_MAX: Final = 1_000
RATE_MIN_PER_S: Final = 0.01
RATE_MAX_PER_S: Final = 10_000.0
REASON_MAX_CHARS: Final = 500


class PushEndpoint(models.Model):
    """`runpusher` consumes the queue and posts its jobs to `url`, unless `paused_at` is set or it is not enabled.

    `secrets` holds what signs the requests, sealed (`queues.services.push.secrets`), the newest first:
    `{"sealed": text, "created_ms": time, "expires_ms": time or null}`. `test_wanted_at`: somebody asked for a test
    request, which the first pusher that takes this mark away sends.
    """

    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, related_name="push_endpoints", verbose_name=_("namespace")
    )
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES, validators=[validate_queue])
    url = models.CharField(
        _("URL"),
        max_length=URL_MAX_CHARS,
        validators=[validate_push_url],
        help_text=_("Where jobs are posted to: https://… or http://…, without credentials."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    timeout_s = models.PositiveIntegerField(
        _("timeout (s)"),
        default=TIMEOUT_DEFAULT_S,
        validators=[MinValueValidator(1), MaxValueValidator(TIMEOUT_MAX_S)],
        help_text=_("How long the receiver may take to answer."),
    )
    concurrency = models.PositiveIntegerField(
        _("concurrency"),
        default=CONCURRENCY_DEFAULT,
        validators=[MinValueValidator(1), MaxValueValidator(CONCURRENCY_MAX)],
        help_text=_("Requests at the same time, of all pushers together."),
    )
    rate_per_s = models.FloatField(
        _("rate (per s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(RATE_MIN_PER_S), MaxValueValidator(RATE_MAX_PER_S)],
        help_text=_("Requests per second at the most, of all pushers together. Blank: not limited."),
    )
    headers = models.JSONField(
        _("headers"),
        default=dict,
        blank=True,
        validators=[validate_push_headers],
        help_text=_('Sent with each request, such as {"Content-Type": "application/json"}.'),
    )
    secrets = models.JSONField(default=list, editable=False)
    paused_at = models.DateTimeField(_("paused since"), null=True, blank=True, editable=False)
    paused_reason = models.CharField(
        _("why paused"), max_length=REASON_MAX_CHARS, blank=True, default="", editable=False
    )
    test_wanted_at = models.DateTimeField(null=True, blank=True, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("push endpoint")
        verbose_name_plural = _("push endpoints")
        ordering = ["namespace", "queue"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "queue"],
                name="push_unique_per_queue",
                violation_error_message=_("This queue has a push endpoint already."),
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.queue}"
