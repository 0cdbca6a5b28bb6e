"""What checks found is remembered for a moment, and said again where a new look takes long."""

from __future__ import annotations

import asyncio

from queues.api.handlers.health import KEPT_S, RecentChecks
from tests.support.clock import ManualClock


def test_whoever_has_little_patience_is_told_what_was_found_before() -> None:
    async def scene() -> list[str]:
        clock = ManualClock()
        checks = RecentChecks(clock=clock)
        goes_on = asyncio.Event()
        goes_on.set()
        found = iter(("away", "", "away"))

        async def look() -> str:
            await goes_on.wait()
            return next(found)

        async def ask() -> str:
            return await checks.ask("publish", look, patience_s=0.01)

        heard = [await ask(), await ask()]
        clock.advance(KEPT_S)
        goes_on.clear()
        heard += [await ask(), await ask()]
        goes_on.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return [*heard, await ask(), await ask()]

    assert asyncio.run(scene()) == ["away", "away", "away", "away", "", ""]


def test_who_asks_first_waits_however_long_it_takes() -> None:
    async def look() -> str:
        await asyncio.sleep(0.05)
        return "away"

    assert asyncio.run(RecentChecks().ask("publish", look, patience_s=0.01)) == "away"
