"""What can go wrong with a report, each with the word by which callers tell it; what an exception of Spark means."""

from __future__ import annotations

import errno
import re
from typing import ClassVar, Final

from queues.lake.storage import LakeError


class ReportError(Exception):
    """No report was made, for the reason that the message tells. What an earlier run wrote is as it was."""

    kind: ClassVar[str] = "failed"


class SparkMissingError(ReportError):
    """pyspark is not installed."""

    kind = "spark_missing"


class BadSettingError(ReportError):
    """A setting of Spark's that cannot be meant, or not here."""

    kind = "bad_setting"


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


class RowsMissingError(Exception):
    """Spark reads more or fewer events than the files have by their footers."""


class SparkFailedError(ReportError):
    """Spark reported an error of its own."""

    kind = "spark_failed"


LONGEST: Final = 600
"""Characters of an error of Spark's own; the rest, mostly stack traces, is on standard error."""

_UNREADABLE: Final = re.compile(
    r"(?:reading file|Could not read footer for file:?|File) ((?:file:|[a-z0-9]+://)\S+?\.parquet)"
)


def unreadable_file(error: BaseException) -> str | None:
    """The URL of the file of the lake that Spark could not read, if that is what went wrong."""
    text = str(error)
    if "FAILED_READ_FILE" not in text and "Could not read footer" not in text:
        return None
    found = _UNREADABLE.search(text)
    return None if found is None else found[1].rstrip(".")


def may_be_damage(error: Exception, *, java_alive: bool) -> bool:
    """Whether it can come from a damaged file that Spark does not name, such as a sum that overflows."""
    return isinstance(explain(error, java_alive=java_alive, master=""), SparkFailedError)


def explain(error: Exception, *, java_alive: bool, master: str) -> ReportError:
    """The error that tells what happened."""
    text = str(error)
    if isinstance(error, ReportError):
        return error
    if isinstance(error, LakeError):
        return DiskFullError(text) if "No space left" in text else LakeUnreadableError(text)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return DiskFullError(f"The disk is full: {error.filename or error}")
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return DiskFullError("The disk is full: there is no room for what Spark writes, its scratch files included.")
    if "OutOfMemoryError" in text or "Cannot grow BufferHolder" in text:
        return MemoryShortError("Spark's memory is too small for this day: give it more with --memory.")
    if "All masters are unresponsive" in text or "Master removed our application" in text:
        return MasterUnreachableError(f"The Spark master {master} does not answer.")
    if "StatusCode.UNAVAILABLE" in text or "RETRIES_EXCEEDED" in text:
        return MasterUnreachableError(f"The Spark Connect server {master} is gone: {first_words(text)}")
    if "JAVA_GATEWAY_EXITED" in text:
        return SparkDiedError("Spark's Java process could not be started; what it said is on standard error.")
    if not java_alive or isinstance(error, ConnectionError):
        return SparkDiedError(
            "Spark's Java process ended in the middle: it was killed, or ran out of memory (--memory)."
        )
    return SparkFailedError(f"Spark failed: {first_words(text)}")


def first_words(text: str) -> str:
    """An error without its stack trace, on one line."""
    head = re.split(r"\n[ \t]*+at |\nDriver stacktrace|\nJVM stacktrace", text, maxsplit=1)[0]
    return " ".join(head.split())[:LONGEST]
