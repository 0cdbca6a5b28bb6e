"""A database that is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from django.db import OperationalError, connection


@contextmanager
def database_away() -> Iterator[None]:
    """Every query of this thread fails as it does when the server cannot be reached."""

    def fail(*_query: Any) -> NoReturn:
        raise OperationalError("connection refused")

    with connection.execute_wrapper(fail):
        yield
