"""What /metrics says of pushers, and what fits into a heartbeat."""

from __future__ import annotations

from typing import Any

import pytest

from queues.api.metrics.exposition import Page
from queues.api.metrics.page import add_pool
from queues.engine import Engine, beat_pusher, list_pushers, open_engine
from queues.engine.stats.heartbeats import OTHER_ENDPOINTS, PUSHER_RECORD_MAX_BYTES, PushCounts, PusherBeat, pack_pusher
from queues.services.pools.load import QueueRanking, read_pool_load
from tests.engine.loop import in_loop, opened


@pytest.fixture
def engine(redis_url: str) -> Any:
    engine = open_engine(redis_url)
    yield engine
    engine.close()


def beat(engine: Engine, pusher: str, queues: dict[str, PushCounts]) -> None:
    engine.run(beat_pusher(PusherBeat(pusher=pusher, up_ms=1, endpoints=len(queues), queues=queues)))


@in_loop
async def test_pushers_and_their_deliveries_are_on_the_page(engine: Engine, redis_url: str, settings: Any) -> None:
    settings.TASKQ_METRICS_QUEUES = 2
    counts = PushCounts(in_flight=3, delivered=10, failed=2, returned=1, run_ms=2_500)
    beat(
        engine, "a:1:x", {"shop/orders": counts, "shop/mails": PushCounts(delivered=5), "shop/b": PushCounts(failed=1)}
    )
    beat(engine, "b:2:y", {})

    page = Page()
    async with opened(redis_url) as asynchronous:
        load = await read_pool_load(engine=asynchronous, ranking=QueueRanking(most=10, step_every_s=15))
        await add_pool(page, "default", load)
    lines = page.text().splitlines()

    named = 'pool="default",pusher="a:1:x",namespace="shop",queue="orders"'
    for line in (
        'taskq_pushers{pool="default"} 2',
        f"taskq_push_in_flight{{{named}}} 3",
        f'taskq_push_deliveries_total{{{named},outcome="delivered"}} 10',
        f'taskq_push_deliveries_total{{{named},outcome="failed"}} 2',
        f'taskq_push_deliveries_total{{{named},outcome="returned"}} 1',
        f"taskq_push_delivery_seconds_total{{{named}}} 2.5",
        'taskq_push_deliveries_total{pool="default",pusher="a:1:x",namespace="",queue="other",outcome="failed"} 1',
    ):
        assert line in lines, line
    assert not [line for line in lines if 'queue="b"' in line]


def test_a_heartbeat_is_bounded_and_adds_up_what_finds_no_room(engine: Engine) -> None:
    queues = {f"shop/{'q' * 200}{number}": PushCounts(delivered=1) for number in range(5_000)}
    beat(engine, "a:1:x", queues)

    (found,) = engine.run(list_pushers())

    assert (
        len(pack_pusher(PusherBeat(pusher="p", up_ms=1, endpoints=1, queues=queues))) < PUSHER_RECORD_MAX_BYTES + 1_000
    )
    assert sum(counts.delivered for counts in found.queues.values()) == 5_000
    assert found.queues[OTHER_ENDPOINTS].delivered == 5_000 - (len(found.queues) - 1)


@pytest.mark.parametrize(
    "record", [b"", b"[]", b"{", b'{"up_ms":1}', b'{"up_ms":1,"endpoints":1,"queues":{"q":[1,"x"]}}']
)
def test_a_heartbeat_of_another_version_hides_no_other(engine: Engine, redis_client: Any, record: bytes) -> None:
    beat(engine, "a:1:x", {})
    redis_client.hset("{tqpushers}:beats", "odd", b"1 " + record)

    assert [one.pusher for one in engine.run(list_pushers())] == ["a:1:x"]
