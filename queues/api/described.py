"""The words of the table of routes. docs/protocol.md says the same at length; a test compares the two."""

from __future__ import annotations

from typing import Any, Final

from queues import __version__

from .documentation import Documentation, Parameter, Reply

JOB_ID: Final = "01JD5T9ZQ3W8K4N7B2M6XCVHRE"

_NAMES: Final = {"namespace": "shop", "queue": "orders"}
_PEEKED: Final[dict[str, Any]] = {
    **_NAMES,
    "job_id": JOB_ID,
    "data": "aGVsbG8=",
    "ttl": 86400,
    "elapsed_ms": 12,
    "remain_tries": 0,
    "attributes": None,
}
_CONSUMED: Final = {"msg": "new job", **_PEEKED, "attempt": 1, "tries": 1}
_COUNTS: Final = {"ready": 3, "delayed": 0, "retry": 0, "working": 1, "dead": 0, "completed": 0}
_DETAIL: Final[dict[str, Any]] = {
    **_NAMES,
    "job_id": JOB_ID,
    "state": "working",
    "attempt": 1,
    "tries": 3,
    "remain_tries": 2,
    "priority": 0,
    "now_ms": 1767225601000,
    "published_ms": 1767225600000,
    "due_ms": 1767225600000,
    "expires_ms": 1767312000000,
    "taken_ms": 1767225600500,
    "lease_end_ms": 1767225720500,
    "died_ms": None,
    "kept_until_ms": None,
    "consumer": "worker-7",
    "backoff": "none",
    "retention_s": 0,
    "key": "",
    "attributes": None,
    "body_bytes": 5,
    "result_bytes": None,
    "errors": [],
}
_WORKER: Final[dict[str, Any]] = {
    "worker": "web-1:4711:5f0c2a9b",
    "host": "web-1",
    "pid": 4711,
    "version": "0.1.0",
    "namespace": "shop",
    "state": "running",
    "queues": {"orders": 1},
    "concurrency": 50,
    "up_ms": 61000,
    "done": 120,
    "failed": 2,
    "cpu_percent": 12.5,
    "memory_bytes": 52428800,
    "running": [
        {
            "queue": "orders",
            "job_id": JOB_ID,
            "attempt": 1,
            "task": "shop.close_order",
            "run_ms": 1500,
            "percent": 40.0,
            "note": "2 of 5",
        }
    ],
    "running_untold": 0,
    "parked": [],
    "parked_untold": 0,
    "age_ms": 300,
}
_LIMIT: Final = {"read": 100, "write": 100, "interval": 1}

_LOST: Final = Reply(409, "attempt N no longer holds the job", {"error": "lease lost"})
_NO_JOB: Final = Reply(404, "there is no such job in this queue", {"error": "job not found"})
_PUBLISHED: Final = Reply(201, "the job is in Redis", {"msg": "published", "job_id": JOB_ID})
_DUPLICATE: Final = Reply(
    200, "`key` was used already; nothing was added, `job_id` is the first job", {"msg": "duplicate", "job_id": JOB_ID}
)
_BAD_OPTION: Final = Reply(400, "a parameter cannot be read or is out of range", {"error": "invalid delay"})
_RATE_LIMITED: Final = Reply(
    429,
    "the token's rate is used up; `Retry-After` says for how long",
    {"msg": "rate limit reached, please retry later"},
)

