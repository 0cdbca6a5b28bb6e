"""Sends requests to taskq's HTTP API, reads the replies, and makes errors of them.

Jobs are consumed over connections of their own (`Poll`), so that a consume can be ended by hanging up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from queues.engine import (
    Delivery,
    DependenciesClosedError,
    InvalidArgumentError,
    JobNotFoundError,
    LeaseLostError,
    LimitReachedError,
    NodeNotFoundError,
    NotReplicatedError,
    QueueNotFoundError,
    ResultTooLargeError,
    StoreFullError,
    StoreUnavailableError,
    TaskqError,
    WorkflowConflictError,
    WorkflowNotFoundError,
)
from queues.engine.names import check_namespace

from ..errors import NotConfiguredError
from .base import Broker, Work
from .http_calls import HttpCall, HttpPlan, bulk_ack, together
from .http_json import Reply

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

CONNECT_TIMEOUT_S: Final = 5.0
REPLY_TIMEOUT_S: Final = 20.0
"""How long a reply may take, beyond the time for which the server was asked to wait."""

CONNECTIONS_MAX: Final = 1_000
KEPT_CONNECTIONS: Final = 50
IDLE_S: Final = 30.0
"""Connections that were idle for longer are not used again: taskq's server closes them after 75 s, proxies sooner."""

LIMIT_WAITS_S: Final = (0.1,) * 10
"""Between tries of a request of several that the rate limit refused, if it does not say how long to wait."""

HANG_UP_TIMEOUT_S: Final = 5.0
"""How long the server may take to end a consume whose client has hung up."""

Kind = Literal["read", "write"]


