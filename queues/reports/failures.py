"""What can go wrong with a report, each with the word by which callers tell it from the others."""

from __future__ import annotations

from typing import ClassVar


class ReportError(Exception):
    """No report was made, for the reason that the message tells. What an earlier run wrote is as it was."""

    kind: ClassVar[str] = "failed"


class SparkMissingError(ReportError):
    """pyspark is not installed."""

    kind = "spark_missing"


class JavaMissingError(ReportError):
    """No Java that runs Spark."""

    kind = "java_missing"


class FutureDateError(ReportError):
    """A day that has not begun."""

    kind = "future_date"


class SparkDiedError(ReportError):
    """Spark's Java process ended, or could not be started."""

    kind = "spark_died"


class DiskFullError(ReportError):
    """No room for scratch files or results."""

    kind = "disk_full"


class MemoryShortError(ReportError):
    """The Java heap is too small for the day."""

    kind = "out_of_memory"


class MasterUnreachableError(ReportError):
    """The Spark master does not answer, or gives no executors."""

    kind = "master_unreachable"


class LakeUnreadableError(ReportError):
    """The lake cannot be listed."""

    kind = "lake_unreadable"


class SparkFailedError(ReportError):
    """Spark reported an error of its own."""

    kind = "spark_failed"
