"""Keeps a set of children running until told to stop."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from .child import Child, ChildSpec
from .logs import bound_log

logger = logging.getLogger(__name__)

GIVE_UP_AFTER: Final = 6
"""Deaths in a row, each within STEADY_AFTER_S of the start, after which a child is given up."""

STEADY_AFTER_S: Final = 10.0
"""A child that lived this long has no bad record any more."""

BACKOFF_FIRST_S: Final = 0.25
BACKOFF_MAX_S: Final = 5.0
LOOK_INTERVAL_S: Final = 0.1
LOG_INTERVAL_S: Final = 60.0


class ChildGivenUpError(Exception):
    """A child died again and again."""

    def __init__(self, spec: ChildSpec, status: int) -> None:
        super().__init__(f"{spec.name} keeps dying (last status {status}); its log: {spec.log}")
        self.spec = spec


class NotReadyError(Exception):
    """A child was not ready in time."""

    def __init__(self, spec: ChildSpec, timeout_s: float) -> None:
        super().__init__(f"{spec.name} was not ready within {timeout_s:g} s; its log: {spec.log}")
        self.spec = spec


class _Post:
    """A child's place: who holds it now, and how it has gone so far."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.quick_deaths = 0
        self.restart_at = 0.0
        self.reported = ""
        """What was logged about a child that hangs."""
        self.child: Child | None = Child(spec)


class Supervisor:
    """`start` each child in the order in which they need each other, `wait_ready`, `run`; always `stop` at the end.

    Use it from the main thread: a child ends with the thread that started it.
    """

    def __init__(self) -> None:
        self._posts: list[_Post] = []
        self._stopping = threading.Event()

    def start(self, spec: ChildSpec) -> None:
        """Start a child and watch over it from now on."""
        self._posts.append(_Post(spec))

    def wait_ready(self, *, timeout_s: float) -> bool:
        """Watch until every child is ready. False: asked to stop meanwhile.

        Raises NotReadyError after `timeout_s`, counted from when the last child has loaded its data; ChildGivenUpError.
        """
        deadline = time.monotonic() + timeout_s
        for post in self._posts:
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
        """Watch over the children until `ask_to_stop`. Raises ChildGivenUpError."""
        logs_due = time.monotonic() + LOG_INTERVAL_S
        while not self._stopping.wait(LOOK_INTERVAL_S):
            self._look()
            if time.monotonic() > logs_due:
                logs_due = time.monotonic() + LOG_INTERVAL_S
                for post in self._posts:
                    bound_log(post.spec.log)

    def ask_to_stop(self) -> None:
        """Make `run` and `wait_ready` return. May be called from a signal handler."""
        self._stopping.set()

    def stop(self) -> None:
        """End the children, the newest first: SIGTERM, time to finish, SIGKILL to what is left of its group."""
        while self._posts:
            child = self._posts.pop().child
            if child is not None:
                child.terminate()
                if not child.wait(child.spec.stop_timeout_s):
                    logger.warning(
                        "child did not end in time", extra={"action": "kill_child", "child": child.spec.name}
                    )
                child.kill()

    def kill(self) -> None:
        """End all children at once."""
        while self._posts:
            child = self._posts.pop().child
            if child is not None:
                child.kill()

    def pids(self) -> dict[str, int]:
        """Process ids of the children that run, by name."""
        return {post.spec.name: post.child.pid for post in self._posts if post.child is not None}

    def _look(self) -> None:
        for post in self._posts:
            if post.child is None:
                if time.monotonic() >= post.restart_at:
                    post.child = Child(post.spec)
            elif (status := post.child.status) is not None:
                self._bury(post, post.child, status)
            else:
                self._watch(post, post.child)

    def _watch(self, post: _Post, child: Child) -> None:
        """Notice that it hangs, and kill it. It is then started again as one that died by itself is."""
        child.watch.look()
        hung_after_s = child.spec.hung_after_s
        if not child.watch.is_hung(hung_after_s):
            post.reported = ""
            return
        is_over = child.watch.is_hung(max(hung_after_s, child.spec.killed_after_s))
        action = "kill_hung_child" if is_over else "hung_child"
        if post.reported == action:
            return
        post.reported = action
        fields = {"action": action, "child": child.spec.name, "pid": child.pid}
        logger.warning("child shows no sign of life", extra={**fields, "silent_s": round(child.watch.silent_s, 1)})
        if action == "kill_hung_child":
            child.send_kill()

    def _bury(self, post: _Post, child: Child, status: int) -> None:
        child.kill()  # what it started may have outlived it, and would hold its port
        post.child = None
        post.quick_deaths = post.quick_deaths + 1 if child.age_s < STEADY_AFTER_S else 1
        if post.quick_deaths >= GIVE_UP_AFTER:
            raise ChildGivenUpError(post.spec, status)
        wait_s = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** (post.quick_deaths - 1))
        post.restart_at = time.monotonic() + wait_s
        logger.warning(
            "child ended; it is started again",
            extra={"action": "restart_child", "child": post.spec.name, "status": status, "wait_s": wait_s},
        )
