"""How the API answers an error, and the errors that only the API knows.

`queues.services.http_statuses.HTTP_STATUS` is the table from errors to statuses, for pages too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from queues.engine.errors import LimitReachedError, NotReplicatedError, TaskqError
from queues.services.errors import SignInBusyError, SignInLockedError
from queues.services.http_statuses import HTTP_STATUS

from .response import ApiResponse, Header, json_response

logger = logging.getLogger(__name__)


class ApiError(TaskqError):
    """Base of the errors that arise in the HTTP API itself."""


class ParameterError(ApiError):
    """A parameter, or a body that should be JSON, cannot be read. The message is the contract's."""

    code = "invalid_parameter"


class BodyTooLargeError(ApiError):
    """A job's body is longer than BODY_MAX_BYTES, or a bulk request than BULK_MAX_BYTES."""

    code = "body_too_large"


class JobTooLargeError(ApiError):
    """One element of a bulk publish is longer than BODY_MAX_BYTES."""

    code = "job_too_large"


class TokenMissingError(ApiError):
    """No token: neither the header X-Token nor the query parameter token."""

    code = "token_missing"


class RouteNotFoundError(ApiError):
    """No route has this path."""

    code = "route_not_found"


class MethodNotAllowedError(ApiError):
    """The path exists, with other methods."""

    code = "method_not_allowed"

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__("method not allowed")
        self.allowed = allowed


class ClientGoneError(ApiError):
    """The client disconnected before its body had arrived. No answer is sent."""

    code = "client_gone"


class StaffOnlyError(ApiError):
    """An admin route was asked for without the credentials of a staff user."""

    code = "staff_only"


class ServerBusyError(ApiError):
    """What this process may hold in memory is used up by large bodies and unread answers."""

    code = "server_busy"


class ForbiddenError(ApiError):
    """The user is known but not staff or without the permission, or a session came without its CSRF token."""

    code = "forbidden"


class CrossSiteError(ApiError):
    """A browser was told by a page of another site to change something on an admin route."""

    code = "cross_site"


@dataclass(frozen=True, slots=True)
class Reply:
    """How an error is answered. `words` "": the error's own message, which is then meant for clients.

    `member`: what the words are called in the body (lmstfy calls a few `msg`).
    """

    words: str = ""
    headers: tuple[Header, ...] = ()
    member: str = "error"


_RETRY_SOON: Final = ((b"retry-after", b"1"),)
_NOT_REPLICATED: Final = (
    "written, but not confirmed by enough replicas: retry with the same key, or republish by job id"
)
_ASK_FOR_BASIC: Final = ((b"www-authenticate", b'Basic realm="taskq"'),)

_OWN_MESSAGE: Final = Reply()

REPLIES: Final[Mapping[str, Reply]] = {
    "lease_lost": Reply("lease lost"),
    "result_too_large": Reply("result too large"),
    "job_not_found": Reply("job not found"),
    "queue_not_found": Reply("queue not found"),
    "dependencies_closed": Reply("job takes no more dependencies"),
    "limit_reached": Reply(member="msg"),
    "store_unavailable": Reply("store unavailable", _RETRY_SOON),
    "not_replicated": Reply(_NOT_REPLICATED, _RETRY_SOON),
    "store_full": Reply("store full"),
    "layout_mismatch": Reply("internal error"),
    "script_error": Reply("internal error"),
    "internal_error": Reply("internal error"),
    "pool_not_found": Reply("pool not found"),
    "metadata_unavailable": Reply("metadata unavailable", _RETRY_SOON),
    "invalid_token": Reply("invalid token"),
    "token_not_found": Reply("token not found"),
    "token_exists": Reply("token exists already"),
    "limit_exists": Reply("limit exists already"),
    "limit_not_found": Reply("limit not found"),
    "namespace_not_found": Reply("namespace not found"),
    "worker_not_found": Reply("worker not found"),
    "push_endpoint_not_found": Reply("push endpoint not found"),
    "deletion_not_found": Reply("deletion not found"),
    "incident_not_found": Reply("incident not found"),
    "alert_channel_not_found": Reply("alert channel not found"),
    "schedule_not_found": Reply("schedule not found"),
    "workflow_not_found": Reply("workflow not found"),
    "node_not_found": Reply("node not found"),
    "pool_exists": Reply("pool exists already"),
    "role_too_low": Reply("permission denied"),
    "sign_in_busy": Reply("too many sign-ins"),
    "body_too_large": Reply("body too large"),
    "job_too_large": Reply("job too large"),
    "token_missing": Reply("token not found"),
    "route_not_found": Reply("api not found"),
    "client_gone": Reply("client gone"),
    "staff_only": Reply("authentication required", _ASK_FOR_BASIC),
    "server_busy": Reply("server busy", _RETRY_SOON),
}
"""Error code → what the reply says beside its status. Of other codes the body has the error's own message."""

INTERNAL_ERROR: Final = json_response(500, {"error": "internal error"})


def error_response(error: Exception) -> ApiResponse:
    """The reply to an error. Whatever has no entry in HTTP_STATUS is a defect: 500, logged with its traceback."""
    code = getattr(error, "code", "")
    status = HTTP_STATUS.get(code)
    if status is None:
        logger.error("unexpected error", exc_info=error, extra={"action": "http.error", "error": type(error).__name__})
        return INTERNAL_ERROR
    if status == 500:
        logger.error("internal error", exc_info=error, extra={"action": "http.error", "error": code})
    reply = REPLIES.get(code, _OWN_MESSAGE)
    headers = reply.headers
    if isinstance(error, MethodNotAllowedError):
        headers = ((b"allow", ", ".join(error.allowed).encode()),)
    elif isinstance(error, SignInLockedError | SignInBusyError):
        headers = ((b"retry-after", b"%d" % error.retry_after_s),)
    elif isinstance(error, LimitReachedError):
        headers = ((b"retry-after", b"%d" % ceil(error.retry_after_ms / 1000)),)
    body: dict[str, Any] = {reply.member: reply.words or str(error)}
    if isinstance(error, NotReplicatedError):
        body["job_ids"] = error.job_ids
    return json_response(status, body, *headers)
