"""The library that users import: tasks, jobs, workers, clients.

    from taskq import App

    app = App("redis://localhost:6379/0")

    @app.task
    def hello(name: str) -> str:
        return f"Hello, {name}"

    hello.enqueue("you")

It imports `queues.engine` or speaks HTTP. Only `taskq.django` knows Django.
"""

from .app import App
from .client import AsyncClient, Client
from .context import Context, current_context
from .errors import (
    JobFailedError,
    JobGoneError,
    NotConfiguredError,
    ResultGoneError,
    ResultTimeoutError,
    SerializationError,
    TaskqClientError,
)
from .injection import Depends
from .job import Job, Progress
from .middleware import Enqueueing, Middleware, Running
from .options import RetryPolicy, TaskOptions
from .outcomes import Cancel, Retry, SkipRetry, Snooze
from .queue_limits import QueueLimits
from .schedule import Schedule
from .task import Task
from .workflow import Call, Node, Workflow, chain, chord, group
from .workflow_handle import WorkflowHandle

__all__ = [
    "App",
    "AsyncClient",
    "Call",
    "Cancel",
    "Client",
    "Context",
    "Depends",
    "Enqueueing",
    "Job",
    "JobFailedError",
    "JobGoneError",
    "Middleware",
    "Node",
    "NotConfiguredError",
    "Progress",
    "QueueLimits",
    "ResultGoneError",
    "ResultTimeoutError",
    "Retry",
    "RetryPolicy",
    "Running",
    "Schedule",
    "SerializationError",
    "SkipRetry",
    "Snooze",
    "Task",
    "TaskOptions",
    "TaskqClientError",
    "Workflow",
    "WorkflowHandle",
    "chain",
    "chord",
    "current_context",
    "group",
]
