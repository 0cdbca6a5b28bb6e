"""Keeps a set of children running until told to stop.

A `ChildSpec` says what to run, how it shows that it works, and when it is started again.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from .child import Child, bound_log
from .heartbeats import HUNG_AFTER_S, HangDetector, HealthProbe, HeartbeatPipe, warn_hung

LOOK_INTERVAL_S: Final = 0.1
LOG_INTERVAL_S: Final = 60.0


class ChildGivenUpError(Exception):
    """A child died again and again."""

    def __init__(self, spec: ChildSpec, status: int) -> None:
        super().__init__(f"{spec.name} keeps dying (last status {status}){_log_of(spec)}")
        self.spec = spec
        self.status = status


class NotReadyError(Exception):
    """A child was not ready in time."""

    def __init__(self, spec: ChildSpec, timeout_s: float) -> None:
        super().__init__(f"{spec.name} was not ready within {timeout_s:g} s{_log_of(spec)}")
        self.spec = spec


def _log_of(spec: ChildSpec) -> str:
    return "" if spec.log is None else f"; its log: {spec.log}"


GIVE_UP_AFTER: Final = 6
"""Deaths in a row, each within STEADY_AFTER_S of the start, after which a child is given up."""

STEADY_AFTER_S: Final = 10.0
"""A child that lived this long has no bad record any more."""


class ExitAction(Enum):
    """What follows when a child has ended by itself."""

    RESTART = "restart"
    """It died: it is started again after a pause."""
    RESTART_AT_ONCE = "restart at once"
    """It asked to be started again."""
    DONE = "over"
    """It has done its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """The first pause, doubled with each death soon after a start, up to the longest. `give_up_after`: None for never.

    `on_exit`: what follows an exit status. `action`, `level`: the log line's, when it is started again.
    """

    first_pause_s: float = 0.25
    longest_pause_s: float = 5.0
    give_up_after: int | None = GIVE_UP_AFTER
    on_exit: Callable[[int], ExitAction] = lambda _status: ExitAction.RESTART
    action: str = "restart_child"
    level: int = logging.WARNING

    def pause_s(self, deaths: int) -> float:
        """How long to wait after so many deaths in a row."""
        return min(self.longest_pause_s, self.first_pause_s * 2.0 ** min(deaths - 1, 30))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """What to run, as `Child` takes it. `env`: None for this process's own. `log` receives what it prints; None: it
    prints where this process does. `keep_fds`: open files that it inherits.

    `is_ready` tells whether it does its work yet, `is_loading` whether it still reads its data, for which it has any
    time. It hangs when it has sent no heartbeat for `hung_after_s`, or `answers`, if given, has not been true. Then it
    is killed, but not before `killed_after_s`. `sends_heartbeats` False, without `answers`: nobody looks.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    log: Path | None = None
    keep_fds: tuple[int, ...] = ()
    is_tied: bool = True
    leads_group: bool = True
    kills_group: bool = True
    is_ready: Callable[[], bool] = lambda: True
    is_loading: Callable[[], bool] = lambda: False
    sends_heartbeats: bool = True
    answers: Callable[[], bool] | None = None
    hung_after_s: float = HUNG_AFTER_S
    killed_after_s: float = 0.0
    stop_timeout_s: float = 15.0
    restarts: RestartPolicy = field(default_factory=RestartPolicy)


class _Post:
    """A child's place: the process that holds it now, and how it has gone so far."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.quick_deaths = 0
        self.restart_at = 0.0
        self.reported = ""
        """What was logged about a child that hangs."""
        self.is_reloading = False
        self.child: Child | None = None
        self.detector: HangDetector | None = None
        self._signs: HeartbeatPipe | HealthProbe | None = None

    def start(self) -> None:
        """Run the child. Raises OSError."""
        spec, signs = self.spec, self._make_signs()
        env, fds = spec.env, spec.keep_fds
        if isinstance(signs, HeartbeatPipe):
            env, fds = {**(os.environ if env is None else env), **signs.variables}, (*fds, signs.fd)
        try:
            with ExitStack() as stack:
                log = None
                if spec.log is not None:
                    bound_log(spec.log)
                    log = stack.enter_context(spec.log.open("ab"))
                self.child = Child(
                    spec.argv,
                    is_tied=spec.is_tied,
                    leads_group=spec.leads_group,
                    kills_group=spec.kills_group,
                    env=env,
                    pass_fds=fds,
                    stdout=log,
                    stderr=log,
                )
        except BaseException:
            if signs is not None:
                signs.close()
            raise
        self._signs = signs
        self.detector = None if signs is None else HangDetector(signs.was_heard)

    def _make_signs(self) -> HeartbeatPipe | HealthProbe | None:
        if self.spec.answers is not None:
            return HealthProbe(self.spec.answers)
        return HeartbeatPipe() if self.spec.sends_heartbeats else None

    def clear(self) -> None:
        """The child has ended."""
        self.child = self.detector = None
        if self._signs is not None:
            self._signs.close()
            self._signs = None


