"""What Java's second compiler (C2) is asked for: its code is twice as fast, and takes long to make.

Of a large day, it pays for what goes through events. The rest is code that plans, and hundreds of classes that Spark
makes for tables of a few thousand rows: C2 would be at work on these for longer than all of that takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from .java_process import diagnose

_SPARK: Final = "org/apache/spark/"
_OF_ALL_TABLES: Final = (
    f"{_SPARK}unsafe/",
    f"{_SPARK}util/collection/",
    f"{_SPARK}shuffle/",
    "org/apache/parquet/",
    "java/util/regex/",
    "java/util/HashMap",
    "java/util/Arrays",
    "java/lang/String",
    "java/lang/Math",
)
"""What goes through rows of every table: few methods."""

_OF_PLANS: Final = tuple(f"{_SPARK}sql/{name}/" for name in ("catalyst/expressions", "catalyst/util", "execution"))
"""What goes through rows besides, code that Spark makes for each plan included."""

_OTHERS: Final = {"match": ["*.*"], "c2": {"Exclude": True}}


def _only(*names: str) -> tuple[dict[str, Any], ...]:
    return {"match": [f"{name}*.*" for name in names], "BackgroundCompilation": True}, _OTHERS


FOR_EVENTS: Final = _only(*_OF_ALL_TABLES, *_OF_PLANS)
FOR_TABLES: Final = _only(*_OF_ALL_TABLES)

Directives = Sequence[Mapping[str, Any]]


def begin_with(directives: Directives, *, scratch: Path) -> str:
    """Options of Java's to follow these directives from its beginning: nothing of Spark's start is worth C2. Java does
    not start if it cannot read them, unlike with `direct`."""
    file = scratch / "compiler.json"
    file.write_text(json.dumps(directives))
    # Java says how many it has read; standard output is for what the report says.
    return f' -XX:+DisplayVMOutputToStderr -XX:+UnlockDiagnosticVMOptions "-XX:CompilerDirectivesFile={file}"'


def direct(session: SparkSession, directives: Directives) -> bool:
    """Have the Java process here follow these directives (`jcmd PID help Compiler.directives_add`) before those that it
    follows already. Whether it does: one that knows of none goes on as it is."""
    with suppress(Py4JError, OSError), NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(directives))
        file.flush()
        diagnose(session, "compilerDirectivesAdd", file.name)
        return True
    return False


@contextmanager
def directed(session: SparkSession, directives: Directives) -> Iterator[None]:
    """The same for as long as the block lasts. Nothing of a session of Spark Connect, whose Java runs elsewhere."""
    is_told = not is_remote() and direct(session, directives)
    try:
        yield
    finally:
        with suppress(Py4JError, OSError, EOFError):  # Java may have ended
            for _one in directives if is_told else ():
                diagnose(session, "compilerDirectivesRemove")
