"""Which answers count as undelivered when a connection ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from queues.server import delivery_check
from queues.server.delivery_check import UNREAD_WITHIN_S, DeliveryCheck


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets seconds pass."""
    now = [1_000_000.0]
    monkeypatch.setattr(delivery_check, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_s(seconds: float) -> None:
        now[0] += seconds

    return pass_s


def expecting(*starts: int) -> tuple[DeliveryCheck, list[int]]:
    """A check of answers that begin at these positions, and where it notes those that it undoes."""
    check, undone = DeliveryCheck(), list[int]()
    for start in starts:
        check.expect(partial(undone.append, start), start=start)
    return check, undone


def test_a_reset_right_after_the_write_undoes_all_in_order_and_once(go_on: Callable[[float], None]) -> None:
    check, undone = expecting(0, 100)
    go_on(UNREAD_WITHIN_S)

    for _ in range(2):
        check.end(written=200, confirmed=200, was_reset=True)

    assert undone == [0, 100]


def test_a_later_reset_undoes_only_what_was_not_confirmed(go_on: Callable[[float], None]) -> None:
    check, undone = expecting(0, 100)
    go_on(UNREAD_WITHIN_S + 0.001)

    check.end(written=200, confirmed=199, was_reset=True)

    assert undone == [100]


def test_an_orderly_end_undoes_only_what_was_not_confirmed(go_on: Callable[[float], None]) -> None:
    check, undone = expecting(0, 100)

    check.end(written=200, confirmed=100, was_reset=False)

    assert undone == [100]


def test_a_client_that_says_more_has_everything(go_on: Callable[[float], None]) -> None:
    check, undone = expecting(0)

    check.clear()
    check.end(written=100, confirmed=0, was_reset=True)

    assert undone == []


def test_what_is_confirmed_is_forgotten_once_a_reset_says_nothing_of_it(go_on: Callable[[float], None]) -> None:
    check, _ = expecting(0)
    check.clear_confirmed(written=100, confirmed=100)
    assert check, "a reset may still undo it"

    go_on(UNREAD_WITHIN_S + 0.001)
    check.clear_confirmed(written=100, confirmed=99)
    assert check, "not all of it is confirmed"
    check.clear_confirmed(written=100, confirmed=100)

    assert not check


def test_an_answer_after_the_end_is_undone_at_once(go_on: Callable[[float], None]) -> None:
    check, undone = expecting()
    check.end(written=0, confirmed=0, was_reset=False)

    check.expect(partial(undone.append, 0), start=0)

    assert undone == [0]
