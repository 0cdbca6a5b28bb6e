"""`python -m bench.reporting [--only NUMBER …] [--share S] [--keep DIR] [--cluster]`: how long a day's report takes.

Days of several shapes, from the command to rows in the database: what is measured is what people run, Spark's start and
the loading of rows included. First nothing is there (`fresh`); then all hours but the last have been reduced, as they
are at night when that was done hour by hour. Beside it DuckDB, from the same files.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.report import Bar, Figure, Section, show

from .cluster import spark_cluster
from .days import DAY, MEMORY_GIB, SHAPES, Shape, environment, make_lake, manage
from .measuring import Measured, measure

EXECUTORS: Final = (1, 2, 4)
EXECUTOR_MB: Final = 1_024
PARTS: Final = ("starting", "counting", "percentiles", "writing")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reporting", description=__doc__)
    parser.add_argument("--only", nargs="+", type=int, default=range(len(SHAPES)), help="numbers of shapes, from 0")
    parser.add_argument("--keep", type=Path, help="where lakes are made and kept for the next time")
    parser.add_argument("--cluster", action="store_true", help="the first of these by 1, 2 and 4 executors on loopback")
    parser.add_argument("--share", type=float, default=1.0, help="of the events, such as 0.1 to look where time goes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="taskq-bench-reports-") as scratch:
        lakes = asked.keep or Path(scratch) / "lakes"
        if asked.cluster:
            show(_by_cluster(SHAPES[asked.only[0]], lakes, Path(scratch), share=asked.share))
        else:
            for number in asked.only:
                show(_section(SHAPES[number], lakes, Path(scratch), share=asked.share))
    return 0


def _section(shape: Shape, lakes: Path, scratch: Path, *, share: float) -> Section:
    lake, data, archives = scratch / "lake", scratch / "data", lakes / "java"
    made = make_lake(shape, lakes, share=share)
    archives.mkdir(exist_ok=True)
    env = environment(lake, data) | {"TASKQ_JAVA_ARCHIVES": str(archives)}
    words = [sys.executable, "manage.py", "runreport", f"--date={DAY}"]
    # Until a run leaves nothing more of Java for those after it: reports are made each night.
    before: set[Path] | None = None
    while before != (left := set(archives.iterdir())):
        before = left
        for place in (lake, data):
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made, lake, copy_function=_link)  # compaction deletes
        data.mkdir()
        manage(env, "migrate", "--verbosity=0")
        fresh = measure(words, env=env)
    summary = _summary(data)
    (data / "reports" / "cells" / f"date={DAY}" / "hour=23.json").unlink()
    night = measure(words, env=env)
    duckdb = measure([sys.executable, "-m", "bench.reporting.by_duckdb", str(made), DAY], env=env)
    figures = [
        Figure(name="events", unit="", runs=[summary["events"]]),
        Figure(
            name="fresh: command to rows",
            unit="s",
            runs=[fresh.seconds],
            bar=_most(shape.most_s) if share == 1 else None,
        ),
        *_parts(summary, fresh),
        Figure(name="  seconds of processors", unit="s", runs=[fresh.cpu_s]),
        Figure(name="23 hours reduced before", unit="s", runs=[night.seconds]),
        Figure(name="  seconds of processors", unit="s", runs=[night.cpu_s]),
        Figure(name="memory, all processes", unit="GiB", runs=[max(fresh.gib, night.gib)], bar=_most(MEMORY_GIB)),
        Figure(name="DuckDB", unit="s", runs=[duckdb.seconds]),
        Figure(name="  seconds of processors", unit="s", runs=[duckdb.cpu_s]),
        Figure(name="DuckDB, memory", unit="GiB", runs=[duckdb.gib]),
    ]
    return Section(title=f"report of a day: {shape.name}", figures=figures)


def _parts(summary: dict[str, Any], whole: Measured) -> list[Figure]:
    """Where the time went."""
    seconds: dict[str, float] = summary["seconds"]
    rest = whole.seconds - sum(seconds.values())
    java = [(f"Java: {name}", value) for name, value in summary["java"].items()]
    return [
        *_spark_parts(summary),
        Figure(name="  commands, listing, loading, compaction", unit="s", runs=[rest]),
        *(Figure(name=f"  {name}", unit="", runs=[value]) for name, value in java),
    ]


def _spark_parts(summary: dict[str, Any]) -> list[Figure]:
    return [Figure(name=f"  {name}", unit="s", runs=[summary["seconds"].get(name, 0.0)]) for name in PARTS]


def _by_cluster(shape: Shape, lakes: Path, scratch: Path, *, share: float) -> Section:
    lake = make_lake(shape, lakes, share=share)
    figures = []
    for executors in EXECUTORS:
        out = scratch / f"out-{executors}"
        with spark_cluster(executors=executors, memory_mb=EXECUTOR_MB + 512) as url:
            words = [
                sys.executable,
                "-m",
                "queues.reports",
                f"--lake={lake}",
                f"--out={out}",
                "--run=one",
                f"--date={DAY}",
            ]
            words += [f"--master={url}", f"--memory={EXECUTOR_MB}m", "--conf=spark.executor.cores=1"]
            found = measure([*words, "--conf=spark.driver.memory=1g"], env=environment(lake, scratch / "data"))
        figures += [
            Figure(name=f"{executors} executors of one core", unit="s", runs=[found.seconds]),
            *_spark_parts(json.loads((out / f"date={DAY}" / "run=one" / "summary.json").read_text())),
        ]
    return Section(title=f"report of a day: {shape.name}, by a cluster on loopback, without loading", figures=figures)


def _summary(data: Path) -> dict[str, Any]:
    (path,) = (data / "reports" / f"date={DAY}").glob("run=*/summary.json")
    summary: dict[str, Any] = json.loads(path.read_text())
    return summary


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def _most(value: float) -> Bar:
    return Bar(sense="≤", value=value)


if __name__ == "__main__":
    sys.exit(main())
