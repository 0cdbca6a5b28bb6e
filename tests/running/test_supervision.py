"""The supervisor of child processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from queues.supervision import (
    GIVE_UP_AFTER,
    ChildGivenUpError,
    ChildSpec,
    ExitAction,
    NotReadyError,
    RestartPolicy,
    Supervisor,
    child,
    last_lines,
)
from tests.running.processes import Family
from tests.support.waiting import wait_until

SLEEP = "import time; time.sleep(600)"
STUBBORN_WITH_CHILD = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
time.sleep(600)
"""


@pytest.fixture
def family() -> Family:
    return Family()


@pytest.fixture
def watch() -> Iterator[Supervisor]:
    watch = Supervisor()
    yield watch
    watch.kill()


@pytest.fixture
def spec(tmp_path: Path, family: Family) -> Callable[..., ChildSpec]:
    """Makes the spec of a Python child; ready at once unless told otherwise."""

    def make(code: str, *, ready: Callable[[], bool] = lambda: True, stop_timeout_s: float = 5.0) -> ChildSpec:
        return ChildSpec(
            name="child",
            argv=(sys.executable, "-c", code),
            env=family.environment(),
            log=tmp_path / "child.log",
            is_ready=ready,
            stop_timeout_s=stop_timeout_s,
        )

    return make


