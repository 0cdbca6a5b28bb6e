"""What a line, bar or band of a chart stands for. `Meaning` decides its name and its colour, the same on every page.

The colours are in static/dashboard/charts.css, a variable `--tq-m-MEANING` and a class `m-MEANING` for each. What
has no meaning of its own, such as one of two days that are compared, takes the next colour of a neutral row there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Meaning(StrEnum):
    """What happens to jobs, the states they are in, and percentiles."""

    PUBLISHED = "published"
    RESPAWNED = "respawned"
    CONSUMED = "consumed"
    REDELIVERED = "redelivered"
    ACKED = "acked"
    FAILED = "failed"
    LEASE_LOST = "lease-lost"
    RELEASED = "released"
    EXPIRED = "expired"
    DELETED = "deleted"
    READY = "ready"
    DELAYED = "delayed"
    RETRY = "retry"
    WORKING = "working"
    DEAD = "dead"
    COMPLETED = "completed"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"


NAMES: Final[Mapping[Meaning, Promise | str]] = {
    Meaning.PUBLISHED: _("published"),
    Meaning.RESPAWNED: _("respawned"),
    Meaning.CONSUMED: _("consumed"),
    Meaning.REDELIVERED: _("again"),
    Meaning.ACKED: _("acked"),
    Meaning.FAILED: _("failed attempts"),
    Meaning.LEASE_LOST: _("lease lost"),
    Meaning.RELEASED: _("released"),
    Meaning.EXPIRED: _("expired"),
    Meaning.DELETED: _("deleted"),
    Meaning.READY: _("ready"),
    Meaning.DELAYED: _("delayed"),
    Meaning.RETRY: _("retry"),
    Meaning.WORKING: _("working"),
    Meaning.DEAD: _("dead"),
    Meaning.COMPLETED: _("completed"),
    Meaning.P50: "p50",
    Meaning.P95: "p95",
    Meaning.P99: "p99",
}

PERCENTILES: Final = (Meaning.P50, Meaning.P95, Meaning.P99)

Series = dict[str, Any]
"""As charts.js takes it."""


def meant_series(meaning: Meaning, values: Sequence[float | None], *, style: str = "") -> Series:
    """What stands for `meaning`. `style`: line, area or bar; by default as the kind of the chart draws it."""
    return named_series(str(NAMES[meaning]), values, style=style, meaning=meaning)


def named_series(
    name: str, values: Sequence[float | None], *, style: str = "", meaning: Meaning | None = None
) -> Series:
    """What has a name of its own, such as a queue. `meaning`: what its values are, if all of the chart's are."""
    series: Series = {"name": name, "values": values}
    if style:
        series["style"] = style
    if meaning is not None:
        series["meaning"] = meaning.value
    return series
