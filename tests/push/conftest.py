"""A namespace, a sink, and a pusher in the event loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from queues.engine import (
    Engine,
    JobDetail,
    JobState,
    PublishOptions,
    PushDeliveries,
    detail,
    list_pushers,
    open_engine,
    publish,
    read_deliveries,
    stats,
)
from queues.engine.keys import QueueKeys
from queues.models import Namespace, Pool, PushEndpoint
from queues.push.service import Pusher
from queues.services.push.endpoints import EndpointOptions, save_endpoint
from queues.services.push.records import DeliveryRecord, unpack_record
from tests.engine.loop import until_it_is_so

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"""That of the examples of the Standard Webhooks specification."""


@dataclass(slots=True)
class World:
    """The namespace `shop`. Calls are those of a thread, made from the event loop where they may take time."""

    engine: Engine

    def queue(self, name: str = "orders") -> QueueKeys:
        return self.engine.queue("shop", name)

    def publish(self, *bodies: bytes, queue: str = "orders", **options: Any) -> list[str]:
        chosen = PublishOptions(**{"tries": 3, **options})
        return list(self.engine.run(publish(self.queue(queue), list(bodies), chosen)).job_ids)

    def counts(self, queue: str = "orders") -> dict[str, int]:
        found = self.engine.run(stats(self.queue(queue))).counts
        return {state.value: number for state, number in found.items() if number}

    def job(self, job_id: str, queue: str = "orders") -> JobDetail | None:
        return self.engine.run(detail(self.queue(queue), job_id))

    def deliveries(self, queue: str = "orders") -> PushDeliveries:
        row = PushEndpoint.objects.get(queue=queue)
        return self.engine.run(read_deliveries(self.queue(queue), row.pk))

    def records(self, queue: str = "orders") -> list[DeliveryRecord]:
        found = [unpack_record(record) for record in self.deliveries(queue).recent]
        return [record for record in found if record is not None]

    def endpoint(self, url: str, *, queue: str = "orders", secret: str | None = SECRET, **options: Any) -> None:
        save_endpoint(
            pool="default",
            namespace="shop",
            queue=queue,
            options=EndpointOptions(url=url, **options),
            secret=None if PushEndpoint.objects.filter(queue=queue).exists() else secret,
        )

    def pushers(self) -> list[str]:
        return [beat.pusher for beat in self.engine.run(list_pushers())]


@pytest.fixture
def world(transactional_db: None, redis_url: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for rhythm in ("FOLLOW", "WRITE", "BEAT"):
        monkeypatch.setattr(f"queues.push.service.{rhythm}_EVERY_S", 0.1)
    settings.TASKQ_PUSH_ALLOWED_NETWORKS = [ip_network("127.0.0.0/8")]
    Namespace.objects.create(pool=Pool.objects.get(name="default"), name="shop")
    engine = open_engine(redis_url)
    yield World(engine)
    engine.close()


@asynccontextmanager
async def pushing(*, drain_s: float = 5.0) -> AsyncIterator[Pusher]:
    """A pusher that runs beside the block, and drains after it."""
    pusher = Pusher()
    stop = asyncio.Event()
    running = asyncio.create_task(pusher.run(stop, drain_s=drain_s))
    try:
        yield pusher
    finally:
        stop.set()
        await running


async def ask(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call something that waits for Redis or the database, beside the event loop."""
    return await sync_to_async(function)(*args, **kwargs)


async def until(condition: Callable[[], object], *, or_fail: str) -> None:
    """Wait for something that asks Redis or the database."""
    await until_it_is_so(lambda: ask(condition), or_fail=or_fail)


def is_in(job: JobDetail | None, state: JobState) -> bool:
    """Whether the job is there, in this state."""
    return job is not None and job.state is state
