"""What the OpenAPI document says of the routes of producers and consumers."""

from __future__ import annotations

from typing import Final

from .documentation import ATTEMPT, CONSUMED, JOB_ID, LOST, NO_JOB, TTL, Documentation, Parameter, Reply

_PUBLISHED: Final = Reply(201, "the job is in Redis", {"msg": "published", "job_id": JOB_ID})
_DUPLICATE: Final = Reply(
    200,
    "`key` was used already; nothing was added, `job_id` is the first job. Or, with `wait`, the job has ended: see "
    "*Waiting for the result*",
    {"msg": "duplicate", "job_id": JOB_ID},
)
_BAD_OPTION: Final = Reply(400, "a parameter cannot be read or is out of range", {"error": "invalid delay"})
_RATE_LIMITED: Final = Reply(
    429,
    "the token's rate is used up; `Retry-After` says for how long",
    {"msg": "rate limit reached, please retry later"},
)

_PUBLISH_OPTIONS: Final = (
    Parameter("delay", "number", "seconds until the job is due; decimals allowed", 0),
    TTL,
    Parameter("tries", "integer", "how many times the job may be delivered, 1 to 65535", 1),
    Parameter("at", "string", "due time instead of `delay`: epoch seconds, or ISO 8601 with a zone"),
    Parameter("priority", "integer", "-100 to 100; higher goes first", 0),
    Parameter(
        "backoff",
        "string",
        "none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq; with @failures at its end not after lost leases",
        "none",
    ),
    Parameter("retention", "integer", "seconds to keep the completed job and its result", 0),
    Parameter("limit_key", "string", "whose jobs share the queue fairly with others'; at most 64 bytes, printable"),
    Parameter("group", "string", "group that the job is a member of; at most 255 bytes, printable (groups.md)"),
)
_KEY_OPTIONS: Final = (
    Parameter("key", "string", "idempotency key, at most 255 bytes, the first of them not zero"),
    Parameter("key_ttl", "integer", "seconds for which `key` is remembered; default: the job's ttl"),
)
_KEY_MODES: Final = (
    Parameter(
        "key_mode",
        "string",
        "how long the job holds `key`: window (for `key_ttl`), until_done, until_started, or replace: until the job "
        "begins, and a second publish replaces the first job",
        "window",
    ),
    Parameter(
        "key_max_wait",
        "number",
        "with replace: seconds after the first publish at which the job is due at the latest; 0 = no bound",
        0,
    ),
)
_ONCE: Final = (
    Parameter(
        "once",
        "string",
        "an id, at most 200 bytes: a publish that repeats it within a day adds nothing, and is answered as the first "
        "was, whatever became of the job; independent of `key`",
    ),
)
_WAIT: Final = (
    Parameter(
        "wait",
        "integer",
        "seconds to wait for the job's end, at most 600, and answer with its result, which is kept for 60 s at least",
        0,
    ),
)
_NOT_ENDED: Final = Reply(
    202,
    "with `wait`: the job is published and has not ended within that time; it goes on",
    {"msg": "published", "job_id": JOB_ID, "duplicate": False, "state": "working"},
)

_DEPENDENCIES: Final = (
    Parameter(
        "depends_on",
        "string",
        "jobs that have to be acked first, separated by commas: QUEUE/JOB_ID or QUEUE:KEY, in this queue JOB_ID or :KEY"
        "; at most 1,000 for all jobs of the request together",
    ),
    Parameter(
        "on_dependency_failure",
        "string",
        "if one of these is dead, deleted or expired: wait (for it to be respawned), fail or continue",
        "wait",
    ),
    Parameter(
        "dependencies",
        "string",
        "open: the job takes more of them afterwards, and stays blocked until it is closed (`POST .../dependencies`)",
    ),
)

_OPEN_JOB: Final = {"state": "blocked", "waits_for_total": 1000}

