"""Namespace: the unit of isolation."""

from __future__ import annotations

from typing import Final, Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import limits

from .pool import Pool
from .validators import validate_name

OPERATE: Final = "operate_queues"
ADMINISTER: Final = "administer_queues"


class NamespaceQuerySet(models.QuerySet["Namespace"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Those that `user` may see: all for a superuser, else those of the user's groups."""
        if not user.is_active:
            return self.none()
        if getattr(user, "is_superuser", False):
            return self
        return self.filter(models.Exists(Group.objects.filter(namespaces=models.OuterRef("pk"), user=user.pk)))


class Namespace(models.Model):
    """Lives in one pool for ever; two pools may each have a namespace of the same name."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="namespaces", verbose_name=_("pool"))
    name = models.CharField(_("name"), max_length=limits.NAME_MAX_BYTES, validators=[validate_name])
    description = models.CharField(_("description"), max_length=255, blank=True)
    groups = models.ManyToManyField(
        Group,
        blank=True,
        related_name="namespaces",
        verbose_name=_("visible to"),
        help_text=_("Members of these groups see this namespace. Superusers see all of them."),
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    objects = NamespaceQuerySet.as_manager()

    class Meta:
        verbose_name = _("namespace")
        verbose_name_plural = _("namespaces")
        ordering = ["pool__name", "name"]
        # To look at what is in a visible namespace takes no permission. Who has which: queues.services.permissions.
        permissions = [
            (OPERATE, _("Can operate queues: pause, publish, respawn, retry, delete jobs")),
            (ADMINISTER, _("Can administer queues: empty them, edit their policies")),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "name"],
                name="namespace_unique_in_pool",
                violation_error_message=_("This pool has a namespace of that name already."),
            )
        ]

    def __str__(self) -> str:
        return f"{self.pool.name}:{self.name}"
