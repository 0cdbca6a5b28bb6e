"""Every metric, with its kind, labels and help (docs/metrics.md is held equal to this), and Prometheus' text format."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]

QUEUE: Final = ("pool", "namespace", "queue")
ROUTE: Final = ("route", "method")
ROLE: Final = ("pool", "pump", "role")
POOL: Final = ("pool",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`help`: one line without backslashes, as both the page and the document print it."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str


def _metric(kind: Kind, name: str, labels: tuple[str, ...], help: str) -> Metric:
    return Metric(name=f"taskq_{name}", kind=kind, labels=labels, help=help)


# What this server counted, all its workers together.
REQUESTS: Final = _metric(
    "counter", "http_requests_total", (*ROUTE, "code"), "Requests by status; 499: the client left."
)
LATENCY: Final = _metric("histogram", "http_request_duration_seconds", ROUTE, "From request to answer, waits included.")
IN_PROGRESS: Final = _metric("gauge", "http_requests_in_progress", (), "Requests without an answer yet.")
LIMITED: Final = _metric(
    "counter",
    "http_rate_limited_total",
    ("pool", "namespace"),
    "Requests refused because their token's limit was used up.",
)
PUBLISHED: Final = _metric("counter", "jobs_published_total", QUEUE, "Jobs published through this server.")
CONSUMED: Final = _metric("counter", "jobs_consumed_total", QUEUE, "Jobs delivered by this server.")
ACKED: Final = _metric("counter", "jobs_acked_total", QUEUE, "Jobs that their consumers ended through this server.")
FAILED: Final = _metric("counter", "jobs_failed_total", QUEUE, "Attempts reported as failed through this server.")
ELAPSED: Final = _metric("histogram", "job_elapsed_seconds", QUEUE, "From publish to delivery.")
ACK_ELAPSED: Final = _metric("histogram", "job_ack_elapsed_seconds", QUEUE, "From delivery to ack.")
WAITING: Final = _metric("gauge", "waiting_consumers", (), "Consumers that wait for a job.")
BATCHES: Final = _metric("counter", "redis_batches_total", (), "Round trips to Redis of this server's data plane.")
OPERATIONS: Final = _metric(
    "counter", "redis_batched_operations_total", (), "Operations that shared these round trips."
)
WORKERS: Final = _metric("gauge", "workers", (), "Worker processes that have served a request.")
SCRAPE: Final = _metric("gauge", "scrape_duration_seconds", (), "What it took to gather this page.")

# What the pools say of themselves: the same whichever server is asked.
UP: Final = _metric("gauge", "redis_up", POOL, "Whether the Redis of the pool answers.")
MEMORY: Final = _metric("gauge", "redis_memory_used_bytes", POOL, "Memory that Redis uses.")
MEMORY_MAX: Final = _metric(
    "gauge", "redis_memory_max_bytes", POOL, "Memory that Redis may use; 0: as much as there is."
)
KEYS: Final = _metric("gauge", "redis_keys", POOL, "Keys in Redis.")
CLIENTS: Final = _metric("gauge", "redis_connected_clients", POOL, "Connections to Redis.")
BLOCKED: Final = _metric("gauge", "redis_blocked_clients", POOL, "Connections that wait in a blocking command.")
QUEUES: Final = _metric("gauge", "queues", POOL, "Queues that hold anything, or are paused.")
OMITTED: Final = _metric("gauge", "queues_omitted", POOL, "Queues that have no series of their own on this page.")
BURN_RATE: Final = _metric(
    "gauge",
    "objective_burn_rate",
    (*QUEUE, "window"),
    "How fast the queue's error budget burns; at 1 it lasts as long as it is meant to. Windows: 5m, 30m, 1h, 6h, 3d.",
)
JOBS: Final = _metric("gauge", "jobs", (*QUEUE, "state"), "Jobs of a queue by state.")
PAUSED: Final = _metric("gauge", "queue_paused", QUEUE, "Whether the queue is paused.")
OLDEST: Final = _metric(
    "gauge", "queue_oldest_ready_seconds", QUEUE, "For how long the oldest ready job has been due; 0: none is ready."
)
_OVER_MINUTES: Final = (*QUEUE, "quantile")
WAIT: Final = _metric("gauge", "queue_wait_seconds", _OVER_MINUTES, "From due to delivery, over the last five minutes.")
RUN: Final = _metric("gauge", "queue_run_seconds", _OVER_MINUTES, "From delivery to ack, over the last five minutes.")
LATE: Final = _metric(
    "gauge", "queue_lateness_seconds", _OVER_MINUTES, "From due to ready, of delayed and retried jobs, likewise."
)
OVERDUE: Final = _metric(
    "gauge", "overdue_seconds", (*POOL, "index"), "For how long the pump has not attended to what is due or has ended."
)
PUMPS: Final = _metric("gauge", "pumps", POOL, "Pump processes heard of in the last ten seconds.")
TICK_AGE: Final = _metric("gauge", "pump_last_tick_age_seconds", ROLE, "Since the role's latest turn ended.")
LAG: Final = _metric("gauge", "pump_lag_seconds", ROLE, "How much later than its interval says the latest turn began.")
TICKS: Final = _metric("counter", "pump_ticks_total", ROLE, "Turns of the role since its process began.")
MOVED: Final = _metric(
    "counter", "pump_moved_jobs_total", ROLE, "Jobs that the role dealt with since its process began."
)
EVENTS: Final = _metric("gauge", "events_held_bytes", POOL, "Memory that the pool's event streams take.")
DROPPED: Final = _metric("counter", "events_dropped_total", POOL, "Events that the cap dropped from the streams.")
LAKE_LAG: Final = _metric(
    "gauge", "lake_lag_seconds", POOL, "Age of the oldest event that is not in the event lake yet."
)
LAKE_DIFFERENCE: Final = _metric(
    "gauge",
    "lake_difference_events",
    POOL,
    "Events of the newest reported day that the lake lacks by Redis's own count; below 0: too many.",
)
LAKE_SIZE: Final = _metric("gauge", "lake_bytes", (), "What the event lake held when a pump measured it last.")
REPORT_AGE: Final = _metric(
    "gauge",
    "report_age_seconds",
    (),
    "Since the newest report of a whole day was made; if none ever was, since the lake's first day ended.",
)
REPORT_TOOK: Final = _metric("gauge", "report_duration_seconds", (), "How long it took to make that report.")
REPORT_STATE: Final = _metric(
    "gauge", "report_state", ("state",), "Yesterday's report: 1 for done, running, failed or missing, 0 for the others."
)
_PUSHED: Final = ("pool", "pusher", "namespace", "queue")
PUSHERS: Final = _metric("gauge", "pushers", POOL, "Pusher processes heard of in the last ten seconds.")
PUSH_IN_FLIGHT: Final = _metric("gauge", "push_in_flight", _PUSHED, "Jobs that the pusher is delivering now.")
PUSH_DELIVERIES: Final = _metric(
    "counter", "push_deliveries_total", (*_PUSHED, "outcome"), "Deliveries of the pusher: delivered, failed, returned."
)
PUSH_SECONDS: Final = _metric(
    "counter", "push_delivery_seconds_total", _PUSHED, "Time that these deliveries took, added up."
)

INCIDENTS: Final = _metric(
    "gauge",
    "incidents_open",
    ("pool", "namespace", "kind", "severity"),
    "Incidents that are open; those of a whole pool have no namespace.",
)

METRICS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, Metric))


class Page:
    """Samples by metric. Written, each metric comes once, with its help and kind, whether it has samples or not.

    `visible`: pool and name of each namespace that the reader may see; None: all of them. Samples of other namespaces,
    and those that sum up several, are left out.
    """

    def __init__(self, *, visible: Collection[tuple[str, str]] | None = None) -> None:
        self._lines: dict[str, list[str]] = {metric.name: [] for metric in METRICS}
        self._visible = visible

    def shows(self, pool: str, namespace: str) -> bool:
        """Whether samples of the namespace are on this page."""
        return self._visible is None or (pool, namespace) in self._visible

    def add(self, metric: Metric, values: Sequence[str], number: float) -> None:
        """One sample. `values`: of the metric's labels, in their order."""
        if self._is_hidden(metric, values):
            return
        self._lines[metric.name].append(f"{metric.name}{_labels(metric.labels, values)} {_number(number)}")

    def add_histogram(
        self, metric: Metric, values: Sequence[str], *, bounds: Iterable[float], buckets: Iterable[float], total: float
    ) -> None:
        """`buckets`: counts between the bounds, and of what is beyond them. `total`: the sum of what was observed."""
        if self._is_hidden(metric, values):
            return
        lines, count = self._lines[metric.name], 0.0
        labels = _labels(metric.labels, values)
        before_bound = f"{metric.name}_bucket{labels[:-1]},le="
        for bound, number in zip([*map(_number, bounds), "+Inf"], buckets, strict=True):
            count += number
            lines.append(f'{before_bound}"{bound}"}} {_number(count)}')
        lines.append(f"{metric.name}_sum{labels} {_number(total)}")
        lines.append(f"{metric.name}_count{labels} {_number(count)}")

    def _is_hidden(self, metric: Metric, values: Sequence[str]) -> bool:
        if self._visible is None or "namespace" not in metric.labels:
            return False
        labels = dict(zip(metric.labels, values, strict=True))
        return not self.shows(labels["pool"], labels["namespace"])

    def text(self) -> str:
        """The page."""
        lines: list[str] = []
        for metric in METRICS:
            lines += (f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}")
            lines += self._lines[metric.name]
        return "\n".join((*lines, ""))


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    return "{" + ",".join([f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)]) + "}"


def _escape(value: str) -> str:
    if value.isalnum():
        return value
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(number: float) -> str:
    """Shortest form that reads back as the same number."""
    return str(int(number)) if number == int(number) else repr(number)
