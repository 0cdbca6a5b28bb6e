"""Notes deploys, so that charts can show them beside what they did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from queues.engine import InvalidArgumentError
from queues.models import Deploy, Namespace
from queues.models.deploy import VERSION_MAX
from queues.pools.database import read_metadata

from .errors import NamespaceNotFoundError
from .permissions import User

DEPLOYS_KEPT: Final = 200
"""Of one namespace: the newest."""

SAME_WITHIN: Final = timedelta(minutes=1)
"""A version that is noted again so soon is the same deploy, of which several hosts told, or one that tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployView:
    """A deploy that was noted."""

    version: str
    at_ms: int


def note_deploy(*, pool: str, namespace: str, version: str) -> tuple[DeployView, bool]:
    """Note that `version` went live just now; whether it is new. Forgets all but the newest DEPLOYS_KEPT.

    Raises InvalidArgumentError, NamespaceNotFoundError, MetadataUnavailableError.
    """
    if not version or len(version) > VERSION_MAX or not version.isprintable():
        raise InvalidArgumentError(f"invalid version: 1 to {VERSION_MAX} printable characters")
    row, is_new = read_metadata(lambda: _note(pool, namespace, version))
    return DeployView(version=row.version, at_ms=round(row.at.timestamp() * 1_000)), is_new


def _note(pool: str, namespace: str, version: str) -> tuple[Deploy, bool]:
    with transaction.atomic():
        place = Namespace.objects.select_for_update().filter(pool__name=pool, name=namespace).first()
        if place is None:
            raise NamespaceNotFoundError
        rows = Deploy.objects.filter(namespace=place)
        latest = rows.order_by("-pk").first()
        if latest is not None and latest.version == version and latest.at > timezone.now() - SAME_WITHIN:
            return latest, False
        row = rows.create(namespace=place, version=version)
        kept = rows.order_by("-pk").values_list("pk", flat=True)[:DEPLOYS_KEPT]
        rows.exclude(pk__in=list(kept)).delete()
        return row, True


def deploys_between(*, user: User, since: datetime, until: datetime, most: int) -> list[Deploy]:
    """The newest `most` that `user` may see. Reads the database: for use within `read_metadata`."""
    visible = Namespace.objects.visible_to(user).order_by()
    rows = Deploy.objects.filter(namespace__in=visible.values("pk"), at__gte=since, at__lte=until)
    return list(rows.select_related("namespace__pool").order_by("-at")[:most])
