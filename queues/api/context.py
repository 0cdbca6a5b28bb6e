"""What operations need besides their request: engines, tokens, policies, metadata.

Metadata is cached in the process for about a second. A lookup that the cache answers runs on the event loop; any other
runs in a small pool of threads, so that no request waits for another one's database query. Tokens are checked by
`queues.services.tokens.authentication`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from django.db import close_old_connections

from queues.engine import AsyncEngine
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation, Plan
from queues.pools import async_engine_for, peek_async_engine
from queues.services import policies as policy_service
from queues.services.policies import EffectivePolicy
from queues.services.tokens import authentication
from queues.services.tokens.authentication import Access

from .http.request import ApiRequest, pool_and_secret
from .token_cache import Reauthoriser, ResolvedQueue, ResolvedQueueCache, WaitingToken, find_refused

P = ParamSpec("P")
T = TypeVar("T")

METADATA_THREADS: Final = 4

AUTHORISED_FOR_S: Final = 0.5
"""A request whose body took longer than this has its token checked again before the body is used."""


class ApiContext:
    """One per process; safe to share between requests and event loops."""

    __slots__ = ("_reauthorisers", "_threads", "resolved_queues")

    def __init__(self) -> None:
        self._reauthorisers: WeakKeyDictionary[asyncio.AbstractEventLoop, Reauthoriser] = WeakKeyDictionary()
        self.resolved_queues = ResolvedQueueCache()
        self._threads = ThreadPoolExecutor(max_workers=METADATA_THREADS, thread_name_prefix="taskq-metadata")

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a service that may ask the database."""
        loop = asyncio.get_running_loop()
        work = partial(with_fresh_connections, function, *args, **kwargs)
        return await loop.run_in_executor(self._threads, work)

    async def authorise(self, *, pool: str, secret: str, namespace: str) -> Access:
        """What the token gives access to. Raises PoolNotFoundError, InvalidTokenError, MetadataUnavailableError."""
        known = authentication.peek_access(pool=pool, secret=secret, namespace=namespace)
        if known is not None:
            return known
        return await self.call(authentication.authorise, pool=pool, secret=secret, namespace=namespace)

    def while_authorised(self, request: ApiRequest) -> AbstractContextManager[None]:
        """For waiting: interrupts the current task once the request's token is refused, and raises why."""
        loop = asyncio.get_running_loop()
        reauthoriser = self._reauthorisers.get(loop)
        if reauthoriser is None:
            reauthoriser = self._reauthorisers[loop] = Reauthoriser(lambda keys: self.call(find_refused, keys))
        pool, secret = pool_and_secret(request)
        return reauthoriser.watch(WaitingToken(pool, secret, request.granted.namespace))

    async def policy(self, access: Access, queue: str) -> EffectivePolicy:
        """What the queue's policy says."""
        known = policy_service.peek_policy(pool=access.pool, namespace=access.namespace, queue=queue)
        if known is not None:
            return known
        return await self.call(policy_service.policy_for, pool=access.pool, namespace=access.namespace, queue=queue)

    async def engine(self, pool: str) -> AsyncEngine:
        """The engine of a pool. Raises PoolNotFoundError, StoreUnavailableError."""
        return peek_async_engine(pool) or await async_engine_for(pool)

    async def queue(self, request: ApiRequest) -> tuple[AsyncEngine, QueueKeys]:
        """Engine and keys of the queue in the request's path."""
        access = request.granted
        engine = await self.engine(access.pool)
        return engine, engine.queue(access.namespace, request.path["queue"])

    async def run(self, request: ApiRequest, make: Callable[[QueueKeys], Operation[T] | Plan[T]]) -> T:
        """Run what `make` makes for the queue in the request's path."""
        if _is_late(request):
            await self._authorise_anew(request)
        if request.resolved is not None:
            return await request.resolved.engine.run(make(request.resolved.queue))
        engine, queue = await self.queue(request)
        return await engine.run(make(queue))

    async def engine_after_body(self, request: ApiRequest) -> AsyncEngine:
        """The engine of the request's pool, for an operation on no queue that has read a body."""
        if _is_late(request):
            await self._authorise_anew(request)
        return await self.engine(request.granted.pool)

    async def reauthorise_if_late(self, request: ApiRequest) -> None:
        """Check the token again if reading the body took long, for an operation on no queue."""
        if _is_late(request):
            await self._authorise_anew(request)

    async def resolve_queue(self, request: ApiRequest) -> ResolvedQueue:
        """Engine, keys and policy of the queue in the request's path, from the cache or looked up and cached."""
        if _is_late(request):
            await self._authorise_anew(request)
        if request.resolved is None:
            access = request.granted
            policy = await self.policy(access, request.path["queue"])
            engine, queue = await self.queue(request)
            request.resolved = ResolvedQueue(access, engine, queue, policy, request.authorised_at)
            self.resolved_queues.keep(request.headers.first.get(b"x-token"), request.path, request.resolved)
        return request.resolved

    async def _authorise_anew(self, request: ApiRequest) -> None:
        """Check the token again: it may have been revoked while the body was read, and its engine closed."""
        request.resolved = None
        request.authorised_at = time.monotonic()
        pool, secret = pool_and_secret(request)
        request.access = await self.authorise(pool=pool, secret=secret, namespace=request.granted.namespace)


def _is_late(request: ApiRequest) -> bool:
    return time.monotonic() > request.authorised_at + AUTHORISED_FOR_S


CONTEXT: Final = ApiContext()
"""The process's."""


def with_fresh_connections(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `function`; before and after, drop a connection that is too old or broken, as Django does for requests."""
    close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        close_old_connections()
