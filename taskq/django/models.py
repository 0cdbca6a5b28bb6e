"""The outbox: jobs that are written in a transaction of the project's database, and published after its commit.

Programs in other languages write rows, too: docs/sdk/transactions.md describes the table.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import models
from django.db.models.functions import Now

CHANNEL: Final = "taskq_outbox"
"""Where PostgreSQL tells of new rows (the trigger is in the migration)."""


REASON_MAX_CHARS: Final = 1_000


class RandomUUID(models.Func):
    """A random UUID, made by the database."""

    function = "GEN_RANDOM_UUID"
    arity = 0
    output_field = models.UUIDField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="LOWER(HEX(RANDOMBLOB(16)))", **extra)

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="REPLACE(UUID(), '-', '')", **extra)


class Outbox(models.Model):
    """A job that is not published yet. Relays delete it once it is; a row with `refused_at` stays for a person.

    The columns are the options of a publish; times in seconds.
    """

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(unique=True, db_default=RandomUUID(), help_text="by which a repeated publish is known")
    namespace = models.CharField(max_length=255, blank=True, db_default="", help_text="empty: that of the relay")
    queue = models.CharField(max_length=255)
    body = models.BinaryField()
    delay = models.FloatField(db_default=0.0, help_text="seconds from created_at")
    due_at = models.DateTimeField(null=True, blank=True, help_text="instead of a delay")
    ttl = models.FloatField(null=True, blank=True, help_text="seconds from the publish; 0: for ever; NULL: a day")
    tries = models.IntegerField(db_default=1)
    priority = models.IntegerField(db_default=0)
    backoff = models.CharField(max_length=64, blank=True, db_default="none")
    retention = models.FloatField(db_default=0.0)
    idempotency_key = models.CharField(max_length=255, blank=True, db_default="", help_text="empty: none")
    key_mode = models.CharField(max_length=16, blank=True, db_default="window")
    key_ttl = models.FloatField(null=True, blank=True)
    key_max_wait = models.FloatField(db_default=0.0)
    attributes = models.JSONField(null=True, blank=True)
    limit_key = models.CharField(max_length=64, blank=True, db_default="", help_text="empty: none")
    created_at = models.DateTimeField(db_default=Now())
    refused_at = models.DateTimeField(null=True, blank=True, help_text="NULL: waiting to be published")
    reason = models.CharField(max_length=REASON_MAX_CHARS, blank=True, db_default="", help_text="why it was refused")

    class Meta:
        app_label = "taskq_django"
        db_table = "taskq_outbox"
        verbose_name = "job in the outbox"
        verbose_name_plural = "outbox"
        indexes = (models.Index(fields=["refused_at", "id"], name="taskq_outbox_waiting"),)

    def __str__(self) -> str:
        return f"{self.queue} {self.pk}"
