"""What the OpenAPI document says of the routes of staff, and of probes."""

from __future__ import annotations

from typing import Final

from queues import __version__

from .documentation import LIMIT, Documentation, Parameter, Reply

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
    replies=(Reply(200, "the limit", LIMIT), Reply(404, "no such token, or no limit", {"error": "limit not found"})),
)
ADD_LIMIT: Final = Documentation(
    group="staff",
    summary="Limit a token that has no limit",
    parameters=(_POOL,),
    body="`read` consumes and `write` publishes per `interval` seconds; 0: not limited",
    body_type="application/json",
    replies=(
        Reply(201, "the limit", LIMIT | {"limiter": LIMIT}),
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
    replies=(Reply(200, "the limit", LIMIT | {"limiter": LIMIT}), _BAD_LIMIT, _NO_TOKEN),
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
            [{"pool": "default", "namespace": "shop", "token": "5f0c2a9b81d4", "limiter": LIMIT}],
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
