"""No log line has a token, wherever the client put it and however it encoded the path."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any, Final
from urllib.parse import quote, unquote

import pytest

from queues.api.log_paths import loggable_path
from queues.api.logs import ACCESS_LOG
from taskq_site.asgi import application
from taskq_site.logs import JsonFormatter, LogfmtFormatter, mask_tokens
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db(transaction=True)

SECRET: Final = "Xq7Vt2Lw9Rb4Zk8Ns3Hd6Pj1"
FORMATTERS: Final = (LogfmtFormatter(), JsonFormatter())
METHODS: Final = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "BREW")
NAMESPACES: Final = (
    *("shop", "", " ", "a b", '"', "a'b", "a/b", "//", "\n", "a\nb", "?", "#", "%", "é", "\x00", "{namespace}", "İ"),
    *("%2F", "..", ".", ";", "\\", "token", "shop/token", "&", "=", "*", "\u2028", "limit"),
)


def encode(chance: random.Random, text: str, rate: float) -> str:
    """Percent-encode what has to be, and some more of it, some of that twice."""
    done = quote(text, safe="/" if chance.random() < 0.3 else "")
    done = "".join(f"%{ord(c):02x}" if c.isalnum() and chance.random() < rate else c for c in done)
    return done.replace("%", "%25") if chance.random() < 0.1 else done


def random_path(chance: random.Random) -> str:
    """The path of a route of tokens, more or less."""
    rate = chance.choice((0.0, 0.0, 0.2, 1.0))
    word = encode(chance, chance.choice(("token", "token", "token", "Token", "TOKEN")), rate)
    namespace = encode(chance, chance.choice(NAMESPACES), rate)
    secret = encode(chance, chance.choice(("", "default:", '"', " ", "a/")) + SECRET, rate / 4)
    before = chance.choice(("/", "/", "/", "/", "//", "/x/", "/./"))
    between = chance.choice(("/", "/", "/", "//", "%2F", "%2f", "%252F"))
    return f"{before}{word}/{namespace}{between}{secret}" + chance.choice(("", "", "/limit", "/", "/x"))


def is_told(text: str) -> bool:
    """Whether a part of the secret can be read in `text`."""
    for _ in range(4):
        if any(SECRET[at : at + 6].lower() in text.lower() for at in range(len(SECRET) - 5)):
            return True
        text = unquote(text)
    return False


@pytest.fixture
def access_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ACCESS_LOG, "enabled", True)
    monkeypatch.setattr(ACCESS_LOG, "refresh_if_due", lambda: None)


def ask(method: str, raw_path: str, query: str) -> None:
    body = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        message = next(body, None)
        if message is None:
            await asyncio.Event().wait()
        assert message is not None
        return message

    async def send(_message: Any) -> None:
        pass

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw_path),
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    asyncio.run(application(scope, receive, send))


@pytest.mark.parametrize("seed", range(4))
def test_requests_with_tokens_in_their_paths_and_queries(
    seed: int, access_log: None, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    caplog.set_level(logging.DEBUG)
    for _ in range(60):
        path, query = random_path(chance), f"a=%zz&{encode(chance, 'token', 0.3)}={SECRET}"
        before = len(caplog.records)
        ask(chance.choice(METHODS), path, query)
        lines = [formatter.format(one) for one in caplog.records[before:] for formatter in FORMATTERS]
        assert any("http.request" in line for line in lines), "the request is not in the access log"
        assert [line for line in lines if is_told(line)] == [], path


def test_what_libraries_log_of_a_path_or_a_query() -> None:
    chance = random.Random(7)
    for _ in range(5_000):
        path = random_path(chance)
        value = chance.choice(("", '"', " ")) + SECRET
        query = f"{chance.choice('?&;')}{encode(chance, 'token', 0.3)}={value}&x=1"
        for text in (path, unquote(path), f"/api/ns/q{query}", f"/api/ns/q{unquote(query)}", quote(query)):
            assert not is_told(mask_tokens(f"Internal Server Error: {text}")), text


@in_one_test(
    ("method", "path", "shown"),
    [
        ("DELETE", f"/token/shop/{SECRET}", "/token/{namespace}/{token}"),
        ("PUT", f"/token/%20/{SECRET}/limit", "/token/{namespace}/{token}/limit"),
        ("DELETE", f"/token//{SECRET}", "/token***"),
        ("GET", "/token/shop", "/token/shop"),
        ("PUT", "/api/shop/token-mails", "/api/shop/token-mails"),
        ("GET", "/queues/shop/orders/", "/queues/shop/orders/"),
    ],
)
def test_paths_say_which_route_it_was(method: str, path: str, shown: str) -> None:
    assert loggable_path(method, path.encode()) == shown
