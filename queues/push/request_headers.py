"""Makes the request of a delivery: headers, and the signature of the Standard Webhooks specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from queues import __version__
from queues.engine import Delivery
from queues.http_client.headers import escape_value, is_token
from queues.services.push.signing import sign

USER_AGENT: Final = f"taskq/{__version__}"
CONTENT_TYPE: Final = "application/octet-stream"

Headers = tuple[tuple[str, str], ...]


def job_headers(job: Delivery, *, keys: Sequence[bytes], own: Headers) -> Headers:
    """The headers of a job's delivery. `own`: those of the endpoint."""
    return (
        *_common(job.job_id, job.now_ms // 1000, job.body, keys=keys, own=own),
        ("taskq-namespace", job.namespace),
        ("taskq-queue", job.queue),
        ("taskq-attempt", str(job.attempt)),
        ("taskq-tries-left", str(job.remain_tries)),
        *_attributes(job.attributes or {}),
    )


def test_headers(message_id: str, body: bytes, *, timestamp_s: int, keys: Sequence[bytes], own: Headers) -> Headers:
    """The headers of a test request."""
    return (*_common(message_id, timestamp_s, body, keys=keys, own=own), ("taskq-test", "1"))


def _common(message_id: str, timestamp_s: int, body: bytes, *, keys: Sequence[bytes], own: Headers) -> Headers:
    names = {name.lower() for name, _ in own}
    return (
        *((name, value) for name, value in _DEFAULTS if name not in names),
        *own,
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp_s)),
        ("webhook-signature", sign(keys, message_id=message_id, timestamp_s=timestamp_s, body=body)),
    )


_DEFAULTS: Final = (("user-agent", USER_AGENT), ("accept", "*/*"), ("content-type", CONTENT_TYPE))


def _attributes(attributes: Mapping[str, str]) -> Headers:
    """As a publish takes them. An attribute whose name cannot be a header's is left out."""
    return tuple((f"job-attr-{name}", escape_value(value)) for name, value in attributes.items() if is_token(name))
