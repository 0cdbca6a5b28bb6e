"""A time limit for what a thread does: past it, the thread's next question to Redis or the database raises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from django.db import connection


class WorkTimeoutError(BaseException):
    """The time limit is over. Not an Exception, so that no handler of failures goes on in spite of it."""


class _Deadline(threading.local):
    at: float | None = None


_deadline = _Deadline()


@contextmanager
def end_work_at(at: float) -> Iterator[None]:
    """Within the block this thread may ask Redis and the database until `at`, in seconds of the monotonic clock."""
    _deadline.at = at
    try:
        with connection.execute_wrapper(_check_query):
            yield
    finally:
        _deadline.at = None


def check_deadline() -> None:
    """Raise WorkTimeoutError if this thread's time is over."""
    if _deadline.at is not None and monotonic() > _deadline.at:
        raise WorkTimeoutError


def _check_query(execute: Callable[..., Any], *args: Any) -> Any:
    check_deadline()
    return execute(*args)
