"""How fast a queue's error budget burns, from counts of five minutes: windows, pairs of windows, alerts.

burn rate = share of late deliveries / (1 - target). At rate 1 the budget lasts exactly as long as it is meant to; at
14.4 a budget of 30 days is gone in two. An alert needs the rate in a long window, which tells that it matters, and in a
short one, which tells that it goes on. Pairs and rates are those of the SRE workbook, chapter 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

CELL_S: Final = 300
HOUR_S: Final = 3_600
FINE_S: Final = 7 * HOUR_S
"""So long counts of five minutes are kept; a window of six hours lies within."""
KEPT_S: Final = 73 * HOUR_S
"""So long counts of hours are kept; a window of three days lies within."""

LEAST_LATE: Final = 5
"""With fewer late deliveries in the long window there is no alert: one late job of two is no trend."""


class Severity(StrEnum):
    """How urgent it is: PAGE wakes the person on call, TICKET can wait for working hours."""

    PAGE = "page"
    TICKET = "ticket"


WINDOWS: Final[Mapping[str, int]] = {"5m": 300, "30m": 1_800, "1h": 3_600, "6h": 21_600, "3d": 259_200}
"""Seconds of each window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An alert: both windows burn at `rate` or faster."""

    short: str
    long: str
    rate: float
    severity: Severity


PAIRS: Final = (
    Pair(short="5m", long="1h", rate=14.4, severity=Severity.PAGE),
    Pair(short="30m", long="6h", rate=6.0, severity=Severity.PAGE),
    Pair(short="6h", long="3d", rate=1.0, severity=Severity.TICKET),
)
"""The most urgent first."""


@dataclass(frozen=True, slots=True)
class Deliveries:
    """How many there were, and how many of them came later than the objective."""

    late: int = 0
    total: int = 0

    def __add__(self, other: Deliveries) -> Deliveries:
        return Deliveries(self.late + other.late, self.total + other.total)

    @property
    def late_share(self) -> float:
        return self.late / self.total if self.total else 0.0

    def burn_rate(self, target: float) -> float:
        """Without deliveries nothing burns. `target`: less than 1."""
        return self.late_share / (1 - target)


@dataclass(slots=True)
class Windows:
    """Deliveries of the last three days: of five minutes while they are recent, of hours after that.

    Keys are the seconds since 1970 at which a stretch begins. Recording the same stretch again changes nothing.
    """

    cells: dict[int, Deliveries] = field(default_factory=dict)
    hours: dict[int, Deliveries] = field(default_factory=dict)

    def record(self, at_s: int, deliveries: Deliveries) -> None:
        """Of the five minutes that begin at `at_s`. What is too old is dropped."""
        if deliveries.total:
            self.cells[at_s] = deliveries
        self.forget(at_s)
        hour = at_s - at_s % HOUR_S
        within = [one for begin, one in self.cells.items() if hour <= begin < hour + HOUR_S]
        if within:
            self.hours[hour] = sum(within, Deliveries())

    def forget(self, at_s: int) -> None:
        """Drop what no window reaches from there."""
        self.cells = {begin: one for begin, one in self.cells.items() if begin > at_s - FINE_S}
        self.hours = {begin: one for begin, one in self.hours.items() if begin > at_s - KEPT_S}

    def within(self, window: str, *, end_s: int) -> Deliveries:
        """Of the window that ends then. Three days are counted in whole hours."""
        length = WINDOWS[window]
        counted = self.cells if length < FINE_S else self.hours
        return sum((one for begin, one in counted.items() if end_s - length <= begin < end_s), Deliveries())

    def late_since(self, window: str, *, end_s: int) -> int | None:
        """When the first five minutes of the window end in which a delivery was late; None: none was.

        Of an hour whose five minutes are forgotten its end. It began before, but nothing says that there was anything.
        """
        length = WINDOWS[window]
        counted = self.cells if length < FINE_S else self.hours
        late = [begin for begin, one in counted.items() if end_s - length <= begin < end_s and one.late]
        if not late:
            return None
        first, end = min(late), min(late) + (CELL_S if counted is self.cells else HOUR_S)
        within = [begin for begin, one in self.cells.items() if first <= begin < end and one.late]
        return min(within) + CELL_S if within else end

    def as_json(self) -> dict[str, Any]:
        """As the database keeps it."""
        return {
            name: {str(begin): [one.late, one.total] for begin, one in sorted(counted.items())}
            for name, counted in (("cells", self.cells), ("hours", self.hours))
        }


def windows_of(stored: Mapping[str, Mapping[str, tuple[int, int]]]) -> Windows:
    """What `as_json` made."""
    cells, hours = (
        {int(begin): Deliveries(*counts) for begin, counts in stored.get(name, {}).items()}
        for name in ("cells", "hours")
    )
    return Windows(cells=cells, hours=hours)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnRates:
    """`deliveries`, `rates`: by window, up to the end of the latest five minutes that were recorded.

    `late_since`: `Windows.late_since` of the windows that have one, in seconds since 1970.
    """

    target: float
    deliveries: Mapping[str, Deliveries]
    late_since: Mapping[str, int] = field(default_factory=dict)

    @property
    def rates(self) -> Mapping[str, float]:
        return {window: one.burn_rate(self.target) for window, one in self.deliveries.items()}

    @property
    def alert(self) -> Pair | None:
        """The most urgent pair that burns; None: none does."""
        rates = self.rates
        for pair in PAIRS:
            burns = rates[pair.short] >= pair.rate and rates[pair.long] >= pair.rate
            if burns and self.deliveries[pair.long].late >= LEAST_LATE:
                return pair
        return None


def burn_rates(windows: Windows, *, target: float, end_s: int) -> BurnRates:
    """Of all windows that end then."""
    late_since = {name: windows.late_since(name, end_s=end_s) for name in WINDOWS}
    return BurnRates(
        target=target,
        deliveries={name: windows.within(name, end_s=end_s) for name in WINDOWS},
        late_since={name: begin for name, begin in late_since.items() if begin is not None},
    )