class Supervisor:
    """`start` each child in the order in which they need each other, `wait_ready`, `run`; always `stop` at the end.

    All in one thread, in which children that are tied to this process end. `logger`: where it says what it does.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger(__name__)
        self._posts: list[_Post] = []
        self._stopping = threading.Event()

    def start(self, spec: ChildSpec) -> None:
        """Start a child and watch over it from now on."""
        post = _Post(spec)
        self._posts.append(post)
        self._start(post)

    def wait_ready(self, *, timeout_s: float) -> bool:
        """Watch until every child is ready. False: asked to stop meanwhile.

        Raises NotReadyError after `timeout_s`, counted from when the last child has loaded its data; ChildGivenUpError.
        """
        deadline = time.monotonic() + timeout_s
        for post in list(self._posts):
            while not (post.child is not None and post.child.status is None and post.spec.is_ready()):
                self._look()
                if post.spec.is_loading():
                    deadline = time.monotonic() + timeout_s
                if time.monotonic() > deadline:
                    raise NotReadyError(post.spec, timeout_s)
                if self._stopping.wait(LOOK_INTERVAL_S):
                    return False
        return not self._stopping.is_set()

    def run(self) -> None:
        """Watch over the children until `ask_to_stop`, or until all are over. Raises ChildGivenUpError."""
        logs_due = time.monotonic() + LOG_INTERVAL_S
        while self._posts and not self._stopping.wait(LOOK_INTERVAL_S):
            self._look()
            if time.monotonic() > logs_due:
                logs_due = time.monotonic() + LOG_INTERVAL_S
                for post in self._posts:
                    if post.spec.log is not None:
                        bound_log(post.spec.log)

    def ask_to_stop(self) -> None:
        """Make `run` and `wait_ready` return. May be called from a signal handler."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stopping.is_set()

    def send(self, number: int) -> None:
        """Send a signal to every child. May be called from a signal handler."""
        for post in list(self._posts):
            if (child := post.child) is not None:
                child.send(number)

    def reload(self) -> None:
        """Ask every child to end, and start it again when it has."""
        for post in list(self._posts):
            if (child := post.child) is not None:
                post.is_reloading = True
                child.send(signal.SIGTERM)

    def stop(self) -> None:
        """End the children one after the other, the newest first: SIGTERM, time to finish, SIGKILL."""
        while self._posts:
            post = self._posts.pop()
            if post.child is not None:
                if not post.child.stop(post.spec.stop_timeout_s):
                    self._warn_late(post)
                post.clear()

    def stop_together(self) -> list[int]:
        """End the children as `stop` does, but all at the same time. The exit statuses of those that ran."""
        posts = [post for post in self._posts if post.child is not None]
        self.send(signal.SIGTERM)
        began, statuses = time.monotonic(), []
        for post in posts:
            assert post.child is not None
            if not post.child.wait(max(0.0, began + post.spec.stop_timeout_s - time.monotonic())):
                self._warn_late(post)
            post.child.kill()
            statuses.append(post.child.status or 0)
            post.clear()
        self._posts = []
        return statuses

    def kill(self) -> None:
        """End all children at once."""
        while self._posts:
            post = self._posts.pop()
            if post.child is not None:
                post.child.kill()
                post.clear()

    def pids(self) -> dict[str, int]:
        """Process ids of the children that run, by name."""
        return {post.spec.name: post.child.pid for post in self._posts if post.child is not None}

    def _look(self) -> None:
        for post in list(self._posts):
            if post.child is None:
                if time.monotonic() >= post.restart_at:
                    self._start(post)
            elif (status := post.child.status) is not None:
                self._on_exit(post, post.child, status)
            elif post.detector is not None:
                self._check_hung(post, post.child, post.detector)

    def _start(self, post: _Post) -> None:
        try:
            post.start()
        except OSError:
            policy = post.spec.restarts
            post.restart_at = time.monotonic() + policy.longest_pause_s
            fields = {"action": policy.action, "child": post.spec.name}
            self._logger.exception("child could not be started", extra=fields)

    def _check_hung(self, post: _Post, child: Child, detector: HangDetector) -> None:
        """Notice that it hangs, and kill it. It is then started again as one that died by itself is."""
        spec = post.spec
        detector.look()
        if not detector.is_hung(spec.hung_after_s):
            post.reported = ""
            return
        is_over = detector.is_hung(max(spec.hung_after_s, spec.killed_after_s))
        action = "kill_hung_child" if is_over else "hung_child"
        if post.reported == action:
            return
        post.reported = action
        warn_hung(self._logger, action, child=spec.name, pid=child.pid, silent_s=detector.silent_s)
        if is_over:  # without waiting: one that waits for a disk that hangs cannot end before
            child.send_all(signal.SIGKILL)

    def _on_exit(self, post: _Post, child: Child, status: int) -> None:
        child.kill()  # what it started may have outlived it, and would hold its port
        post.clear()
        policy, was_reloading, post.is_reloading = post.spec.restarts, post.is_reloading, False
        action = ExitAction.RESTART_AT_ONCE if was_reloading else policy.on_exit(status)
        if action is ExitAction.DONE:
            self._posts.remove(post)
            return
        if action is ExitAction.RESTART_AT_ONCE:
            post.restart_at = 0.0
            return
        post.quick_deaths = post.quick_deaths + 1 if child.age_s < STEADY_AFTER_S else 1
        if policy.give_up_after is not None and post.quick_deaths >= policy.give_up_after:
            raise ChildGivenUpError(post.spec, status)
        pause_s = policy.pause_s(post.quick_deaths)
        post.restart_at = time.monotonic() + pause_s
        fields = {"action": policy.action, "child": post.spec.name, "status": status, "wait_s": pause_s}
        self._logger.log(policy.level, "child ended; it is started again", extra=fields)

    def _warn_late(self, post: _Post) -> None:
        self._logger.warning("child did not end in time", extra={"action": "kill_child", "child": post.spec.name})
