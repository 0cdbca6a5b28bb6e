"""Namespace: the unit of isolation. Token: the secret that opens a namespace, and its limit."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from typing import Any, Final, Self

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from queues.engine import constants
from queues.lake.local_days import find_zone

from .pool import Pool
from .validators import validate_name, validate_time_zone

OPERATE: Final = "operate_queues"
ADMINISTER: Final = "administer_queues"

SHOWN_TO_USER: Final = """
SELECT queues_namespace_groups.namespace_id
FROM queues_namespace_groups
JOIN auth_user_groups ON auth_user_groups.group_id = queues_namespace_groups.group_id
WHERE auth_user_groups.user_id = %s
"""
"""The ids of the namespaces of a user's groups. Most pages ask for them, and Django needs 1 ms to build such SQL."""


class NamespaceQuerySet(models.QuerySet["Namespace"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Those that `user` may see: all for a superuser, else those of the user's groups."""
        if not user.is_active:
            return self.none()
        if getattr(user, "is_superuser", False):
            return self
        return self.filter(pk__in=RawSQL(SHOWN_TO_USER, [user.pk]))  # noqa: S611 - the text is constant

    def named(self, pool: str, name: str) -> Self:
        """The one of that pool and name. PostgreSQL cannot even be asked for a name with U+0000."""
        if "\0" in pool or "\0" in name:
            return self.none()
        return self.filter(pool__name=pool, name=name)


class Namespace(models.Model):
    """Lives in one pool for ever; two pools may each have a namespace of the same name.

    `time_zone_changes`: [first day, zone] of each zone that it has had, the earliest first; `save` adds to them.
    """

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="namespaces", verbose_name=_("pool"))
    name = models.CharField(_("name"), max_length=constants.NAME_MAX_BYTES, validators=[validate_name])
    description = models.CharField(_("description"), max_length=255, blank=True)
    groups = models.ManyToManyField(
        Group,
        blank=True,
        related_name="namespaces",
        verbose_name=_("visible to"),
        help_text=_("Members of these groups see this namespace. Superusers see all of them."),
    )
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        validators=[validate_time_zone],
        help_text=_(
            "Of the days in its reports, such as Europe/Berlin. Blank: UTC. A change holds from the next day on."
        ),
    )
    time_zone_changes = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), editable=False)
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

    def save(self, **kwargs: Any) -> None:
        """A change of the time zone holds from tomorrow on, where it is later; that of a new namespace always."""
        before = self.time_zone_changes[-1][1] if self.time_zone_changes else ""
        if self.time_zone != before:
            first = date.min
            if not self._state.adding:
                now = timezone.now()
                zones = [find_zone(zone) if zone else UTC for zone in (before, self.time_zone)]
                first = max(now.astimezone(zone).date() for zone in zones) + timedelta(days=1)
            kept = [change for change in self.time_zone_changes if change[0] < first.isoformat()]
            self.time_zone_changes = [*kept, [first.isoformat(), self.time_zone]]
            if (fields := kwargs.get("update_fields")) is not None:
                kwargs["update_fields"] = {*fields, "time_zone_changes"}
        super().save(**kwargs)

    def time_zone_on(self, day: date) -> str:
        """The time zone of the reports of that day; "" is UTC."""
        zones = [zone for first, zone in self.time_zone_changes if first <= day.isoformat()]
        return zones[-1] if zones else ""


class Token(models.Model):
    """Only the SHA-256 digest of the secret is kept, so a reader of the database cannot use it.

    Neither salt nor server-side pepper nor a slow hash: those slow down guessing, and there is nothing to guess in 256
    random bits, while a slow hash would be paid on every call. A secret given by its owner is as strong as the owner
    made it. `public_id` names the token in lists, logs and limits.
    """

    public_id = models.CharField(_("id"), max_length=32, unique=True, editable=False)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, related_name="tokens", verbose_name=_("namespace")
    )
    digest = models.CharField(max_length=64, editable=False)
    description = models.CharField(_("description"), max_length=255)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("token")
        verbose_name_plural = _("tokens")
        ordering = ["-created", "-pk"]
        constraints = [
            # Per namespace: owners of different namespaces may not learn of each other's secrets by trying them.
            models.UniqueConstraint(fields=["namespace", "digest"], name="token_unique_in_namespace")
        ]

    def __str__(self) -> str:
        return f"{self.public_id} ({self.description})"


class TokenLimit(models.Model):
    """At most `read` consumes and `write` publishes per `interval_s` seconds. 0: no limit for that kind."""

    token = models.OneToOneField(Token, on_delete=models.CASCADE, related_name="limit", verbose_name=_("token"))
    read = models.PositiveIntegerField(_("read"), help_text=_("Consumes per interval. 0: not limited."))
    write = models.PositiveIntegerField(_("write"), help_text=_("Publishes per interval. 0: not limited."))
    interval_s = models.PositiveIntegerField(_("interval (s)"), validators=[MinValueValidator(1)])

    class Meta:
        verbose_name = _("limit")
        verbose_name_plural = _("limits")
        constraints = [
            models.CheckConstraint(condition=models.Q(interval_s__gte=1), name="token_limit_interval_positive"),
            models.CheckConstraint(
                condition=models.Q(read__gte=1) | models.Q(write__gte=1),
                name="token_limit_limits_something",
                violation_error_message=_("Read and write cannot both be 0 (no limit)."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.read} read, {self.write} write per {self.interval_s} s"
