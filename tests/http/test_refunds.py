"""Who hangs up in the middle: a consume took no job and does not count, a publish was carried out and does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from queues.api import pipeline
from queues.api.context import ApiContext
from queues.api.query import Query
from queues.api.request import ApiRequest, Headers
from queues.api.response import ApiResponse
from queues.api.routes import ROUTES
from queues.engine.values import LimitTaken
from queues.services.access import Access
from queues.services.limits import Limit

TAKEN = LimitTaken(allowed=True, key=b"key", ticket="7")
ACCESS = Access(pool="default", namespace="demo", token_id="x", limit=Limit(read=1, write=1, interval_s=60))


@pytest.mark.parametrize(("name", "refunds"), [("publish.publish", []), ("consume.consume", [TAKEN])])
def test_what_a_client_that_hangs_up_gets_back(
    monkeypatch: pytest.MonkeyPatch, name: str, refunds: list[LimitTaken]
) -> None:
    (route,) = (one for one in ROUTES if one.name == name)
    given_back: list[LimitTaken] = []
    reached = asyncio.Event()

    async def authorise(*_: Any) -> Access:
        return ACCESS

    async def take(*_: Any) -> LimitTaken:
        return TAKEN

    async def give_back(_access: Access, taken: LimitTaken, _context: ApiContext) -> None:
        given_back.append(taken)

    async def operation(_request: ApiRequest, _context: ApiContext) -> ApiResponse:
        reached.set()
        return await asyncio.Event().wait()  # type: ignore[return-value]  # for ever

    async def check_staff(_permissions: Any) -> None:
        raise AssertionError

    async def scenario() -> None:
        request = ApiRequest(
            method=route.method,
            path={"namespace": "demo", "queue": "q"},
            query=Query(),
            headers=Headers([]),
            read_body=operation,  # type: ignore[arg-type]  # never called
            check_staff=check_staff,
        )
        task = asyncio.ensure_future(pipeline.answer(replaced, request, ApiContext()))
        await reached.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await asyncio.sleep(0)

    monkeypatch.setattr(pipeline, "_authorise", authorise)
    monkeypatch.setattr(pipeline, "take", take)
    monkeypatch.setattr(pipeline, "give_back", give_back)
    replaced = replace(route, operation=operation)
    asyncio.run(scenario())

    assert given_back == refunds
