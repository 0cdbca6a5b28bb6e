"""A cached queue serves no other token, namespace or queue, and none for longer than GOOD_FOR_S."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from queues.api import context as context_module
from queues.api.context import CONTEXT
from queues.api.http.request import ApiRequest, Headers, parse_query
from queues.api.http.response import ApiResponse
from queues.api.pipeline import answer
from queues.api.routes import ROUTER
from queues.api.token_cache import GOOD_FOR_S, ResolvedQueue, ResolvedQueueCache
from queues.engine.constants import BODY_MAX_BYTES
from queues.pools import close_async_engines
from queues.services.tokens.managing import create_token, revoke_token
from tests.support.loops import run_async


class Request(ApiRequest):
    """Its body is read in the way of the test, and staff is not asked for: the base refuses to answer both."""


def make_request(
    *, token: str = "secret", namespace: str = "demo", queue: str = "q", read_body: Any = None
) -> ApiRequest:
    path = {"namespace": namespace, "queue": queue}
    made = Request("PUT", path, parse_query(b""), Headers([(b"x-token", token.encode())]), "", b"")
    if read_body is not None:
        made.read_body = made.read_or_discard_body = read_body  # type: ignore[method-assign]
    made.authorised_at = time.monotonic()
    return made


def keep(cache: ResolvedQueueCache, request: ApiRequest, *, is_usable: bool = True) -> None:
    engine: Any = SimpleNamespace(is_usable=lambda: is_usable)
    nothing: Any = None
    resolved = ResolvedQueue(nothing, engine, nothing, nothing, request.authorised_at)
    cache.keep(request.headers.first[b"x-token"], request.path, resolved)


def find(cache: ResolvedQueueCache, request: ApiRequest) -> ResolvedQueue | None:
    return cache.find(request.headers.first[b"x-token"], request.path)


def test_it_is_found_by_the_same_token_namespace_and_queue_only() -> None:
    cache = ResolvedQueueCache()
    keep(cache, make_request())

    assert find(cache, make_request()) is not None
    assert find(cache, make_request(token="default:secret")) is None
    assert find(cache, make_request(namespace="other")) is None
    assert find(cache, make_request(queue="other")) is None


def test_a_closed_engine_is_not_handed_out() -> None:
    cache = ResolvedQueueCache()
    keep(cache, make_request(), is_usable=False)

    assert find(cache, make_request()) is None


def test_it_is_as_old_as_the_look_at_the_token_and_not_as_the_end_of_the_body() -> None:
    cache = ResolvedQueueCache()
    slow = make_request()
    slow.authorised_at -= GOOD_FOR_S
    keep(cache, slow)

    assert find(cache, make_request()) is None


@pytest.mark.django_db(transaction=True)
def test_a_revocation_is_known_at_once() -> None:
    cache = ResolvedQueueCache()
    before = make_request()
    keep(cache, before)
    assert find(cache, before) is not None

    made = create_token(namespace="demo", description="to be revoked")
    revoke_token(namespace="demo", public_id_or_secret=made.public_id)

    assert find(cache, before) is None
    keep(cache, before)  # its token was looked at before the revocation
    assert find(cache, before) is None
    after = make_request()
    keep(cache, after)
    assert find(cache, after) is not None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("line", ["PUT /api/demo/q", "PUT /api/demo/q/bulk", "DELETE /api/demo/q/job/ID"])
def test_a_body_that_was_long_in_coming_does_nothing_for_a_token_revoked_meanwhile(
    monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(context_module, "AUTHORISED_FOR_S", 0.0)
    token = create_token(namespace="demo", description="x")
    method, path = line.split(" ")
    route, parameters = ROUTER.match(method, path.encode())

    async def read_at_once(limit: int) -> bytes:
        assert limit >= BODY_MAX_BYTES
        return b"[1]"

    async def read_late(limit: int) -> bytes:
        await sync_to_async(revoke_token)(namespace="demo", public_id_or_secret=token.public_id)
        return await read_at_once(limit)

    async def send(read_body: Any) -> ApiResponse:
        request = make_request(token=token.display, read_body=read_body)
        request.path = parameters
        return await answer(route, request, CONTEXT)

    async def scenario() -> list[int]:
        try:
            return [(await send(read)).status for read in (read_at_once, read_late, read_at_once)]
        finally:
            await close_async_engines()

    served = 204 if method == "DELETE" else 201
    assert run_async(scenario()) == [served, 401, 401]
