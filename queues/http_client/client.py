"""Posts to one URL, over connections that are kept, each made to an address that was checked."""

from __future__ import annotations

import asyncio
import errno
import ssl
from time import monotonic
from typing import Final

from .addresses import AddressRules, Resolver
from .connection import Connection, HttpClientError, HttpFailure, Response, StaleConnectionError
from .urls import Target

IDLE_S: Final = 15.0
AGE_MAX_S: Final = 60.0
"""A kept connection is used no longer after so long without a request, or so long after it was made: then the name is
looked up again."""

ADDRESSES_TRIED: Final = 3

_OWN_FAULTS: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL, errno.ENETDOWN}
)
"""What keeps this host from connecting anywhere."""


def client_tls(ca_file: str = "") -> ssl.SSLContext:
    """TLS that checks certificates and names. `ca_file`: certificates of authorities beside the system's."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context


class HttpClient:
    """Requests to one target. Belongs to one event loop. `max_kept`: idle connections."""

    def __init__(
        self, target: Target, *, rules: AddressRules, resolver: Resolver, tls: ssl.SSLContext, max_kept: int
    ) -> None:
        self.target = target
        self._rules = rules
        self._resolver = resolver
        self._tls = tls
        self._max_kept = max_kept
        self._idle: list[Connection] = []
        self._is_closed = False

    async def post(self, headers: bytes, body: bytes, *, timeout_s: float) -> Response:
        """One POST. `headers`: lines that each end in CRLF, without Host and Content-Length. Raises HttpClientError.

        `timeout_s`: from now until the head of the answer, connecting included.
        """
        deadline = monotonic() + timeout_s
        head = b"POST %b HTTP/1.1\r\nhost: %b\r\ncontent-length: %d\r\n%b\r\n" % (
            self.target.path.encode("ascii"),
            self.target.authority.encode("ascii"),
            len(body),
            headers,
        )
        while True:
            kept = self._take_idle()
            connection = kept or await self._connect(deadline)
            try:
                response = await connection.exchange(head, body, timeout_s=deadline - monotonic())
            except StaleConnectionError:
                if kept is not None:
                    continue
                raise HttpClientError(HttpFailure.CLOSED, "the connection was closed at once") from None
            self._keep(connection)
            return response

    def close(self) -> None:
        """Close the idle connections, and those in use when they have their answers."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().abort()

    def _take_idle(self) -> Connection | None:
        """The one that was used last."""
        while self._idle:
            connection = self._idle.pop()
            now = monotonic()
            if now - connection.idle_since < IDLE_S and now - connection.opened_at < AGE_MAX_S:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: Connection) -> None:
        if connection.is_reusable:
            if self._is_closed or len(self._idle) >= self._max_kept:
                connection.abort()
            else:
                self._idle.append(connection)

    async def _connect(self, deadline: float) -> Connection:
        try:
            async with asyncio.timeout(max(0.0, deadline - monotonic())):
                addresses = await self._resolver.resolve(self.target.host, self.target.port)
                permitted = [address for address in addresses if self._rules.permits(address)]
                if not permitted:
                    raise HttpClientError(HttpFailure.ADDRESS, _refusal(self.target.host))
                return await self._connect_to(permitted[:ADDRESSES_TRIED], deadline)
        except TimeoutError:
            raise HttpClientError(HttpFailure.TIMEOUT, "no connection in time") from None

    async def _connect_to(self, addresses: list[str], deadline: float) -> Connection:
        """To the first of them that takes a connection; each but the last gets its share of the time."""
        for index, address in enumerate(addresses):
            share = (deadline - monotonic()) / (len(addresses) - index)
            try:
                async with asyncio.timeout(max(0.0, share)):
                    return await self._open(address)
            except (TimeoutError, OSError) as error:  # ssl.SSLError is an OSError
                if index + 1 == len(addresses):
                    if isinstance(error, TimeoutError):
                        raise
                    raise _explained(error, address, self.target.port) from None
        raise AssertionError("there is at least one address")

    async def _open(self, address: str) -> Connection:
        """Connect to exactly this address: it is a literal, so nothing is looked up again."""
        loop = asyncio.get_running_loop()
        is_tls = self.target.scheme == "https"
        _, connection = await loop.create_connection(
            lambda: Connection(loop),
            address,
            self.target.port,
            ssl=self._tls if is_tls else None,
            server_hostname=self.target.host if is_tls else None,
        )
        return connection


def _refusal(host: str) -> str:
    """Without the addresses: names of a network that strangers cannot reach must not tell them what is in it."""
    return f"{host}: not a public address, and in no network that TASKQ_PUSH_ALLOWED_NETWORKS allows"


def _explained(error: OSError, address: str, port: int) -> HttpClientError:
    shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return HttpClientError(HttpFailure.TLS, f"certificate of {shown} refused: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        return HttpClientError(HttpFailure.TLS, f"no TLS with {shown}: {error.reason or error}")
    if error.errno in _OWN_FAULTS:
        return HttpClientError(HttpFailure.RESOURCES, f"no connection to {shown}: {error.strerror}")
    reason = error.strerror or str(error) or type(error).__name__
    return HttpClientError(HttpFailure.CONNECT, f"cannot connect to {shown}: {reason}")
