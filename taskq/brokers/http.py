"""taskq over HTTP, with a token of the namespace. Needs httpx (`pip install 'taskq[http]'`).

A verb makes an `HttpCall`, a value; `run` and `arun` send it. Times are rounded up to what the API takes: whole
seconds for leases, ttl, retention and keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Final, TypeVar
from urllib.parse import quote

from queues.engine import (
    AckOutcome,
    BeatReply,
    Delivery,
    Dependency,
    FailResult,
    JobDetail,
    JobResult,
    JobState,
    NodeRequest,
    NodeResults,
    NodesAdded,
    OpenJob,
    Page,
    Published,
    PublishOptions,
    QueuePage,
    QueueStats,
    WorkerCommand,
    Workflow,
)
from queues.engine.constants import BULK_MAX_JOBS, CONSUME_MAX_COUNT, CONSUME_MAX_TIMEOUT_S
from queues.engine.error_texts import cut_error
from queues.engine.names import check_queue, clean_line
from queues.engine.stats.heartbeats import WorkerBeat

from .base import PreparedJob, Work
from .http_calls import Ack, HttpCall, HttpPlan, ack_call
from .http_connection import HttpConnection
from .http_json import (
    Reply,
    attribute_headers,
    check_json,
    command_of,
    decimal_s,
    deliveries_of,
    dependency_list,
    fit_beat,
    has_changed,
    job_detail,
    job_result,
    nothing,
    open_job,
    page_params,
    publish_params,
    published_of,
    queue_stats,
    to_json_bytes,
    waited_of,
    whole_s,
    worker_of,
)
from .http_workflows import node_json, node_results, nodes_added, workflow_of
from .open_jobs import Steps, add_in_pages, needs_pages, publish_in_pages

T = TypeVar("T")

WAIT_MAX_S: Final = 60
"""How long one request waits for a result; proxies end requests that take much longer."""

LIST_MAX_BYTES: Final = 32 * 1024

_TAKEN_NAMES: Final = ("queues", "workers", "schedules")
"""GET on these lists them; a queue of such a name is consumed as one of several."""


def _is_long(options: PublishOptions) -> bool:
    """Whether the dependencies do not fit into the head of a request, of which the server takes 64 KiB."""
    return len(options.depends_on) > 1 and len(quote(dependency_list(options.depends_on), safe="")) > LIST_MAX_BYTES


class HttpBroker(HttpConnection):
    """A namespace of a taskq server. Opens nothing before it is used.

    Raises NotConfiguredError for a URL or token that cannot be right, and where httpx is not installed; also when a
    request shows that the server does not accept the token.
    """

    keeps_schedules = True

    # What producers do.

    def publish(self, queue: str, bodies: Sequence[bytes], options: PublishOptions) -> Work[Published]:
        """Several bodies have to be JSON: each is one element of an array. Raises InvalidArgumentError for others."""
        check_queue(queue)
        if needs_pages(len(bodies), options) or _is_long(options):
            return HttpPlan(lambda: publish_in_pages(_OpenQueue(self, queue, bodies), options))
        return self.publish_call(queue, bodies, options)

    def publish_call(self, queue: str, bodies: Sequence[bytes], options: PublishOptions) -> HttpCall[Published]:
        """One request."""
        params, headers = publish_params(options), attribute_headers(options.attributes)
        if len(bodies) == 1:
            return HttpCall("PUT", queue, published_of, params, bodies[0], headers)
        for body in bodies:
            check_json(body)
        content = b"[" + b",".join(bodies) + b"]"
        return HttpCall("PUT", f"{queue}/bulk", published_of, params, content, headers)

    def add_dependencies(self, queue: str, job_id: str, depends_on: Sequence[Dependency]) -> Work[OpenJob]:
        return HttpPlan(lambda: add_in_pages(_OpenQueue(self, queue), job_id, depends_on))

    def add_some_dependencies(self, queue: str, job_id: str, depends_on: Sequence[Dependency]) -> HttpCall[OpenJob]:
        """Add up to DEPENDENCIES_MAX of them."""
        content = to_json_bytes({"depends_on": [str(one) for one in depends_on]})
        return self._of_job("POST", queue, job_id, "/dependencies", open_job, content=content)

    def close_dependencies(self, queue: str, job_id: str) -> HttpCall[OpenJob]:
        return self._of_job("POST", queue, job_id, "/dependencies/close", open_job)

    def republish(self, queue: str, job_id: str, body: bytes, options: PublishOptions) -> Work[Published]:
        params, headers = publish_params(options), attribute_headers(options.attributes)
        path = f"{queue}/job/{quote(job_id, safe='')}"
        check_queue(queue)
        return HttpCall("PUT", path, published_of, params, body, headers)

    def publish_and_wait(self, job: PreparedJob, *, wait_s: float) -> Work[tuple[Published, JobResult]] | None:
        check_queue(job.queue)
        if needs_pages(1, job.options) or _is_long(job.options):
            return None
        server_wait_s = min(WAIT_MAX_S, max(1, ceil(wait_s)))
        params = publish_params(job.options) | {"wait": str(server_wait_s)}
        headers = attribute_headers(job.options.attributes)
        return HttpCall("PUT", job.queue, waited_of, params, job.body, headers, wait_s=server_wait_s)

    def publish_once(
        self, queue: str, bodies: Sequence[bytes], options: PublishOptions, *, once: Sequence[str]
    ) -> Work[Published]:
        check_queue(queue)
        (body,), (its_id,) = bodies, once
        params = publish_params(options) | {"once": its_id}
        return HttpCall("PUT", queue, published_of, params, body, attribute_headers(options.attributes))

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

    def create_workflow(
        self, workflow_id: str, nodes: Sequence[NodeRequest], *, name: str, retention_ms: int
    ) -> Work[NodesAdded]:
        content = {"id": workflow_id, "name": name, "retention": whole_s(retention_ms)}
        raw = to_json_bytes(content | {"nodes": [node_json(node) for node in nodes]})
        return HttpCall("POST", "workflows", lambda reply: nodes_added(reply.json), content=raw)

    def add_nodes(self, workflow_id: str, nodes: Sequence[NodeRequest]) -> Work[NodesAdded]:
        raw = to_json_bytes({"nodes": [node_json(node) for node in nodes]})
        return HttpCall(
            "POST", _workflow_path(workflow_id, "/nodes"), lambda reply: nodes_added(reply.json), content=raw
        )

    def workflow(self, workflow_id: str, *, after: int) -> Work[Workflow]:
        return HttpCall(
            "GET", _workflow_path(workflow_id), lambda reply: workflow_of(reply.json), {"after": str(after)}
        )

    def cancel_workflow(self, workflow_id: str) -> Work[bool]:
        return HttpCall("POST", _workflow_path(workflow_id, "/cancel"), has_changed)

    def retry_workflow(self, workflow_id: str) -> Work[int]:
        return HttpCall("POST", _workflow_path(workflow_id, "/retry"), lambda reply: int(reply.json["count"]))

    def node_results(self, workflow_id: str, node: str, *, after: int) -> Work[NodeResults]:
        path = _workflow_path(workflow_id, "/results")
        params = {"node": node, "after": str(after)}
        return HttpCall("GET", path, lambda reply: node_results(reply.json), params)

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
            if found.state in (None, JobState.COMPLETED, JobState.DEAD) or time.monotonic() >= deadline:
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
        return await self.poll(call)

    def ack(self, queue: str, job_ids: Sequence[str], *, attempt: int) -> Work[tuple[AckOutcome, ...]]:
        return ack_call(Ack(queue, job_ids, attempt, [None] * len(job_ids), is_single=False))

    def ack_result(self, queue: str, job_id: str, *, attempt: int, result: bytes) -> Work[Any]:
        return ack_call(Ack(queue, [job_id], attempt, [result], is_single=True))

    def fail(
        self, queue: str, job_id: str, *, attempt: int, error: str, delay_ms: int | None, dead: bool
    ) -> Work[FailResult]:
        content: dict[str, Any] = {"error": cut_error(error).decode(), "dead": dead}
        if delay_ms is not None:
            content["delay"] = delay_ms / 1000

        def decode(reply: Reply) -> FailResult:
            return FailResult(state=JobState(reply.json["state"]), due_ms=reply.json["due_ms"])

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

    # Schedules, which only the service has.

    def schedules(self, *, app: str, after: str | None, limit: int) -> Work[tuple[list[str], str | None]]:
        """A page of the names of those that an app declares, and where the next page begins."""

        def decode(reply: Reply) -> tuple[list[str], str | None]:
            content = reply.json
            return [str(one["name"]) for one in content["schedules"]], content["after"]

        return HttpCall("GET", "schedules", decode, {"app": app, **page_params(after, limit)})

    def put_schedule(self, name: str, content: Mapping[str, Any]) -> Work[bool]:
        """Whether it is new. Raises InvalidArgumentError; NotConfiguredError for one that is declared elsewhere."""
        path = f"schedules/{quote(name, safe='')}"
        return HttpCall("PUT", path, lambda reply: reply.status == 201, content=to_json_bytes(content))

    def delete_schedule(self, name: str, *, app: str) -> Work[None]:
        return HttpCall("DELETE", f"schedules/{quote(name, safe='')}", nothing, {"app": app})

    # What operators do.

    def workers(self) -> Work[tuple[WorkerBeat, ...]]:
        return HttpCall("GET", "workers", lambda reply: tuple([worker_of(one) for one in reply.json["workers"]]))

    def command(self, command: WorkerCommand) -> Work[int]:
        """Returns 1 if there is such a worker, which gets the command with its next heartbeat, else 0."""
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

    def peek(self, queue: str) -> Work[Delivery | None]:
        def decode(reply: Reply) -> Delivery | None:
            return next(iter(deliveries_of(reply)), None)

        check_queue(queue)
        return HttpCall("GET", f"{queue}/peek", decode, takes_missing=True)

    def empty(self, queue: str, *, everything: bool) -> Work[None]:
        check_queue(queue)
        return HttpCall("DELETE", queue, nothing, {"all": "true" if everything else "false"})

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


def _workflow_path(workflow_id: str, rest: str = "") -> str:
    return f"workflows/{quote(workflow_id, safe='')}{rest}"


def _of_jobs(
    method: str, path: str, queue: str, job_ids: Sequence[str], params: Mapping[str, str] | None = None
) -> HttpCall[int]:
    check_queue(queue)
    return HttpCall(method, path, lambda reply: int(reply.json["count"]), params, to_json_bytes({"ids": list(job_ids)}))


@dataclass(frozen=True, slots=True)
class _OpenQueue:
    """Steps of `open_jobs` as requests."""

    broker: HttpBroker
    queue: str
    bodies: Sequence[bytes] = ()

    def publish(self, options: PublishOptions) -> Steps[Published]:
        return (yield self.broker.publish_call(self.queue, self.bodies, options))  # type: ignore[no-any-return]

    def add(self, job_id: str, depends_on: Sequence[Dependency]) -> Steps[OpenJob]:
        return (yield self.broker.add_some_dependencies(self.queue, job_id, depends_on))  # type: ignore[no-any-return]

    def close(self, job_id: str) -> Steps[OpenJob]:
        return (yield self.broker.close_dependencies(self.queue, job_id))  # type: ignore[no-any-return]

    def delete(self, job_ids: Sequence[str]) -> Steps[int]:
        return (yield self.broker.delete(self.queue, job_ids))  # type: ignore[no-any-return]
