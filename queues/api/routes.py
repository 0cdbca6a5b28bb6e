"""The table of routes. Django's URLs, the OpenAPI document, the docs page and the tests are made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from queues.services.schedules.checking import QUEUE_WORDS
from queues.services.tokens.limit_settings import RateKind

from .handlers import (
    admin,
    consume,
    dead_letters,
    deploys,
    finish,
    health,
    incidents,
    jobs,
    publish,
    push,
    queues,
    schedules,
    workers,
    workflows,
)
from .http.request import check_names, check_names_of_several
from .route_docs import delivery_routes as d
from .route_docs import deploy_routes as y
from .route_docs import incident_routes as i
from .route_docs import operator_routes as o
from .route_docs import push_routes as p
from .route_docs import schedule_routes as c
from .route_docs import staff_routes as s
from .route_docs import workflow_routes as w
from .route_docs.documentation import Documentation
from .router import SUPERUSERS_ONLY, Alternative, AuthKind, OperationFunction, Route, Router

NAMESPACE: Final = "/api/{namespace}"
QUEUE: Final = f"{NAMESPACE}/{{queue}}"
JOB: Final = f"{QUEUE}/job/{{job_id}}"
PUSH: Final = f"{QUEUE}/push"
SCHEDULES: Final = f"{NAMESPACE}/schedules"
SCHEDULE: Final = f"{SCHEDULES}/{{schedule}}"
WORKFLOWS: Final = f"{NAMESPACE}/workflows"
WORKFLOW: Final = f"{WORKFLOWS}/{{workflow}}"
TOKENS: Final = "/token/{namespace}"
LIMIT: Final = f"{TOKENS}/{{token}}/limit"
INCIDENT: Final = "/incident/{incident}"
_SEE: Final = ("view_incident",)
_PUT: Final = ("add_tokenlimit", "change_tokenlimit")


def _route(
    line: str,
    operation: OperationFunction,
    documentation: Documentation,
    *,
    auth: AuthKind = AuthKind.TOKEN,
    rate: RateKind | None = None,
    needs: tuple[str, ...] = (),
    alternative: Alternative | None = None,
) -> Route:
    method, path = line.split(" ")
    return Route(
        name=f"{operation.__module__.rpartition('.')[2]}.{operation.__name__}",
        method=method,
        path=path,
        operation=operation,
        check_names=check_names_of_several if operation is consume.consume else check_names,
        auth=auth,
        rate=rate,
        permissions=tuple(one if one == SUPERUSERS_ONLY else f"queues.{one}" for one in needs),
        documentation=documentation,
        alternative=alternative,
    )


_CONSUME: Final = _route(f"GET {QUEUE}", consume.consume, d.CONSUME, rate="read")
_CONSUMES_SCHEDULES: Final = Alternative(
    parameters=frozenset(parameter.name for parameter in d.CONSUME.parameters),
    route=_CONSUME,
    path={"queue": "schedules"},
)
"""A queue may be called `schedules`. Clients of lmstfy always say `ttr` and `timeout` when they consume."""
_CONSUMES_WORKFLOWS: Final = replace(_CONSUMES_SCHEDULES, path={"queue": "workflows"})

ROUTES: Final = (
    _route(f"PUT {QUEUE}", publish.publish, d.PUBLISH, rate="write"),
    _route(f"PUT {QUEUE}/bulk", publish.publish_bulk, d.PUBLISH_BULK, rate="write"),
    _route(f"PUT {JOB}", publish.republish, d.REPUBLISH, rate="write"),
    _route(f"POST {JOB}/dependencies", jobs.add_dependencies, d.ADD_DEPENDENCIES),
    _route(f"POST {JOB}/dependencies/close", jobs.close_dependencies, d.CLOSE_DEPENDENCIES),
    _CONSUME,
    _route(f"DELETE {JOB}", finish.ack, d.ACK),
    _route(f"POST {QUEUE}/ack", finish.ack_many, d.ACK_MANY),
    _route(f"POST {JOB}/fail", finish.fail, d.FAIL),
    _route(f"POST {JOB}/release", finish.release, d.RELEASE),
    _route(f"POST {JOB}/extend", finish.extend, d.EXTEND),
    _route(f"POST {JOB}/cancel", workers.cancel_job, d.CANCEL_JOB),
    _route(f"POST {JOB}/hold", workers.hold_key, d.HOLD_KEY),
    _route(f"POST {JOB}/note", workers.add_note, d.ADD_NOTE),
    _route(f"GET {QUEUE}/peek", jobs.peek, o.PEEK),
    _route(f"GET {JOB}", jobs.peek_job, o.PEEK_JOB),
    _route(f"GET {JOB}/detail", jobs.detail, o.DETAIL),
    _route(f"GET {JOB}/result", jobs.result, o.RESULT),
    _route(f"GET {JOB}/note", workers.show_note, o.SHOW_NOTE),
    _route(f"GET {QUEUE}/jobs", jobs.list_jobs, o.LIST_JOBS),
    _route(f"GET {QUEUE}/jobs/key", jobs.find_by_key, o.FIND_BY_KEY),
    _route(f"POST {QUEUE}/jobs/run", jobs.run_now, o.RUN_NOW),
    _route(f"DELETE {QUEUE}/jobs", jobs.delete_jobs, o.DELETE_JOBS),
    _route(f"GET {QUEUE}/deadletter", dead_letters.deadletter, o.DEADLETTER),
    _route(f"GET {QUEUE}/deadletter/size", dead_letters.deadletter_size, o.DEADLETTER_SIZE),
    _route(f"PUT {QUEUE}/deadletter", dead_letters.respawn, o.RESPAWN),
    _route(f"DELETE {QUEUE}/deadletter", dead_letters.delete, o.DELETE_DEAD),
    _route(f"PUT {QUEUE}/deadletter/jobs", dead_letters.respawn_ids, o.RESPAWN_IDS),
    _route(f"DELETE {QUEUE}/deadletter/jobs", dead_letters.delete_ids, o.DELETE_DEAD_IDS),
    _route(f"GET {NAMESPACE}/workers", workers.list_workers, o.LIST_WORKERS),
    _route(f"POST {NAMESPACE}/workers", workers.beat, o.WORKER_BEAT),
    _route(f"POST {NAMESPACE}/workers/command", workers.command, o.COMMAND_WORKER),
    _route(f"GET {SCHEDULES}", schedules.list_all, c.LIST_SCHEDULES, alternative=_CONSUMES_SCHEDULES),
    _route(f"GET {SCHEDULE}", schedules.show, c.SHOW_SCHEDULE),
    _route(f"PUT {SCHEDULE}", schedules.put, c.PUT_SCHEDULE),
    _route(f"DELETE {SCHEDULE}", schedules.delete, c.DELETE_SCHEDULE),
    _route(f"POST {SCHEDULE}/pause", schedules.pause, c.PAUSE_SCHEDULE),
    _route(f"POST {SCHEDULE}/resume", schedules.resume, c.RESUME_SCHEDULE),
    _route(f"POST {SCHEDULE}/run", schedules.run, c.RUN_SCHEDULE),
    _route(f"POST {NAMESPACE}/deploys", deploys.note, y.NOTE_DEPLOY),
    _route(f"GET {WORKFLOWS}", workflows.list_all, w.LIST_WORKFLOWS, alternative=_CONSUMES_WORKFLOWS),
    _route(f"POST {WORKFLOWS}", workflows.create, w.CREATE_WORKFLOW, rate="write"),
    _route(f"GET {WORKFLOW}", workflows.show, w.SHOW_WORKFLOW),
    _route(f"POST {WORKFLOW}/nodes", workflows.add_nodes, w.ADD_NODES, rate="write"),
    _route(f"GET {WORKFLOW}/results", workflows.results, w.RESULTS),
    _route(f"POST {WORKFLOW}/cancel", workflows.cancel, w.CANCEL_WORKFLOW),
    _route(f"POST {WORKFLOW}/retry", workflows.retry, w.RETRY_WORKFLOW),
    _route(f"GET {NAMESPACE}/queues", queues.list_queues, o.LIST_QUEUES),
    _route(f"GET {QUEUE}/size", queues.size, o.SIZE),
    _route(f"GET {QUEUE}/stats", queues.stats, o.STATS),
    _route(f"GET {QUEUE}/limit-keys", queues.limit_keys, o.LIMIT_KEYS),
    _route(f"GET {QUEUE}/groups", queues.groups, o.GROUPS),
    _route(f"POST {QUEUE}/groups/flush", queues.flush_group, o.FLUSH_GROUP),
    _route(f"POST {QUEUE}/pause", queues.pause, o.PAUSE),
    _route(f"POST {QUEUE}/resume", queues.resume, o.RESUME),
    _route(f"DELETE {QUEUE}", queues.destroy, o.DESTROY),
    _route(f"GET {PUSH}", push.show, p.SHOW_PUSH),
    _route(f"PUT {PUSH}", push.put, p.PUT_PUSH),
    _route(f"DELETE {PUSH}", push.delete, p.DELETE_PUSH),
    _route(f"POST {PUSH}/pause", push.pause, p.PAUSE_PUSH),
    _route(f"POST {PUSH}/resume", push.resume, p.RESUME_PUSH),
    _route(f"POST {PUSH}/rotate", push.rotate, p.ROTATE_PUSH),
    _route(f"POST {PUSH}/test", push.test, p.TEST_PUSH),
    _route(f"GET {PUSH}/deliveries", push.deliveries, p.PUSH_DELIVERIES),
    _route(f"POST {TOKENS}", admin.create_token, s.CREATE_TOKEN, auth=AuthKind.STAFF, needs=("add_token",)),
    _route(f"GET {TOKENS}", admin.list_tokens, s.LIST_TOKENS, auth=AuthKind.STAFF, needs=("view_token",)),
    _route(
        f"DELETE {TOKENS}/{{token}}", admin.revoke_token, s.REVOKE_TOKEN, auth=AuthKind.STAFF, needs=("delete_token",)
    ),
    _route(f"GET {LIMIT}", admin.show_limit, s.SHOW_LIMIT, auth=AuthKind.STAFF, needs=("view_tokenlimit",)),
    _route(f"POST {LIMIT}", admin.add_limit, s.ADD_LIMIT, auth=AuthKind.STAFF, needs=("add_tokenlimit",)),
    _route(f"PUT {LIMIT}", admin.put_limit, s.PUT_LIMIT, auth=AuthKind.STAFF, needs=_PUT),
    _route(f"DELETE {LIMIT}", admin.remove_limit, s.REMOVE_LIMIT, auth=AuthKind.STAFF, needs=("delete_tokenlimit",)),
    _route("GET /limits", admin.list_limits, s.LIST_LIMITS, auth=AuthKind.STAFF, needs=("view_tokenlimit",)),
    _route("GET /pools", admin.pools, s.POOLS, auth=AuthKind.STAFF, needs=("view_pool",)),
    _route("GET /info", admin.info, s.INFO, auth=AuthKind.STAFF, needs=("view_namespace",)),
    _route("GET /incident", incidents.list_all, i.LIST_INCIDENTS, auth=AuthKind.STAFF, needs=_SEE),
    _route(f"GET {INCIDENT}", incidents.show, i.SHOW_INCIDENT, auth=AuthKind.STAFF, needs=_SEE),
    _route(f"POST {INCIDENT}/acknowledge", incidents.acknowledge, i.ACKNOWLEDGE, auth=AuthKind.STAFF, needs=_SEE),
    _route(f"DELETE {INCIDENT}/acknowledge", incidents.unacknowledge, i.UNACKNOWLEDGE, auth=AuthKind.STAFF, needs=_SEE),
    _route(f"POST {INCIDENT}/notes", incidents.note, i.ADD_NOTE, auth=AuthKind.STAFF, needs=_SEE),
    _route("GET /version", admin.version, s.VERSION, auth=AuthKind.STAFF),
    _route("GET /metrics", admin.metrics, s.METRICS, auth=AuthKind.STAFF),
    _route("GET /accesslog", admin.show_access_log, s.SHOW_ACCESS_LOG, auth=AuthKind.STAFF, needs=(SUPERUSERS_ONLY,)),
    _route(
        "POST /accesslog",
        admin.switch_access_log,
        s.SWITCH_ACCESS_LOG,
        auth=AuthKind.STAFF,
        needs=(SUPERUSERS_ONLY,),
    ),
    _route("GET /healthz", health.healthz, s.HEALTHZ, auth=AuthKind.NONE),
    _route("GET /readyz", health.readyz, s.READYZ, auth=AuthKind.NONE),
)

ROUTER: Final = Router(ROUTES, refused={"schedule": QUEUE_WORDS, "workflow": QUEUE_WORDS})
