"""Run as a process: enqueues the project's tasks, or prints what became of them."""

from __future__ import annotations

import json
import sys

import django

django.setup()

from taskq.django import app  # noqa: E402
from taskq.django.compat import task_backends  # noqa: E402

from .shop import tasks  # noqa: E402


def enqueue() -> dict[str, list[str]]:
    results = [tasks.send.enqueue(f"{number}@example.com").id for number in range(6)]
    jobs = [tasks.report.enqueue(41).id, tasks.count_apps.enqueue().id]
    return {"results": results, "jobs": jobs, "apart": [tasks.send_apart.enqueue("a").id]}


def read(ids: dict[str, list[str]]) -> dict[str, list[object]]:
    results = [task_backends["default"].get_result(one) for one in ids["results"]]
    apart = [task_backends["apart"].get_result(one) for one in ids["apart"]]
    return {
        "results": [one.return_value if one.is_finished else str(one.status) for one in results],
        "apart": [one.return_value if one.is_finished else str(one.status) for one in apart],
        "jobs": [app.job("reports", one).result(timeout=1) for one in ids["jobs"]],
    }


if __name__ == "__main__":
    print(json.dumps(enqueue() if len(sys.argv) == 1 else read(json.loads(sys.argv[1]))))
