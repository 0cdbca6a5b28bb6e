"""Pages of the shop that tests look at one after the other. `Shop.address` puts in the ids of jobs."""

from __future__ import annotations

from typing import Final

PAGES: Final[dict[str, str]] = {
    "overview": "/",
    "incidents": "/incidents/",
    "incident": "/incidents/{incident}/",
    "alerts": "/alerts/",
    "alert-new": "/alerts/new",
    "queues": "/queues/",
    "queue": "/queues/default/demo/emails/",
    "queue-limits": "/queues/default/demo/tenants/",
    "limit-keys": "/queues/default/demo/tenants/limit-keys/?q=tenant",
    "queue-dead": "/queues/default/demo/invoices/?state=dead",
    "job": "/queues/default/demo/reports/jobs/{job}/",
    "dead": "/dead/",
    "consumers": "/consumers/",
    "consumers-by-queue": "/consumers/?by=queue",
    "workers": "/workers/",
    "task-job": "/queues/default/demo/tasks/jobs/{task_job}/",
    "schedules": "/schedules/",
    "workflows": "/workflows/",
    "workflow": "/workflows/default/demo/thumbnails-7/",
    "workflow-job": "/queues/default/demo/albums/jobs/{workflow_job}/",
    "push": "/push/",
    "push-endpoint": "/push/default/demo/hooks/",
    "push-new": "/push/default/demo/new",
    "push-edit": "/push/default/demo/hooks/edit",
    "schedule": "/schedules/default/demo/nightly-report/",
    "schedule-new": "/schedules/default/demo/new",
    "schedule-edit": "/schedules/default/demo/nightly-report/edit",
    "reports": "/reports/",
    "report-cost": "/reports/cost/",
    "report-forecast": "/reports/forecast/",
    "activity": "/activity/",
    "first-day": "/first-day/",
    "tokens": "/tokens/",
    "token-new": "/tokens/new",
    "namespaces": "/namespaces/",
    "namespace": "/namespaces/default/demo/",
    "namespace-policy": "/namespaces/default/demo/policy",
    "policies": "/policies/",
    "not-found": "/queues/default/nowhere/emails/",
    "button": "/queues/default/demo/emails/pause",
    "admin": "/admin/",
    "admin-token": "/admin/queues/token/add/",
    "admin-push": "/admin/queues/pushendpoint/add/",
    "admin-alerts": "/admin/queues/alertchannel/",
}

TROUBLE: Final = {"not-found": "status of 404", "no-page": "status of 404", "button": "status of 405"}
"""What the browser complains of on some."""
