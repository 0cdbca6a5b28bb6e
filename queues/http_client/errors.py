"""Why a request got no answer."""

from __future__ import annotations

from enum import StrEnum


class HttpFailure(StrEnum):
    """What kind of failure; stable words, for counting."""

    ADDRESS = "address_refused"
    LOOKUP = "lookup_failed"
    CONNECT = "connect_failed"
    TLS = "tls_failed"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    PROTOCOL = "bad_response"
    RESOURCES = "out_of_resources"
    """Of this process or host, such as open files: it is not the receiver's fault."""


class HttpClientError(Exception):
    """There is no answer with a status. `str(error)` says why, for the owner of the URL."""

    def __init__(self, failure: HttpFailure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


class StaleConnectionError(Exception):
    """A kept connection was closed before anything of the answer came: try another one."""