class HttpConnection(Broker):
    """Sends requests to a namespace of a taskq server. The verbs are in `HttpBroker`."""

    def __init__(self, url: str, namespace: str, token: str) -> None:
        check_namespace(namespace)
        self._httpx = _import_httpx()
        if not _is_http_url(url):
            raise NotConfiguredError(f"not the URL of a taskq server: {_without_secrets(url)}")
        if not token or not token.isascii() or not token.isprintable():
            raise NotConfiguredError(
                f"{_without_secrets(url)} needs a token of the namespace {namespace}: set TASKQ_TOKEN, "
                "or App(token=...)"
            )
        self.namespace = namespace
        self.url = _without_secrets(url)
        self._base = f"{url.rstrip('/')}/api/{namespace}/"
        self._token = token
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._pid = 0
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        self._idle_polls: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Poll]] = WeakKeyDictionary()
        self._giving_back: set[asyncio.Task[None]] = set()

    def client(self) -> httpx.Client:
        """The client of this process."""
        client = self._client
        if client is None or self._pid != os.getpid():  # connections must not be shared with a parent process
            with self._lock:
                if self._client is None or self._pid != os.getpid():
                    self._client, self._pid = self._httpx.Client(**self._options()), os.getpid()
                client = self._client
        return client

    def async_client(self) -> httpx.AsyncClient:
        """The client of the running event loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._httpx.AsyncClient(**self._options())
        return client

    def _options(self, connections: int = CONNECTIONS_MAX) -> dict[str, Any]:
        limits = self._httpx.Limits(
            max_connections=connections, max_keepalive_connections=KEPT_CONNECTIONS, keepalive_expiry=IDLE_S
        )
        return {"headers": {"X-Token": self._token, "User-Agent": "taskq"}, "limits": limits}

    def _request(self, call: HttpCall[Any]) -> dict[str, Any]:
        timeout = self._httpx.Timeout(REPLY_TIMEOUT_S + call.wait_s, connect=CONNECT_TIMEOUT_S, pool=None)
        return {
            "method": call.method,
            "url": self._base + call.path,
            "params": call.params,
            "content": call.content,
            "headers": call.headers,
            "timeout": timeout,
        }

    def run(self, work: Work[T]) -> T:
        if isinstance(work, HttpPlan):
            return self._run_plan(work)  # type: ignore[no-any-return]
        assert isinstance(work, HttpCall)
        try:
            response = self.client().request(**self._request(work))
        except self._httpx.HTTPError as error:
            raise self._unreachable(error) from error
        return self._read(work, response)  # type: ignore[no-any-return]

    def _run_plan(self, plan: HttpPlan[T]) -> T:
        """After its first request, one that the rate limit of the token refuses is sent again."""
        steps = plan.make()
        waits: Iterator[float] = iter(())
        try:
            call = next(steps)
            while True:
                try:
                    result = self.run(call)
                except LimitReachedError as error:
                    if (wait_s := next(waits, None)) is None:
                        call = steps.throw(error)
                    else:
                        time.sleep(max(wait_s, error.retry_after_ms / 1000))
                except TaskqError as error:
                    call = steps.throw(error)
                else:
                    call, waits = steps.send(result), iter(LIMIT_WAITS_S)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _arun_plan(self, plan: HttpPlan[T]) -> T:
        """The same for asyncio."""
        steps = plan.make()
        waits: Iterator[float] = iter(())
        try:
            call = next(steps)
            while True:
                try:
                    result = await self.arun(call)
                except LimitReachedError as error:
                    if (wait_s := next(waits, None)) is None:
                        call = steps.throw(error)
                    else:
                        await asyncio.sleep(max(wait_s, error.retry_after_ms / 1000))
                except TaskqError as error:
                    call = steps.throw(error)
                else:
                    call, waits = steps.send(result), iter(LIMIT_WAITS_S)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def arun(self, work: Work[T]) -> T:
        if isinstance(work, HttpPlan):
            return await self._arun_plan(work)
        assert isinstance(work, HttpCall)
        try:
            response = await self.async_client().request(**self._request(work))
        except self._httpx.HTTPError as error:
            raise self._unreachable(error) from error
        return self._read(work, response)  # type: ignore[no-any-return]

    async def arun_all(self, works: Sequence[Work[Any]]) -> list[Any]:
        calls: list[HttpCall[Any]] = []
        groups: list[list[int]] = []
        for places in together(works):
            members = [works[place] for place in places]
            groups.append(places)
            calls.append(members[0] if len(members) == 1 else bulk_ack(members))  # type: ignore[arg-type]
        results: list[Any] = [None] * len(works)
        replies = await asyncio.gather(*map(self.arun, calls), return_exceptions=True)
        for places, reply in zip(groups, replies, strict=True):
            if isinstance(reply, BaseException) and not isinstance(reply, TaskqError):
                raise reply
            parts = reply if len(places) > 1 and not isinstance(reply, TaskqError) else [reply] * len(places)
            for place, part in zip(places, parts, strict=True):
                results[place] = part
        return results

    def close(self) -> None:
        with self._lock:
            if self._client is not None and self._pid == os.getpid():
                self._client.close()
            self._client = None

    async def aclose(self) -> None:
        loop = asyncio.get_running_loop()
        if own := [task for task in self._giving_back if task.get_loop() is loop]:
            await asyncio.wait(own, timeout=REPLY_TIMEOUT_S)
        clients = [poll.client for poll in self._idle_polls.pop(loop, [])]
        if loop in self._clients:
            clients.append(self._clients.pop(loop))
        for client in clients:
            await client.aclose()

    def _unreachable(self, error: Exception) -> StoreUnavailableError:
        reason = type(error).__name__
        return StoreUnavailableError(f"{self.url} cannot be reached: {reason} {error}".rstrip(), reason=reason)

    def _read(self, call: HttpCall[T], response: httpx.Response) -> T:
        status = response.status_code
        if 200 <= status < 300:
            return self._decode(call, response)
        text, content = _error_text(response)
        if status == 404 and call.takes_missing and text in _NOTHING_THERE:
            return self._decode(call, response)
        raise self._error(call, response, text, content)

    def _decode(self, call: HttpCall[T], response: httpx.Response) -> T:
        try:
            return call.decode(Reply(response.status_code, response.content))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            text = f"{self.url} answered {call.method} .../{call.path} with what is no reply of taskq"
            raise StoreUnavailableError(text, reason="unexpected reply") from error

    def _error(self, call: HttpCall[Any], response: httpx.Response, text: str, content: dict[str, Any]) -> Exception:
        status = response.status_code
        if status in (401, 403):
            return NotConfiguredError(
                f"{self.url} does not accept the token for the namespace {self.namespace} ({text}): check TASKQ_TOKEN "
                "and TASKQ_NAMESPACE, or App(token=..., namespace=...)"
            )
        if status == 404 and text == "job not found":
            return JobNotFoundError(call.job_id)
        if status == 404 and text == "queue not found":
            return QueueNotFoundError(call.path.partition("/")[0])
        if status == 404 and text == "workflow not found":
            return WorkflowNotFoundError()
        if status == 404 and text == "node not found":
            return NodeNotFoundError()
        if status == 409 and content and call.path.startswith("workflows"):
            return WorkflowConflictError(text)
        if status == 404 and text == "pool not found":
            return NotConfiguredError(f"{self.url} has no such pool as the token for {self.namespace} names")
        if status in (404, 405) or 300 <= status < 400:
            return NotConfiguredError(
                f"{self.url} does not serve {call.method} .../{call.path} ({status} {text}): is it a taskq server "
                "of this version?"
            )
        if status == 409 and call.path.startswith("schedules/"):
            return NotConfiguredError(f"{call.path.removeprefix('schedules/')}: {text}")
        if status == 409 and text == "job takes no more dependencies":
            return DependenciesClosedError(call.job_id)
        if status == 409 and content:
            return LeaseLostError(call.job_id)
        if status == 413 and text == "result too large":
            return ResultTooLargeError(call.job_id)
        if status == 429 and content:
            kind: Kind = "read" if text.startswith("consume") else "write"
            return LimitReachedError(kind, _retry_after_ms(response))
        if status == 507:
            return StoreFullError(text)
        if status < 500 and (content or status in _OF_THE_REQUEST):
            return InvalidArgumentError(text)
        if isinstance(content.get("job_ids"), list):
            error = NotReplicatedError(tuple(content["job_ids"]), min_replicas=1, timeout_s=0)
            error.args = (text,)  # the server knows how many replicas there should be, and says so in its own words
            return error
        return StoreUnavailableError(f"{self.url}: {status} {text}", reason=text[:80])

    # Consuming.

    async def poll(self, call: HttpCall[tuple[Delivery, ...]]) -> tuple[Delivery, ...]:
        """Consume. A caller that is cancelled takes no job with it: those that were on their way are given back."""
        loop = asyncio.get_running_loop()
        idle = self._idle_polls.setdefault(loop, [])
        poll = idle.pop() if idle else Poll(self._httpx.AsyncClient(**self._options(connections=1)))
        request = loop.create_task(self._consume(call, poll))
        try:
            return await asyncio.shield(request)
        except asyncio.CancelledError:
            leaving = loop.create_task(self._leave(request, poll))
            self._giving_back.add(leaving)
            leaving.add_done_callback(self._giving_back.discard)
            raise

    async def _consume(self, call: HttpCall[tuple[Delivery, ...]], poll: Poll) -> tuple[Delivery, ...]:
        try:
            request = self._request(call) | {"extensions": {"trace": poll.trace}}
            response = await poll.client.request(**request)
        except self._httpx.HTTPError as error:
            raise self._unreachable(error) from error
        finally:
            idle = self._idle_polls.get(asyncio.get_running_loop())
            if idle is None or poll.has_hung_up:
                await poll.client.aclose()
            else:
                idle.append(poll)
        return self._read(call, response)

    async def _leave(self, request: asyncio.Task[tuple[Delivery, ...]], poll: Poll) -> None:
        """End a consume whose caller is gone, and release the jobs that its response brings nevertheless.

        Only the sending half of the connection is closed. The server takes that for a hang-up: it keeps its jobs and
        closes the rest. An answer that it sent before can still be read; without that, its jobs would be held by nobody
        until their leases end.
        """
        if not request.done() and not poll.hang_up():
            request.cancel()
        try:
            async with asyncio.timeout(HANG_UP_TIMEOUT_S):
                deliveries = await request
        except (asyncio.CancelledError, TimeoutError, TaskqError, NotConfiguredError):
            return
        works = [self.release(one.queue, one.job_id, attempt=one.attempt, delay_ms=0) for one in reversed(deliveries)]
        with contextlib.suppress(TaskqError, NotConfiguredError):  # otherwise the leases run out
            await self.arun_all(works)


_OF_THE_REQUEST: Final = (400, 413, 414, 431)
"""What a proxy, too, says of a request that is at fault itself. Its other words mean the moment: 408, 425, 499, ..."""

_NOTHING_THERE: Final = ("job not found", "no job available", "worker not found", "the queue is empty")
"""What the API says in a 404 that answers the question."""


def _import_httpx() -> ModuleType:
    try:
        import httpx
    except ImportError as error:
        raise NotConfiguredError("taskq over HTTP needs httpx: pip install 'taskq[http]'") from error
    return httpx


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        return False


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def _error_text(response: httpx.Response) -> tuple[str, dict[str, Any]]:
    """What an error reply says, and its JSON object; of a proxy's page the reason phrase."""
    try:
        content = response.json()
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return response.reason_phrase, {}
    return str(content.get("error") or content.get("msg") or response.reason_phrase), content


def _retry_after_ms(response: httpx.Response) -> int:
    text = response.headers.get("retry-after", "")
    return int(text) * 1000 if text.isdigit() else 1000


class Poll:
    """A client with one connection, which consumes one after the other, and that connection's socket."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.has_hung_up = False
        self._stream: Any = None

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpcore: https://www.encode.io/httpcore/extensions/#trace."""
        if event == "connection.connect_tcp.started":
            self._stream = None
        elif event == "connection.connect_tcp.complete":
            self._stream = info["return_value"]

    def hang_up(self) -> bool:
        """Close the sending half of the connection. False: there is none, so that nothing can have been sent."""
        self.has_hung_up = True
        if self._stream is None:
            return False
        try:
            # A copy, since what an event loop hands out may not know `shutdown` (uvloop's does not).
            with socket.fromfd(
                self._stream.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM
            ) as copy:
                copy.shutdown(socket.SHUT_WR)
        except (OSError, AttributeError):  # closed already
            return False
        return True
