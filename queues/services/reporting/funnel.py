"""What became of a day's jobs, in four steps."""

from __future__ import annotations

from django.utils.translation import gettext

from .shapes import Figures

Part = tuple[str, int]
"""What happened, and to how many jobs."""


def funnel_of(figures: Figures) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    """Title and parts of each step. Jobs cross midnight, and one may be handed out often: steps need not be equal."""
    return (
        (
            gettext("Arrived"),
            ((gettext("published"), figures.published), (gettext("respawned"), figures.respawned)),
        ),
        (
            gettext("Handed out"),
            (
                (gettext("for the first time"), max(figures.consumed - figures.retried, 0)),
                (gettext("again"), figures.retried),
            ),
        ),
        (
            gettext("Attempts ended"),
            (
                (gettext("acked"), figures.acked),
                (gettext("failed"), figures.failed),
                (gettext("lease lost"), figures.lease_lost),
                (gettext("released"), figures.released),
            ),
        ),
        (
            gettext("Jobs ended"),
            (
                (gettext("acked"), figures.acked),
                (gettext("dead"), figures.dead),
                (gettext("expired"), figures.expired),
                (gettext("deleted"), figures.deleted),
            ),
        ),
    )
