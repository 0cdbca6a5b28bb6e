"""What every request and job adds to: plain numbers in lists by label, for this runs for every request.

Recording costs well under a microsecond: no locks (one event loop does it all), no objects of a metrics library, no
reading of clocks beyond the two of a request's latency. A bounded number of labels have numbers of their own, the rest
share those of `other`. The page for Prometheus is made of these numbers in `page`.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from .worker_files import Slots

if TYPE_CHECKING:
    from ..router import Route
from collections.abc import Mapping
from time import monotonic

from .worker_files import Key

CLIENT_GONE: Final = 499
"""Status of a request whose client left before there was an answer (nginx's word for it)."""

REQUEST_BOUNDS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
JOB_BOUNDS_MS: Final = (5, 25, 100, 500, 1_000, 5_000, 15_000, 60_000, 300_000, 1_800_000, 3_600_000, 21_600_000)
"""Upper bounds of the histograms' buckets, inclusive; there is one bucket more, for what is beyond."""

_JOB_BUCKETS: Final = len(JOB_BOUNDS_MS) + 1
PUBLISHED: Final = 0
FAILED: Final = 1
ELAPSED: Final = 2
ELAPSED_SUM: Final = ELAPSED + _JOB_BUCKETS
ACKED: Final = ELAPSED_SUM + 1
ACKED_SUM: Final = ACKED + _JOB_BUCKETS
QUEUE_WIDTH: Final = ACKED_SUM + 1
"""Places in the numbers of a queue: two counters, and two histograms (buckets, then the sum in ms)."""

FLUSH_S: Final = 1.0


class Counters:
    """The counts of this process. One event loop adds to them."""

    __slots__ = ("_flush", "_routes", "_ticking", "in_progress", "namespaces", "queues")

    def __init__(self, *, queues: Slots, namespaces: Slots) -> None:
        self.queues = Series(slots=queues, width=QUEUE_WIDTH)
        self.namespaces = Series(slots=namespaces, width=1)
        self.in_progress = 0
        self._routes: dict[str, tuple[str, list[float], dict[int, int]]] = {}
        self._flush: Callable[[], object] | None = None
        self._ticking = True

    def flush_with(self, flush: Callable[[], object]) -> None:
        """Call `flush` every FLUSH_S from the first request on, so that other processes see what is counted here."""
        self._flush = flush
        self._ticking = False

    def begin(self) -> float:
        """Count a request that begins; returns what to give to `end`."""
        if not self._ticking:
            self._ticking = True
            self._tick()
        self.in_progress += 1
        return perf_counter()

    def end(self, route: Route, status: int, begun: float) -> None:
        """Count a request that was answered."""
        seconds = perf_counter() - begun
        self.in_progress -= 1
        counted = self._routes.get(route.name)
        if counted is None:
            counted = self._add_route(route.name, route.method, route.path)
        _, numbers, codes = counted
        numbers[bisect_left(REQUEST_BOUNDS_S, seconds)] += 1
        numbers[-1] += seconds
        codes[status] = codes.get(status, 0) + 1

    def refused(self, status: int) -> None:
        """Count a request that no route fits."""
        _, _, codes = self._routes.get("") or self._add_route("", "", "none")
        codes[status] = codes.get(status, 0) + 1

    def limited(self, pool: str, namespace: str) -> None:
        """Count a request that exceeded its token's rate limit."""
        self.namespaces.of((pool, namespace))[0] += 1

    def published(self, pool: str, namespace: str, queue: str, jobs: int) -> None:
        """Count jobs that were published."""
        self.queues.of((pool, namespace, queue))[PUBLISHED] += jobs

    def consumed(self, pool: str, namespace: str, queue: str, elapsed_ms: Iterable[int]) -> None:
        """Count jobs that were delivered, each so long after its publish."""
        numbers = self.queues.of((pool, namespace, queue))
        for elapsed in elapsed_ms:
            numbers[ELAPSED + bisect_left(JOB_BOUNDS_MS, elapsed)] += 1
            numbers[ELAPSED_SUM] += elapsed

    def acked(self, pool: str, namespace: str, queue: str, run_ms: int) -> None:
        """Count a job that was acked, so long after its delivery."""
        numbers = self.queues.of((pool, namespace, queue))
        numbers[ACKED + bisect_left(JOB_BOUNDS_MS, run_ms)] += 1
        numbers[ACKED_SUM] += run_ms

    def failed(self, pool: str, namespace: str, queue: str) -> None:
        """Count an attempt that its consumer reported as failed."""
        self.queues.of((pool, namespace, queue))[FAILED] += 1

    def routes(self) -> dict[str, Any]:
        """`METHOD PATH` → its latencies (buckets, then the sum in s) and its status codes."""
        return {
            label: {"latency": numbers, "codes": {str(code): count for code, count in codes.items()}}
            for label, numbers, codes in self._routes.values()
        }

    def _add_route(self, name: str, method: str, path: str) -> tuple[str, list[float], dict[int, int]]:
        numbers: list[float] = [0] * (len(REQUEST_BOUNDS_S) + 2)
        added = self._routes[name] = (f"{method} {path}", numbers, {})
        return added

    def _tick(self) -> None:
        assert self._flush is not None
        asyncio.get_running_loop().call_later(FLUSH_S, self._tick)
        self._flush()


Numbers = list[float]

OTHER: Final = "other"


class Series:
    """`width` numbers for each label that has a slot. Labels without one wait for `settle` with numbers of their own,
    as many of them as there are slots; the rest count as `other` at once."""

    __slots__ = ("_known", "_newcomers", "_settled", "_slots", "_width", "other")

    def __init__(self, *, slots: Slots, width: int) -> None:
        self._slots = slots
        self._width = width
        self._known: dict[Key, Numbers] = {}
        self._newcomers: set[Key] = set()
        self._settled: dict[Key, tuple[int, float, float]] = {}
        """Slot number, sum of the numbers when last looked at, when they last changed."""
        self.other: Numbers = [0] * width

    def of(self, key: Key) -> Numbers:
        """The numbers to add to."""
        numbers = self._known.get(key)
        return self._newcomer(key) if numbers is None else numbers

    def settle(self) -> None:
        """Give slots to newcomers where there are any; notice what others have given and taken; note what is in use."""
        if not self._slots.settle(self._newcomers, in_use=self.in_use()):
            return  # the next time will do
        self._newcomers = set()
        given = self._slots.given
        for key in [key for key in self._known if key not in given]:
            self._drop(key)
        now = monotonic()
        for key, numbers in self._known.items():
            number, total = given[key], sum(numbers)
            before = self._settled.get(key)
            if before is not None and before[0] != number:  # the slot was taken away, and given again since
                numbers[:] = [0] * self._width
                total = 0
            if before is None or before[:2] != (number, total):
                self._settled[key] = (number, total, now)

    def counted(self) -> dict[str, Numbers]:
        """Slot number → numbers."""
        return {str(number): self._known[key] for key, (number, _, _) in self._settled.items()}

    def in_use(self) -> dict[str, float]:
        """Slot number → when its numbers last changed, by the monotonic clock."""
        return {str(number): changed_at for number, _, changed_at in self._settled.values()}

    def labels(self) -> Mapping[Key, int]:
        """Which labels have slots, here or in another process."""
        return self._slots.given

    def _newcomer(self, key: Key) -> Numbers:
        if len(self._newcomers) >= self._slots.limit:
            return self.other
        self._newcomers.add(key)
        numbers = self._known[key] = [0] * self._width
        return numbers

    def _drop(self, key: Key) -> None:
        """A newcomer that got no slot counts as `other`; the counts of a slot that was taken away go with it."""
        numbers = self._known.pop(key)
        if self._settled.pop(key, None) is None:
            for place, number in enumerate(numbers):
                self.other[place] += number
