"""Which URLs are taken, and which addresses may be connected to."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from queues.http_client import AddressRules, UrlError, parse_target
from queues.http_client.headers import HeaderError, check_headers, escape_value
from tests.support.rows import in_one_test


@in_one_test(
    ("url", "host", "port", "path", "authority"),
    [
        ("https://example.org", "example.org", 443, "/", "example.org"),
        ("http://example.org/a/b?c=d&e", "example.org", 80, "/a/b?c=d&e", "example.org"),
        ("HTTPS://Example.ORG:8443/x", "example.org", 8443, "/x", "example.org:8443"),
        ("https://[2606:4700::1]:443/", "2606:4700::1", 443, "/", "[2606:4700::1]"),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
        ("http://hooks_1.example.:80/", "hooks_1.example", 80, "/", "hooks_1.example"),
    ],
)
def test_a_url_is_read(url: str, host: str, port: int, path: str, authority: str) -> None:
    target = parse_target(url)

    assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)


@in_one_test(
    ("url", "words"),
    [
        ("", "must begin with"),
        ("example.org", "must begin with"),
        ("ftp://example.org/", "must begin with"),
        ("file:///etc/passwd", "must begin with"),
        ("gopher://example.org/", "must begin with"),
        ("https://", "no host"),
        ("https:///path", "no host"),
        ("https://user:pw@example.org/", "credentials"),
        ("https://user@example.org/", "credentials"),
        ("https://example.org\\@evil.example/", "credentials"),
        ("https://example.org/#x", "fragment"),
        ("https://example.org:22/", "port 22"),
        ("https://example.org:6379/", "port 6379"),
        ("https://example.org:0/", "port 0"),
        ("https://example.org:99999/", "cannot be read"),
        ("https://example.org:x/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://[fe80::1%25eth0]/", "zone"),
        ("https://exa mple.org/", "blanks"),
        ("https://example.org/a b", "blanks"),
        ("https://example.org/\r\nHost: x", "blanks"),
        ("https://example.org/ü", "percent-encoded"),
        ("https://-x.example/", "no valid name"),
        ("https://a..b/", "no valid name"),
        ("https://example.org/" + "a" * 2_048, "longer than"),
        ("https://" + "a" * 64 + ".example/", "no valid name"),
    ],
)
def test_a_url_that_is_none_is_refused_with_the_reason(url: str, words: str) -> None:
    with pytest.raises(UrlError, match=words):
        parse_target(url)


REFUSED = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8"),
    *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a00:1::"),
    *("2001:0:4136:e378:8000:63bf:f5ff:fffe", "fe80::1%eth0", "", "example.org", "127.1", "0x7f.1"),
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "2606:4700:4700::1111",
    "2a00:1450::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


@in_one_test("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not AddressRules().permits(address)


@in_one_test("address", PUBLIC)
def test_a_public_address_is_permitted(address: str) -> None:
    assert AddressRules().permits(address)


def test_a_network_that_the_operator_allows_is_permitted_and_no_other() -> None:
    rules = AddressRules.of([ip_network("10.1.0.0/16"), ip_network("fd00::/8")])

    assert rules.permits("10.1.2.3")
    assert rules.permits("::ffff:10.1.2.3")
    assert rules.permits("fd12::1")
    assert not rules.permits("10.2.0.1")
    assert not rules.permits("::ffff:10.2.0.1")
    assert not rules.permits("127.0.0.1")


@in_one_test(
    ("headers", "words"),
    [
        ([], "object"),
        ("x", "object"),
        ({"a b": "x"}, "name"),
        ({"": "x"}, "name"),
        ({"x" * 65: "x"}, "name"),
        ({1: "x"}, "name"),
        ({"X-A": "b\r\nX-B: c"}, "value of X-A"),
        ({"X-A": "ü"}, "value of X-A"),
        ({"X-A": 1}, "value of X-A"),
        ({"X-A": "x" * 1_025}, "value of X-A"),
        ({"Host": "x"}, "set by taskq"),
        ({"content-LENGTH": "1"}, "set by taskq"),
        ({"Transfer-Encoding": "chunked"}, "set by taskq"),
        ({"Webhook-Signature": "x"}, "set by taskq"),
        ({"Taskq-Attempt": "1"}, "set by taskq"),
        ({"X-A": "1", "x-a": "2"}, "twice"),
        ({f"X-{number}": "1" for number in range(21)}, "more than 20"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused(headers: object, words: str) -> None:
    with pytest.raises(HeaderError, match=words):
        check_headers(headers)


def test_headers_that_can_be_sent_are_taken() -> None:
    headers = {"Authorization": "Bearer abc==", "Content-Type": "application/json", "x-empty": ""}

    assert check_headers(headers) == headers


def test_values_are_escaped_so_that_they_fit_a_header() -> None:
    assert escape_value("plain text") == "plain text"
    assert escape_value("a\r\nb: ü 100%") == "a%0D%0Ab: %C3%BC 100%25"
