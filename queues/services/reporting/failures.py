"""Why there is no report. For commands and logs; pages read ReportDay.error."""

from __future__ import annotations


class ReportFailedError(Exception):
    """No report was made; an earlier one is as it was. The message is for people, in English, perhaps of several lines.

    `kind`: a word for programs. That of `queues.reports`, if it said one.
    """

    kind = "failed"

    def __init__(self, message: str, *, kind: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind or self.kind


class BadRangeError(ReportFailedError):
    """The days that somebody asked for cannot be reported."""

    kind = "bad_range"


class BadHolidaysError(ReportFailedError):
    """TASKQ_HOLIDAYS names a country that is not known."""

    kind = "bad_holidays"


class DayTakenError(ReportFailedError):
    """Another process is computing the day."""

    kind = "day_taken"


class ClaimLostError(ReportFailedError):
    """This process was silent for so long that another took the day over; its own results count for nothing."""

    kind = "claim_lost"


class BadResultsError(ReportFailedError):
    """What Spark wrote is not what a report consists of."""

    kind = "bad_results"


class EventsGoneError(ReportFailedError):
    """The day has a report, but the lake has nothing of it any more."""

    kind = "events_gone"


class ProcessDiedError(ReportFailedError):
    """The process that computes ended without a word, or could not be started."""

    kind = "process_died"


class StoppedError(ReportFailedError):
    """This process was told to stop."""

    kind = "stopped"
