"""What a task says: nothing of it is lost between its thread, the worker and Redis."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest
import redis as redis_client

from queues.engine import JobState
from queues.engine.keys import note_key
from taskq import App, Context, Progress, RetryPolicy, Snooze
from taskq.context import LOG_LINES_KEPT

from .conftest import until, work, working
from .test_worker import detail, is_gone, told

pytestmark = pytest.mark.anyio
LINES = 20_000


@pytest.fixture
def _impatient_threads() -> object:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_impatient_threads")
def test_no_line_is_lost_that_a_thread_says_while_the_worker_takes_them() -> None:
    context = Context()
    taken: list[str] = []
    may_say = threading.Semaphore(LOG_LINES_KEPT)  # of more the oldest would be dropped

    def say() -> None:
        for number in range(LINES):
            may_say.acquire()
            context.log(str(number))

    thread = threading.Thread(target=say)
    thread.start()
    while thread.is_alive() or context._changed:
        _, lines = context.take_changes() or ({}, [])
        if lines:
            taken += lines
            may_say.release(len(lines))
    assert taken == [str(number) for number in range(LINES)]


def test_a_line_is_not_lost_that_is_taken_in_the_middle_of_being_said() -> None:
    context = Context()
    taken: list[str] = []

    def take() -> None:
        taken.extend((context.take_changes() or ({}, []))[1])

    class Line(str):
        def __str__(self) -> str:
            take()  # as the event loop may, whenever the thread gives way
            return "second"

    context.log("first")
    context.log(Line())
    take()
    assert taken == ["first", "second"]


def test_lines_that_were_not_sent_are_taken_again_before_later_ones_and_the_oldest_are_dropped() -> None:
    context = Context()
    context.log("first")
    changes = context.take_changes()
    assert changes is not None
    assert context.take_changes() is None
    context.log("second")
    context.put_back(changes[1])
    assert context.take_changes() == ({}, ["first", "second"])

    lines = [f"line {number}" for number in range(LOG_LINES_KEPT)]
    context.put_back(lines)
    context.put_back(lines)
    for line in ("one", "two"):
        context.log(line)
    assert context.take_changes() == ({}, [*lines[2:], "one", "two"])


async def test_text_that_utf8_cannot_carry_is_told_with_question_marks(app: App) -> None:
    go_on = asyncio.Event()

    @app.task
    async def run(ctx: Context) -> None:
        ctx.progress(50, "file \udcff")
        ctx.log("line \udcff")
        await go_on.wait()

    job = await run.aenqueue()
    async with working(app) as worker:
        progress = await until(lambda: told(job), or_fail="nothing was told")
        assert (progress.note, progress.log) == ("file ?", ("line ?",))
        await until(lambda: worker._lease_renewer._since_ms, or_fail="it does not tell that it lives")
        go_on.set()
        await until(lambda: is_gone(job), or_fail="its end was not told")


def test_a_line_of_the_log_stays_one_and_a_note_may_be_anything(app: App) -> None:
    @app.task(retention=60)
    def run(ctx: Context) -> None:
        ctx.progress(50, 7)  # type: ignore[arg-type]
        ctx.log("one\u2028line\x0bof text")
        ctx.log("")

    job = run.enqueue()
    work(app)
    assert job.state() is JobState.COMPLETED
    assert job.progress() == Progress(percent=50.0, note="7", log=("one\u2028line\x0bof text", ""))


def test_why_a_task_was_snoozed_is_told_for_as_long_as_it_waits(app: App, redis_url: str) -> None:
    @app.task(retry=RetryPolicy(tries=2))
    def wait(reason: str) -> None:
        raise Snooze(7_200, reason)

    jobs = [wait.enqueue("the report is not there"), wait.enqueue("")]
    work(app)

    assert [detail(job).state for job in jobs] == [JobState.DELAYED] * 2
    assert [job.progress().log for job in jobs] == [("snoozed for 7200 s: the report is not there",), ()]
    with redis_client.Redis.from_url(redis_url) as client:
        engine = app.broker.engine()  # type: ignore[attr-defined]
        assert client.pttl(note_key(engine.queue("sdk", "default"), jobs[0].id)) > 7_200_000
