"""The producer's trace goes on in the worker."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from taskq import App, Snooze
from taskq.tracing import TracingMiddleware

from .conftest import work


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(spans: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider


def test_one_trace_leads_from_the_caller_through_the_queue_to_what_the_task_does(
    redis_url: str, provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    app = App(redis_url, namespace="sdk", middleware=[TracingMiddleware(provider)])
    tracer = trace.get_tracer("test", tracer_provider=provider)

    @app.task(name="pay")
    async def pay() -> None:
        with tracer.start_as_current_span("inside"):
            pass

    with tracer.start_as_current_span("request"):
        job = pay.enqueue()
    work(app)
    app.broker.close()

    found = {span.name: span for span in spans.get_finished_spans()}
    assert list(found) == ["send default", "request", "receive default", "inside", "process default"]
    assert len({span.context.trace_id for span in found.values()}) == 1

    def parent(name: str) -> int | None:
        above = found[name].parent
        return above.span_id if above else None

    assert parent("send default") == found["request"].context.span_id
    assert parent("receive default") == found["send default"].context.span_id
    assert parent("process default") == found["receive default"].context.span_id
    assert parent("inside") == found["process default"].context.span_id
    attributes = found["process default"].attributes or {}
    assert attributes["messaging.message.id"] == job.id
    assert attributes["messaging.system"] == "taskq"


def test_a_failure_is_an_error_of_its_span_and_a_snooze_is_none(
    redis_url: str, provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    app = App(redis_url, namespace="sdk", middleware=[TracingMiddleware(provider)])

    @app.task(retry=1)
    def fail() -> None:
        raise ValueError("no stock")

    @app.task
    def wait() -> None:
        raise Snooze(60)

    fail.enqueue()
    wait.enqueue()
    work(app, concurrency=1)
    app.broker.close()

    failed, snoozed = (span for span in spans.get_finished_spans() if span.name == "process default")
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert [event.name for event in failed.events] == ["exception"]
    assert snoozed.status.status_code is trace.StatusCode.UNSET
    assert [event.name for event in snoozed.events] == ["snooze"]
