"""The push endpoint of a queue: shown, set, paused, tested; its latest deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from queues.engine.errors import InvalidArgumentError
from queues.services.push.endpoints import (
    OVERLAP_DEFAULT_S,
    Endpoint,
    EndpointOptions,
    delete_endpoint,
    find_endpoint,
    request_test,
    rotate_secret,
    save_endpoint,
    set_endpoint_paused,
)
from queues.services.push.reading import deliveries_of, read_records
from queues.services.push.records import DeliveryRecord

from ..context import ApiContext
from ..http.body import flag_of, number_of, read_object, text_of
from ..http.errors import ParameterError
from ..http.request import ApiRequest
from ..http.response import NO_CONTENT, ApiResponse, json_response

MEMBERS: Final = ("url", "enabled", "timeout", "concurrency", "rate", "headers", "secret")
DEFAULTS: Final = EndpointOptions(url="")


async def show(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The endpoint; its secrets are not shown."""
    return json_response(200, present_endpoint(await context.call(find_endpoint, **_place(request))))


async def put(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Make it, or change what it is. The secret of a new one is in the answer, and nowhere else."""
    content = await read_object(request)
    unknown = next((name for name in content if name not in MEMBERS), None)
    if unknown is not None:
        raise ParameterError(f"invalid {unknown[:50]}: the members are {', '.join(MEMBERS)}")
    options = _read_options(content)
    secret = text_of(content, "secret") or None
    place = _place(request)
    saved = await context.call(
        save_endpoint,
        pool=place["pool"],
        namespace=place["namespace"],
        queue=place["queue"],
        options=options,
        secret=secret,
    )
    answer = present_endpoint(saved.endpoint)
    if saved.created:
        return json_response(201, {**answer, "secret": saved.secret})
    return json_response(200, answer)


async def delete(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """204 also when there was none. Jobs stay in the queue."""
    await context.call(delete_endpoint, **_place(request))
    return NO_CONTENT


async def pause(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Deliver nothing until resumed."""
    changed = await context.call(set_endpoint_paused, **_place(request), paused=True)
    return json_response(200, {"msg": "paused", "changed": changed})


async def resume(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Deliver again."""
    changed = await context.call(set_endpoint_paused, **_place(request), paused=False)
    return json_response(200, {"msg": "resumed", "changed": changed})


async def rotate(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A new secret; the one before signs as well for a while."""
    overlap_s = number_of(await read_object(request), "overlap", OVERLAP_DEFAULT_S)
    secret = await context.call(rotate_secret, **_place(request), overlap_s=overlap_s)
    return json_response(200, {"secret": secret})


async def test(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Have a pusher send a test request; what came of it is among the deliveries."""
    await context.call(request_test, **_place(request))
    return json_response(202, {"msg": "a pusher will send it"})


async def deliveries(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The latest deliveries, and those that failed."""
    endpoint = await context.call(find_endpoint, **_place(request))
    found = await context.run(request, lambda queue: deliveries_of(queue=queue, endpoint=endpoint))
    health = found.health
    return json_response(
        200,
        {
            "namespace": endpoint.namespace,
            "queue": endpoint.queue,
            "delivered": health.delivered,
            "failed": health.failed,
            "returned": health.returned,
            "failed_in_a_row": health.streak,
            "delivered_at_ms": health.ok_at_ms,
            "failed_at_ms": health.failed_at_ms,
            "deliveries": [present_delivery(record) for record in read_records(found.recent)],
            "failures": [present_delivery(record) for record in read_records(found.failures)],
        },
    )


def present_endpoint(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint as JSON."""
    options = endpoint.options
    return {
        "namespace": endpoint.namespace,
        "queue": endpoint.queue,
        "url": options.url,
        "enabled": options.enabled,
        "timeout": options.timeout_s,
        "concurrency": options.concurrency,
        "rate": options.rate_per_s,
        "headers": dict(options.headers),
        "paused_ms": _ms(endpoint.paused_at),
        "paused_reason": endpoint.paused_reason,
        "secrets": [{"created_ms": one.created_ms, "expires_ms": one.expires_ms} for one in endpoint.secrets],
    }


def present_delivery(record: DeliveryRecord) -> dict[str, Any]:
    """A delivery as JSON."""
    return {
        "job_id": record.job_id,
        "attempt": record.attempt,
        "at_ms": record.at_ms,
        "outcome": record.outcome,
        "status": record.status,
        "error": record.error,
        "duration_ms": record.duration_ms,
        "request": {
            "headers": [list(pair) for pair in record.request_headers],
            "body": record.request_body,
            "body_bytes": record.request_bytes,
        },
        "response": {
            "reason": record.reason,
            "headers": [list(pair) for pair in record.response_headers],
            "body": record.response_body,
        },
    }


def _read_options(content: dict[str, Any]) -> EndpointOptions:
    headers = content.get("headers")
    if headers is None:
        headers = {}
    if not isinstance(headers, dict):
        raise ParameterError("invalid headers: expected an object of names and texts")
    if not text_of(content, "url"):
        raise ParameterError("invalid url: it is missing")
    return EndpointOptions(
        url=text_of(content, "url"),
        enabled=DEFAULTS.enabled if content.get("enabled") is None else flag_of(content, "enabled"),
        timeout_s=number_of(content, "timeout", DEFAULTS.timeout_s),
        concurrency=number_of(content, "concurrency", DEFAULTS.concurrency),
        rate_per_s=_rate_of(content),
        headers=headers,
    )


def _rate_of(content: dict[str, Any]) -> float | None:
    rate = content.get("rate")
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, int | float):
        raise InvalidArgumentError("invalid rate: expected a number of requests per second, or null")
    return float(rate) if abs(rate) < 1e9 else 1e9


def _place(request: ApiRequest) -> dict[str, str]:
    access = request.granted
    return {"pool": access.pool, "namespace": access.namespace, "queue": request.path["queue"]}


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
