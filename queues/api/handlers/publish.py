"""PUT: publish one job or many; the query parameters and attributes (`Job-Attr-NAME` headers) of a publish."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from django.conf import settings

from queues.engine import check_group, constants
from queues.engine.backoff import Backoff, parse_backoff
from queues.engine.constants import ATTRIBUTE_NAME_MAX_BYTES, ATTRIBUTE_VALUE_MAX_BYTES, ATTRIBUTES_MAX, BODY_MAX_BYTES
from queues.engine.queue_limits import check_limit_key
from queues.engine.values import DependencyFailure, KeyMode, Published
from queues.services.jobs.publishing import (
    PublishRequest,
    find_cycle_of,
    publish_job_once,
    publish_jobs,
    republish_job,
)
from queues.services.jobs.publishing import publish_bulk as publish_bulk_jobs
from queues.services.tokens.limit_settings import limited

from ..context import ApiContext
from ..http.errors import ParameterError
from ..http.large_requests import LARGE_BYTES, MEMORY, run_in_slices
from ..http.request import (
    ApiRequest,
    Headers,
    Query,
    read_int,
    read_moment_ms,
    read_optional_uint,
    read_seconds_as_ms,
    read_uint,
)
from ..http.response import ApiResponse, json_response
from ..metrics import COUNTERS
from .bulk_body import prepare, split_array
from .sync_call import answer_with_result, read_wait_s

FREE_BYTES: Final = 4 * 1024 * 1024
"""Job bodies that are freed in one slice; it takes about 0.3 ms."""


async def publish(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The body, whatever its bytes, is one job."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    wait_s = _prepare_to_wait(request) if "wait" in request.query else 0
    body = await request.read_body(BODY_MAX_BYTES)
    resolved = await context.resolve_queue(request)
    once = request.query.get("once")
    if once is None:
        operation = publish_jobs(queue=resolved.queue, bodies=(bytes(body),), request=asked, policy=resolved.policy)
    else:
        operation = publish_job_once(
            queue=resolved.queue, body=bytes(body), once=once, request=asked, policy=resolved.policy
        )
    if asked.depends_on and asked.key is not None:
        await resolved.engine.run(find_cycle_of(layout=resolved.engine.layout, queue=resolved.queue, request=asked))
    published = await resolved.engine.run(limited(operation, request.limit))
    answer = _answer(request, published)
    if wait_s:
        return await answer_with_result(request, context, resolved, published, wait_s)
    return answer


async def republish(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """As publish, in place of a job that is deleted in the same step."""
    if "once" in request.query:
        raise ParameterError("once does not fit a publish in place of another job")
    asked = read_publish_options(request.query, read_attributes(request.headers))
    wait_s = _prepare_to_wait(request) if "wait" in request.query else 0
    body = await request.read_body(BODY_MAX_BYTES)
    resolved = await context.resolve_queue(request)
    operation = republish_job(
        queue=resolved.queue, job_id=request.path["job_id"], body=bytes(body), request=asked, policy=resolved.policy
    )
    published = await resolved.engine.run(limited(operation, request.limit))
    answer = _answer(request, published)
    if wait_s:
        return await answer_with_result(request, context, resolved, published, wait_s)
    return answer


async def publish_bulk(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Each element of a JSON array is one job: all of them or none."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    if asked.key is not None:
        raise ParameterError("key fits one job only")
    if "wait" in request.query:
        raise ParameterError("wait fits one job only")
    if "once" in request.query:
        raise ParameterError("once fits one job only")
    bodies = await _read_bodies(request)
    resolved = await context.resolve_queue(request)
    work = publish_bulk_jobs(
        queue=resolved.queue, bodies=bodies, request=asked, policy=resolved.policy, limit=request.limit
    )
    published = await resolved.engine.run(work)
    access = request.granted
    COUNTERS.published(access.pool, access.namespace, request.path["queue"], len(published.job_ids))
    if request.memory is not None:  # which small bodies do not take
        await run_in_slices(_free(bodies))
    return json_response(201, {"msg": "published", "job_ids": published.job_ids})


async def _read_bodies(request: ApiRequest) -> list[bytes]:
    """The elements of the request's body, which is itself no longer needed, nor in memory."""
    body = await request.read_body(settings.TASKQ_BULK_MAX_BYTES)
    await prepare()
    return await run_in_slices(split_array(body), is_large=len(body) > LARGE_BYTES)


