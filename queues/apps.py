"""The Django app that holds the metadata."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class QueuesConfig(AppConfig):
    name = "queues"
    verbose_name = _("Queues")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from queues.pools.cache_invalidation import tell_changes

        from . import checks  # noqa: F401  # registers them
        from .models.pool import ensure_default_pool
        from .services.sign_ins import note_sign_ins

        tell_changes()
        note_sign_ins()
        post_migrate.connect(ensure_default_pool, sender=self, dispatch_uid="queues.ensure_default_pool")
