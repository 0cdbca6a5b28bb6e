"""Waiting consumers of one event loop: one subscription for all of them, first come, first served.

What wakes a group of waiters: a wake-up message (as many waiters as jobs became ready), the queues' next due time (a
timer of the group), and its turn to poll in case a message was lost (`waiter_groups`). In each case the *first* of the
group polls; one that got a job without a message sends the next: there may be more. Who sleeps costs its coroutine, one
future and one timer, and neither task nor connection of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Coroutine, Sequence
from time import monotonic
from typing import Any, Final

from .. import constants
from ..errors import LimitReachedError
from ..keys import QueueKeys
from ..operation import AsyncRunner
from ..operations.consume import consume_any, consume_step, give_back, is_again
from ..values import Consumed
from .results import ResultWaiters
from .subscription import Subscription
from .waiter_groups import STEP_BACK_S, FallbackPolls, OtherProcesses, WaiterGroup, WaiterGroups, Wake, delay_until

logger = logging.getLogger("taskq.waiting")

_NOTHING: Final = Consumed(jobs=())
_DUE_MARGIN_S: Final = 0.0005
"""The server's clock is read in whole ms: half a ms late finds the job; too early would have to poll again."""


class Waiters:
    """All waiters of an AsyncEngine."""

    def __init__(self, engine: AsyncRunner) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._groups = WaiterGroups()
        self._fallback_polls = FallbackPolls(self._groups)
        self._arrivals = itertools.count()
        self._stopped = False
        self._other_processes = OtherProcesses(engine.client)
        self.polls: set[asyncio.Task[Consumed]] = set()
        """Polls under way. They run to their end, also if their callers are cancelled."""
        self.results = ResultWaiters(engine)

    @property
    def waiting(self) -> int:
        """Number of consumers that are waiting."""
        return sum(group.total for group in self._groups.all())

    def consume(
        self, subscription: Subscription, queues: Sequence[QueueKeys], *, timeout_s: float, **options: Any
    ) -> Coroutine[Any, Any, Consumed]:
        """See AsyncEngine.wait_consume."""
        if timeout_s <= 0 or self._is_stopped():
            return self._attempt(queues, 0, options)
        return self._wait(subscription, queues, timeout_s, options)

    async def _wait(
        self, subscription: Subscription, queues: Sequence[QueueKeys], timeout_s: float, options: dict[str, Any]
    ) -> Consumed:
        if self._is_stopped():  # since this was asked for
            return await self._attempt(queues, 0, options)
        self._other_processes.count_if_due()
        # Without a subscription waiting still works, by taking turns to poll.
        await subscription.wait(constants.FALLBACK_POLL_S)
        if self._is_stopped():
            return _NOTHING
        names = tuple([queue.name for queue in queues])
        group = self._groups.join(names)
        deadline = monotonic() + timeout_s
        arrival = next(self._arrivals)
        messages = self._groups.messages
        why: Wake = Wake.MESSAGE
        woken = False
        try:
            while True:
                seen = [messages.get(name, 0) for name in names]
                try:
                    yielded = woken and self._other_processes.present and group.should_yield()
                    if yielded:
                        await asyncio.sleep(STEP_BACK_S)
                    consumed = await self._attempt(queues, self._fallback_polls.record_poll(group), options)
                except (LimitReachedError, asyncio.CancelledError):
                    self._pass_on(group, why)
                    raise
                if consumed.jobs:
                    if why is Wake.POLL:
                        group.wake(Wake.POLL)
                    elif woken:
                        group.record_won(yielded=yielded)
                    return consumed
                if woken and why is Wake.MESSAGE:
                    group.record_lost()
                self._set_timer(group, consumed)
                if monotonic() >= deadline or self._is_stopped():
                    return consumed
                if seen == [messages.get(name, 0) for name in names]:
                    del consumed, seen  # ten thousand sleepers need not keep them
                    why = await self._sleep(group, arrival, delay_until(deadline))
                    while why is Wake.TIMEOUT and monotonic() < deadline:
                        why = await self._sleep(group, arrival, delay_until(deadline))
                    woken = why is Wake.MESSAGE
                    if why is Wake.TIMEOUT or self._is_stopped():
                        return _NOTHING
        finally:
            self._groups.leave(group)

    def on_message(self, message: bytes) -> None:
        """A message of a wake channel (`queues.engine.keys.wake_channel`)."""
        try:
            kind, name, payload = message.split(b"\t")
            if kind == b"ready":
                self._groups.wake_queue(name, int(payload))
            elif kind == b"due":
                self._groups.wake_groups(name)
            elif kind == b"done":
                self.results.wake(payload)
            else:
                raise ValueError(kind)
        except ValueError:
            logger.warning("not a wake-up message", extra={"action": "wake", "bytes": len(message)})

    def poll_soon(self) -> None:
        """Messages may have been lost."""
        self._fallback_polls.poll_soon()
        self.results.poll_soon()

    def stop(self) -> None:
        """Let everyone go, now and from now on."""
        self._stopped = True
        self._fallback_polls.stop()
        self._other_processes.stop()
        for group in self._groups.all():
            group.wake_all(Wake.POLL)
        self.results.stop()

    def _is_stopped(self) -> bool:
        return self._stopped

    def _attempt(
        self, queues: Sequence[QueueKeys], mark_ms: int, options: dict[str, Any]
    ) -> Coroutine[Any, Any, Consumed]:
        """Poll once. A caller that is cancelled during it gives back what it would have got."""
        if len(queues) == 1 and options["count"] <= constants.CONSUME_PAGE:
            return self._poll_queue(queues[0], mark_ms, options)
        return self._poll_queues(queues, mark_ms, options)

    async def _poll_queues(self, queues: Sequence[QueueKeys], mark_ms: int, options: dict[str, Any]) -> Consumed:
        """A plan may hold jobs of the first queue while it asks the second, so it goes on to its end by itself."""
        poll = self._loop.create_task(self._engine.run(consume_any(queues, mark_ms=mark_ms, **options)))
        self.polls.add(poll)
        poll.add_done_callback(self.polls.discard)
        try:
            return await asyncio.shield(poll)
        except asyncio.CancelledError:
            poll.add_done_callback(self._give_back)
            raise

    async def _poll_queue(self, queue: QueueKeys, mark_ms: int, options: dict[str, Any]) -> Consumed:
        bound, queue_limits = options["max_in_flight"], options["queue_limits"]
        while True:
            step = consume_step(
                queue,
                ttr_ms=options["ttr_ms"],
                count=options["count"],
                consumer=options["consumer"],
                max_in_flight=bound if isinstance(bound, int) else bound[0],
                freeze_tries=options["freeze_tries"],
                mark_ms=mark_ms,
                limit=options["limit"],
                queue_limits=queue_limits and queue_limits[0],
            )
            found: Consumed = await self._engine.run(step)
            if not is_again(found):
                return found

    def _give_back(self, poll: asyncio.Task[Consumed]) -> None:
        if not poll.cancelled() and not poll.exception():
            self.give_back(poll.result())

    def give_back(self, consumed: Consumed) -> None:
        """Release jobs that were delivered to a client that has gone, in the background."""
        self._engine.undo(give_back(consumed, self._engine.queue))

    def _pass_on(self, group: WaiterGroup, why: Wake) -> None:
        """Pass a wake-up on to the next waiter of the group, else to any that waits for these queues."""
        if not group.wake(why):
            for name in group.names:
                self._groups.wake_queue(name, 1)

    async def _sleep(self, group: WaiterGroup, arrival: int, timeout_s: float) -> Wake:
        """Until woken, or until a timer of the event loop ends, which may be a little early; why."""
        future: asyncio.Future[Wake] = self._loop.create_future()
        group.add_sleeper(arrival, future)
        timer = self._loop.call_later(timeout_s, _end, future)
        try:
            why = await future
        except asyncio.CancelledError:
            if future.cancelled() or future.result() is Wake.TIMEOUT:
                group.remove_sleeper()
            else:  # gone, but woken before: its wake-up belongs to the next waiter
                self._pass_on(group, future.result())
            raise
        finally:
            timer.cancel()
        if why is Wake.TIMEOUT:
            group.remove_sleeper()
        return why

    def _set_timer(self, group: WaiterGroup, consumed: Consumed) -> None:
        """Look again when the queues' next job is due: both times are the server's, so no clock of ours matters."""
        if group.timer:
            group.timer.cancel()
            group.timer = None
        if consumed.next_due_ms is not None:
            wait_s = max(0.0, (consumed.next_due_ms - consumed.now_ms) / 1000) + _DUE_MARGIN_S
            group.timer = self._loop.call_later(wait_s, group.wake, Wake.POLL)


def _end(future: asyncio.Future[Wake]) -> None:
    if not future.done():
        future.set_result(Wake.TIMEOUT)
