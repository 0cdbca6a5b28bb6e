"""The threads in which services ask the database: they live outside of Django's request cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")


def with_fresh_connections(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `function`; before and after, drop a connection that is too old or broken, as Django does for requests."""
    close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        close_old_connections()
