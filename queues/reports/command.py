"""The command line: what it is asked, what it says, and how it ends."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

from queues import spark_settings
from queues.lake.compact import compact_day
from queues.lake.files import hour_folders
from queues.lake.local_days import LocalDay
from queues.lake.storage import Storage

from . import java_archive
from .failures import BadSettingError, FutureDateError, ReportError, SparkMissingError

SCRATCH: Final = "_scratch-"
STOPPED: Final = 128 + signal.SIGTERM
BRIEF_BYTES: Final = 64 << 20
"""Of files of the lake, some 4 million events: up to there Java does without its second compiler, for the rest see
`compiler`."""

NO_ARCHIVES: Final = "none"

OLD_S: Final = 86_400
"""Scratch of a run that was killed goes when it is a day old."""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0: all days are reported. Otherwise the last line tells why not."""
    asked = _parse(argv)
    stopped: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)
        sys.exit(STOPPED)  # so that scratch files go

    signal.signal(signal.SIGTERM, stop)
    try:
        _report(asked)
    except ReportError as error:
        if stopped:  # in the middle of a call to Java that made an error of its own of it
            return STOPPED
        print(json.dumps({"error": str(error), "kind": error.kind}, ensure_ascii=False), flush=True)
        return 1
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m queues.reports", description=__doc__)
    parser.add_argument("--lake", required=True, help="URL or path of the event lake")
    parser.add_argument("--out", required=True, help="URL or path of the reports")
    parser.add_argument("--run", required=True, help="name of this run; its files go to date=DAY/run=NAME/")
    parser.add_argument("--date", required=True, action="append", type=date.fromisoformat, metavar="YYYY-MM-DD")
    parser.add_argument(
        "--holiday",
        action="append",
        default=[],
        type=date.fromisoformat,
        metavar="YYYY-MM-DD",
        help="a day that is not judged by the same weekday of past weeks, nor other days by it",
    )
    parser.add_argument(
        "--local",
        metavar="FILE",
        help="JSON: for each date of --date the days of namespaces with a time zone that are reported with it",
    )
    parser.add_argument(
        "--merge",
        action="append",
        default=[],
        type=date.fromisoformat,
        metavar="YYYY-MM-DD",
        help="a day whose small files are merged while Spark starts, which reads thousands twice as slowly as a few",
    )
    spark_settings.add_arguments(parser, master="local[*]")
    return parser.parse_args(argv)


def _report(asked: argparse.Namespace) -> None:
    """All days, the earliest first. Raises ReportError."""
    days = sorted(set(asked.date))
    local_days = _local_days(asked.local)
    today = datetime.now(UTC).date()
    if days[-1] > today:
        raise FutureDateError(f"{days[-1]} is in the future: today is {today} (UTC).")
    try:
        from . import failures, session
        from .day import DayReport
        from .history import Output
        from .java_process import java_is_alive
        from .progress import Progress, Stage
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise SparkMissingError(
            "Reports need Spark, which is not installed: pip install 'taskq[reports]' brings it."
        ) from error
    options = session.SparkOptions(**_spark(asked))
    try:
        output = Output(storage=Storage(asked.out), run_id=asked.run)
        options = replace(
            options,
            is_brief=_bytes_of(asked.lake, days) <= BRIEF_BYTES,
            archives=_archives(output.storage),
        )
        told = ", merging small files" if asked.merge else ""
        Progress(days[0]).tell(Stage.STARTING, message=f"starting Spark ({options.master}){told}")
        with (
            _scratch(output.storage) as scratch,
            _merging(asked.lake, asked.merge) as merged,
            session.spark_session(options, scratch=scratch) as spark,
        ):
            merged()
            for day in days:
                try:
                    report = DayReport(
                        spark,
                        lake=asked.lake,
                        output=output,
                        day=day,
                        holidays=frozenset(asked.holiday),
                        today=today,
                        local_days=local_days.get(day, ()),
                    )
                    report.run(master=options.master)
                except Exception as error:
                    with contextlib.suppress(Exception):
                        output.forget(day)
                    raise failures.explain(error, java_alive=java_is_alive(error), master=options.master) from error
    except ReportError:
        raise
    except Exception as error:
        raise failures.explain(error, java_alive=True, master=options.master) from error


def _local_days(path: str | None) -> Mapping[date, Sequence[LocalDay]]:
    """What the file of `--local` says: {DATE: [as `LocalDay.as_dict` has it]}. Raises BadSettingError."""
    if not path:
        return {}
    try:
        told = json.loads(Path(path).read_text())
        return {date.fromisoformat(day): [LocalDay.read(one) for one in days] for day, days in told.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSettingError(f"--local {path}: {type(error).__name__}: {error}") from error


def _spark(asked: argparse.Namespace) -> dict[str, Any]:
    """Master, memory and settings, from the arguments, the environment and the file. Raises BadSettingError."""
    try:
        pairs = spark_settings.parse_conf(os.environ.get(spark_settings.CONF_VARIABLE, ""))
        settings = spark_settings.from_arguments(vars(asked)).over(spark_settings.SparkSettings(conf=pairs))
        of_file = spark_settings.read_properties(settings.properties_file) if settings.properties_file else {}
    except spark_settings.SparkSettingError as error:
        raise BadSettingError(str(error)) from error
    if settings.memory and settings.master.startswith("sc://"):
        raise BadSettingError("memory is the server's to set where Spark is reached through Spark Connect")
    return {"master": settings.master, "memory": settings.memory, "conf": {**of_file, **settings.conf}}


@contextlib.contextmanager
def _merging(lake: str, days: Sequence[date]) -> Iterator[Callable[[], None]]:
    """Merge the small files of these days, while Spark starts; the function waits until that is done. At the end of the
    block no more hours are begun."""
    stop = threading.Event()

    def merge() -> None:
        for day in days:
            try:
                compact_day(lake, day, stop=stop)
            except Exception as error:  # of any file system: the report is made of the files as they are
                print(f"the files of {day} were not merged: {error}", file=sys.stderr)

    thread = threading.Thread(target=merge, name="merge")
    thread.start()
    try:
        yield thread.join
    finally:
        stop.set()


def _bytes_of(lake: str, days: Sequence[date]) -> int:
    """The size of what the lake has of these days. Raises LakeError."""
    storage = Storage(lake)
    folders = (folder for day in days for folder in hour_folders(storage, day))
    return sum(entry.size for folder in folders for entry in storage.list(folder))


def _archives(out: Storage) -> Path | None:
    """Where what Java leaves is kept: where TASKQ_JAVA_ARCHIVES says, or beside reports on this machine's disk."""
    if named := os.environ.get("TASKQ_JAVA_ARCHIVES"):
        return None if named == NO_ARCHIVES else Path(named).absolute()
    return Path(out.root).absolute() / java_archive.FOLDER if out.is_local else None


@contextlib.contextmanager
def _scratch(out: Storage) -> Iterator[Path]:
    """A directory for what Spark spills: beside the reports, where there is room, if they are on this machine."""
    parent = None
    if out.is_local:
        parent = Path(out.root)
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f"{SCRATCH}*"):
            if time.time() - left.stat().st_mtime > OLD_S:
                shutil.rmtree(left, ignore_errors=True)
    made = tempfile.mkdtemp(prefix=SCRATCH, dir=parent)
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)
