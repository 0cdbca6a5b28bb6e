"""A session with a server of Spark Connect: Spark runs there, with the settings of its process; here is no Java.

A session can set what belongs to it alone: settings of SQL, and of Hadoop's file systems and formats, which Spark reads
from the session under their own names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

from pyspark.sql import SparkSession

from .failures import BadSettingError, SparkMissingError
from .masters import check_answers

_HADOOP: Final = "spark.hadoop."


@contextlib.contextmanager
def connect_session(url: str, *, own: Mapping[str, str], asked: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session for as long as the block lasts. `own`: settings of ours; `asked`: of the person, which win.

    Raises SparkMissingError, MasterUnreachableError, BadSettingError.
    """
    try:
        check_answers(url)
    except ImportError as error:
        raise SparkMissingError(
            f"Spark Connect needs the package {error.name}: pip install 'taskq[connect]' brings all that it needs."
        ) from error
    session = SparkSession.Builder().remote(url).appName("taskq reports").getOrCreate()
    try:
        _set_all(session, {**own, **asked}, asked=asked)
        yield session
    finally:
        with contextlib.suppress(Exception):  # the server may be gone
            session.stop()


def _set_all(session: SparkSession, pairs: Mapping[str, str], *, asked: Mapping[str, str]) -> None:
    """Raises BadSettingError for what only the server's own start can set."""
    refused = []
    for key, value in pairs.items():
        if key.startswith(_HADOOP):
            session.conf.set(key.removeprefix(_HADOOP), value)
        elif key not in asked or session.conf.isModifiable(key):
            session.conf.set(key, value)
        else:
            refused.append(key)
    if refused:
        raise BadSettingError(
            f"{', '.join(refused)} cannot be set through Spark Connect: set them where the server is started."
        )
