"""Clients that try a password: ones that have signed in to that account before, and strangers.

A browser is known by a signed cookie that it gets when it signs in. A program that sends HTTP Basic has no cookies; it
is known by its address, from the first time that its password was right. To be known opens nothing: a known client has
a limit of its own, which strangers who guess cannot use up.
"""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from django.core import signing
from django.core.cache import cache

DEVICE_KNOWN_S: Final = 180 * 86_400
ADDRESS_KNOWN_S: Final = 30 * 86_400
DEVICE_COOKIE: Final = "taskq_device"

KNOWN_HERE_MAX: Final = 1_000
known_here: Final[set[str]] = set()
"""Addresses that this process knows while the cache is away."""

_SALT: Final = "taskq.sign_in.device"
_IPV6_NETWORK_BITS: Final = 64
"""What one household or server gets: counting single IPv6 addresses would limit nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInClient:
    """`device`: what the cookie says, "" without one. `is_known_address`: this account has signed in from there."""

    username: str
    address: str
    device: str
    is_known_address: bool

    @property
    def is_known(self) -> bool:
        """Whether it has signed in to this account before."""
        return bool(self.device) or self.is_known_address

    @property
    def limited_as(self) -> tuple[tuple[str, ...], ...]:
        """What its failures count against. Each is a limit of its own; the first word says of what kind.

        Strangers count together by address and by account, a known client alone.
        """
        if self.device:
            return (("device", self.username, self.device),)
        if self.is_known_address:
            return (("known address", self.username, network_of(self.address)),)
        return (("address", network_of(self.address)), ("account", self.username))


def find_client(request: Any, username: str) -> SignInClient:
    """The client of a Django request that tries a password of `username`. Found once for each request."""
    found: SignInClient | None = getattr(request, "sign_in_client", None)
    if found is None or found.username != username:
        address = client_address(request)
        device = _read_device(request, username)
        found = SignInClient(
            username=username,
            address=address,
            device=device,
            is_known_address=not device and _is_known_address(username, address),
        )
        request.sign_in_client = found
    return found


def remember_address(client: SignInClient) -> None:
    """Note that the account has signed in from this address."""
    key = _known_key(client.username, client.address)
    cache.set(key, 1, timeout=ADDRESS_KNOWN_S)
    known_here.add(key)
    if len(known_here) > KNOWN_HERE_MAX:
        known_here.clear()  # the cache has them


def _is_known_address(username: str, address: str) -> bool:
    key = _known_key(username, address)
    return key in known_here or cache.get(key) is not None


def device_cookie(request: Any, username: str) -> dict[str, Any]:
    """The cookie that makes a browser known, as arguments of Django's `set_cookie`."""
    device = _read_device(request, username) or secrets.token_hex(8)
    value = signing.dumps([username, device], salt=_SALT)
    return {
        "key": _cookie_name(username),
        "value": value,
        "max_age": DEVICE_KNOWN_S,
        "httponly": True,
        "samesite": "Lax",
    }


def client_address(request: Any) -> str:
    """The address of the client. Proxies that are trusted have been looked behind (`queues.api.asgi`)."""
    return str(request.META.get("REMOTE_ADDR") or "")


def network_of(address: str) -> str:
    """What is limited as one address: IPv4 as it is, of IPv6 the first 64 bits; anything else as it is."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_NETWORK_BITS), strict=False))


def digest_of(*words: str) -> str:
    """A short name for words of any length and kind, as a part of a key."""
    return sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read_device(request: Any, username: str) -> str:
    cookie = request.COOKIES.get(_cookie_name(username))
    if not cookie:
        return ""
    try:
        whose, device = signing.loads(cookie, salt=_SALT, max_age=DEVICE_KNOWN_S)
    except (signing.BadSignature, ValueError):
        return ""
    return str(device) if whose == username else ""


def _cookie_name(username: str) -> str:
    """One for each account: people who have two remain known with both."""
    return f"{DEVICE_COOKIE}_{digest_of(username)[:8]}"


def _known_key(username: str, address: str) -> str:
    return f"sign_in:known:{digest_of(username, network_of(address))}"
