"""Many rows of a table in one test.

A test of its own costs 10 ms before it does anything: in each process that collects it, and for its fixtures.
"""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import pytest

Row = TypeVar("Row")

SHOWN_WHOLE: Final = 5
"""So many failures are shown with their tracebacks; of the others there is the title."""


def check_each(rows: Iterable[Row], check: Callable[[Row], object], *, title: Callable[[Row], object]) -> None:
    """Call `check` for each row, and fail at the end with every row that failed."""
    table, failures = list(rows), []
    assert table, "no rows"
    for row in table:
        try:
            check(row)
        except (Exception, pytest.fail.Exception, BaseExceptionGroup) as failure:
            failures.append((str(title(row)), failure))
    if failures:
        told = f"{len(failures)} of {len(table)} rows failed: {', '.join(name for name, _ in failures)}"
        raise BaseExceptionGroup(told, [failure for _, failure in failures[:SHOWN_WHOLE]])


def in_one_test(
    names: str | Sequence[str], rows: Iterable[Any], *, title: Callable[[Any], object] = reprlib.repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but one test, which goes through all rows with the same fixtures.

    For tests that leave nothing behind which the next row could notice.
    """
    split = [names] if isinstance(names, str) else list(names)
    table = list(rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            def check(row: Any) -> None:
                values = (row,) if isinstance(names, str) else row
                test(**fixtures, **dict(zip(split, values, strict=True)))

            check_each(table, check, title=title)

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in split]
        assert len(kept) == len(signature.parameters) - len(split), f"{test} does not take {names}"
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate
