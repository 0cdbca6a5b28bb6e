"""What went wrong, in the words of a person who can do something about it."""

from __future__ import annotations

import errno

from queues.lake.storage import LakeError
from queues.reports import failures
from tests.support.rows import in_one_test

MASTER = "spark://spark.example:7077"
FULL = OSError(errno.ENOSPC, "No space left on device", "/reports/part-0")
TRACE = "\n\tat org.apache.spark.sql.Dataset.collect(Dataset.scala:1)"


@in_one_test(
    ("error", "kind", "words"),
    [
        (failures.BadSettingError("as it is"), failures.BadSettingError, "as it is"),
        (LakeError("writing: No space left on device"), failures.DiskFullError, "No space left"),
        (LakeError("no such bucket"), failures.LakeUnreadableError, "no such bucket"),
        (FULL, failures.DiskFullError, "The disk is full: /reports/part-0"),
        (RuntimeError(f"Disk quota exceeded{TRACE}"), failures.DiskFullError, "what Spark writes"),
        (RuntimeError(f"OutOfMemoryError: heap{TRACE}"), failures.MemoryShortError, "more with --memory"),
        (RuntimeError("Cannot grow BufferHolder by size 9"), failures.MemoryShortError, "more with --memory"),
        (RuntimeError("All masters are unresponsive"), failures.MasterUnreachableError, f"{MASTER} does not answer"),
        (RuntimeError("StatusCode.UNAVAILABLE: gone"), failures.MasterUnreachableError, f"{MASTER} is gone"),
        (RuntimeError("[JAVA_GATEWAY_EXITED] Java"), failures.SparkDiedError, "could not be started"),
        (ConnectionResetError("by peer"), failures.SparkDiedError, "ended in the middle"),
        (RuntimeError(f"a column\n is missing{TRACE}"), failures.SparkFailedError, "Spark failed: a column is missing"),
    ],
)
def test_an_error_is_explained(error: Exception, kind: type[Exception], words: str) -> None:
    explained = failures.explain(error, java_alive=True, master=MASTER)

    assert type(explained) is kind
    assert words in str(explained)
    assert "Dataset.scala" not in str(explained)


def test_whatever_it_says_a_java_that_is_gone_has_died() -> None:
    explained = failures.explain(RuntimeError("an answer that makes no sense"), java_alive=False, master="local[*]")

    assert type(explained) is failures.SparkDiedError


@in_one_test(
    ("text", "url"),
    [
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///lake/a.parquet. SQLSTATE",
            "a.parquet",
        ),
        ("Encountered error while reading file file:///lake/a.parquet.", None),
        ("[FAILED_READ_FILE] of no name", None),
    ],
)
def test_a_damaged_file_is_told_from_other_failures(text: str, url: str | None) -> None:
    named = failures.unreadable_file(RuntimeError(text))

    assert named == (url and f"file:///lake/{url}")
