"""What readers of reports get. Times in ms unless a name says otherwise; days are UTC days."""

from __future__ import annotations

from .days import DayEntry, DayState, LatestReport, ReportWarning, WarningKind
from .figures import Figures, Metric, Objective, QueueRow, Spread
from .notable import Change, ErrorGroup, SlowJob, TryCount
from .reports import Merged, Pair, QueueReport, QueueTable, SeriesDay

__all__ = [
    "Change",
    "DayEntry",
    "DayState",
    "ErrorGroup",
    "Figures",
    "LatestReport",
    "Merged",
    "Metric",
    "Objective",
    "Pair",
    "QueueReport",
    "QueueRow",
    "QueueTable",
    "ReportWarning",
    "SeriesDay",
    "SlowJob",
    "Spread",
    "TryCount",
    "WarningKind",
]
