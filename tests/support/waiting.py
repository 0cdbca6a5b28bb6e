"""Waits for what another process or thread will do; nothing sleeps for a time that somebody guessed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")

TIMEOUT_S = 10.0
INTERVAL_S = 0.01


def wait_until(condition: Callable[[], T], *, or_fail: str, timeout_s: float = TIMEOUT_S) -> T:
    """Ask until `condition()` is true and return what it returned; fail with `or_fail` when time is up."""
    deadline = time.monotonic() + timeout_s
    while not (result := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"{or_fail} (not within {timeout_s:g} s)")
        time.sleep(INTERVAL_S)
    return result
