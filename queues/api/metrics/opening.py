"""The secret for scraping, TASKQ_METRICS_TOKEN: it opens the metrics of all namespaces, and nothing else."""

from __future__ import annotations

from hmac import compare_digest

from django.conf import settings

from ..request import ApiRequest

_SCHEME = "bearer "


def opens_metrics(request: ApiRequest) -> bool:
    """Whether there is such a secret, and the request has it: `Authorization: Bearer SECRET`."""
    secret: str = settings.TASKQ_METRICS_TOKEN
    given = request.headers.get(b"authorization")
    if not secret or given[: len(_SCHEME)].lower() != _SCHEME:
        return False
    return compare_digest(given[len(_SCHEME) :].strip().encode("latin-1"), secret.encode())
