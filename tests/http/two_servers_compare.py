"""Whether two answers are the same, but for what no two servers can have in common: ids, clocks, secrets."""

from __future__ import annotations

import json
import re

from tests.http.two_servers import ApiServer
from tests.http.two_servers_connection import Answer

JOB_ID = re.compile(rb"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_MOMENTS = re.compile(
    rb'"(elapsed_ms|due_ms|lease_end_ms|ttl|now_ms|published_ms|expires_ms|taken_ms|died_ms|kept_until_ms'
    rb'|ended_ms|at_ms|first_ms|last_ms|flush_ms|created_ms|since_ms|age_ms|start_ms|next_ms|fired_ms|up_ms|run_ms|oldest_ready_ms|published_per_s|consumed_per_s|acked_per_s|failed_per_s|p50|p95|p99)":(-?[0-9.]+)'
)
_PLACE_BY_TIME = re.compile(rb'(?<="after":"dead:)\d{13}(?=:)|(?<="after":")\d{13}(?=/)')
"""A page of dead jobs ends at a time of death, one of workflows at a time of creation."""
_NEW_SECRET = re.compile(rb'(?<="secret":")whsec_[A-Za-z0-9+/]{43}=(?=")')
TOLERANCE_MS = 2_000.0
_MS_IN_UNIT = {b"ttl": 1_000.0}
_ZERO_IS_A_WORD = {b"ttl", b"due_ms", b"lease_end_ms"}
_OF_AN_ANSWER = {"date", "server", "x-request-id", "content-length"}
"""The length is that of ids and numbers too; `flaw` holds it against the body."""
_CHOSEN_ID = re.compile(r"[0-9a-f]{32}")
SANE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")


def difference(
    first: tuple[ApiServer, Answer],
    second: tuple[ApiServer, Answer],
    *,
    expects: bool = False,
    ends: bool = False,
    took_ms: float = 0.0,
) -> str:
    """ "" if the answers are the same, else where they are not.

    `expects`: the request said `Expect: 100-continue` and yet sent its body. Whether the server reads what it refused,
    and thus keeps the connection, is then a matter of moments. `ends`: the first answer has to end its connection,
    whatever the second one does. `took_ms`: how long all has taken so far, by which their times may differ.
    """
    (api, one), (other_api, other) = first, second
    if one.status != other.status:
        return f"status {one.status} and {other.status}: {one.body[:300]!r}, {other.body[:300]!r}"
    if ends and one.header("connection") != "close":
        return f"the connection goes on after {one}"
    headers, other_headers = (_headers(answer, any_end=expects or ends) for answer in (one, other))
    if headers != other_headers:
        return f"headers {headers} and {other_headers}"
    masked, moments = _mask(_in_one_order(name_ids(api, one.body)))
    other_masked, other_moments = _mask(_in_one_order(name_ids(other_api, other.body)))
    if masked != other_masked:
        return f"body {masked[:500]!r} and {other_masked[:500]!r}"
    for (name, value), (_, other_value) in zip(moments, other_moments, strict=True):
        if not _close(name, value, other_value, TOLERANCE_MS + took_ms):
            return f"{name.decode()} {value} and {other_value}"
    return ""


def flaw(answer: Answer, *, sent_id: str | None, to_head: bool) -> str:
    """What is wrong with an answer by itself. `sent_id`: the request's X-Request-ID."""
    length = answer.header("content-length")
    if answer.status == 204:
        if length or answer.header("content-type"):
            return "a length or a type of nothing"
    elif not to_head and length != str(len(answer.body)):
        return f"content-length {length!r} of {len(answer.body)} bytes"
    request_id = answer.header("x-request-id")
    if sent_id is not None and SANE_ID.fullmatch(sent_id):
        return "" if request_id == sent_id else f"the request's id came back as {request_id!r}"
    return "" if _CHOSEN_ID.fullmatch(request_id) else f"no id but {request_id!r}"


def name_ids(api: ApiServer, body: bytes) -> bytes:
    """Job ids replaced by the order in which the server first answered them."""

    def name(found: re.Match[bytes]) -> bytes:
        return api.job_ids.setdefault(found[0].decode(), f"job-{len(api.job_ids)}").encode()

    return JOB_ID.sub(name, body)


def _in_one_order(body: bytes) -> bytes:
    """Jobs at work are listed by the end of their leases, which may be the same millisecond at one server only."""
    if b'"state":"working","jobs":[' not in body:
        return body
    page = json.loads(body)
    page["jobs"].sort(key=lambda job: job["job_id"])
    return json.dumps(page, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(answer: Answer, *, any_end: bool) -> list[tuple[str, str]]:
    ignored = {*_OF_AN_ANSWER, "connection"} if any_end else _OF_AN_ANSWER
    return sorted((name, _without_chance(name, value)) for name, value in answer.headers if name not in ignored)


def _without_chance(name: str, value: str) -> str:
    if name == "retry-after" and value != "1":
        return "until the interval ends"
    return value.split("=")[0] if name == "set-cookie" else value


def _mask(body: bytes) -> tuple[bytes, list[tuple[bytes, float]]]:
    moments = [(found[1], float(found[2])) for found in _MOMENTS.finditer(body)]
    return _NEW_SECRET.sub(b"new", _PLACE_BY_TIME.sub(b"0", _MOMENTS.sub(rb'"\1":0', body))), moments


def _close(name: bytes, value: float, other: float, tolerance_ms: float) -> bool:
    if name in _ZERO_IS_A_WORD and (value == 0) != (other == 0):
        return False
    return abs(value - other) * _MS_IN_UNIT.get(name, 1.0) <= tolerance_ms
