"""taskq over HTTP, with a token of the namespace. Needs httpx (`pip install 'taskq[http]'`).

A verb makes an `HttpCall`, a value; `run` and `arun` send it. Times are rounded up to what the API takes: whole
seconds for leases, ttl, retention and keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import ceil
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

from queues.engine import (
    AckOutcome,
    Delivery,
    Failed,
    InvalidArgumentError,
    JobDetail,
    JobNotFoundError,
    JobResult,
    JobState,
    LeaseLostError,
    LimitReachedError,
    NotReplicatedError,
    Page,
    Published,
    PublishOptions,
    QueuePage,
    QueueStats,
    ResultTooLargeError,
    StoreFullError,
    StoreUnavailableError,
    TaskqError,
)
from queues.engine.limits import BULK_MAX_JOBS, CONSUME_MAX_COUNT, CONSUME_MAX_TIMEOUT_S
from queues.engine.names import check_namespace, check_queue, clean_line
from queues.engine.operations.workers import BeatReply, WorkerCommand
from queues.engine.worker_presence import WorkerBeat

from ..outcomes import NotConfiguredError
from .base import Broker, Work
from .http_calls import Ack, HttpCall, ack_call, bulk_ack, together
from .http_json import (
    Reply,
    attribute_headers,
    check_json,
    command_of,
    decimal_s,
    deliveries_of,
    fit_beat,
    has_changed,
    job_detail,
    job_result,
    nothing,
    page_params,
    publish_params,
    published_of,
    queue_stats,
    to_json_bytes,
    whole_s,
    worker_of,
)
from .http_polls import Poll

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

HANG_UP_TIMEOUT_S: Final = 5.0
"""How long the server may take to end a consume whose client has hung up."""

WAIT_MAX_S: Final = 60
"""How long one request waits for a result; proxies end requests that take much longer."""

ERROR_MAX_CHARS: Final = 4_096

_TAKEN_NAMES: Final = ("queues", "workers")
"""GET on these lists them; a queue of such a name is consumed as one of several."""

Kind = Literal["read", "write"]


class HttpBroker(Broker):
    """A namespace of a taskq server. Opens nothing before it is used.

    Raises NotConfiguredError for a URL or token that cannot be right, and where httpx is not installed; also when a
    request shows that the server does not accept the token.
    """

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

    # Sending.

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
        assert isinstance(work, HttpCall)
        try:
            response = self.client().request(**self._request(work))
        except self._httpx.HTTPError as error:
            raise self._unreachable(error) from error
        return self._read(work, response)  # type: ignore[no-any-return]

    async def arun(self, work: Work[T]) -> T:
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
        if status == 404 and text == "pool not found":
            return NotConfiguredError(f"{self.url} has no such pool as the token for {self.namespace} names")
        if status in (404, 405) or 300 <= status < 400:
            return NotConfiguredError(
                f"{self.url} does not serve {call.method} .../{call.path} ({status} {text}): is it a taskq server "
                "of this version?"
            )
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

    # What producers do.

    def publish(self, queue: str, bodies: Sequence[bytes], options: PublishOptions) -> Work[Published]:
        """Several bodies have to be JSON: each is one element of an array. Raises InvalidArgumentError for others."""
        check_queue(queue)
        params, headers = publish_params(options), attribute_headers(options.attributes)
        if len(bodies) == 1:
            return HttpCall("PUT", queue, published_of, params, bodies[0], headers)
        for body in bodies:
            check_json(body)
        content = b"[" + b",".join(bodies) + b"]"
        return HttpCall("PUT", f"{queue}/bulk", published_of, params, content, headers)

    def result(self, queue: str, job_id: str) -> Work[JobResult]:
        return self._result(queue, job_id, 0)

    def _result(self, queue: str, job_id: str, timeout_s: int) -> HttpCall[JobResult]:
        return self._of_job(
            "GET",
            queue,
            job_id,
            "/result",
            job_result,
            {"timeout": str(timeout_s)},
            wait_s=timeout_s,
            takes_missing=True,
        )

    def detail(self, queue: str, job_id: str) -> Work[JobDetail | None]:
        def decode(reply: Reply) -> JobDetail | None:
            return None if reply.status == 404 else job_detail(reply.json)

        return self._of_job("GET", queue, job_id, "/detail", decode, {"data": "true"}, takes_missing=True)

    def note(self, queue: str, job_id: str) -> Work[dict[str, bytes]]:
        def decode(reply: Reply) -> dict[str, bytes]:
            return {name: text.encode() for name, text in reply.json.items()}

        return self._of_job("GET", queue, job_id, "/note", decode)

    def find_key(self, queue: str, key: str) -> Work[str | None]:
        def decode(reply: Reply) -> str | None:
            return None if reply.status == 404 else str(reply.json["job_id"])

        check_queue(queue)
        return HttpCall("GET", f"{queue}/jobs/key", decode, {"key": key}, takes_missing=True)

    def cancel(self, queue: str, job_id: str) -> Work[JobState | None]:
        def decode(reply: Reply) -> JobState | None:
            return None if reply.status == 404 else JobState(reply.json["state"])

        return self._of_job("POST", queue, job_id, "/cancel", decode, takes_missing=True)

    async def wait_result(self, queue: str, job_id: str, *, timeout_s: float) -> JobResult:
        deadline = time.monotonic() + timeout_s
        while True:
            left = max(0.0, deadline - time.monotonic())
            found = await self.arun(self._result(queue, job_id, min(WAIT_MAX_S, ceil(left))))
            if found.state in (None, JobState.COMPLETED) or time.monotonic() >= deadline:
                return found

    # What workers do.

    def take(
        self, queues: Sequence[str], *, count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> Work[tuple[Delivery, ...]]:
        return self._consume_call(queues, count, ttr_ms, timeout_s, consumer)

    def _consume_call(
        self, queues: Sequence[str], count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> HttpCall[tuple[Delivery, ...]]:
        for name in queues:
            check_queue(name)
        path = ",".join(queues)
        if path in _TAKEN_NAMES:
            path += ","
        wait_s = min(CONSUME_MAX_TIMEOUT_S, ceil(timeout_s))
        params = {
            "count": str(min(count, CONSUME_MAX_COUNT)),
            "ttr": str(whole_s(ttr_ms)),
            "timeout": str(wait_s),
        }
        headers = {"X-Consumer": clean_line(consumer)}
        return HttpCall("GET", path, deliveries_of, params, headers=headers, wait_s=wait_s, takes_missing=True)

    async def consume(
        self, queues: Sequence[str], *, count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> tuple[Delivery, ...]:
        """A caller that is cancelled takes no job with it: those that were on their way are given back."""
        call = self._consume_call(queues, count, ttr_ms, timeout_s, consumer)
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
        """End a consume that nobody waits for, and release the jobs that its answer brings all the same.

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
        with contextlib.suppress(TaskqError, NotConfiguredError):  # then the leases run out instead
            await self.arun_all(works)

    def ack(self, queue: str, job_ids: Sequence[str], *, attempt: int) -> Work[tuple[AckOutcome, ...]]:
        return ack_call(Ack(queue, job_ids, attempt, [None] * len(job_ids), is_single=False))

    def ack_result(self, queue: str, job_id: str, *, attempt: int, result: bytes) -> Work[Any]:
        return ack_call(Ack(queue, [job_id], attempt, [result], is_single=True))

    def fail(
        self, queue: str, job_id: str, *, attempt: int, error: str, delay_ms: int | None, dead: bool
    ) -> Work[Failed]:
        content: dict[str, Any] = {"error": error[:ERROR_MAX_CHARS], "dead": dead}
        if delay_ms is not None:
            content["delay"] = delay_ms / 1000

        def decode(reply: Reply) -> Failed:
            return Failed(state=JobState(reply.json["state"]), due_ms=reply.json["due_ms"])

        return self._of_job("POST", queue, job_id, "/fail", decode, {"attempt": str(attempt)}, to_json_bytes(content))

    def release(self, queue: str, job_id: str, *, attempt: int, delay_ms: int) -> Work[None]:
        params = {"attempt": str(attempt), "delay": decimal_s(delay_ms)}
        return self._of_job("POST", queue, job_id, "/release", nothing, params)

    def hold_key(self, queue: str, key: str, job_id: str) -> Work[str | None]:
        def decode(reply: Reply) -> str | None:
            holder = reply.json["holder"]
            return None if holder is None else str(holder)

        return self._of_job("POST", queue, job_id, "/hold", decode, {"key": key})

    def extend(self, queue: str, job_id: str, *, attempt: int, ttr_ms: int) -> Work[int]:
        params = {"attempt": str(attempt), "ttr": str(whole_s(ttr_ms))}
        return self._of_job("POST", queue, job_id, "/extend", lambda reply: int(reply.json["lease_end_ms"]), params)

    def annotate(
        self, queue: str, job_id: str, fields: Mapping[str, str | bytes], *, lines: Sequence[str], keep_ms: int
    ) -> Work[None]:
        texts = {
            name: text if isinstance(text, str) else text.decode("utf-8", "replace") for name, text in fields.items()
        }
        content = to_json_bytes({"fields": texts, "lines": list(lines[-BULK_MAX_JOBS:]), "keep_ms": keep_ms})
        return self._of_job("POST", queue, job_id, "/note", nothing, content=content)

    def beat(self, beat: WorkerBeat, *, since_ms: int, ends: bool) -> Work[BeatReply]:
        def decode(reply: Reply) -> BeatReply:
            content = reply.json
            commands = [command_of(one, self.namespace) for one in content["commands"]]
            return BeatReply(commands=tuple([one for one in commands if one]), since_ms=content["since_ms"])

        content = to_json_bytes({**asdict(fit_beat(beat)), "since_ms": since_ms, "ends": ends})
        return HttpCall("POST", "workers", decode, content=content)

    # What operators do.

    def workers(self) -> Work[tuple[WorkerBeat, ...]]:
        return HttpCall("GET", "workers", lambda reply: tuple([worker_of(one) for one in reply.json["workers"]]))

    def command(self, command: WorkerCommand) -> Work[int]:
        """Returns 1 if there is such a worker, which will be told with its next beat, else 0."""
        content = to_json_bytes({"kind": command.kind.value, "target": command.target})
        return HttpCall(
            "POST", "workers/command", lambda reply: int(reply.status != 404), content=content, takes_missing=True
        )

    def queues(self, *, after: str | None, limit: int) -> Work[QueuePage]:
        def decode(reply: Reply) -> QueuePage:
            content = reply.json
            return QueuePage(names=tuple([one["queue"] for one in content["queues"]]), after=content["after"])

        return HttpCall("GET", "queues", decode, page_params(after, limit))

    def stats(self, queue: str) -> Work[QueueStats]:
        check_queue(queue)
        return HttpCall("GET", f"{queue}/stats", lambda reply: queue_stats(reply.json))

    def jobs(self, queue: str, state: JobState, *, after: str | None, limit: int) -> Work[Page]:
        def decode(reply: Reply) -> Page:
            content = reply.json
            return Page(jobs=tuple([job_detail(one) for one in content["jobs"]]), after=content["after"])

        check_queue(queue)
        params = {"state": state.value, "data": "true", **page_params(after, limit)}
        return HttpCall("GET", f"{queue}/jobs", decode, params)

    def delete(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        return _of_jobs("DELETE", f"{queue}/jobs", queue, job_ids)

    def respawn(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        return _of_jobs("PUT", f"{queue}/deadletter/jobs", queue, job_ids, {"ttl": "0"})

    def run_now(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        return _of_jobs("POST", f"{queue}/jobs/run", queue, job_ids)

    def pause(self, queue: str) -> Work[bool]:
        check_queue(queue)
        return HttpCall("POST", f"{queue}/pause", has_changed)

    def resume(self, queue: str) -> Work[bool]:
        check_queue(queue)
        return HttpCall("POST", f"{queue}/resume", has_changed)

    def _of_job(
        self,
        method: str,
        queue: str,
        job_id: str,
        rest: str,
        decode: Callable[[Reply], T],
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        *,
        takes_missing: bool = False,
        wait_s: float = 0.0,
    ) -> HttpCall[T]:
        check_queue(queue)
        path = f"{queue}/job/{quote(job_id, safe='')}{rest}"
        return HttpCall(
            method, path, decode, params, content, job_id=job_id, takes_missing=takes_missing, wait_s=wait_s
        )


_OF_THE_REQUEST: Final = (400, 413, 414, 431)
"""What a proxy, too, says of a request that is at fault itself. Its other words mean the moment: 408, 425, 499, ..."""

_NOTHING_THERE: Final = ("job not found", "no job available", "worker not found")
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


def _of_jobs(
    method: str, path: str, queue: str, job_ids: Sequence[str], params: Mapping[str, str] | None = None
) -> HttpCall[int]:
    check_queue(queue)
    return HttpCall(method, path, lambda reply: int(reply.json["count"]), params, to_json_bytes({"ids": list(job_ids)}))
