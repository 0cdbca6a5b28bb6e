"""Which address a client has behind proxies."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from queues.api.asgi import HOPS_MAX, TrustedProxies
from queues.api.http.request import Headers
from tests.support.rows import in_one_test

PROXIES = TrustedProxies([ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")])


def client_of(peer: str, *forwarded: str) -> str:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope: dict[str, Any] = {"client": (peer, 1)}
    PROXIES.restore_client(scope, Headers(headers))
    found = scope["client"]
    PROXIES.restore_client(scope, Headers(headers))
    assert scope["client"] == found, "a second look changes nothing"
    assert found[1] == 1
    return str(found[0])


@in_one_test(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", ("203.0.113.9",), "192.0.2.1"),
        ("10.0.0.1", (), "10.0.0.1"),
        ("10.0.0.1", ("203.0.113.9",), "203.0.113.9"),
        ("10.0.0.1", ("1.1.1.1, 203.0.113.9",), "203.0.113.9"),
        ("10.0.0.1", ("1.1.1.1, 203.0.113.9, 10.0.0.2",), "203.0.113.9"),
        ("10.0.0.1", ("1.1.1.1", "203.0.113.9"), "203.0.113.9"),
        ("10.0.0.1", ("10.0.0.3, 10.0.0.2",), "10.0.0.3"),
        ("10.0.0.1", ("203.0.113.9:4711",), "203.0.113.9"),
        ("10.0.0.1", ("[2001:db9::1]:4711",), "2001:db9::1"),
        ("2001:db8::1", ("2001:DB9:0::1",), "2001:db9::1"),
        ("::ffff:10.0.0.1", ("::ffff:203.0.113.9",), "203.0.113.9"),
        ("10.0.0.1", ("203.0.113.9, unknown",), "10.0.0.1"),
        ("10.0.0.1", ("203.0.113.9,",), "10.0.0.1"),
        ("10.0.0.1", ("x" * 100_000,), "10.0.0.1"),
        ("10.0.0.1", ("9.9.9.9," * 10_000 + "203.0.113.9",), "203.0.113.9"),
    ],
)
def test_it_is_the_last_that_is_no_proxy(peer: str, forwarded: tuple[str, ...], client: str) -> None:
    assert client_of(peer, *forwarded) == client


def test_no_more_proxies_are_looked_behind_than_there_may_be() -> None:
    assert client_of("10.0.0.1", "203.0.113.9" + ", 10.0.0.2" * HOPS_MAX) == "10.0.0.2"


def test_a_unix_socket_has_no_peer() -> None:
    scope: dict[str, Any] = {"client": None}
    PROXIES.restore_client(scope, Headers([(b"x-forwarded-for", b"203.0.113.9")]))
    assert scope["client"] is None