def _free(bodies: list[bytes]) -> Generator[None, None, None]:
    """Forget them, FREE_BYTES in a slice: the memory of each large one is given back to the system."""
    size = 0
    while bodies:
        size += len(bodies.pop())
        if size > FREE_BYTES:
            yield
            size = 0


def _prepare_to_wait(request: ApiRequest) -> int:
    """For how long the caller waits, in seconds. Raises ServerBusyError, before anything is published, if there is no
    memory for the result."""
    MEMORY.check(request.granted.namespace)
    return read_wait_s(request.query)


def _answer(request: ApiRequest, published: Published) -> ApiResponse:
    if published.duplicate:
        return json_response(200, {"msg": "duplicate", "job_id": published.job_ids[0]})
    access = request.granted
    COUNTERS.published(access.pool, access.namespace, request.path["queue"], 1)
    return json_response(201, {"msg": "published", "job_id": published.job_ids[0]})


_ADDED: Final = frozenset(
    {
        "at",
        "priority",
        "key",
        "key_ttl",
        "key_mode",
        "key_max_wait",
        "backoff",
        "retention",
        "limit_key",
        "depends_on",
        "on_dependency_failure",
        "dependencies",
        "wait",
        "group",
    }
)


def read_publish_options(query: Query, attributes: Mapping[str, str] | None) -> PublishRequest:
    """What the client asked for; what it left open stays None for the queue's policy. Raises ParameterError.

    The order of the checks is lmstfy's, so that a request with several faults gets the same answer.
    """
    if attributes is None and query.may_be_kept and "depends_on" not in query:
        return _read_options_again(query)
    return _read_options(query, attributes)


def _read_options(query: Query, attributes: Mapping[str, str] | None = None) -> PublishRequest:
    delay_ms = read_seconds_as_ms(query, "delay")
    ttl_s = read_optional_uint(query, "ttl")
    if ttl_s and ttl_s * 1000 < delay_ms:
        raise ParameterError("ttl is shorter than delay")
    tries = read_optional_uint(query, "tries", most=constants.TRIES_MAX)
    if tries == 0:
        raise ParameterError("tries shouldn't be zero")
    if _ADDED.isdisjoint(query):
        return PublishRequest(delay_ms=delay_ms, ttl_s=ttl_s, tries=tries, attributes=attributes)
    if "group" in query and "wait" in query:
        raise ParameterError("wait and group exclude each other")
    at_ms = read_moment_ms(query, "at")
    if at_ms is not None and "delay" in query:
        raise ParameterError("at and delay exclude each other")
    return PublishRequest(
        delay_ms=delay_ms,
        at_ms=at_ms,
        ttl_s=ttl_s,
        tries=tries,
        priority=read_int(query, "priority", 0, least=constants.PRIORITY_MIN, most=constants.PRIORITY_MAX),
        key=_read_key(query),
        key_ttl_ms=_read_key_ttl_ms(query),
        key_mode=_read_key_mode(query),
        key_max_wait_ms=_read_key_max_wait_ms(query),
        backoff=_read_backoff(query),
        retention_ms=_read_retention_ms(query),
        attributes=attributes,
        limit_key=_read_limit_key(query),
        group=_read_group(query),
        depends_on=_read_depends_on(query),
        on_dependency_failure=_read_on_dependency_failure(query),
        dependencies_open=_read_dependencies_open(query),
    )


_read_options_again = lru_cache(maxsize=1024)(_read_options)
"""A producer sends the same query over and over."""


