"""The address of a client behind proxies that are trusted (TASKQ_TRUSTED_PROXIES); without any, the socket's peer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from django.conf import settings

from .asgi_types import Scope
from .request import Headers

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

HOPS_MAX: Final = 16
CLAIM_MAX: Final = 1_000
"""Proxies behind each other, and characters that they write. What a client claims before that is not looked at."""

_HEADER: Final = b"x-forwarded-for"


class TrustedProxies:
    """Networks whose `X-Forwarded-For` is believed."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = networks
        self._find = lru_cache(maxsize=4096)(self._find_client)

    def restore_client(self, scope: Scope, headers: Headers) -> None:
        """Put the client's address into `scope` in place of the proxy's. Doing it again changes nothing."""
        peer = scope.get("client")
        if peer is None:
            return
        claimed = ",".join(value for rest, value in headers.starting_with(_HEADER) if not rest)
        if claimed:
            scope["client"] = (self._find(peer[0], claimed[-CLAIM_MAX:]), peer[1])

    def _find_client(self, peer: str, claimed: str) -> str:
        """Each proxy appends whom it was asked by. So the last that is none of the proxies is the client."""
        client = peer
        for hop in reversed(claimed.rsplit(",", HOPS_MAX)[-HOPS_MAX:]):
            if not self._trusts(client):
                break
            address = _parse(hop.strip())
            if address is None:
                break
            client = str(address)
        return client

    def _trusts(self, text: str) -> bool:
        address = _parse(text)
        return address is not None and any(address in network for network in self._networks)


def _parse(text: str) -> Address | None:
    """An address as proxies write it: some add the port, and IPv6 then has brackets."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


TRUSTED_PROXIES: Final = TrustedProxies(settings.TASKQ_TRUSTED_PROXIES) if settings.TASKQ_TRUSTED_PROXIES else None
