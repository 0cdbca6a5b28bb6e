"""One look at everything: which pools are due, what is wrong with them, recorded.

Several processes call this side by side. Of each pool one takes the look that is due, by a compare-and-set on the
pool's row of IncidentLook. What a process that dies in between leaves is one look fewer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Q

from queues.models import IncidentLook, Pool

from ..incidents.alerts.sending import prune_alerts
from ..incidents.recording import NOTHING, Recorded, prune_incidents, record_look, resolve_gone_pools
from ..queues.visible_queues import POOLS_MAX, PoolSurvey, read_pool_surveys
from .detectors import DETECTORS
from .pool_findings import look_at_pool
from .report_findings import look_at_reports

logger = logging.getLogger(__name__)

EVERYTHING: Final = ""
"""Subject of the look at what concerns no single pool."""

EVERYTHING_EVERY: Final = timedelta(minutes=1)

CLOCKS_APART: Final = timedelta(minutes=1)
"""A look that is further ahead was noted by a process whose clock is wrong; others do not wait until then."""


def look_around(*, now: datetime, every: timedelta) -> Recorded:
    """Look at each pool at which nobody has looked for `every`. What that has changed.

    One round trip to each of these pools, all at once. Raises database errors, MetadataUnavailableError.
    """
    pools = list(Pool.objects.order_by("name").values_list("name", flat=True)[:POOLS_MAX])
    due = [pool for pool in pools if _take_look(pool, now=now, every=every)]
    total = NOTHING
    known = dict(IncidentLook.objects.filter(subject__in=due).values_list("subject", "jobs"))
    for pool, survey in sorted(read_pool_surveys(pools=due).items()):
        look = look_at_pool(pool=pool, survey=survey, now=now, known_jobs=known.get(pool, 0))
        total = total.plus(record_look(look, now=now))
        if isinstance(survey, PoolSurvey):
            _note_jobs(pool, survey, known.get(pool, 0))
        for detect in DETECTORS:
            found = detect(pool, now)
            if found is not None:
                total = total.plus(record_look(found, now=now))
    if _take_look(EVERYTHING, now=now, every=max(every, EVERYTHING_EVERY)):
        total = total.plus(_look_at_the_rest(pools, now))
    if total != NOTHING:
        fields = {"opened": total.opened, "reopened": total.reopened, "resolved": total.resolved}
        logger.info("incidents changed", extra={"action": "incidents.look", **fields})
    return total


def _look_at_the_rest(pools: Iterable[str], now: datetime) -> Recorded:
    resolved = resolve_gone_pools(pools=pools, now=now)
    found = record_look(look_at_reports(now=now), now=now)
    prune_incidents(now=now)
    prune_alerts(now=now)
    return found.plus(Recorded(resolved=resolved))


def _take_look(subject: str, *, now: datetime, every: timedelta) -> bool:
    """Whether this process is the one that looks now."""
    rows = IncidentLook.objects.filter(subject=subject)
    is_due = Q(looked_at__lte=now - every) | Q(looked_at__gt=now + CLOCKS_APART)
    if rows.filter(is_due).update(looked_at=now):
        return True
    if rows.exists():
        return False
    try:
        with transaction.atomic():
            IncidentLook.objects.create(subject=subject, looked_at=now)
    except IntegrityError:  # another process has just done so
        return False
    return True


def _note_jobs(pool: str, survey: PoolSurvey, known: int) -> None:
    jobs = sum(totals.jobs for totals in survey.totals.values())
    if survey.is_current and jobs != known:
        IncidentLook.objects.filter(subject=pool).update(jobs=jobs)