def _read_key(query: Mapping[str, str]) -> str | None:
    key = query.get("key")
    if key is not None and not 0 < len(key.encode("utf-8", "surrogatepass")) <= constants.KEY_MAX_BYTES:
        raise ParameterError("invalid key")
    return key


def _read_limit_key(query: Mapping[str, str]) -> str | None:
    key = query.get("limit_key")
    if key is not None:
        check_limit_key(key)
    return key


def _read_group(query: Mapping[str, str]) -> str | None:
    group = query.get("group")
    if group is not None:
        check_group(group)
    return group


def _read_key_ttl_ms(query: Mapping[str, str]) -> int | None:
    if "key_ttl" in query and "key" not in query:
        raise ParameterError("key_ttl needs key")
    key_ttl_s = read_optional_uint(query, "key_ttl", least=1)
    return None if key_ttl_s is None else key_ttl_s * 1000


def _read_key_mode(query: Mapping[str, str]) -> KeyMode:
    text = query.get("key_mode")
    if text is None:
        return KeyMode.WINDOW
    try:
        mode = KeyMode(text)
    except ValueError:
        raise ParameterError("invalid key_mode") from None
    if "key" not in query:
        raise ParameterError("key_mode needs key")
    return mode


def _read_key_max_wait_ms(query: Mapping[str, str]) -> int:
    max_wait_ms = read_seconds_as_ms(query, "key_max_wait")
    if max_wait_ms and query.get("key_mode") != KeyMode.REPLACE:
        raise ParameterError("key_max_wait needs key_mode=replace")
    return max_wait_ms


def _read_retention_ms(query: Mapping[str, str]) -> int:
    """A job whose result somebody waits for keeps it for a while, whatever was asked for."""
    retention_s = read_uint(query, "retention", 0)
    return 1000 * (max(retention_s, constants.WAIT_RETENTION_S) if read_wait_s(query) else retention_s)


def _read_backoff(query: Mapping[str, str]) -> Backoff | None:
    text = query.get("backoff")
    return None if text is None else parse_backoff(text)


def _read_depends_on(query: Mapping[str, str]) -> tuple[str, ...]:
    """Jobs, separated by commas. A comma or a per cent sign in a key is percent-encoded, before the whole query is."""
    text = query.get("depends_on")
    return () if text is None else tuple([unquote(part) for part in text.split(",")])


def _read_on_dependency_failure(query: Mapping[str, str]) -> DependencyFailure:
    text = query.get("on_dependency_failure")
    if text is None:
        return DependencyFailure.WAIT
    if "depends_on" not in query and "dependencies" not in query:
        raise ParameterError("on_dependency_failure needs depends_on")
    try:
        return DependencyFailure(text)
    except ValueError:
        raise ParameterError("invalid on_dependency_failure") from None


def _read_dependencies_open(query: Query) -> bool:
    text = query.get("dependencies")
    if text not in (None, "open"):
        raise ParameterError("invalid dependencies")
    return text is not None


def read_attributes(headers: Headers) -> Mapping[str, str] | None:
    """The attributes of a publish; None unless `Enable-Job-Version: YES` asks for them and there are some.

    Names are lower-case already; names and values are cut, not refused. Raises ParameterError when there are too many.
    """
    if headers.get(b"enable-job-version").upper() != "YES":
        return None
    attributes: dict[str, str] = {}
    for name, value in headers.starting_with(b"job-attr-"):
        if value:
            attributes.setdefault(name[:ATTRIBUTE_NAME_MAX_BYTES], value)
    if len(attributes) > ATTRIBUTES_MAX:
        raise ParameterError(f"too many attributes, cannot exceed {ATTRIBUTES_MAX}")
    return {name: _cut(value) for name, value in attributes.items()} or None


def _cut(value: str) -> str:
    """At most ATTRIBUTE_VALUE_MAX_BYTES of UTF-8 of what was sent; bytes that are not UTF-8 are read as Latin-1."""
    raw = value.encode("latin-1")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raw = value.encode("utf-8")
    return raw[:ATTRIBUTE_VALUE_MAX_BYTES].decode("utf-8", "ignore")
