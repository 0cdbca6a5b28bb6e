"""ObjectiveWindow: how many deliveries of a queue came in time in the last three days."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import constants

from .namespace import Namespace


class ObjectiveWindow(models.Model):
    """A row for each queue with an objective. `counts`: as `queues.services.objectives.burn_rates` keeps them, at most
    some 160 stretches. `recorded_until`: the end of the latest five minutes that were counted."""

    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="+", verbose_name=_("namespace"))
    queue = models.CharField(_("queue"), max_length=constants.NAME_MAX_BYTES)
    counts = models.JSONField(default=dict)
    recorded_until = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("burn rate")
        verbose_name_plural = _("burn rates")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["namespace", "queue"], name="objective_window_unique")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.queue}"
