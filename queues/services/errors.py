"""What the services refuse: part of the one tree of errors. The messages are what clients and commands show.

`http_statuses` says which HTTP status each has.
"""

from __future__ import annotations

from queues.engine.errors import InvalidArgumentError, TaskqError
from queues.pools.database import MetadataUnavailableError, PoolNotFoundError

__all__ = [
    "AlertChannelNotFoundError",
    "IncidentNotFoundError",
    "InvalidArgumentError",
    "InvalidTokenError",
    "LimitExistsError",
    "LimitNotFoundError",
    "MetadataUnavailableError",
    "NamespaceNotFoundError",
    "PoolExistsError",
    "PoolNotFoundError",
    "PushEndpointNotFoundError",
    "RoleTooLowError",
    "ScheduleNotFoundError",
    "ScheduleTakenError",
    "SearchBusyError",
    "SignInBusyError",
    "SignInLockedError",
    "TaskqError",
    "TokenExistsError",
    "TokenNotFoundError",
    "WorkerNotFoundError",
]


class InvalidTokenError(TaskqError):
    """The token does not open this namespace. Unknown, revoked, or another namespace's: callers cannot tell which."""

    code = "invalid_token"

    def __init__(self) -> None:
        super().__init__("invalid token")


class TokenNotFoundError(TaskqError):
    """There is no such token in the namespace (for staff; clients get InvalidTokenError)."""

    code = "token_not_found"

    def __init__(self) -> None:
        super().__init__("token not found")


class TokenExistsError(TaskqError):
    """The namespace has a token with the given secret already, perhaps a revoked one."""

    code = "token_exists"

    def __init__(self) -> None:
        super().__init__("token exists already")


class LimitExistsError(TaskqError):
    """The token has a limit already."""

    code = "limit_exists"

    def __init__(self) -> None:
        super().__init__("limit exists already")


class LimitNotFoundError(TaskqError):
    """The token has no limit."""

    code = "limit_not_found"

    def __init__(self) -> None:
        super().__init__("limit not found")


class NamespaceNotFoundError(TaskqError):
    """The pool has no such namespace (for staff; clients get InvalidTokenError)."""

    code = "namespace_not_found"

    def __init__(self) -> None:
        super().__init__("namespace not found")


class WorkerNotFoundError(TaskqError):
    """The namespace has no such worker, or it was not heard of lately."""

    code = "worker_not_found"

    def __init__(self) -> None:
        super().__init__("worker not found")


class DeletionNotFoundError(TaskqError):
    """There is no such deletion, or not for this reader."""

    code = "deletion_not_found"

    def __init__(self) -> None:
        super().__init__("deletion not found")


class IncidentNotFoundError(TaskqError):
    """There is no such incident, or not for this reader."""

    code = "incident_not_found"

    def __init__(self) -> None:
        super().__init__("incident not found")


class AlertChannelNotFoundError(TaskqError):
    """There is no such alert channel, or not for this reader."""

    code = "alert_channel_not_found"

    def __init__(self) -> None:
        super().__init__("alert channel not found")


class PushEndpointNotFoundError(TaskqError):
    """The queue has no push endpoint."""

    code = "push_endpoint_not_found"

    def __init__(self) -> None:
        super().__init__("push endpoint not found")


class ScheduleNotFoundError(TaskqError):
    """The namespace has no such schedule."""

    code = "schedule_not_found"

    def __init__(self) -> None:
        super().__init__("schedule not found")


class ScheduleTakenError(TaskqError):
    """The schedule is declared elsewhere: by another app's code, or by people where code would change it."""

    code = "schedule_taken"


class PoolExistsError(TaskqError):
    """There is a pool of this name already."""

    code = "pool_exists"

    def __init__(self) -> None:
        super().__init__("pool exists already")


class RoleTooLowError(TaskqError):
    """The person may see the namespace, and may not do this in it."""

    code = "role_too_low"

    def __init__(self) -> None:
        super().__init__("permission denied")


class SignInLockedError(TaskqError):
    """There were too many failed sign-ins, so this password was not looked at."""

    code = "sign_in_locked"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"too many failed sign-ins: try again in {retry_after_s} s, "
            "or from a browser or an address that has signed in to this account before"
        )
        self.retry_after_s = retry_after_s


class SignInBusyError(TaskqError):
    """So many passwords are waiting to be checked that one more would wait for too long."""

    code = "sign_in_busy"
    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__("too many sign-ins")


class SearchBusyError(TaskqError):
    """A search of the same user is still under way."""

    code = "search_busy"
    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__("another search is under way")
