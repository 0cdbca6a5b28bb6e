"""The time that the charts of a page show: `?range=6h`, or `?from=MS&to=MS`, so that a link shows the same again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from queues.engine.constants import ROLLUP_MINUTES, ROLLUP_STEP_MINUTES, TREND_MINUTES
from queues.engine.stats.minutes import MINUTE_MS
from queues.services.queues.minute_history import Span

RANGES: Final[Mapping[str, tuple[int, Promise]]] = {
    "15m": (15, _("15 min")),
    "1h": (60, _("1 h")),
    "6h": (360, _("6 h")),
    "24h": (1_440, _("24 h")),
}
"""Minutes and name of those that are offered."""

USUAL: Final = "1h"

LEAST_MINUTES: Final = 5

_MS_DIGITS: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRange:
    """From `from_ms` to `to_ms`. `key`: of RANGES, whose end is now; "" if its ends were chosen."""

    key: str
    from_ms: int
    to_ms: int

    @property
    def step(self) -> int:
        """Minutes between two points of a chart."""
        return 1 if self.to_ms - self.from_ms <= TREND_MINUTES * MINUTE_MS else ROLLUP_STEP_MINUTES

    @property
    def span(self) -> Span:
        """What of it is stored: at most some 300 stretches."""
        count = -(-(self.to_ms - self.from_ms) // (self.step * MINUTE_MS))
        return Span(count=count, step=self.step, until_ms=None if self.key else self.to_ms)

    @property
    def query(self) -> str:
        """Of the address that shows it."""
        return urlencode({"range": self.key} if self.key else {"from": self.from_ms, "to": self.to_ms})


def read_range(request: HttpRequest, *, now_ms: int) -> ChartRange:
    """What the address says, at most a day that is not ahead. What is not understood is the usual one."""
    from_ms, to_ms = _read_ms(request, "from"), _read_ms(request, "to")
    if from_ms is not None and to_ms is not None:
        to_ms = min(to_ms, now_ms)
        from_ms = min(max(from_ms, to_ms - ROLLUP_MINUTES * MINUTE_MS), to_ms - LEAST_MINUTES * MINUTE_MS)
        return ChartRange(key="", from_ms=from_ms, to_ms=to_ms)
    key = request.GET.get("range", "")
    key = key if key in RANGES else USUAL
    minutes, _name = RANGES[key]
    this_minute = now_ms - now_ms % MINUTE_MS  # or a page that nothing else changes would be sent again and again
    return ChartRange(key=key, from_ms=this_minute - minutes * MINUTE_MS, to_ms=this_minute)


def _read_ms(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MS_DIGITS else None
