"""Every route of the dashboard, and whom it lets in: who owns, operates or reads a namespace, and who must see nothing.

A route that no table names fails, and so does a name in a table that is no route.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.urls import URLPattern, URLResolver

from dashboard.urls import urlpatterns
from queues.engine import JobState
from queues.services.reporting.reading.days import yesterday
from tests.dashboard.people import POOL, SHOP
from tests.support.rows import in_one_test

QUEUE: Final = "parcels-of-the-shop"
ERROR: Final = "the glass broke on its way"
WORKER: Final = "worker-1"
"""Who has the job that is worked on."""

DELAYED: Final = 1_237
SCHEDULE: Final = "nightly-glazing"
WORKFLOW: Final = "glazing-in-two-layers"
NODE: Final = "second-layer"
CHANNEL: Final = "glaziers-on-call"
TOKEN: Final = "till-of-the-glaziers"
TOKEN_ID: Final = "0123456789ab"
SECRETS: Final = (CHANNEL, TOKEN, TOKEN_ID, QUEUE, ERROR, "1,237", SCHEDULE, WORKFLOW, NODE)
"""Words, and a sum, that are on pages only if these show something of the shop."""

DAY: Final = yesterday()
"""That of the report."""

SPAN: Final = {"from": f"{DAY}", "to": f"{DAY}"}
OF_SHOP: Final = {"pool": POOL, "namespace": SHOP}

UNKNOWN: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

JSON: Final = {"Accept": "application/json"}
LIVE: Final = {"X-Live": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What GET answers. `sees`: what a reader of the shop finds there. In texts `{dead}` is the id of a dead job.
    `erin`, `dave`: None where they are answered as Bob and as Charlie are."""

    named: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    sees: str = ""
    alice: int = 200
    olga: int = 200
    bob: int = 200
    charlie: int = 404
    erin: int | None = None
    dave: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What POST changes. `needs_admin`: to operate is not enough; `needs_superuser`: nor is it to own the namespace.

    `charlie`: 302 where it means all that he may see.

    `answer`: 200 where what was done is shown in the answer itself.
    """

    form: Mapping[str, str] = field(default_factory=dict)
    of: JobState = JobState.READY
    needs_admin: bool = False
    needs_superuser: bool = False
    charlie: int = 404
    answer: int = 302


PAGES: Final[Mapping[str, Page]] = {
    "overview": Page(sees="1,237", charlie=200),
    "overview_charts": Page(charlie=200),
    "totals": Page(sees="1,237", charlie=200),
    "answering": Page(alice=204, olga=204, bob=204, charlie=204),
    "styleguide": Page(alice=404, olga=404, bob=404),
    "find": Page(query={"q": "{dead}"}, alice=302, olga=302, bob=302),
    "palette": Page(query={"q": QUEUE}, sees=f"{POOL}/{SHOP}", charlie=200),
    "queues": Page(sees=QUEUE, charlie=200),
    "queue": Page(query={"state": "dead"}, sees=ERROR),
    "queue_live": Page(sees="1,237"),
    "queue_limit_keys": Page(sees=QUEUE),
    "queue_jobs": Page(query={"state": "dead"}, sees="{dead}"),
    "queue_chart": Page(named={"kind": "runs"}, sees="series"),
    "queue_publish": Page(sees=QUEUE, bob=403),
    "queue_policy": Page(sees=QUEUE, olga=403, bob=403),
    "job": Page(sees=ERROR),
    "job_live": Page(sees=ERROR),
    "job_events": Page(sees="{dead}"),
    "job_body": Page(sees="a vase"),
    "job_raw": Page(named={"part": "body"}, sees="a vase"),
    "jobs_download": Page(query={"state": "dead"}, sees="{dead}"),
    "dead_download": Page(sees=ERROR, charlie=200),
    "dead_respawns": Page(charlie=200),
    "activity_download": Page(sees=QUEUE, charlie=200),
    "dead": Page(sees=ERROR, charlie=200),
    "dead_more": Page(sees=ERROR, charlie=200),
    "dead_news": Page(query={"since_ms": "1"}, sees="1 job has died since", charlie=200),
    "consumers": Page(sees=QUEUE, charlie=200),
    "workers": Page(sees=QUEUE, charlie=200),
    "push": Page(sees=QUEUE, charlie=200),
    "push_place": Page(query={"namespace": f"{POOL}/{SHOP}"}, alice=302, olga=302, bob=302, charlie=302),
    "push_new": Page(sees=SHOP, olga=403, bob=403),
    "push_edit": Page(sees=QUEUE, olga=403, bob=403),
    "push_endpoint": Page(sees="https://hooks.example/of-the-shop"),
    "schedules": Page(sees=SCHEDULE, charlie=200),
    "schedule": Page(sees=QUEUE),
    "schedule_place": Page(query={"namespace": f"{POOL}/{SHOP}"}, alice=302, olga=302, bob=302, charlie=302),
    "schedule_new": Page(sees=SHOP, bob=403),
    "schedule_edit": Page(sees=QUEUE, bob=403),
    "schedule_preview": Page(query={"kind": "cron", "cron": "0 0 1 1 *"}, sees="-01-01 00:00:00", charlie=200),
    "workflows": Page(query={"namespace": f"{POOL}/{SHOP}"}, sees=WORKFLOW),
    "workflow": Page(sees=NODE),
    "workflow_graph": Page(sees=NODE),
    "reports": Page(alice=302, olga=302, bob=302, charlie=302),
    "report": Page(named={"day": f"{DAY}"}, sees=ERROR, charlie=200),
    "report_csv": Page(named={"day": f"{DAY}"}, query={"table": "errors"}, sees=ERROR, charlie=200),
    "report_print": Page(named={"day": f"{DAY}"}, sees=ERROR, charlie=200),
    "report_namespace": Page(named={"day": f"{DAY}"}, sees=ERROR),
    "report_queue": Page(named={"day": f"{DAY}"}, sees=ERROR),
    "report_cost": Page(query=SPAN | OF_SHOP, sees=QUEUE),
    "report_cost_csv": Page(query=SPAN | OF_SHOP, sees=QUEUE),
    "report_cost_json": Page(query=SPAN | OF_SHOP, sees=QUEUE),
    "report_forecast": Page(query=OF_SHOP, sees=QUEUE),
    "report_forecast_csv": Page(query=OF_SHOP | {"queue": QUEUE}, sees="day,pool"),
    "report_forecast_json": Page(query=OF_SHOP | {"queue": QUEUE}, sees=QUEUE),
    "report_past": Page(named={"metric": "wait"}, sees="1237"),
    "activity": Page(sees=QUEUE, charlie=200),
    "incidents": Page(sees=QUEUE, charlie=200),
    "incident": Page(sees=QUEUE),
    "incident_chart": Page(sees="series"),
    "alerts": Page(charlie=200),
    "alert_new": Page(olga=403, bob=403, charlie=200, erin=200, dave=403),
    "alert_edit": Page(sees=CHANNEL, olga=403, bob=403),
    "first_day": Page(charlie=200),
    "tokens": Page(charlie=200),
    "token_new": Page(charlie=200),
    "namespaces": Page(sees=SHOP, charlie=200),
    "namespace_new": Page(alice=403, olga=403, bob=403, charlie=403),
    "namespace": Page(sees=QUEUE),
    "namespace_edit": Page(sees=SHOP, olga=403, bob=403),
    "namespace_policy": Page(sees=SHOP, olga=403, bob=403),
    "policies": Page(sees=QUEUE, charlie=200),
    "backoff_preview": Page(query={"backoff": "linear:7"}, sees="linear:7"),
}

SURE: Final = {"confirmed": "yes"}
_PUSH: Final = {"url": "https://hooks.example/another", "timeout_s": "7", "concurrency": "2", "enabled": "on"}
_TIMING: Final = {
    "kind": "interval",
    "every": "5",
    "unit": "60",
    "queue": QUEUE,
    "encoding": "text",
    "catch_up": "last",
    "overlap": "allow",
}
_ALERT: Final = {
    "name": "another",
    "transport": "slack",
    "url": "https://hooks.example/alerts",
    "min_severity": "critical",
    "enabled": "on",
}
_LETTER: Final = {"letter": f"{POOL}/{SHOP}/{QUEUE}/{{dead}}"} | SURE

ACTS: Final[Mapping[str, tuple[Act, ...]]] = {
    "queue_publish": (Act(form={"body": "x", "encoding": "text"}),),
    "queue_policy": (Act(form={"tries": "3"}, needs_admin=True),),
    "queue_empty": (Act(form={"word": QUEUE} | SURE, needs_admin=True),),
    "queue_pause": (Act(),),
    "queue_resume": (Act(),),
    "queue_flush_group": (Act(form={"group": "mails"}),),
    "queue_act": (
        Act(form={"act": "delete", "state": "ready", "job": "{ready}"} | SURE),
        Act(form={"act": "delete", "state": "ready", "job": "{ready}", "undo": "yes"}),
        Act(form={"act": "ack", "state": "working", "job": "{working}:1"} | SURE),
        Act(form={"act": "respawn", "state": "dead", "job": "{dead}"}),
    ),
    "queue_act_on_all": (
        Act(form={"act": "respawn", "state": "dead"} | SURE),
        Act(form={"act": "delete", "state": "ready", "word": QUEUE} | SURE, needs_admin=True),
    ),
    "job_act": (
        Act(form={"act": "delete", "state": "ready"} | SURE),
        Act(form={"act": "retry", "state": "delayed"}, of=JobState.DELAYED),
        Act(form={"act": "reschedule", "state": "retry", "later": "7200"}, of=JobState.RETRY),
        Act(form={"act": "ack", "state": "working", "attempt": "1"} | SURE, of=JobState.WORKING),
        Act(form={"act": "release", "state": "working", "attempt": "1"}, of=JobState.WORKING),
        Act(form={"act": "respawn", "state": "dead"}, of=JobState.DEAD),
        Act(form={"act": "delete", "state": "completed"} | SURE, of=JobState.COMPLETED),
    ),
    "job_cancel": (Act(form={"attempt": "1"} | SURE, of=JobState.WORKING),),
    "worker_act": (
        Act(form={"act": "quiet", "worker": WORKER}),
        Act(form={"act": "resume", "worker": WORKER}),
        Act(form={"act": "stop", "worker": WORKER} | SURE),
    ),
    "push_new": (Act(form=_PUSH | {"queue": "another"}, needs_admin=True, answer=200),),
    "push_edit": (Act(form=_PUSH, needs_admin=True),),
    "push_act": (
        Act(form={"act": "pause"}),
        Act(form={"act": "test"}),
        Act(form={"act": "rotate"} | SURE, needs_admin=True, answer=200),
        Act(form={"act": "delete"} | SURE, needs_admin=True),
    ),
    "schedule_new": (Act(form=_TIMING | {"name": "another"}),),
    "schedule_edit": (Act(form=_TIMING),),
    "schedule_act": (
        Act(form={"act": "pause"}),
        Act(form={"act": "run"}),
        Act(form={"act": "delete"} | SURE),
    ),
    "workflow_act": (Act(form={"act": "cancel"} | SURE),),  # without a failed node there is nothing to retry
    "incident_act": (
        Act(form={"act": "acknowledge", "note": "on it"}),
        Act(form={"act": "note", "note": "the kiln is cold"}),
    ),
    "alert_new": (Act(form=_ALERT | {"namespace": f"{POOL}/{SHOP}"}, needs_admin=True),),
    "alert_edit": (Act(form=_ALERT, needs_admin=True),),
    "alert_act": (
        Act(form={"act": "test"}, needs_admin=True),
        Act(form={"act": "delete"} | SURE, needs_admin=True),
    ),
    "token_new": (Act(form={"namespace": f"{POOL}/{SHOP}", "description": "x"}, needs_admin=True, answer=200),),
    "token_revoke": (Act(form=SURE, needs_admin=True),),
    "namespace_new": (Act(form={"name": "annex", "pool": POOL}, needs_admin=True, needs_superuser=True, charlie=403),),
    "namespace_edit": (Act(form={"description": "of glass"}, needs_admin=True),),
    "namespace_delete": (Act(form={"word": SHOP} | SURE, needs_admin=True),),
    "namespace_policy": (Act(form={"tries": "3"}, needs_admin=True),),
    "deletion_undo": (Act(),),
    "deletion_retry": (Act(),),
    "dead_respawn_start": (
        Act(form={"rate": "5", "unit": "s", "namespace": SHOP}),
        Act(form={"rate": "5", "unit": "s"}, charlie=302),
    ),
    "dead_respawn_stop": (Act(),),
    "dead_triage": (
        Act(form={"do": "assign", "to": "olga", "like": ERROR} | OF_SHOP),
        Act(form={"do": "mute", "until": "1d", "like": ERROR} | OF_SHOP),
    ),
    "dead_act": (
        Act(form={"do": "respawn-selected"} | _LETTER),
        Act(form={"do": "delete-selected"} | _LETTER),
        Act(form={"do": "respawn-all", "namespace": SHOP} | SURE),
        Act(form={"do": "respawn-all"} | SURE, charlie=302),
        Act(form={"do": "delete-all", "namespace": SHOP, "word": "delete"} | SURE, needs_admin=True),
        Act(form={"do": "delete-all", "word": "delete"} | SURE, needs_admin=True, charlie=302),
    ),
}

OPEN: Final = frozenset(
    {"login", "logout", "set_language", "queue_columns", "queue_view_save", "queue_view_delete"},
)
"""For everybody; they show and change nothing of a namespace."""

EACH_PAGE: Final = in_one_test("name", PAGES)
EACH_ACT: Final = in_one_test(
    ("name", "act"),
    [(name, act) for name, acts in ACTS.items() for act in acts],
    title=lambda row: "-".join((row[0], *row[1].form.values())[:3]),
)
EACH_ACTS_ROUTE: Final = in_one_test("name", ACTS)


def routes(patterns: list[Any] = urlpatterns) -> dict[str, list[str]]:
    """Name of each route, or what it looks like if it has none → the names in its path."""
    found: dict[str, list[str]] = {}
    for one in patterns:
        inner = routes(one.url_patterns) if isinstance(one, URLResolver) else {}
        if isinstance(one, URLPattern):
            inner = {one.name or str(one.pattern): list(one.pattern.converters)}
        assert not found.keys() & inner.keys(), "two routes have one name, so one of them would not be looked at"
        found |= inner
    return found
