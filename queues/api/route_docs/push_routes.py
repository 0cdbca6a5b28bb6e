"""What the OpenAPI document says of the routes of push endpoints."""

from __future__ import annotations

from typing import Any, Final

from .documentation import JOB_ID, NAMES, Documentation, Reply

ENDPOINT: Final[dict[str, Any]] = {
    **NAMES,
    "url": "https://hooks.example.org/orders",
    "enabled": True,
    "timeout": 15,
    "concurrency": 10,
    "rate": None,
    "headers": {"Content-Type": "application/json"},
    "paused_ms": None,
    "paused_reason": "",
    "secrets": [{"created_ms": 1767225600000, "expires_ms": None}],
}
DELIVERY: Final[dict[str, Any]] = {
    "job_id": JOB_ID,
    "attempt": 1,
    "at_ms": 1767225600000,
    "outcome": "delivered",
    "status": 200,
    "error": "",
    "duration_ms": 12.5,
    "request": {"headers": [["webhook-id", JOB_ID]], "body": "hello", "body_bytes": 5},
    "response": {"reason": "OK", "headers": [["content-length", "0"]], "body": ""},
}
SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105  an example
_NONE: Final = Reply(404, "the queue has no push endpoint", {"error": "push endpoint not found"})
_GROUP: Final = "push"

SHOW_PUSH: Final = Documentation(
    group=_GROUP,
    summary="The push endpoint of the queue",
    replies=(
        Reply(
            200,
            "`paused_ms`: since when it is paused, else null; values of headers that may be secrets are masked; "
            "`secrets`: those that sign, the newest first, without the secrets themselves",
            ENDPOINT,
        ),
        _NONE,
    ),
)
PUT_PUSH: Final = Documentation(
    group=_GROUP,
    summary="Make or change the push endpoint of the queue: `runpusher` posts its jobs there",
    body="`url`; and, each with a default, `enabled` (true), `timeout` (15 s, 1 to 300), `concurrency` (10, 1 to "
    "1,000), `rate` (requests per second, 0.01 to 10,000; null: not limited), `headers` (an object, at most 20). "
    "`secret`: for a new endpoint, `whsec_` and the base64 of 24 to 64 bytes; without it one is made. What is left out "
    "gets its default",
    body_type="application/json",
    replies=(
        Reply(201, "made. `secret` is shown this once", {**ENDPOINT, "secret": SECRET}),
        Reply(200, "changed; a pause stays", ENDPOINT),
        Reply(
            400,
            "a member cannot be used, and why",
            {"error": "invalid url: credentials are not allowed in it: send them in a header"},
        ),
        Reply(413, "the body is longer than 64 KiB", {"error": "body too large"}),
    ),
)
DELETE_PUSH: Final = Documentation(
    group=_GROUP,
    summary="Delete the push endpoint of the queue; jobs stay",
    replies=(Reply(204, "deleted, also when there was none"),),
)
PAUSE_PUSH: Final = Documentation(
    group=_GROUP,
    summary="Deliver nothing until resumed; other consumers go on",
    replies=(Reply(200, "`changed`: false if it was paused already", {"msg": "paused", "changed": True}), _NONE),
)
RESUME_PUSH: Final = Documentation(
    group=_GROUP,
    summary="Deliver again",
    replies=(Reply(200, "`changed`: false if it was not paused", {"msg": "resumed", "changed": True}), _NONE),
)
ROTATE_PUSH: Final = Documentation(
    group=_GROUP,
    summary="A new secret",
    body="`overlap`: seconds for which the secrets before sign as well (86,400; at most 30 days; 0: not at all)",
    body_type="application/json",
    replies=(
        Reply(200, "the new secret, shown this once", {"secret": SECRET}),
        Reply(400, "`overlap` cannot be read or is out of range", {"error": "invalid overlap"}),
        _NONE,
        Reply(413, "the body is longer than 64 KiB", {"error": "body too large"}),
    ),
)
TEST_PUSH: Final = Documentation(
    group=_GROUP,
    summary="Have a pusher send a test request, also if the endpoint is paused",
    replies=(Reply(202, "what came of it is among the deliveries", {"msg": "a pusher will send it"}), _NONE),
)
PUSH_DELIVERIES: Final = Documentation(
    group=_GROUP,
    summary="The latest 30 deliveries, and the latest 30 that failed, for a week",
    replies=(
        Reply(
            200,
            "the newest first. `outcome`: delivered, late (delivered, but the job had been taken from the pusher), "
            "failed, gone (410), test_delivered, test_failed. `status` 0: there was no answer, `error` says why. "
            "Bodies are cut to 1 KiB (request) and 2 KiB (response). `returned`: jobs given back without an outcome",
            {
                **NAMES,
                "delivered": 1,
                "failed": 0,
                "returned": 0,
                "failed_in_a_row": 0,
                "delivered_at_ms": 1767225600000,
                "failed_at_ms": None,
                "deliveries": [DELIVERY],
                "failures": [],
            },
        ),
        _NONE,
    ),
)
