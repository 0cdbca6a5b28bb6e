"""What is remembered of answers that were written and may not have been taken."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from queues.management.web import receipt
from queues.management.web.receipt import TAKEN_AFTER_S, Receipts


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets seconds pass."""
    now = [1_000_000.0]
    monkeypatch.setattr(receipt, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_s(seconds: float) -> None:
        now[0] += seconds

    return pass_s


def test_all_answers_since_the_client_was_heard_are_undone_in_order(go_on: Callable[[float], None]) -> None:
    receipts, undone = Receipts(), []
    receipts.expect(lambda: undone.append("taken"))
    receipts.clear()
    receipts.expect(lambda: undone.append("first"))
    go_on(TAKEN_AFTER_S)
    receipts.expect(lambda: undone.append("second"))

    receipts.undo()
    receipts.undo()

    assert undone == ["first", "second"]


def test_what_was_written_long_ago_counts_as_taken(go_on: Callable[[float], None]) -> None:
    receipts, undone = Receipts(), []
    receipts.expect(lambda: undone.append("old"))
    go_on(TAKEN_AFTER_S + 0.1)

    receipts.undo()

    assert undone == []


def test_an_idle_connection_keeps_nothing_in_memory_while_others_are_answered(go_on: Callable[[float], None]) -> None:
    idle, busy = Receipts(), Receipts()
    idle.expect(lambda: None)
    go_on(TAKEN_AFTER_S + 0.1)
    assert idle.expected

    busy.expect(lambda: None)

    assert not idle.expected
    assert busy.expected


def test_an_answer_to_a_connection_that_is_closed_is_undone_at_once() -> None:
    receipts, undone = Receipts(), []
    receipts.end()

    receipts.expect(lambda: undone.append("late"))

    assert undone == ["late"]
    assert not receipts.expected
