"""Pool: a Redis deployment that holds jobs."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from queues.engine import constants, redact_url, same_place

from .validators import validate_name, validate_pool_url

DEFAULT_POOL: Final = "default"
"""The pool that tokens without a prefix open."""


class Pool(models.Model):
    """`url` may hold a password: show `shown_url` instead. Blank, for `default` only: the server in REDIS_URL."""

    name = models.CharField(_("name"), max_length=constants.NAME_MAX_BYTES, unique=True, validators=[validate_name])
    url = models.CharField(_("URL"), max_length=2_000, blank=True, validators=[validate_pool_url])
    partitions = models.PositiveSmallIntegerField(
        _("partitions"),
        default=constants.PARTITIONS_DEFAULT,
        validators=[MinValueValidator(1), MaxValueValidator(constants.PARTITIONS_MAX)],
        help_text=_("Over how many Redis Cluster slots the queues are spread. Cannot be changed later."),
    )
    min_replicas = models.PositiveSmallIntegerField(
        _("minimum replicas"),
        default=0,
        validators=[MaxValueValidator(constants.MIN_REPLICAS_MAX)],
        help_text=_(
            "A publish succeeds once this many replicas have the job; otherwise it is answered 503. "
            "Set it to the number of replicas, and a failover loses no published job. "
            "0: publishes do not wait, and a failover may lose the newest jobs."
        ),
    )
    events_memory_mb = models.PositiveIntegerField(
        _("memory for events (MiB)"),
        null=True,
        blank=True,
        validators=[
            MinValueValidator(constants.EVENTS_MEMORY_MIN_MB),
            MaxValueValidator(constants.EVENTS_MEMORY_MAX_MB),
        ],
        help_text=_(
            "How much of its Redis the events may take until a pump has written them to the lake. "
            "What does not fit is dropped, the oldest first, and missing from the reports. "
            "Blank: a quarter of the server's maxmemory, or 256 MiB where it has none."
        ),
    )
    description = models.CharField(_("description"), max_length=255, blank=True)
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("pool")
        verbose_name_plural = _("pools")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(partitions__gte=1, partitions__lte=constants.PARTITIONS_MAX),
                name="pool_partitions_in_range",
            ),
            models.CheckConstraint(
                condition=models.Q(min_replicas__lte=constants.MIN_REPLICAS_MAX), name="pool_min_replicas_in_range"
            ),
            models.CheckConstraint(
                condition=models.Q(name=DEFAULT_POOL) | ~models.Q(url=""), name="pool_url_blank_only_for_default"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def effective_url(self) -> str:
        """Where its Redis is. Secret."""
        return self.url or str(settings.REDIS_URL)

    @property
    def shown_url(self) -> str:
        """The same with its password masked."""
        return redact_url(self.effective_url)

    def clean(self) -> None:
        """Raise ValidationError for what no single field can tell."""
        if not self.url and self.name != DEFAULT_POOL:
            raise ValidationError({"url": _("Only the pool “default” may leave it blank (the server in REDIS_URL).")})
        self._refuse_shared_place()
        if self.pk is not None:
            self._refuse_changed("name", _("Tokens begin with the pool's name: it cannot be changed."))
            self._refuse_changed("partitions", _("The keys of existing jobs depend on it: it cannot be changed."))

    def _refuse_shared_place(self) -> None:
        """Two pools on one database would share their namespaces: a token of one would open the other's."""
        for other in Pool.objects.exclude(pk=self.pk):
            if same_place(other.effective_url, self.effective_url):
                message = _("The pool “%(other)s” is on that Redis: give this one another server or database number.")
                raise ValidationError({"url": message % {"other": other.name}})

    def _refuse_changed(self, field: str, message: Any) -> None:
        stored = Pool.objects.filter(pk=self.pk).values_list(field, flat=True).first()
        if stored is not None and stored != getattr(self, field):
            raise ValidationError({field: message})


def ensure_default_pool(**_signal: Any) -> None:
    """Make the row of the pool `default` if there is none. Runs after each migrate, so it comes back when deleted."""
    Pool.objects.get_or_create(
        name=DEFAULT_POOL, defaults={"description": str(_("The server in REDIS_URL, unless a URL is given"))}
    )
