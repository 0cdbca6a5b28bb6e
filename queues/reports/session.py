"""A Spark session that suits a report: this machine's cores and memory, or a cluster's; planning of small tables."""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import pyspark
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from queues.spark_settings import is_local, write_properties

from .compiler import FOR_EVENTS, begin_with
from .connect import connect_session
from .failures import BadSettingError, MasterUnreachableError
from .java import find_java
from .java_archive import MAKER_MEMORY, JavaArchive
from .java_process import end_java, remember_classes, start_java
from .masters import check_answers

T = TypeVar("T")

MIB: Final = 1 << 20
SHARE: Final = 0.4
"""Of the machine's memory; the rest is for Redis, the web server and the file cache, which hold the jobs."""

LEAST_MIB: Final = 640
MOST_MIB: Final = 1_792
"""Spark streams and spills, so more does not make a day's report faster; with what Java needs beside its heap the whole
stays below 3 GiB."""

_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


def heap_for_this_machine() -> str:
    """The Java heap, as Spark writes it: `2048m`."""
    return f"{min(max(int(_machine_bytes() * SHARE) // MIB, LEAST_MIB), MOST_MIB)}m"


def _machine_bytes() -> int:
    """What the machine has, or the container is allowed."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or no limit: "max"
        return physical


_AT_ONCE: Final = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "4"}
_PLAIN: Final = {**_AT_ONCE, "spark.sql.shuffle.partitions": "1"}
_INTERPRETED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

FEW_ROWS: Final = 300_000
"""What is computed of so many rows is so little that planning it takes longer."""

INTERPRETED_ROWS: Final = 100_000
"""Compiling code for so many takes longer than doing without."""


@contextmanager
def plain_plans(spark: SparkSession, *, rows: int, most: int = FEW_ROWS, events: int = 0) -> Iterator[None]:
    """For as long as the block lasts, plan all at once if there are at most that many rows; for one task at a time, if
    they are FEW_ROWS.

    Where a table has a few thousand rows, planning each stage anew by what came out of the one before takes longer than
    the stages. Of INTERPRETED_ROWS, no code is made and compiled either: a day's tables are hundreds of classes.
    `events`: that are read besides, of which little is left.
    """
    plain = _PLAIN if rows <= FEW_ROWS else _AT_ONCE if rows <= most else {}
    changes = plain | (_INTERPRETED if max(rows, events) <= INTERPRETED_ROWS else {})
    before = {name: spark.conf.get(name) for name in changes}
    try:
        for name, value in changes.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def in_one_partition(rows: DataFrame) -> DataFrame:
    """For one file: without a shuffle of its own where plans are made for one task at a time."""
    partitions = rows.sparkSession.conf.get("spark.sql.shuffle.partitions")
    return rows.coalesce(1) if partitions == _PLAIN["spark.sql.shuffle.partitions"] else rows.repartition(1)


def cut_off(rows: DataFrame) -> DataFrame:
    """The same rows, but a plan no longer says what they are made of: it may have them twice, and computes them once.

    Spark does not always find a kept table again in a plan that has it twice. Shuffles that they need are done at once.
    Only for a local master: what is cut off cannot be made again, as it may have to be where an executor can be lost.
    Java frees it with the last plan that has it; `unpersist` does not.
    """
    return rows.localCheckpoint(eager=False)


SHARE_BYTES: Final = 16 * MIB
"""Of Parquet files, some hundred thousand events: what one task of a cluster is to have of a shuffle."""

LEAST_PARTITIONS: Final = 8
MOST_PARTITIONS: Final = 2_000


LISTS_AT_ONCE: Final = 25_000
"""Groups of a task whose lists are gathered in memory, of which Spark keeps no account: of past weeks, the widest, some
1.5 KiB each. Beyond that, and by default beyond 128, rows are sorted first."""

_FITTED: Final = "spark.taskq.fitPartitions"
"""Ours: whether shuffles follow the bytes of a day. Not with a local master, nor where somebody has set the number."""


def fit_partitions(spark: SparkSession, *, data_bytes: int) -> None:
    """Have a cluster's shuffles make as many partitions as these bytes of files are worth; Spark merges small ones."""
    if spark.conf.get(_FITTED, "false") == "true":
        wanted = min(max(-(-data_bytes // SHARE_BYTES), LEAST_PARTITIONS), MOST_PARTITIONS)
        spark.conf.set("spark.sql.shuffle.partitions", str(wanted))


def side_by_side(spark: SparkSession, first: Callable[[], T], *others: Callable[[], Any]) -> tuple[T, *tuple[Any, ...]]:
    """Do all of it, the first one first, on as many threads as the machine has cores, and give what comes of each.

    Raises what the first one raises that fails, once none of the others is at work any more. A wish to exit does not
    wait for them: they fail when Spark ends.
    """
    pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="report")
    try:
        futures = [pool.submit(inheritable_thread_target(spark)(work)) for work in (first, *others)]
        result, *rest = [future.result() for future in futures]
        return result, *rest
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def once(work: Callable[[], T]) -> Callable[[], T]:
    """The same, but done by the first who calls it; others wait, and all have the same result or error."""
    lock, ended = threading.Lock(), Future[T]()

    def result() -> T:
        with lock:
            if not ended.done():
                try:
                    ended.set_result(work())
                except Exception as error:
                    ended.set_exception(error)
        return ended.result()

    return result


LOCAL: Final = "local[*]"
_SHELL: Final = "pyspark-shell"
"""What Spark's launcher calls a Java that a Python process commands."""

ENDED_S: Final = 30.0
"""How long one may take to end."""

ARCHIVED_S: Final = 180.0
"""The same if it leaves an archive of its classes: some 20 seconds of a processor."""

_LOG4J: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}%n
"""


EXECUTORS_WITHIN: Final = "spark.taskq.executorsWithinS"
EXECUTORS_WITHIN_S: Final = 300
"""A setting of ours, and its default: how long a cluster may take to run the first task."""

_CLASSES: Final = " -XX:MetaspaceSize=256m"
"""Of classes there are so many. Below that, Java need not look through the whole heap for some that it could forget."""

_BRIEF: Final = " -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Without the compiler that takes long to make fast code: where there is little to do, that is most of the work."""


_LARGE: Final = " -XX:+IgnoreUnrecognizedVMOptions -XX:MaxNodeLimit=25000 -XX:NodeLimitFudgeFactor=2000"
"""The compiler, where Java has it, gives up on the largest methods that Spark makes, for which it would take as long as
for all others. Java's default is 80000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """`memory`: of the heap, such as `2g`: the driver's with a local master, each executor's with a cluster; empty: by
    the machine, or as the cluster says. `conf`: anything else of Spark's, which wins over everything here. `is_brief`:
    little is to be computed. `archives`: where what Java leaves is kept for the next run with a local master; None:
    nowhere."""

    master: str = LOCAL
    memory: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    is_brief: bool = False
    archives: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether all of Spark runs in one process here."""
        return is_local(self.master)

    @property
    def is_connect(self) -> bool:
        """Whether Spark runs behind a server of Spark Connect, and no Java of ours."""
        return self.master.startswith("sc://")


@contextlib.contextmanager
def spark_session(options: SparkOptions, *, scratch: Path) -> Iterator[SparkSession]:
    """A session for as long as the block lasts; its Java process ends with it.

    `scratch`: a directory of this session alone, for what Spark spills and for its settings.
    Raises JavaMissingError, MasterUnreachableError, BadSettingError; errors of Spark come as they are (`failures`
    explains them).
    """
    if options.is_connect:
        with connect_session(options.master, own=_anywhere(options), asked=options.conf) as connected:
            yield connected
        return
    check_answers(options.master)
    log4j = scratch / "log4j2.properties"
    log4j.write_text(_LOG4J)
    java = find_java(scratch=scratch)
    # Told where Spark is, its launcher does not look for a Python that might know.
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    archive = None
    if options.is_local and options.archives is not None:
        archive = JavaArchive(
            options.archives, java=java.real, spark=Path(home), scratch=scratch, is_brief=options.is_brief
        )
    own = _of_process(options, scratch, log4j, more_java=archive.options if archive else "")
    properties = scratch / "spark.properties"
    write_properties(properties, {**_anywhere(options), **own, **options.conf})
    submit = Path(home) / "bin" / "spark-submit"
    if not submit.is_file():
        raise BadSettingError(f"SPARK_HOME={home}: there is no {submit}")
    # Settings not as arguments, which every user of the machine could read.
    command = [str(submit), "--master", options.master, "--properties-file", str(properties), "--load-spark-defaults"]
    start_java(
        [*command, *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS") or _SHELL)],
        variables={"JAVA_HOME": str(java.home), "SPARK_HOME": home, "SPARK_LOCAL_DIRS": str(scratch)}
        | (MAKER_MEMORY if archive is not None and archive.is_made else {}),
    )
    session: SparkSession | None = None
    try:
        session = SparkSession.Builder().master(options.master).appName("taskq reports").getOrCreate()
        remember_classes(session)
        if not options.is_local:
            _await_executors(session, options)
        yield session
    finally:
        leaves = archive is not None and archive.is_made
        ended_well = end_java(session, within_s=ARCHIVED_S if leaves else ENDED_S)
        if archive is not None:
            archive.keep(ended_well=ended_well)


def _await_executors(session: SparkSession, options: SparkOptions) -> None:
    """Until a task of ours has run. Raises BadSettingError, and MasterUnreachableError if none does in time: by itself
    Spark would wait for ever."""
    text = options.conf.get(EXECUTORS_WITHIN, str(EXECUTORS_WITHIN_S))
    if not text.isdecimal():
        raise BadSettingError(f"{EXECUTORS_WITHIN}={text}: expected a number of seconds")
    within_s = int(text)
    failures: list[Exception] = []

    def run_task() -> None:
        try:
            session.range(0, 1, 1, 1).collect()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run_task, name="first-task", daemon=True)
    thread.start()
    thread.join(within_s)
    if thread.is_alive():
        raise MasterUnreachableError(
            f"The Spark master {options.master} has given no executors for {within_s} s: it has no workers, or none"
            f" with room for what is asked for (--memory). {EXECUTORS_WITHIN} sets another limit."
        )
    if failures:
        raise failures[0]


def _anywhere(options: SparkOptions) -> dict[str, str]:
    """Settings that a session has wherever Spark runs."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        # Pages carry checksums, so a damaged file is an error rather than wrong numbers.
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(LISTS_AT_ONCE),
        # Each action describes its plan for Spark's pages, which took a fifteenth of a small day's report.
        "spark.sql.ui.explainMode": "simple",
    }
    if options.is_local:
        # Groups are few once they are aggregated; the default of 200 would be 200 nearly empty tasks.
        settings["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
        # Some ten thousand rows of text in a task, so that no core waits long for the other.
        settings["spark.sql.adaptive.advisoryPartitionSizeInBytes"] = "2m"
        # Tasks that are as long as each other.
        settings["spark.sql.files.maxPartitionBytes"] = "32m"
        # The list of files is ours: no Spark job to look at each.
        settings["spark.sql.sources.parallelPartitionDiscovery.threshold"] = "100000"
    elif "spark.sql.shuffle.partitions" not in options.conf:
        settings[_FITTED] = "true"
    return settings


def _of_process(options: SparkOptions, scratch: Path, log4j: Path, *, more_java: str) -> dict[str, str]:
    """Settings with which the Java process here begins. `more_java`: options of Java's."""
    compiler = _BRIEF if options.is_brief else _LARGE
    if options.is_local and not options.is_brief:
        compiler += begin_with(FOR_EVENTS, scratch=scratch)
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j} -Djava.io.tmpdir={scratch}"
        f" -XX:+UseParallelGC -XX:+ExitOnOutOfMemoryError -XX:-UsePerfData{_CLASSES}"
        f"{compiler}{more_java}",
        "spark.ui.enabled": "false",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # half of all calls from Python to Java
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",  # no Derby
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    if options.is_local:
        settings["spark.driver.memory"] = options.memory or heap_for_this_machine()
        if options.is_brief:
            # Each grouping and sorting of a task begins with a page, which Java fills with zeros: 32 MiB by default.
            settings["spark.buffer.pageSize"] = "2m"
    elif options.memory:
        settings["spark.executor.memory"] = options.memory
    if options.is_local or urlsplit(options.master).hostname in {"127.0.0.1", "localhost"}:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings
