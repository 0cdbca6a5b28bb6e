"""Whether the session's Java process still runs after an error."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from queues.reports.java_process import java_is_alive


@pytest.mark.parametrize("error", [Py4JError("calling"), Py4JNetworkError("sending"), EOFError()], ids=type)
def test_one_whose_connection_ended_is_waited_for(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed closes its connections before it is gone."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))

        assert not java_is_alive(error)


def test_one_that_brings_an_exception_of_its_own_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))

        assert java_is_alive(ValueError("a column that is not there"))
        process.kill()