@pytest.fixture
def running(watch: Supervisor) -> Iterator[Callable[[], None]]:
    """Starts `watch.run()`; what it raises is raised when the test ends. On the main thread it would block the test."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            watch.run()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    yield thread.start
    watch.ask_to_stop()
    thread.join()
    if errors:
        raise errors[0]


def test_a_child_that_dies_is_started_again(
    watch: Supervisor, spec: Callable[..., ChildSpec], running: Callable[[], None]
) -> None:
    watch.start(spec(SLEEP))
    first = watch.pids()["child"]
    running()

    os.kill(first, signal.SIGKILL)

    wait_until(lambda: watch.pids().get("child", first) != first, or_fail="the child was not started again")


def test_what_a_dead_child_left_behind_is_killed_before_it_is_started_again(
    watch: Supervisor, spec: Callable[..., ChildSpec], family: Family, running: Callable[[], None]
) -> None:
    watch.start(spec(STUBBORN_WITH_CHILD))
    wait_until(lambda: len(family.members()) == 2, or_fail="child and grandchild did not start")
    old = set(family.members())
    running()

    os.kill(watch.pids()["child"], signal.SIGKILL)

    wait_until(lambda: not old & set(family.members()), or_fail="the grandchild outlived the child")


def test_a_child_that_keeps_dying_is_given_up(
    watch: Supervisor, spec: Callable[..., ChildSpec], tmp_path: Path
) -> None:
    hasty = RestartPolicy(longest_pause_s=0.01)
    watch.start(replace(spec("print('no good'); raise SystemExit(3)"), restarts=hasty))

    with pytest.raises(ChildGivenUpError, match=r"child keeps dying \(last status 3\).*child\.log"):
        watch.run()

    assert last_lines(tmp_path / "child.log", count=99) == ["no good"] * GIVE_UP_AFTER


def test_pauses_between_restarts_grow(
    watch: Supervisor, spec: Callable[..., ChildSpec], caplog: pytest.LogCaptureFixture
) -> None:
    watch.start(replace(spec("raise SystemExit(1)"), restarts=RestartPolicy(first_pause_s=0.02, longest_pause_s=0.05)))

    with pytest.raises(ChildGivenUpError):
        watch.run()

    pauses = [getattr(record, "wait_s", None) for record in caplog.records]
    assert pauses == [0.02, 0.04, 0.05, 0.05, 0.05]


def test_a_child_that_is_over_is_not_started_again(watch: Supervisor, spec: Callable[..., ChildSpec]) -> None:
    policy = RestartPolicy(on_exit=lambda status: ExitAction.DONE if status == 0 else ExitAction.RESTART)
    watch.start(replace(spec("pass"), restarts=policy))

    watch.run()

    assert watch.pids() == {}


def test_a_child_that_asks_for_it_is_started_again_without_a_pause(
    watch: Supervisor, spec: Callable[..., ChildSpec], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    statuses = {0: ExitAction.DONE, 64: ExitAction.RESTART_AT_ONCE}
    runs = tmp_path / "runs"
    code = f"f = open({str(runs)!r}, 'a'); f.write('x'); sys.exit(64 if f.tell() < {2 * GIVE_UP_AFTER} else 0)"
    policy = RestartPolicy(first_pause_s=600, longest_pause_s=600, on_exit=statuses.__getitem__)
    watch.start(replace(spec(f"import sys; {code}"), restarts=policy))

    watch.run()

    assert runs.read_text() == "x" * 2 * GIVE_UP_AFTER
    assert not caplog.records


def test_children_that_are_reloaded_have_no_bad_record(
    watch: Supervisor, spec: Callable[..., ChildSpec], running: Callable[[], None]
) -> None:
    watch.start(replace(spec(SLEEP), restarts=RestartPolicy(first_pause_s=600, give_up_after=1)))
    first = watch.pids()["child"]
    running()

    watch.reload()

    wait_until(lambda: watch.pids().get("child", first) != first, or_fail="it was not started again")


def test_a_child_that_cannot_be_started_is_tried_again(
    watch: Supervisor, spec: Callable[..., ChildSpec], tmp_path: Path, running: Callable[[], None]
) -> None:
    program = tmp_path / "program"
    unstartable = replace(spec(""), argv=(str(program),), is_tied=False, restarts=RestartPolicy(longest_pause_s=0.05))
    watch.start(unstartable)
    assert watch.pids() == {}
    running()

    draft = tmp_path / "draft"
    draft.write_text("#!/bin/sh\nexec sleep 600\n")
    draft.chmod(0o700)
    draft.rename(program)

    wait_until(lambda: "child" in watch.pids(), or_fail="it was not tried again")


def test_children_that_are_stopped_together_say_how_they_ended(
    watch: Supervisor, spec: Callable[..., ChildSpec], tmp_path: Path
) -> None:
    started = tmp_path / "started"
    handler = f"signal.signal(15, lambda *_: sys.exit(7)); open({str(started)!r}, 'w').close()"
    watch.start(spec(f"import signal, sys, time; {handler}; time.sleep(600)", ready=started.exists))
    watch.start(spec(SLEEP))
    assert watch.wait_ready(timeout_s=10)

    assert watch.stop_together() == [7, -signal.SIGTERM]
    assert watch.pids() == {}


def test_waiting_for_a_child_that_never_gets_ready_ends(watch: Supervisor, spec: Callable[..., ChildSpec]) -> None:
    watch.start(spec(SLEEP, ready=lambda: False))

    with pytest.raises(NotReadyError, match=r"child was not ready within 0\.3 s"):
        watch.wait_ready(timeout_s=0.3)


def test_a_child_that_loads_its_data_has_all_the_time_that_it_takes(
    watch: Supervisor, spec: Callable[..., ChildSpec]
) -> None:
    looks = iter(range(1_000))
    loading = replace(spec(SLEEP), is_ready=lambda: next(looks) > 5, is_loading=lambda: True)
    watch.start(loading)

    assert watch.wait_ready(timeout_s=0.01)
    assert next(looks) > 6


def test_waiting_ends_when_asked_to_stop(watch: Supervisor, spec: Callable[..., ChildSpec]) -> None:
    watch.start(spec(SLEEP, ready=lambda: False))
    watch.ask_to_stop()

    assert watch.wait_ready(timeout_s=60) is False


def test_stop_kills_what_does_not_end_in_time_with_all_that_it_started(
    watch: Supervisor, spec: Callable[..., ChildSpec], family: Family
) -> None:
    watch.start(spec(STUBBORN_WITH_CHILD, stop_timeout_s=0.2))
    wait_until(lambda: len(family.members()) == 2, or_fail="child and grandchild did not start")

    watch.stop()

    family.wait_gone()


def test_stop_lets_a_child_finish(watch: Supervisor, spec: Callable[..., ChildSpec], tmp_path: Path) -> None:
    done, started = tmp_path / "done", tmp_path / "started"
    watch.start(
        spec(
            "import pathlib, signal, sys, time\n"
            f"signal.signal(15, lambda *_: (pathlib.Path({str(done)!r}).touch(), sys.exit()))\n"
            f"pathlib.Path({str(started)!r}).touch()\n"
            "time.sleep(600)",
            ready=started.exists,
        )
    )
    assert watch.wait_ready(timeout_s=10)

    watch.stop()

    assert done.exists()


def test_children_stop_in_the_reverse_order_of_their_start(
    watch: Supervisor, spec: Callable[..., ChildSpec], tmp_path: Path
) -> None:
    order = tmp_path / "order"
    for name in ("first", "second"):
        started = tmp_path / name
        watch.start(
            spec(
                "import pathlib, signal, sys, time\n"
                f"def note(*_): print({name!r}, file=open({str(order)!r}, 'a'), flush=True); sys.exit()\n"
                "signal.signal(15, note)\n"
                f"pathlib.Path({str(started)!r}).touch()\n"
                "time.sleep(600)",
                ready=started.exists,
            )
        )
    assert watch.wait_ready(timeout_s=10)

    watch.stop()

    assert order.read_text().split() == ["second", "first"]


def test_a_log_is_bounded_while_the_child_goes_on_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "LOG_MAX_BYTES", 10)
    path = tmp_path / "child.log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"a long first line\n")
        child.bound_log(path)
        writer.write(b"next\n")

    assert path.read_bytes() == b"next\n"
    assert (tmp_path / "child.log.1").read_bytes() == b"a long first line\n"


def test_last_lines_of_a_log_that_is_not_there_are_none(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "nothing.log", count=5) == []


def test_a_child_does_not_get_the_terminals_ctrl_c(watch: Supervisor, spec: Callable[..., ChildSpec]) -> None:
    watch.start(spec(SLEEP))
    pid = watch.pids()["child"]

    assert os.getpgid(pid) == pid != os.getpgrp()
