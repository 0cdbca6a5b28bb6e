"""The latest report, for a page that many look at every few seconds: asked for once in a while."""

from __future__ import annotations

from typing import Final

from ..permissions import User, sees_everything
from ..recent import Recent
from .days import latest_report
from .shapes import LatestReport

FOR_S: Final = 5.0

_latest: Recent[bool, LatestReport] = Recent(FOR_S)


def read_latest_report(*, user: User) -> LatestReport:
    """As `latest_report`, up to FOR_S old; the same for all superusers, and the same for all others.

    Raises MetadataUnavailableError.
    """
    return _latest.get(sees_everything(user), lambda: latest_report(user=user))
