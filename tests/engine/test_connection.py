"""Pool URLs: every form, what is wrong with one, and no password in any message."""

from __future__ import annotations

import pytest

from queues.engine import InvalidArgumentError, parse_url, redact_url
from tests.support.rows import in_one_test

SECRET = "s3cr3t"


@in_one_test(
    ("url", "kind", "hosts", "service", "db"),
    [
        ("redis://127.0.0.1:6379/0", "plain", (), "", 0),
        ("rediss://user:pw@example.org:6380/2", "plain", (), "", 0),
        ("unix:///run/redis.sock?db=3", "plain", (), "", 0),
        ("redis+sentinel://a:1,b:2/jobs", "sentinel", (("a", 1), ("b", 2)), "jobs", 0),
        ("redis+sentinel://a,b:9/jobs/4", "sentinel", (("a", 26379), ("b", 9)), "jobs", 4),
        ("redis+cluster://a:1,b", "cluster", (("a", 1), ("b", 6379)), "", 0),
    ],
)
def test_every_form_of_url_is_read(
    url: str, kind: str, hosts: tuple[tuple[str, int], ...], service: str, db: int
) -> None:
    address = parse_url(url)

    assert (address.kind, address.hosts, address.service, address.db) == (kind, hosts, service, db)


@pytest.mark.parametrize("scheme", ["redis+sentinel", "redis+cluster"])
def test_user_and_password_are_unquoted(scheme: str) -> None:
    path = "/jobs" if "sentinel" in scheme else ""

    address = parse_url(f"{scheme}://me:p%40ss%2Fw@h:1{path}")

    assert (address.username, address.password) == ("me", "p@ss/w")
    assert parse_url(f"{scheme}://:pw@h:1{path}").username is None


@in_one_test(
    "url",
    ["", "redis", "redis://", "http://h", "unix://", "redis://h:port", "redis+sentinel://h:1", "redis+sentinel://h:1/",
     "redis+sentinel://h:1/s/x", "redis+cluster://h:1/0", "redis+cluster://", "redis+cluster://h:x",
     "redis+cluster://:1", "redis://:6379"],
)  # fmt: skip
def test_what_is_no_pool_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError):
        parse_url(url)


@in_one_test(
    "url",
    [f"redis://me:{SECRET}@h:port", f"redis+sentinel://:{SECRET}@h:1", f"redis+cluster://me:{SECRET}@h:x",
     f"redis+cluster://me:{SECRET}@h:1/0", f"http://me:{SECRET}@h"],
)  # fmt: skip
def test_no_refusal_tells_a_password(url: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        parse_url(url)

    assert SECRET not in str(refused.value)
    assert SECRET not in str(refused.value.__cause__)


@in_one_test(
    ("url", "shown"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        (f"redis://me:{SECRET}@h:1/0", "redis://me:***@h:1/0"),
        (f"redis://:{SECRET}@h:1/0", "redis://:***@h:1/0"),
        (f"redis+cluster://me:{SECRET}@a:1,b:2", "redis+cluster://me:***@a:1,b:2"),
        (f"unix://me:{SECRET}@/run/redis.sock?db=1", "unix://me:***@/run/redis.sock?db=1"),
        (f"redis://me:a/{SECRET}@h", "redis://me:***@h"),
        (f"redis://me:a@{SECRET}@h", "redis://me:***@h"),
        (f"redis://h/0?password={SECRET}", "redis://h/0?password=***"),
        (f"unix:///run/redis.sock?db=1&password={SECRET}&x=1", "unix:///run/redis.sock?db=1&password=***&x=1"),
    ],
)
def test_a_redacted_url_keeps_all_but_the_password(url: str, shown: str) -> None:
    assert redact_url(url) == shown