_ATTEMPT: Final = Parameter("attempt", "integer", "only if this attempt (1, 2, …) still holds the job")
_TTL: Final = Parameter("ttl", "integer", "seconds until the job expires; 0 = never", 86400)
_AFTER: Final = Parameter("after", "string", "`after` of the page before")
_PUBLISH_OPTIONS: Final = (
    Parameter("delay", "number", "seconds until the job is due; decimals allowed", 0),
    _TTL,
    Parameter("tries", "integer", "how many times the job may be handed out, 1 to 65535", 1),
    Parameter("at", "string", "due time instead of `delay`: epoch seconds, or ISO 8601 with a zone"),
    Parameter("priority", "integer", "-100 to 100; higher goes first", 0),
    Parameter(
        "backoff",
        "string",
        "none, fixed:S, linear:S, exponential:S[:MAX] or sidekiq; with @failures at its end not after lost leases",
        "none",
    ),
    Parameter("retention", "integer", "seconds to keep the completed job and its result", 0),
)
_KEY_OPTIONS: Final = (
    Parameter("key", "string", "idempotency key, at most 255 bytes"),
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

PUBLISH: Final = Documentation(
    group="publish",
    summary="Publish a job",
    parameters=_PUBLISH_OPTIONS + _KEY_OPTIONS + _KEY_MODES,
    body="the job: any bytes, at most 1 MiB",
    replies=(
        _PUBLISHED,
        _DUPLICATE,
        _BAD_OPTION,
        Reply(413, "longer than 1 MiB", {"error": "body too large"}),
        _RATE_LIMITED,
        Reply(507, "Redis is full; nothing was written", {"error": "store full"}),
    ),
)
PUBLISH_BULK: Final = Documentation(
    group="publish",
    summary="Publish many jobs, all or none",
    parameters=_PUBLISH_OPTIONS,
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
    parameters=_PUBLISH_OPTIONS + _KEY_OPTIONS,
    body="the new job: any bytes, at most 1 MiB",
    replies=PUBLISH.replies,
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
        Parameter("freeze_tries", "boolean", "true: this hand-out burns no try; what is no boolean counts as false"),
    ),
    replies=(
        Reply(200, "a job; with `count` above 1 an array of such", _CONSUMED),
        Reply(400, "a parameter cannot be read or is out of range", {"error": "invalid timeout"}),
        Reply(404, "nothing came within the timeout", {"msg": "no job available"}),
        _RATE_LIMITED,
    ),
)
ACK: Final = Documentation(
    group="consume",
    summary="Ack a job: it is done and goes",
    parameters=(_ATTEMPT,),
    body="kept as the job's result if the job has retention, and then at most 1 MiB; else it is dropped",
    replies=(
        Reply(204, "done, also when there is no such job"),
        Reply(400, "`attempt` cannot be read", {"error": "invalid attempt"}),
        _LOST,
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
    parameters=(_ATTEMPT,),
    body="`error`: text; `delay`: seconds, instead of the job's backoff; `dead`: true to bury it. All optional",
    body_type="application/json",
    replies=(
        Reply(200, "where it went: retry, ready or dead", {"state": "retry", "due_ms": 1767225630000}),
        Reply(400, "the body is not such an object", {"error": "request body should be an object"}),
        _NO_JOB,
        _LOST,
    ),
)
RELEASE: Final = Documentation(
    group="consume",
    summary="Give a job back without burning its try; it goes to the head of the queue",
    parameters=(_ATTEMPT, Parameter("delay", "number", "seconds before it is ready again", 0)),
    replies=(
        Reply(200, "given back", {"msg": "released"}),
        Reply(400, "a parameter cannot be read", {"error": "invalid delay"}),
        _NO_JOB,
        _LOST,
    ),
)
EXTEND: Final = Documentation(
    group="consume",
    summary="Hold a job longer",
    parameters=(_ATTEMPT, Parameter("ttr", "integer", "seconds from now on", 120)),
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
        _NO_JOB,
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
        _NO_JOB,
        Reply(400, "the body is not such an object, or the note has 32 fields", {"error": "invalid fields"}),
        Reply(413, "the body is longer than 1 MiB", {"error": "body too large"}),
    ),
)
PEEK: Final = Documentation(
    group="look",
    summary="Look at the job that would be consumed next",
    replies=(
        Reply(200, "the job", _PEEKED),
        Reply(404, "no job is ready", {"error": "the queue is empty"}),
    ),
)
PEEK_JOB: Final = Documentation(
    group="look", summary="Look at a job in any state", replies=(Reply(200, "the job", _PEEKED), _NO_JOB)
)
_DATA: Final = Parameter("data", "boolean", "true: with `data`, the body in base64")
_BAD_DATA: Final = Reply(400, "`data` cannot be read", {"error": "invalid data"})
DETAIL: Final = Documentation(
    group="look",
    summary="All that is known of a job; times in ms since the epoch",
    parameters=(_DATA,),
    replies=(Reply(200, "the job", _DETAIL), _BAD_DATA, _NO_JOB),
)
SHOW_NOTE: Final = Documentation(
    group="look",
    summary="The note on a job: texts by name, `log` among them",
    replies=(
        Reply(200, "empty if nothing was said, or it is kept no longer", {"percent": "40", "log": "2 of 5 pages\n"}),
    ),
)
RESULT: Final = Documentation(
    group="look",
    summary="The result of a completed job",
    parameters=(Parameter("timeout", "integer", "seconds to wait for it, at most 600", 0),),
    replies=(
        Reply(200, "the bytes that the ack brought, none if it brought none", "(bytes)"),
        Reply(202, "not completed yet; `state` says where the job is", {"state": "working"}),
        Reply(400, "`timeout` cannot be read or is out of range", {"error": "invalid timeout"}),
        _NO_JOB,
    ),
)
LIST_JOBS: Final = Documentation(
    group="look",
    summary="Page through the jobs in one state",
    parameters=(
        Parameter("state", "string", "ready, delayed, retry, working, dead or completed", "ready"),
        _AFTER,
        Parameter("limit", "integer", "jobs per page, up to 1,000", 50),
        Parameter("data", "boolean", "true: each with `data`, the first 256 bytes of the body in base64"),
    ),
    replies=(
        Reply(
            200,
            "a page; `after` is null on the last one",
            {**_NAMES, "state": "working", "jobs": [_DETAIL], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid state"}),
    ),
)
DEADLETTER: Final = Documentation(
    group="dead letters",
    summary="How many dead letters there are, and the oldest",
    replies=(
        Reply(200, 'the oldest is "" when there is none', {**_NAMES, "deadletter_size": 1, "deadletter_head": JOB_ID}),
    ),
)
DEADLETTER_SIZE: Final = Documentation(
    group="dead letters",
    summary="How many dead letters there are",
    replies=(Reply(200, "their number", {**_NAMES, "size": 1}),),
)
_LIMIT_PARAMETER: Final = Parameter("limit", "integer", "how many at most, oldest first", 1)
RESPAWN: Final = Documentation(
    group="dead letters",
    summary="Make the oldest dead letters ready again, with one more try",
    parameters=(_LIMIT_PARAMETER, _TTL),
    replies=(
        Reply(200, "how many", {"msg": "respawned", "count": 1}),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
DELETE_DEAD: Final = Documentation(
    group="dead letters",
    summary="Delete the oldest dead letters",
    parameters=(_LIMIT_PARAMETER,),
    replies=(Reply(204, "deleted"), Reply(400, "`limit` cannot be read", {"error": "invalid limit"})),
)
_IDS: Final = "`ids`: up to 1,000 job ids; those that are no dead letters are skipped"
RESPAWN_IDS: Final = Documentation(
    group="dead letters",
    summary="Make these dead letters ready again, with one more try",
    parameters=(_TTL,),
    body=_IDS,
    body_type="application/json",
    replies=(
        Reply(200, "how many", {"msg": "respawned", "count": 1}),
        Reply(400, "the body is not such an object", {"error": "invalid ids"}),
    ),
)
DELETE_DEAD_IDS: Final = Documentation(
    group="dead letters",
    summary="Delete these dead letters",
    body=_IDS,
    body_type="application/json",
    replies=(
        Reply(200, "how many", {"msg": "deleted", "count": 1}),
        Reply(400, "the body is not such an object", {"error": "invalid ids"}),
    ),
)
_JOB_IDS: Final = "`ids`: up to 1,000 job ids; those of which this cannot be done are skipped"
_BAD_IDS: Final = Reply(400, "the body is not such an object", {"error": "invalid ids"})
FIND_BY_KEY: Final = Documentation(
    group="read",
    summary="Find the job that was published with a key last, in whatever state",
    parameters=(Parameter("key", "string", "the `key` that it was published with"),),
    replies=(
        Reply(200, "its id", {"job_id": JOB_ID}),
        Reply(400, "there is no key, or it is too long", {"error": "invalid key"}),
        Reply(404, "no job of this queue has it, or it is forgotten", {"error": "job not found"}),
    ),
)
RUN_NOW: Final = Documentation(
    group="jobs",
    summary="Make these jobs ready now: delayed ones, and those that wait for their next try",
    body=_JOB_IDS,
    body_type="application/json",
    replies=(Reply(200, "how many", {"msg": "ready", "count": 1}), _BAD_IDS),
)
DELETE_JOBS: Final = Documentation(
    group="jobs",
    summary="Delete these jobs, whatever their state",
    body=_JOB_IDS,
    body_type="application/json",
    replies=(Reply(200, "how many", {"msg": "deleted", "count": 1}), _BAD_IDS),
)
LIST_WORKERS: Final = Documentation(
    group="workers",
    summary="The namespace's workers that said something within the last 30 s",
    replies=(
        Reply(
            200,
            "by id. `age_ms`: how long ago it was said. `running_untold`, `parked_untold`: further ones that are not "
            "listed",
            {"namespace": "shop", "workers": [_WORKER]},
        ),
    ),
)
WORKER_BEAT: Final = Documentation(
    group="workers",
    summary="Report a worker: that it lives and what it runs, about once a second",
    body="the worker as in the list, without `namespace` and `age_ms`, with at most 1,000 of `running` and 100 of "
    "`parked`; `since_ms`: that of the reply before, at first 0, which tells of no commands; "
    "`ends`: true in the last report. At most 256 KiB",
    body_type="application/json",
    replies=(
        Reply(
            200,
            "commands to this worker since `since_ms` (some again): `quiet`, `resume` and `stop` with its id as "
            "`target`, `cancel` with the id of a job that it runs, and the `attempt` (0: whichever is under way). "
            "`given` tells two commands apart",
            {
                "since_ms": 1767225600000,
                "commands": [{"kind": "cancel", "target": JOB_ID, "given": "5f0c2a9b81d4", "attempt": 1}],
            },
        ),
        Reply(400, "a member is missing, or is not as in the list", {"error": "invalid pid"}),
        Reply(413, "the body is longer than 256 KiB", {"error": "body too large"}),
    ),
)
COMMAND_WORKER: Final = Documentation(
    group="workers",
    summary="Give a command to a worker, which learns of it with its next report",
    body="`kind`: quiet (take no more jobs), resume, or stop (end what runs, then itself); `target`: the worker's id",
    body_type="application/json",
    replies=(
        Reply(200, "it will be told", {"msg": "told"}),
        Reply(400, "the body is not such an object", {"error": "invalid kind"}),
        Reply(404, "the namespace has no such worker", {"error": "worker not found"}),
    ),
)
LIST_QUEUES: Final = Documentation(
    group="queues",
    summary="Page through the namespace's queues, with their counts",
    parameters=(_AFTER, Parameter("limit", "integer", "queues per page, up to 1,000", 100)),
    replies=(
        Reply(
            200,
            "a page; `after` is null on the last one",
            {"namespace": "shop", "queues": [{"queue": "orders", "paused": False, **_COUNTS}], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
SIZE: Final = Documentation(
    group="queues",
    summary="How many jobs are ready",
    replies=(Reply(200, "their number", {**_NAMES, "size": 3}),),
)
STATS: Final = Documentation(
    group="queues",
    summary="Counts per state, rates, percentiles, as plain numbers",
    replies=(
        Reply(
            200,
            "rates per second over the last minute; percentiles in ms over the last five, null without data: "
            "`wait_ms` from due to consumed, `run_ms` from consumed to acked, `late_ms` from due to made ready. `died` "
            "and `leases_lost`: jobs that died, and leases that ran out, in the last five minutes",
            {
                **_NAMES,
                "paused": False,
                **_COUNTS,
                "oldest_ready_ms": 1500,
                "published_per_s": 2.5,
                "consumed_per_s": 2.0,
                "acked_per_s": 2.0,
                "failed_per_s": 0.1,
                "wait_ms": {"p50": 3.4, "p95": 9.5, "p99": 16.0},
                "run_ms": {"p50": 107.6, "p95": 256.0, "p99": 430.5},
                "late_ms": {"p50": 0.4, "p95": 1.2, "p99": 3.4},
                "died": 0,
                "leases_lost": 0,
                "dropped": {"age": 0, "count": 0},
            },
        ),
    ),
)
PAUSE: Final = Documentation(
    group="queues",
    summary="Pause: the queue takes publishes and hands nothing out",
    replies=(Reply(200, "`changed`: false if it was paused already", {"msg": "paused", "changed": True}),),
)
RESUME: Final = Documentation(
    group="queues",
    summary="Hand jobs out again",
    replies=(Reply(200, "`changed`: false if it was not paused", {"msg": "resumed", "changed": True}),),
)
DESTROY: Final = Documentation(
    group="queues",
    summary="Empty a queue: its ready jobs go",
    parameters=(Parameter("all", "boolean", "true: jobs in every state go"),),
    replies=(Reply(204, "emptied"), Reply(400, "`all` cannot be read", {"error": "invalid all"})),
)

_POOL: Final = Parameter("pool", "string", "the namespace's pool", "default")
_NO_TOKEN: Final = Reply(404, "the namespace has no such token that works", {"error": "token not found"})
_BAD_LIMIT: Final = Reply(400, "numbers out of range", {"error": "invalid interval: expected a number from 1"})
CREATE_TOKEN: Final = Documentation(
    group="staff",
    summary="Make a token, and its namespace if it is new; the secret is shown only here",
    parameters=(
        Parameter("description", "string", "what the token is for; required"),
        _POOL,
        Parameter("token", "string", "a secret of your own, at least 20 characters, instead of a random one"),
    ),
    body="the same parameters as a form, if not in the query",
    body_type="application/x-www-form-urlencoded",
    replies=(
        Reply(
            201, "what clients send: SECRET, or POOL:SECRET", {"token": "tH2vB0mNn7yqHs4mJ8dRzX1cE5wKfLpA9oUgQi3aTbY"}
        ),
        Reply(400, "no description, unknown pool, a secret too short or used before", {"error": "invalid description"}),
    ),
)
LIST_TOKENS: Final = Documentation(
    group="staff",
    summary="A namespace's tokens: public ids and descriptions, never the secrets",
    parameters=(_POOL,),
    replies=(
        Reply(200, "tokens that work", {"tokens": {"5f0c2a9b81d4": "checkout service"}}),
        Reply(400, "unknown pool", {"error": "pool not found"}),
    ),
)
REVOKE_TOKEN: Final = Documentation(
    group="staff",
    summary="Revoke a token, named by its public id or its secret; refused everywhere within 2 s",
    parameters=(_POOL,),
    replies=(Reply(204, "revoked, or there is no such token"),),
)
SHOW_LIMIT: Final = Documentation(
    group="staff",
    summary="The rate limit of a token",
    parameters=(_POOL,),
    replies=(Reply(200, "the limit", _LIMIT), Reply(404, "no such token, or no limit", {"error": "limit not found"})),
)
ADD_LIMIT: Final = Documentation(
    group="staff",
    summary="Limit a token that has no limit",
    parameters=(_POOL,),
    body="`read` consumes and `write` publishes per `interval` seconds; 0: not limited",
    body_type="application/json",
    replies=(
        Reply(201, "the limit", _LIMIT | {"limiter": _LIMIT}),
        Reply(400, "numbers out of range, or there is a limit", {"error": "limit exists already"}),
        _NO_TOKEN,
    ),
)
PUT_LIMIT: Final = Documentation(
    group="staff",
    summary="Limit a token",
    parameters=(_POOL,),
    body=ADD_LIMIT.body,
    body_type="application/json",
    replies=(Reply(200, "the limit", _LIMIT | {"limiter": _LIMIT}), _BAD_LIMIT, _NO_TOKEN),
)
REMOVE_LIMIT: Final = Documentation(
    group="staff",
    summary="Limit a token no longer",
    parameters=(_POOL,),
    replies=(Reply(200, "also when there was no limit", {"msg": "success"}), _NO_TOKEN),
)
LIST_LIMITS: Final = Documentation(
    group="staff",
    summary="All limits",
    replies=(
        Reply(
            200,
            "limits of tokens that work",
            [{"pool": "default", "namespace": "shop", "token": "5f0c2a9b81d4", "limiter": _LIMIT}],
        ),
    ),
)
POOLS: Final = Documentation(group="staff", summary="Names of the pools", replies=(Reply(200, "by name", ["default"]),))
INFO: Final = Documentation(
    group="staff",
    summary="Namespaces of a pool and their queues",
    parameters=(Parameter("pool", "string", "the pool", "default"),),
    replies=(
        Reply(
            200,
            "`truncated`: there is more than one answer holds",
            {"pool": "default", "namespaces": {"shop": ["orders"]}, "truncated": False},
        ),
        Reply(400, "unknown pool", {"error": "pool not found"}),
    ),
)
VERSION: Final = Documentation(
    group="staff", summary="The version of taskq", replies=(Reply(200, "the version", {"version": __version__}),)
)
METRICS: Final = Documentation(
    group="staff",
    summary="Metrics for Prometheus",
    replies=(Reply(200, "text format 0.0.4", 'taskq_redis_up{pool="default"} 1'),),
)
SHOW_ACCESS_LOG: Final = Documentation(
    group="staff",
    summary="Whether each request is logged",
    replies=(Reply(200, "enabled or disabled", {"status": "disabled"}),),
)
SWITCH_ACCESS_LOG: Final = Documentation(
    group="staff",
    summary="Log each request, or stop",
    parameters=(Parameter("status", "string", "enable or disable"),),
    replies=(
        Reply(200, "enabled or disabled", {"status": "enabled"}),
        Reply(400, "neither", {"error": "invalid status"}),
    ),
)
HEALTHZ: Final = Documentation(
    group="health", summary="Whether the process answers", replies=(Reply(200, "it does", {"status": "ok"}),)
)
READYZ: Final = Documentation(
    group="health",
    summary="Whether the database answers and a pool's Redis takes writes. It is looked at once a second at most",
    parameters=(Parameter("pool", "string", "the pool", "default"),),
    replies=(
        Reply(
            200,
            "they do. Where consuming goes on and publishes are refused, `publish` says with what error: `store_full`, "
            "`not_replicated`, `store_unavailable`",
            {"status": "ready"},
        ),
        Reply(503, "they do not; `Retry-After` says when to ask again", {"error": "not ready: redis"}),
        Reply(404, "unknown pool", {"error": "pool not found"}),
    ),
)
