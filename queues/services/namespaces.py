"""What lists of queues need to know of the database: which namespaces a pool has, and whether the database answers."""

from __future__ import annotations

from django.db import connection

from queues.models import Namespace
from queues.pools.database import read_metadata


def list_namespaces(*, pool: str, limit: int) -> list[str]:
    """Names of a pool's namespaces in order, at most `limit`. Raises MetadataUnavailableError."""
    rows = Namespace.objects.filter(pool__name=pool).order_by("name").values_list("name", flat=True)
    return read_metadata(lambda: list(rows[:limit]))


def check_metadata() -> None:
    """Raise MetadataUnavailableError unless the database answers."""
    read_metadata(_ask)


def _ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
