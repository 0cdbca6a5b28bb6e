"""Tasks whose calls gather: `group=`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from queues.engine import JobState, flush_due, server_time
from taskq import App, NotConfiguredError, RetryPolicy

from .conftest import work


def flush(app: App) -> None:
    """As `runpump` does, a minute later."""
    engine = app.broker.engine()  # type: ignore[attr-defined]
    engine.run(flush_due(engine.layout, now_ms=engine.run(server_time()) + 60_000))


@dataclass
class Line:
    text: str


def test_a_task_gets_the_lists_of_all_calls_as_one(app: App) -> None:
    ran: list[list[Line]] = []

    @app.task(group="digest", group_max_size=3, retention=60)
    def send(lines: list[Line]) -> int:
        ran.append(lines)
        return len(lines)

    jobs = [send.enqueue([Line("one")]), send.enqueue([Line("two"), Line("three")])]
    work(app)
    assert ran == []
    jobs.append(send.enqueue([Line("four")]))
    detail = jobs[0].detail()
    assert detail is not None
    assert (detail.state, bool(detail.batch_id)) == (JobState.READY, True)
    work(app)

    assert ran == [[Line("one"), Line("two"), Line("three"), Line("four")]]
    assert [job.result(timeout=5) for job in jobs] == [4, 4, 4]


def test_groups_are_by_argument_and_by_task(app: App) -> None:
    ran: list[tuple[str, list[int]]] = []

    @app.task(name="a", group=lambda numbers: f"even {numbers[0] % 2}", group_grace_period=0.001)
    def first(numbers: list[int]) -> None:
        ran.append(("a", sorted(numbers)))

    @app.task(name="b", group="even 0", group_grace_period=0.001)
    def second(numbers: list[int]) -> None:
        ran.append(("b", sorted(numbers)))

    for number in range(4):
        first.enqueue([number])
    second.enqueue([2])
    flush(app)
    work(app)

    assert sorted(ran) == [("a", [0, 2]), ("a", [1, 3]), ("b", [2])]


def test_a_failed_batch_is_tried_again_whole(app: App) -> None:
    ran: list[list[int]] = []

    @app.task(group="g", group_max_size=2, retry=RetryPolicy(tries=2, backoff="none"))
    def count(numbers: list[int]) -> None:
        ran.append(numbers)
        if len(ran) == 1:
            raise ValueError

    count.enqueue([1])
    count.enqueue([2])
    work(app)

    assert ran == [[1, 2], [1, 2]]


def test_what_does_not_fit_a_group_is_refused(app: App) -> None:
    with pytest.raises(NotConfiguredError, match="has one parameter"):

        @app.task(group="g")
        def two(numbers: list[int], more: int) -> None: ...

    @app.task(group="g")
    def count(numbers: list[int]) -> None: ...

    with pytest.raises(TypeError, match="called with one list"):
        count.enqueue(7)  # type: ignore[arg-type]
    with pytest.raises(NotConfiguredError, match="nobody waits"):
        count.enqueue_and_wait([7])
    assert app.broker.run(app.broker.stats("default")).counts[JobState.GROUPED] == 0
