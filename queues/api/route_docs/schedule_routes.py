"""What the OpenAPI document says of the routes of schedules."""

from __future__ import annotations

from typing import Any, Final

from .documentation import AFTER, JOB_ID, Documentation, Parameter, Reply

FIRE: Final[dict[str, Any]] = {
    "outcome": "fired",
    "due_ms": 1767225600000,
    "until_ms": None,
    "count": 1,
    "manual": False,
    "fired_ms": 1767225600021,
    "queue": "orders",
    "job_id": JOB_ID,
    "error": None,
}
SCHEDULE: Final[dict[str, Any]] = {
    "name": "nightly",
    "queue": "orders",
    "state": "active",
    "kind": "cron",
    "cron": "30 2 * * *",
    "every": None,
    "start_ms": None,
    "at_ms": None,
    "zone": "Europe/Berlin",
    "next_ms": 1767317400000,
    "body_bytes": 17,
    "tries": 3,
    "ttl": None,
    "priority": 0,
    "backoff": None,
    "retention": 0,
    "attributes": None,
    "limit_key": None,
    "catch_up": "last",
    "catch_up_max": 100,
    "jitter": 0,
    "overlap": "allow",
    "source": "people",
    "app": None,
    "last": FIRE,
}
_NONE: Final = Reply(404, "the namespace has no such schedule", {"error": "schedule not found"})

LIST_SCHEDULES: Final = Documentation(
    group="schedules",
    summary="Page through the namespace's schedules, by name",
    parameters=(
        AFTER,
        Parameter("limit", "integer", "schedules per page, up to 1,000", 100),
        Parameter("app", "string", "only those that this app's code declares"),
    ),
    replies=(
        Reply(
            200,
            "a page; `after` is null on the last one. `state`: active, paused or ended (never due again); `next_ms`: "
            "when it fires next, null if it does not; `last`: the newest of its history",
            {"namespace": "shop", "schedules": [SCHEDULE], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
SHOW_SCHEDULE: Final = Documentation(
    group="schedules",
    summary="A schedule with its body, its next 10 fires and its history",
    parameters=(Parameter("history", "integer", "fires of its history, the newest first, up to 100", 10),),
    replies=(
        Reply(
            200,
            "as in the list; `outcome`: pending, fired, skipped (the job before was still there), missed or failed. A "
            "row stands for `count` due times in a row, up to `until_ms`; more than 100 are counted as 100",
            {**SCHEDULE, "data": "eyJyZXBvcnQiOiJkYWlseSJ9", "upcoming_ms": [1767317400000], "history": [FIRE]},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid history"}),
        _NONE,
    ),
)
PUT_SCHEDULE: Final = Documentation(
    group="schedules",
    summary="Make a schedule, or set all of one that there is",
    parameters=(Parameter("dry_run", "boolean", "true: save nothing, answer when it would fire"),),
    body="`queue`, and one of `cron` (5 fields, 6 with seconds first, or @daily and the like), `every` (seconds, 1 or "
    "more) and `at` (epoch seconds, or ISO 8601 with a zone). All others are optional: `zone` (UTC); `start`: from "
    "when `every` counts; the job's `body` (a text, or an object or array, whose JSON it is) or `data` (base64), "
    "`tries`, `ttl`, `priority`, `backoff`, `retention`, `attributes`, `limit_key`; `catch_up` (none, last, all), "
    "`catch_up_max` (100), `jitter` (seconds), `overlap` (allow, skip, replace), `paused` (default: as it is), `app` "
    "(whose code declares it). At most 2 MiB",
    body_type="application/json",
    replies=(
        Reply(201, "made", {"msg": "created", "schedule": {**SCHEDULE, "last": None}}),
        Reply(
            200,
            "set. A change that leaves alone when it is due leaves the next fire. With `dry_run`: "
            '`{"msg": "valid", "upcoming_ms": [...]}`',
            {"msg": "replaced", "schedule": SCHEDULE},
        ),
        Reply(
            400,
            "a member is missing, unknown, or wrong; the message names it",
            {"error": 'invalid cron: minute "61" cannot be read (0-59)'},
        ),
        Reply(
            409,
            "the code of another app declares it; or people do, and code would change it",
            {"error": "the schedule is declared in the code of shop: change it there"},
        ),
        Reply(413, "the request is longer than 2 MiB", {"error": "body too large"}),
    ),
)
DELETE_SCHEDULE: Final = Documentation(
    group="schedules",
    summary="Delete a schedule; the jobs that it has made stay",
    parameters=(Parameter("app", "string", "only if this app's code declares it"),),
    replies=(
        Reply(204, "deleted, also when there was none"),
        Reply(
            409,
            "`app` does not declare it",
            {"error": "the schedule is declared in the code of shop: change it there"},
        ),
    ),
)
PAUSE_SCHEDULE: Final = Documentation(
    group="schedules",
    summary="Pause: it does not fire until it is resumed",
    replies=(Reply(200, "`changed`: false if it was paused already", {"msg": "paused", "changed": True}), _NONE),
)
RESUME_SCHEDULE: Final = Documentation(
    group="schedules",
    summary="Fire it again, from now on: what it would have fired meanwhile is not caught up",
    replies=(
        Reply(
            200,
            "`changed`: false if it was not paused",
            {"msg": "resumed", "changed": True, "next_ms": 1767317400000},
        ),
        _NONE,
    ),
)
RUN_SCHEDULE: Final = Documentation(
    group="schedules",
    summary="Fire it once now, paused or not; its due times stay as they are",
    replies=(
        Reply(200, "what became of it; skipped, if its overlap rule says so", {**FIRE, "manual": True}),
        _NONE,
    ),
)