PUBLISH: Final = Documentation(
    group="publish",
    summary="Publish a job",
    parameters=_PUBLISH_OPTIONS + _KEY_OPTIONS + _KEY_MODES + _DEPENDENCIES + _ONCE + _WAIT,
    body="the job: any bytes, at most 1 MiB",
    replies=(
        _PUBLISHED,
        _DUPLICATE,
        _NOT_ENDED,
        _BAD_OPTION,
        Reply(413, "longer than 1 MiB", {"error": "body too large"}),
        _RATE_LIMITED,
        Reply(507, "Redis is full; nothing was written", {"error": "store full"}),
    ),
)
PUBLISH_BULK: Final = Documentation(
    group="publish",
    summary="Publish many jobs, all or none",
    parameters=_PUBLISH_OPTIONS + _DEPENDENCIES,
    body="a JSON array, at most 1,000 elements and 64 MiB; the raw JSON text of each element is one job",
    body_type="application/json",
    replies=(
        Reply(
            201, "the jobs are in Redis; ids in the order of the elements", {"msg": "published", "job_ids": [JOB_ID]}
        ),
        Reply(400, "not an array, empty, too long, or a bad parameter", {"error": "too many jobs"}),
        Reply(413, "an element is longer than 1 MiB, or the body than 64 MiB", {"error": "job too large"}),
        _RATE_LIMITED,
        Reply(507, "Redis is full; nothing was written", {"error": "store full"}),
    ),
)
REPUBLISH: Final = Documentation(
    group="publish",
    summary="Publish a job in place of another, which is deleted in the same step",
    parameters=_PUBLISH_OPTIONS + _KEY_OPTIONS + _WAIT,
    body="the new job: any bytes, at most 1 MiB",
    replies=PUBLISH.replies,
)
ADD_DEPENDENCIES: Final = Documentation(
    group="publish",
    summary="Add dependencies to a job that was published with dependencies=open; a repeated request changes nothing",
    body="`depends_on`: 1 to 1,000 names as in the publish, not encoded; at most 640 KiB. 1,000,000 for one job",
    body_type="application/json",
    replies=(
        Reply(200, "added; `waits_for_total`: all dependencies that are left", _OPEN_JOB),
        Reply(
            400,
            "not a list of names, none or too many, one that cannot be, or a cycle, which is named",
            {"error": "invalid depends_on"},
        ),
        NO_JOB,
        Reply(
            409,
            "the job was closed, or not published open, or is dead because a dependency failed; nothing was added",
            {"error": "job takes no more dependencies"},
        ),
    ),
)
CLOSE_DEPENDENCIES: Final = Documentation(
    group="publish",
    summary="Close an open job: it is ready, or delayed, once the dependencies that it has are acked",
    replies=(
        Reply(200, "the state it is in; a job that is closed already, or was never open, is left as it is", _OPEN_JOB),
        NO_JOB,
    ),
)
CONSUME: Final = Documentation(
    group="consume",
    summary="Consume jobs of a queue, or of several separated by commas in order of priority",
    parameters=(
        Parameter("ttr", "integer", "seconds that the job may be held before others get it", 120),
        Parameter("timeout", "integer", "seconds to wait for a job, at most 600", 0),
        Parameter(
            "count",
            "integer",
            "jobs at most, up to 1,000; above 1 the answer is an array. It may end early, with fewer jobs than there "
            "are, once it has 1 MiB of bodies",
            1,
        ),
        Parameter("freeze_tries", "boolean", "true: this delivery burns no try; what is no boolean counts as false"),
    ),
    replies=(
        Reply(200, "a job; with `count` above 1 an array of such", CONSUMED),
        Reply(400, "a parameter cannot be read or is out of range", {"error": "invalid timeout"}),
        Reply(404, "nothing came within the timeout", {"msg": "no job available"}),
        _RATE_LIMITED,
    ),
)
ACK: Final = Documentation(
    group="consume",
    summary="Ack a job: it is done and goes",
    parameters=(ATTEMPT,),
    body="kept as the job's result if the job has retention, and then at most 1 MiB; else it is dropped",
    replies=(
        Reply(204, "done, also when there is no such job"),
        Reply(400, "`attempt` cannot be read", {"error": "invalid attempt"}),
        LOST,
        Reply(
            413,
            "a result longer than 1 MiB of a job with retention: the job is not acked",
            {"error": "result too large"},
        ),
    ),
)
ACK_MANY: Final = Documentation(
    group="consume",
    summary="Ack many jobs in one request",
    body="`jobs`: 1 to 1,000 objects, each with `id`; `attempt`: only if this attempt still holds the job; `result`: "
    "base64, kept if the job has retention. The last two are optional. At most 2 MiB, and about 8,000 JSON values",
    body_type="application/json",
    replies=(
        Reply(
            200,
            "an outcome for each job, in order: acked, deleted (it was not being worked on), missing, lost (the "
            "attempt no longer holds it) or too_large (the job keeps its result, and it is longer than 1 MiB). The "
            "last two changed nothing",
            {"outcomes": ["acked", "lost"]},
        ),
        Reply(400, "the body is not such an object; nothing was acked", {"error": "invalid attempt"}),
        Reply(413, "the body is longer than 2 MiB", {"error": "body too large"}),
    ),
)
FAIL: Final = Documentation(
    group="consume",
    summary="Give a job back as failed, now rather than when its lease runs out",
    parameters=(ATTEMPT,),
    body="`error`: text; `delay`: seconds, instead of the job's backoff; `dead`: true to bury it. All optional",
    body_type="application/json",
    replies=(
        Reply(200, "where it went: retry, ready or dead", {"state": "retry", "due_ms": 1767225630000}),
        Reply(400, "the body is not such an object", {"error": "request body should be an object"}),
        NO_JOB,
        LOST,
    ),
)
RELEASE: Final = Documentation(
    group="consume",
    summary="Give a job back without burning its try; it goes to the head of the queue",
    parameters=(ATTEMPT, Parameter("delay", "number", "seconds before it is ready again", 0)),
    replies=(
        Reply(200, "given back", {"msg": "released"}),
        Reply(400, "a parameter cannot be read", {"error": "invalid delay"}),
        NO_JOB,
        LOST,
    ),
)
EXTEND: Final = Documentation(
    group="consume",
    summary="Hold a job longer",
    parameters=(ATTEMPT, Parameter("ttr", "integer", "seconds from now on", 120)),
    replies=(
        Reply(200, "the new end of the lease", {"msg": "extended", "lease_end_ms": 1767225720000}),
        Reply(400, "a parameter cannot be read", {"error": "invalid ttr"}),
        Reply(409, "nobody holds the job, or another attempt does, or there is no such job", {"error": "lease lost"}),
    ),
)
CANCEL_JOB: Final = Documentation(
    group="consume",
    summary="Cancel a job: one that waits is deleted, one that runs is ended by its worker",
    replies=(
        Reply(
            200,
            "the state in which the job was found. `working`: its worker is told, which only workers of taskq's "
            "library understand; unless the attempt ends in an ack, the job is dead after it, whatever it ends by; "
            "`dead`, `completed`: nothing was changed",
            {"state": "working"},
        ),
        NO_JOB,
    ),
)
HOLD_KEY: Final = Documentation(
    group="consume",
    summary="Have a job that is worked on hold a key, so that no other one of the queue with that key runs meanwhile",
    parameters=(Parameter("key", "string", "1 to 255 bytes; these keys are apart from those of publishing"),),
    replies=(
        Reply(
            200,
            "null: the job holds it while it is worked on; else the job that holds it: release yours with a delay",
            {"holder": None},
        ),
        Reply(400, "there is no key, it is too long, or this is no job id", {"error": "invalid key"}),
    ),
)
ADD_NOTE: Final = Documentation(
    group="consume",
    summary="Keep a note on a job: what its handler says of it",
    body="`keep_ms`: how long it is kept, 1 to 2592000000 (30 days); `fields`: up to 8 texts of up to 64 KiB by name, "
    "which replace earlier ones; `lines`: texts that are added to the field `log`, of which the last 16 KiB are kept. "
    "At most 1 MiB",
    body_type="application/json",
    replies=(
        Reply(200, "kept", {"msg": "noted"}),
        NO_JOB,
        Reply(
            400,
            "the body is not such an object or has over 65,536 `[`, or the note has 32 fields",
            {"error": "invalid fields"},
        ),
        Reply(413, "the body is longer than 1 MiB", {"error": "body too large"}),
    ),
)
