"""The charts of a queue: what is known of each minute, and that what nobody saw is left open."""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import Engine, PublishOptions, publish
from queues.engine.stats.minutes import MINUTE_MS

from .people import SHOP, People
from .shop import AT, QUEUE
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)


def published(people: People) -> list[Any]:
    chart = people.bob.browser.get(f"{AT}charts/throughput").json()
    return next(line["values"] for line in chart["series"] if line["name"] == "published")


def test_minutes_without_a_pump_are_left_open_and_quiet_ones_are_zero(engine: Engine, people: People) -> None:
    surveyor = Surveyor(engine)
    now = now_of(engine)
    earlier = now - 5 * MINUTE_MS
    engine.run(publish(engine.queue(SHOP, QUEUE), [b"x"] * 30, PublishOptions(ttl_ms=0), now_ms=earlier))
    surveyor.look(now_ms=earlier)
    engine.run(publish(engine.queue(SHOP, "others"), [b"x"], PublishOptions(ttl_ms=0), now_ms=earlier + MINUTE_MS))
    for minutes in (1, 2):
        surveyor.look(now_ms=earlier + minutes * MINUTE_MS)

    values = published(people)

    seen = [value for value in values if value is not None]
    assert values[0] is None, "no pump was there"
    assert 30 in seen
    assert 0 in seen[seen.index(30) + 1 :], "a pump was there, and nothing happened"
    assert values[-2] is None, "the pump is gone"
