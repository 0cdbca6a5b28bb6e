"""Limits on attempts to sign in: clients that have signed in to that account before, and strangers, have separate ones.

A browser is known by a signed cookie that it gets when it signs in. A program that sends HTTP Basic has no cookies; it
is known by its address, from the first time that its password was right. To be known opens nothing: a known client has
a limit of its own, which strangers who guess cannot use up.

Good attempts go to the activity log, failures and locks to the log.
"""

from __future__ import annotations

import ipaddress
import logging
import secrets
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from time import time
from typing import Any, Final

from axes.handlers.base import AbstractAxesHandler, AxesBaseHandler
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.core.cache import cache

from ..activity import ActivityAction, note_activity

logger = logging.getLogger(__name__)


DEVICE_KNOWN_S: Final = 180 * 86_400
ADDRESS_KNOWN_S: Final = 30 * 86_400
DEVICE_COOKIE: Final = "taskq_device"

KNOWN_HERE_MAX: Final = 1_000
known_here: Final[set[str]] = set()
"""Addresses that this process knows while the cache is away."""

_SALT: Final = "taskq.sign_in.device"
_IPV6_NETWORK_BITS: Final = 64
"""What one household or server gets: counting single IPv6 addresses would limit nobody."""

NAME_SHOWN_MAX: Final = 150
"""Characters: as long as a name may be."""


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


def note_sign_ins() -> None:
    """Begin. Once per process."""
    user_logged_in.connect(_note, dispatch_uid="queues.note_sign_ins")


def log_failure(client: SignInClient) -> None:
    """A password was wrong. Their number is bounded by the limits, and by what hashing takes."""
    logger.warning("sign-in failed", extra={"action": "signin.fail", **_fields(client)})


def log_lock(client: SignInClient, *, of: str, retry_after_s: int) -> None:
    """This was one failure too many. Attempts that are refused from now on are not logged. `of`: the kind of limit."""
    fields = {"action": "signin.lock", "limit": of, "retry_after_s": retry_after_s, **_fields(client)}
    logger.warning("sign-ins locked", extra=fields)


def _fields(client: SignInClient) -> dict[str, Any]:
    name = "".join(one if one.isprintable() else "?" for one in client.username[:NAME_SHOWN_MAX])
    return {"address": client.address, "username": name, "known": client.is_known}


def _note(user: AbstractBaseUser, **_signal: Any) -> None:
    note_activity(user=user, action=ActivityAction.SIGNED_IN, pool="")


class SignInLimits(AbstractAxesHandler, AxesBaseHandler):  # type: ignore[misc]  # django-axes has no types
    """AXES_HANDLER."""

    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """The failures of the limit of this attempt's that is nearest to being reached."""
        if not credentials:
            return 0
        client = find_client(request, credentials["username"])
        found = cache.get_many([_key(one) for one in client.limited_as])
        return max(found.values(), default=0)

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **_more: Any) -> None:
        """Count it, unless it was refused without looking at the password."""
        if request is None or request.axes_locked_out:
            return
        client = find_client(request, credentials.get("username") or "")
        log_failure(client)
        for one in client.limited_as:
            if _count(_key(one)) == settings.AXES_FAILURE_LIMIT:
                log_lock(client, of=one[0], retry_after_s=seconds_locked())

    def user_logged_in(self, sender: Any, request: Any, user: Any, **_more: Any) -> None:
        """A form was right. The response makes this browser known (`taskq_site.middleware`)."""
        request.signed_in_username = user.get_username()

    def user_logged_out(self, sender: Any, request: Any, user: Any, **_more: Any) -> None:
        """Nothing: who was known stays known."""

    def reset_attempts(
        self, *, ip_address: str | None = None, username: str | None = None, ip_or_username: bool = False
    ) -> int:
        """For the commands `axes_reset_ip` and `axes_reset_username`: forget what strangers did. How many limits."""
        limits = []
        if ip_address is not None:
            limits.append(("address", network_of(ip_address)))
        if username is not None:
            limits.append(("account", username))
        return sum(bool(cache.delete(_key(one))) for one in limits)


def address_of(request: Any) -> str:
    """AXES_CLIENT_IP_CALLABLE."""
    return client_address(request)


def seconds_locked() -> int:
    """How long what is locked now stays so."""
    window_s = settings.TASKQ_SIGN_IN_LOCK_S
    return max(1, ceil(window_s - time() % window_s))


def _count(key: str) -> int:
    """Add one; the number there is then. 0: the cache is away."""
    cache.add(key, 0, timeout=settings.TASKQ_SIGN_IN_LOCK_S)
    try:
        return cache.incr(key) or 0
    except ValueError:  # it was not added, or has just expired
        return 0


def _key(limit: tuple[str, ...]) -> str:
    return f"sign_in:failures:{int(time() // settings.TASKQ_SIGN_IN_LOCK_S)}:{digest_of(*limit)}"
