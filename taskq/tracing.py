"""OpenTelemetry: the producer's trace goes on in the worker. Needs `taskq[otel]`.

    app = App(..., middleware=[TracingMiddleware()])

Spans, by the semantic conventions for messaging: `send QUEUE` where a job is enqueued, `receive QUEUE` where a worker
has taken it, `process QUEUE` while the task runs. The trace context travels in the job's message (`trace`).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from .errors import NotConfiguredError
from .middleware import Enqueueing, Middleware, Running
from .outcomes import Outcome

try:
    from opentelemetry import propagate, trace
except ImportError as error:
    raise NotConfiguredError("tracing needs OpenTelemetry: pip install 'taskq[otel]'") from error


class TracingMiddleware(Middleware):
    """Put it first, so that its spans include what other middleware does."""

    def __init__(self, provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("taskq", tracer_provider=provider)

    def on_enqueue(self, job: Enqueueing) -> None:
        """A span of its own; what comes after it in the trace is in the worker."""
        attributes = {**_attributes(job.queue, job.task), "messaging.operation.type": "send"}
        with self._tracer.start_as_current_span(
            f"send {job.queue}", kind=trace.SpanKind.PRODUCER, attributes=attributes
        ):
            propagate.inject(job.trace)

    async def around_run(self, run: Running, call_next: Callable[[], Awaitable[Any]]) -> Any:
        """The spans of the worker, in the producer's trace."""
        context = run.context
        attributes: dict[str, str | int] = {
            **_attributes(context.queue, context.task),
            "messaging.message.id": context.job_id,
            "taskq.attempt": context.attempt,
        }
        parent = propagate.extract(run.trace)
        received = self._tracer.start_span(
            f"receive {context.queue}",
            context=parent,
            kind=trace.SpanKind.CONSUMER,
            attributes={**attributes, "messaging.operation.type": "receive"},
            start_time=time.time_ns() - round(1e9 * max(0.0, time.monotonic() - context.taken_at)),
        )
        received.end()
        with self._tracer.start_as_current_span(
            f"process {context.queue}",
            context=trace.set_span_in_context(received, parent),
            kind=trace.SpanKind.CONSUMER,
            attributes={**attributes, "messaging.operation.type": "process"},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                return await call_next()
            except Outcome as outcome:
                span.add_event(type(outcome).__name__.lower(), {"reason": str(outcome)})
                raise
            except Exception as error:
                span.record_exception(error)
                span.set_status(trace.StatusCode.ERROR, type(error).__name__)
                raise


def _attributes(queue: str, task: str) -> dict[str, str | int]:
    return {"messaging.system": "taskq", "messaging.destination.name": queue, "taskq.task": task}
