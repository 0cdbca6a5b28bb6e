"""What the OpenAPI document says of the route of deploys."""

from __future__ import annotations

from typing import Final

from .documentation import Documentation, Reply

DEPLOY: Final = {"version": "v1.14.2", "at_ms": 1767225600000}

NOTE_DEPLOY: Final = Documentation(
    group="deploys",
    summary="Note that a version went live just now, for the charts of the dashboard",
    body="`version`: 1 to 100 printable characters. At most 4 KiB",
    body_type="application/json",
    replies=(
        Reply(201, "noted", {"msg": "noted", "deploy": DEPLOY}),
        Reply(
            200,
            "the same version was noted within the last minute; `deploy` is that one",
            {"msg": "noted before", "deploy": DEPLOY},
        ),
        Reply(
            400,
            "`version` is missing or wrong, or there is another member",
            {"error": "invalid version: 1 to 100 printable characters"},
        ),
        Reply(413, "the request is longer than 4 KiB", {"error": "body too large"}),
    ),
)
