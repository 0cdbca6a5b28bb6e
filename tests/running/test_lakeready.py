"""`lakeready`: the lake has all of a day when the day is over and its events have been drained."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from queues.pools import engine_for
from queues.pump.roles.drain import Drain
from queues.services.reporting.reading.days import today, yesterday

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def lake(tmp_path: Path) -> Iterator[None]:
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake")):
        yield


def ask(*arguments: str) -> str:
    out = io.StringIO()
    call_command("lakeready", *arguments, stdout=out)
    return out.getvalue()


def test_a_day_that_is_not_over_is_not_ready() -> None:
    with pytest.raises(CommandError, match=f"default: {today()} is not over"):
        ask("--date", f"{today()}")


def test_a_day_without_events_in_redis_is_ready() -> None:
    assert ask() == f"the lake has all of {yesterday()}\n"


def test_events_that_wait_to_be_drained_hold_it_up_until_they_are(redis_client: redis.Redis) -> None:
    noon = round(datetime.combine(yesterday(), time(12), UTC).timestamp() * 1_000)
    entry: dict[Any, Any] = {"t": noon, "q": "ns/q", "n": 1, "e": "published\t01JDB000000000000000000000\t\t0\t\t4\t\t"}
    redis_client.xadd("{tq3}:events", entry, id=f"{noon}-0")

    with pytest.raises(CommandError, match=r"default: events since .* UTC wait to be drained, in 1 partitions"):
        ask()
    assert "has all of" in ask("--date", f"{yesterday() - timedelta(days=1)}")

    drain = Drain("default", url=settings.TASKQ_LAKE_URL, every_s=0, everything=True)
    while drain.tick(engine_for("default"), None).more:
        pass

    assert "has all of" in ask()


def test_what_is_no_day_is_refused() -> None:
    with pytest.raises(CommandError, match="is no date"):
        ask("--date", "yesterday")
