"""The Java process of a session: its start, whether it lives, what it spends, commands to it, its end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

ENDING_S: Final = 10.0
"""How long a Java process that was killed may take to be gone."""

_LOOK_S: Final = 0.02
_STARTED_S: Final = 900.0
"""How long Java may take to say where it listens: it may have to download the packages that Spark is told to use."""

OFTEN_NAMED: Final = ("org.apache.spark.sql.functions", "functions", "PythonUtils")
"""Classes that PySpark asks Java for with each function of a query, each named column, and each list of columns."""


def start_java(command: Sequence[str], *, variables: Mapping[str, str]) -> None:
    """Start the Java process that the next session uses. `variables`: of its environment, besides ours.

    PySpark's own start runs Python between fork and exec (`preexec_fn`, which makes Java ignore Ctrl-C): where a thread
    of another file system's client was at work, a report of a lake in HDFS stood still there.
    Raises PySparkRuntimeError if Java ends before it says where it listens, or does not say so.
    """
    with tempfile.TemporaryDirectory(prefix="taskq-java-") as folder:  # which only we can read
        connection_file = Path(folder) / "connection"
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,  # Java ends when nobody holds it any more
            env=os.environ
            | variables
            | {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_file)},
        )
        try:
            give_up = time.monotonic() + _STARTED_S
            while not connection_file.is_file():
                if process.poll() is not None or time.monotonic() > give_up:
                    raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
                time.sleep(_LOOK_S)
            with connection_file.open("rb") as file:
                port, secret = read_int(file), UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]
            with _environment(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret):
                gateway = launch_gateway()  # type: ignore[no-untyped-call]
            gateway.proc = process
            SparkContext._ensure_initialized(gateway=gateway)
        except BaseException:  # a wish to exit, too: Java would go on writing into what is being deleted
            process.kill()
            process.wait()
            raise


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def end_java(session: SparkSession | None, *, within_s: float) -> bool:
    """Stop Spark and its Java process, also when that has died already: then there is nothing that could be stopped.
    `session`: None if there was to be none.

    Whether Java has ended by itself within that time.
    """
    gateway = SparkContext._gateway
    with contextlib.suppress(Exception):
        if session is not None:
            session.stop()
    if gateway is None:
        return False
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    status = None
    if process is not None:
        process.stdin.close()  # Java ends when nobody holds its input
        with contextlib.suppress(Exception):
            status = process.wait(timeout=within_s)
    SparkContext._gateway = None
    SparkContext._jvm = None
    return status == 0


def java_is_alive(after: Exception) -> bool:
    """Whether the session's Java process still runs after an error."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return True
    if isinstance(after, Py4JError | EOFError) and not isinstance(after, Py4JJavaError):
        # Its connection ended without a word of an exception: one that was killed closes that before it is gone.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=ENDING_S)
    return process.poll() is None


def remember_classes(session: SparkSession) -> None:
    """Have PySpark ask once for classes that it names often: Java looks for them in all archives of Spark each time."""
    jvm: Any = session.sparkContext._jvm
    for name in OFTEN_NAMED:
        setattr(jvm, name, getattr(jvm, name))


def java_times(session: SparkSession) -> dict[str, float]:
    """Seconds since the session's Java process began, and what it has spent on compiling and on collecting garbage.

    Nothing of a session of Spark Connect, whose Java runs elsewhere.
    """
    if is_remote():
        return {}
    factory: Any = session.sparkContext._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    collectors = factory.getGarbageCollectorMXBeans()
    milliseconds = {
        "up": factory.getRuntimeMXBean().getUptime(),
        "just-in-time compiler, all threads": factory.getCompilationMXBean().getTotalCompilationTime(),
        "garbage collection": sum(collectors[number].getCollectionTime() for number in range(len(collectors))),
    }
    return {name: value / 1_000 for name, value in milliseconds.items()}


def diagnose(session: SparkSession, name: str, *words: str) -> str:
    """What the Java process says to a diagnostic command: `compilerDirectivesAdd` is what `jcmd` calls
    `Compiler.directives_add`. Raises Py4JError if it knows none of that name."""
    context: Any = session.sparkContext
    jvm, array = context._jvm, context._gateway.new_array
    beans = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    commands = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    told = array(jvm.java.lang.String, len(words))
    for place, word in enumerate(words):
        told[place] = word
    given = 1 if words else 0
    arguments, types = array(jvm.java.lang.Object, given), array(jvm.java.lang.String, given)
    if words:
        arguments[0], types[0] = told, told.getClass().getName()
    # By its interface: the class of the server itself is not ours to call.
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    (invoke,) = (method for method in methods if method.getName() == "invoke")
    every = array(jvm.java.lang.Object, 4)
    for place, value in enumerate((commands, name, arguments, types)):
        every[place] = value
    return str(invoke.invoke(beans, every))
