"""The HTTP status of every error, for the API and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HTTP_STATUS: Final[Mapping[str, int]] = {
    # queues.engine.errors
    "invalid_argument": 400,
    "lease_lost": 409,
    "result_too_large": 413,
    "job_not_found": 404,
    "queue_not_found": 404,
    "dependencies_closed": 409,
    "limit_reached": 429,
    "workflow_not_found": 404,
    "node_not_found": 404,
    "workflow_conflict": 409,
    "store_unavailable": 503,
    "not_replicated": 503,
    "store_full": 507,
    "layout_mismatch": 500,
    "script_error": 500,
    "internal_error": 500,
    # queues.pools.database, queues.services.errors
    "pool_not_found": 404,
    "metadata_unavailable": 503,
    "invalid_token": 401,
    "token_not_found": 404,
    "token_exists": 400,
    "limit_exists": 400,
    "limit_not_found": 404,
    "namespace_not_found": 404,
    "worker_not_found": 404,
    "push_endpoint_not_found": 404,
    "deletion_not_found": 404,
    "incident_not_found": 404,
    "alert_channel_not_found": 404,
    "schedule_not_found": 404,
    "schedule_taken": 409,
    "pool_exists": 400,
    "role_too_low": 403,
    "sign_in_locked": 429,
    "sign_in_busy": 503,
    "search_busy": 429,
    # queues.api.http.errors
    "invalid_parameter": 400,
    "body_too_large": 413,
    "job_too_large": 413,
    "token_missing": 401,
    "route_not_found": 404,
    "method_not_allowed": 405,
    "client_gone": 400,
    "staff_only": 401,
    "server_busy": 503,
    "forbidden": 403,
    "cross_site": 403,
}
"""Error code → HTTP status. A test holds its keys equal to the codes of the error trees."""
