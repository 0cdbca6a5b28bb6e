"""Threads for synchronous tasks."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class ThreadPool:
    """Runs calls in threads, for one event loop. Threads are started when they are needed, `size` at the most.

    A ThreadPoolExecutor wakes a thread for each call and the event loop for each result. Here a thread that is woken
    wakes the next one if there are more calls, and goes on with the next call itself when it is done; results that come
    in before the event loop gets to them are taken together. So short tasks cost few changes between threads.

    `abandoned`: threads that still run a call whose caller was cancelled; `on_free` is called when one of them ends.
    """

    def __init__(self, size: int, on_free: Callable[[], None]) -> None:
        self._size = size
        self._on_free = on_free
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()  # of all that follows
        self._waiting: deque[_Call] = deque()
        self._ended: list[_Call] = []
        self._is_delivering = False
        self._idle: list[threading.Lock] = []
        self._threads = 0
        self._is_waking = False
        """Whether a thread was woken or started, and has not looked for a call yet."""
        self._is_closed = False
        self.abandoned = 0

    async def run(self, call: Callable[[], Any]) -> Any:
        """Run `call` in a thread. Returns or raises what it does. If cancelled, a call that has begun goes on."""
        one = _Call(call, self._loop.create_future())
        with self._lock:
            self._waiting.append(one)
            self._wake()
        try:
            return await one.future
        except asyncio.CancelledError:
            self._give_up(one)
            raise

    def close(self) -> None:
        """End the threads: idle ones now, others after their call. Calls that have not begun are dropped."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
            idle, self._idle = self._idle, []
        for lock in idle:
            lock.release()

    def _give_up(self, one: _Call) -> None:
        with self._lock:
            if not one.has_begun:
                with contextlib.suppress(ValueError):  # closed
                    self._waiting.remove(one)
            elif not one.has_ended:
                one.is_abandoned = True
                self.abandoned += 1

    def _wake(self) -> None:
        """Make sure that a thread looks for a call. Called with the lock held."""
        if self._is_waking or not self._waiting:
            return
        if self._idle:
            self._is_waking = True
            self._idle.pop().release()  # the one that was busy last: its memory is warm
        elif self._threads < self._size:
            self._is_waking = True
            self._threads += 1
            # Daemons: a worker that ends does not wait for tasks whose jobs it has given back.
            threading.Thread(target=self._work, name=f"taskq_{self._threads}", daemon=True).start()

    def _work(self) -> None:
        mine = threading.Lock()
        mine.acquire()  # released by the thread that wakes this one
        is_woken = True
        while True:
            with self._lock:
                if is_woken:
                    self._is_waking = is_woken = False
                one = self._waiting.popleft() if self._waiting else None
                if one is not None:
                    one.has_begun = True
                    self._wake()
                elif self._is_closed:
                    return
                else:
                    self._idle.append(mine)
            if one is None:
                mine.acquire()
                is_woken = True
            else:
                one.run()
                self._end(one)
                del one  # nor its result: nothing of it stays until the next call

    def _end(self, one: _Call) -> None:
        """In the thread of the call: hand it to the event loop."""
        with self._lock:
            one.has_ended = True
            self._ended.append(one)
            if self._is_delivering:
                return
            self._is_delivering = True
        with contextlib.suppress(RuntimeError):  # the loop has ended before the thread
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            ended, self._ended = self._ended, []
            self._is_delivering = False
        for one in ended:
            if one.is_abandoned:
                self.abandoned -= 1
                self._on_free()
            elif not one.future.done():
                if one.error is None:
                    one.future.set_result(one.result)
                else:
                    one.future.set_exception(one.error)


class _Call:
    """A call, and what became of it."""

    __slots__ = ("_call", "error", "future", "has_begun", "has_ended", "is_abandoned", "result")

    def __init__(self, call: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        self._call = call
        self.future = future
        self.has_begun = False
        self.has_ended = False
        self.is_abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._call()
        except StopIteration as error:  # which a future cannot carry
            self.error = RuntimeError("the task raised StopIteration")
            self.error.__cause__ = error
        except BaseException as error:
            self.error = error
