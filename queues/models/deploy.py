"""Deploy: that a new version of the code which publishes or runs jobs went live, as charts show it."""

from __future__ import annotations

from typing import Final

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .namespace import Namespace

VERSION_MAX: Final = 100
"""Characters."""


class Deploy(models.Model):
    """One deploy; of each namespace the newest few hundred are kept."""

    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="+", verbose_name=_("namespace"))
    version = models.CharField(_("version"), max_length=VERSION_MAX)
    at = models.DateTimeField(_("when"), default=timezone.now)

    class Meta:
        verbose_name = _("deploy")
        verbose_name_plural = _("deploys")
        ordering = ["-pk"]
        default_permissions = ()
        indexes = [models.Index(fields=["namespace", "-at"], name="deploy_by_namespace")]

    def __str__(self) -> str:
        return f"{self.namespace}: {self.version}"
