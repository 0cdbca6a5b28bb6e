"""What the OpenAPI document says of the routes that show and manage jobs, dead letters, workers and queues."""

from __future__ import annotations

from typing import Final

from .documentation import (
    AFTER,
    COUNTS,
    JOB_DETAIL,
    JOB_ID,
    NAMES,
    NO_JOB,
    PEEKED,
    TTL,
    WAITS_FOR_NOTHING,
    WORKER,
    Documentation,
    Parameter,
    Reply,
)

PEEK: Final = Documentation(
    group="look",
    summary="Look at the job that would be consumed next",
    replies=(
        Reply(200, "the job", PEEKED),
        Reply(404, "no job is ready", {"error": "the queue is empty"}),
    ),
)
PEEK_JOB: Final = Documentation(
    group="look", summary="Look at a job in any state", replies=(Reply(200, "the job", PEEKED), NO_JOB)
)
_DATA: Final = Parameter("data", "boolean", "true: with `data`, the body in base64")
_BAD_DATA: Final = Reply(400, "`data` cannot be read", {"error": "invalid data"})
DETAIL: Final = Documentation(
    group="look",
    summary="All that is known of a job; times in ms since the epoch",
    parameters=(_DATA,),
    replies=(Reply(200, "the job", JOB_DETAIL | WAITS_FOR_NOTHING), _BAD_DATA, NO_JOB),
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
        NO_JOB,
    ),
)
LIST_JOBS: Final = Documentation(
    group="look",
    summary="Page through the jobs in one state",
    parameters=(
        Parameter("state", "string", "ready, delayed, retry, working, dead, completed, blocked or grouped", "ready"),
        AFTER,
        Parameter("limit", "integer", "jobs per page, up to 1,000", 50),
        Parameter("data", "boolean", "true: each with `data`, the first 256 bytes of the body in base64"),
    ),
    replies=(
        Reply(
            200,
            "a page; `after` is null on the last one",
            {**NAMES, "state": "working", "jobs": [JOB_DETAIL], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid state"}),
    ),
)
DEADLETTER: Final = Documentation(
    group="dead letters",
    summary="How many dead letters there are, and the oldest",
    replies=(
        Reply(200, 'the oldest is "" when there is none', {**NAMES, "deadletter_size": 1, "deadletter_head": JOB_ID}),
    ),
)
DEADLETTER_SIZE: Final = Documentation(
    group="dead letters",
    summary="How many dead letters there are",
    replies=(Reply(200, "their number", {**NAMES, "size": 1}),),
)
_LIMIT_PARAMETER: Final = Parameter("limit", "integer", "how many at most, oldest first", 1)
RESPAWN: Final = Documentation(
    group="dead letters",
    summary="Make the oldest dead letters ready again, with one more try",
    parameters=(_LIMIT_PARAMETER, TTL),
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
    parameters=(TTL,),
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
            {"namespace": "shop", "workers": [WORKER]},
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
    parameters=(AFTER, Parameter("limit", "integer", "queues per page, up to 1,000", 100)),
    replies=(
        Reply(
            200,
            "a page; `after` is null on the last one",
            {"namespace": "shop", "queues": [{"queue": "orders", "paused": False, **COUNTS}], "after": None},
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
SIZE: Final = Documentation(
    group="queues",
    summary="How many jobs are ready",
    replies=(Reply(200, "their number", {**NAMES, "size": 3}),),
)
LIMIT_KEYS: Final = Documentation(
    group="queues",
    summary="Limit keys with ready jobs, and why each is not being delivered",
    parameters=(
        Parameter("limit", "integer", "keys in the page, 1 to 1000; at most 250 are returned", 100),
        Parameter("after", "integer", "keys that are passed over: `after` of the page before", 0),
    ),
    replies=(
        Reply(
            200,
            "a page of limit keys: those at a limit first, then the others in the order of their turns. `waits_for`: "
            "`concurrency` or `rate`, the limit that the key is at, or `turn`. `free_ms`: when its rate allows the "
            "key's next job, null if that is now or another limit holds it back. `queue_free_ms`: when the queue's own "
            "rate allows the next job. `total`: keys with ready jobs, `throttled`: those at a limit. `after`: for the "
            "next page, null at the end",
            {
                **NAMES,
                "now_ms": 1767225601000,
                "total": 1,
                "throttled": 1,
                "queue_free_ms": None,
                "limit_keys": [
                    {
                        "limit_key": "acme",
                        "ready": 7,
                        "working": 2,
                        "weight": 1,
                        "waits_for": "concurrency",
                        "free_ms": None,
                    }
                ],
                "after": None,
            },
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
GROUPS: Final = Documentation(
    group="queues",
    summary="Groups that fill, the next to be flushed first",
    parameters=(
        Parameter("limit", "integer", "groups in the page, 1 to 1000", 100),
        Parameter("after", "integer", "`after` of the page before"),
    ),
    replies=(
        Reply(
            200,
            "`members` of at most `max_size`; `bytes` of their records; `first_ms`, `last_ms`: when the oldest and the "
            "latest joined; `flush_ms`: when the group is flushed if nobody joins. `total` groups fill; `joining` "
            "members are in no group yet, for their delay is not over. `after`: for the next page, null at the end",
            {
                **NAMES,
                "now_ms": 1767225601000,
                "total": 1,
                "joining": 0,
                "groups": [
                    {
                        "group": "mails",
                        "members": 7,
                        "bytes": 1120,
                        "first_ms": 1767225600000,
                        "last_ms": 1767225600900,
                        "flush_ms": 1767225660900,
                        "max_size": 500,
                        "max_delay_s": 600,
                        "grace_period_s": 60,
                    }
                ],
                "after": None,
            },
        ),
        Reply(400, "a parameter cannot be read", {"error": "invalid limit"}),
    ),
)
FLUSH_GROUP: Final = Documentation(
    group="queues",
    summary="Flush a group now, whatever it has",
    parameters=(Parameter("group", "string", "its name"),),
    replies=(
        Reply(
            200,
            "`members` jobs have become `batches`; 0 of a group without members. `more`: it has further members, "
            "which a further call flushes",
            {"msg": "flushed", "batches": 1, "members": 7, "more": False},
        ),
        Reply(400, "the group is missing or is no name", {"error": "invalid group"}),
    ),
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
                **NAMES,
                "paused": False,
                **COUNTS,
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
    summary="Pause: the queue takes publishes and delivers nothing",
    replies=(
        Reply(200, "`changed`: false if it was paused already", {"msg": "paused", "changed": True}),
        Reply(
            404,
            "it holds nothing, was not used in the last ten minutes, and no consumer waits on it",
            {"error": "queue not found"},
        ),
    ),
)
RESUME: Final = Documentation(
    group="queues",
    summary="Deliver jobs again",
    replies=(Reply(200, "`changed`: false if it was not paused", {"msg": "resumed", "changed": True}),),
)
DESTROY: Final = Documentation(
    group="queues",
    summary="Empty a queue: its ready jobs go",
    parameters=(Parameter("all", "boolean", "true: jobs in every state go"),),
    replies=(Reply(204, "emptied"), Reply(400, "`all` cannot be read", {"error": "invalid all"})),
)
