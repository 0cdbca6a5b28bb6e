"""How figures of reports are written, on pages, on paper and in mails."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext

from .key_figures import TITLES, UNITS
from .shapes import Change, WarningKind

NOTHING: Final = "–"

MANY: Final = 3
"""From so many times on, a change is told in times rather than percent."""

LEAST_POINTS: Final = 0.05
"""Smaller differences of a share are none worth a number."""

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def share(part: float | None) -> str:
    """`0.9987` → `99.87 %`. What is not quite all, or not quite nothing, is not written as that."""
    if part is None:
        return NOTHING
    percent = 100 * part
    if 99.995 <= percent < 100:
        return "> 99.99 %"
    if 0 < percent < 0.005:
        return "< 0.01 %"
    places = 2 if percent >= 99 or percent < 1 else 1
    return f"{percent:.{places}f}".rstrip("0").rstrip(".") + " %"


def brief(milliseconds: float | None) -> str:
    """`131000` → `2.2 min`: in one unit, for narrow columns; a dash for None."""
    if milliseconds is None:
        return NOTHING
    for size, unit in _UNITS:
        if milliseconds >= size:
            value = milliseconds / size
            text = f"{value:.0f}" if value >= 99.95 else f"{value:.1f}".removesuffix(".0")
            return f"{text} {unit}"
    return f"{round(milliseconds)} ms"


def jobs(number: float | None) -> str:
    """`12345` → `12,345`, `46.5` as it is (a median); a dash for None."""
    if number is None:
        return NOTHING
    return f"{int(number):,}" if number == int(number) else f"{number:,.1f}"


def in_full(value: float | None, unit: str) -> str:
    """A figure in its unit (jobs, share or ms) where nothing can be pointed at: jobs to the last one."""
    return {"jobs": jobs, "share": share, "ms": brief}[unit](value)


def difference(value: float | None, against: float | None, unit: str) -> str:
    """How `value` differs from `against`, in words: `12 % more`, `2.1 points less`, `14 times as much`; "" if either is
    unknown."""
    if value is None or against is None:
        return ""
    if value == against:
        return gettext("the same")
    if unit == "share":
        points = f"{abs(value - against) * 100:.2f}".rstrip("0").rstrip(".")
        if float(points) < LEAST_POINTS:
            return gettext("about the same")
        text = gettext("%(points)s points more") if value > against else gettext("%(points)s points less")
        return text % {"points": points}
    if not against:
        return gettext("instead of none")
    ratio = value / against
    if ratio >= MANY:
        return gettext("%(times)s times as much") % {"times": f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"}
    percent = round(abs(ratio - 1) * 100)
    if not percent:
        return gettext("about the same")
    text = gettext("%(percent)s %% more") if ratio > 1 else gettext("%(percent)s %% less")
    return text % {"percent": percent}


def figure_title(key: str) -> str:
    """Of a figure by its key; one that is not known is called by that."""
    return str(TITLES.get(key, key))


def unit_of(change: Change) -> str:
    """jobs, share or ms."""
    return UNITS.get(change.figure, "jobs")


def words_of_change(change: Change) -> str:
    return difference(change.value, change.usual, unit_of(change))


def words_of_warning(kind: WarningKind, text: str) -> str:
    """What it means for the figures; "" where `text` says all there is to say."""
    if kind is WarningKind.CORRUPT:
        return gettext("A file of the event lake could not be read; what it holds is not counted.")
    if kind is WarningKind.GAP:
        return gettext("Events were lost before they reached the event lake: figures are too low.")
    if kind is WarningKind.LEFT_OUT:
        return gettext(
            "There were more queues than a report keeps; the smallest are only in the sums of their namespaces."
        )
    if kind is WarningKind.COMPACTION:
        return gettext("Small files of the event lake could not be put together. Figures are not affected.")
    if kind is WarningKind.MAIL:
        return gettext("The summary could not be sent by e-mail.")
    return "" if text else gettext("Something was odd; administrators see what.")
