"""docs/push.md: its Python verifies what taskq signs, and its bounds are those of the code."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queues.engine.operations.push import DELIVERIES_KEPT, KEPT_MS
from queues.http_client.connection import BODY_KEPT_BYTES, BODY_READ_BYTES, BODY_READ_S, HEAD_MAX_BYTES
from queues.http_client.headers import HEADERS_MAX
from queues.http_client.urls import URL_MAX_CHARS
from queues.models.push import CONCURRENCY_DEFAULT, CONCURRENCY_MAX, TIMEOUT_DEFAULT_S, TIMEOUT_MAX_S
from queues.push.delivery import HELD_MAX_BYTES, LEASE_S
from queues.push.verdicts import HOLD_OFF_MAX_S, RETRY_AFTER_MAX_S
from queues.services.push.records import REQUEST_BODY_BYTES, RESPONSE_BODY_BYTES
from queues.services.push.secrets import key_of, new_secret
from queues.services.push.signing import sign

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "push.md").read_text(encoding="utf-8")
BODY = '{"order": 7, "who": "Zoë"}'.encode()


def snippet(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def signed(secret: str, *more: str, age_s: int = 0) -> dict[str, str]:
    """The headers of a request with BODY."""
    timestamp = int(time.time()) - age_s
    keys = [key_of(one) for one in (secret, *more)]
    return {
        "webhook-id": "01JD5T9ZQ3W8K4N7B2M6XCVHRE",
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(keys, message_id="01JD5T9ZQ3W8K4N7B2M6XCVHRE", timestamp_s=timestamp, body=BODY),
    }


def check(is_genuine: Callable[[dict[str, str], bytes, str], bool]) -> None:
    secret, other = new_secret(), new_secret()

    assert is_genuine(signed(secret), BODY, secret)
    assert is_genuine(signed(other, secret), BODY, secret), "while it is rotated"
    assert not is_genuine(signed(secret), BODY, other)
    assert not is_genuine(signed(secret), BODY + b" ", secret)
    assert not is_genuine(signed(secret) | {"webhook-id": "another"}, BODY, secret)
    assert not is_genuine(signed(secret, age_s=600), BODY, secret)
    assert not is_genuine(signed(secret) | {"webhook-signature": "v1,"}, BODY, secret)


def test_the_python_of_the_page_tells_genuine_requests() -> None:
    namespace: dict[str, Any] = {}
    exec(snippet("python"), namespace)

    check(namespace["is_genuine"])


@pytest.mark.skipif(shutil.which("php") is None, reason="PHP is not installed")
def test_the_php_of_the_page_tells_genuine_requests() -> None:
    code = snippet("php") + (
        "$given = json_decode(stream_get_contents(STDIN), true);"
        "echo is_genuine($given[0], base64_decode($given[1]), $given[2]) ? 'yes' : 'no';"
    )

    def is_genuine(headers: dict[str, str], body: bytes, secret: str) -> bool:
        import base64
        import json

        given = json.dumps([headers, base64.b64encode(body).decode(), secret])
        done = subprocess.run(["php", "-r", code], input=given, capture_output=True, text=True, check=True)
        return done.stdout == "yes"

    check(is_genuine)


def test_the_page_states_the_bounds_of_the_code() -> None:
    for words in (
        f"`timeout` | {TIMEOUT_DEFAULT_S} |",
        f"(1 to {TIMEOUT_MAX_S})",
        f"`concurrency` | {CONCURRENCY_DEFAULT} |",
        f"(1 to {CONCURRENCY_MAX:,})",
        f"at most {URL_MAX_CHARS:,} characters",
        f"at most {HEADERS_MAX}, sent",
        f"at most {HOLD_OFF_MAX_S:.0f} s",
        f"the latest {DELIVERIES_KEPT} deliveries, and the latest {DELIVERIES_KEPT} that failed",
        f"{HELD_MAX_BYTES // 2**20} MiB for each endpoint",
        f"{HEAD_MAX_BYTES // 1024} KiB of head, {BODY_READ_BYTES // 1024} KiB of body, of which",
        f"{BODY_KEPT_BYTES // 1024} KiB are kept in memory",
        f"else {LEASE_S} s; extended",
        f"{REQUEST_BODY_BYTES // 1024} KiB of the request's body and {RESPONSE_BODY_BYTES // 1024} KiB of the answer's",
    ):
        assert words in PAGE, words
    assert (RETRY_AFTER_MAX_S, KEPT_MS, BODY_READ_S) == (86_400, 7 * 86_400_000, 2.0), "a day, a week, two seconds"
