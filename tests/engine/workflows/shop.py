"""Workflows under a manual clock, in queues of several partitions."""

from __future__ import annotations

from typing import Any

from queues.engine import (
    DependencyFailure,
    Engine,
    NodeRequest,
    NodesAdded,
    PublishOptions,
    Workflow,
    ack_attempt,
    add_nodes,
    attend_workflows,
    cancel_workflow,
    consume,
    create_workflow,
    delete_jobs,
    fail,
    read_workflow,
    relay,
    retry_workflow,
)
from queues.engine.constants import NODE_TTL_S

from ..state import Content, check
from ..world import START_MS, TTR_MS

QUEUES = ("orders", "mails", "images", "letters")
WORKFLOW = "invoice-7"


def node(
    name: str, *after: str, queue: str = "", body: bytes = b"", on_failure: str = "wait", **options: Any
) -> NodeRequest:
    """A node of the queue `queue`, by default one that its name chooses."""
    options = {"ttl_ms": NODE_TTL_S * 1000, **options}
    return NodeRequest(
        name=name,
        queue=queue or QUEUES[sum(name.encode()) % len(QUEUES)],
        body=body or name.encode(),
        depends_on=after,
        options=PublishOptions(on_dependency_failure=DependencyFailure(on_failure), **options),
    )


class Shop:
    """A namespace with one workflow, or several."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.now_ms = START_MS

    def create(self, *nodes: NodeRequest, workflow_id: str = WORKFLOW, **options: Any) -> NodesAdded:
        plan = create_workflow(self.engine.layout, "shop", workflow_id, nodes, now_ms=self.now_ms, **options)
        return self.engine.run(plan)

    def read(self, workflow_id: str = WORKFLOW) -> Workflow:
        return self.engine.run(read_workflow(self.engine.layout, "shop", workflow_id, now_ms=self.now_ms))

    def states(self, workflow_id: str = WORKFLOW) -> dict[str, str]:
        """Of each node, in a sound store."""
        self.content()
        return {one.name: str(one.state) for one in self.read(workflow_id).nodes}

    def state(self, workflow_id: str = WORKFLOW) -> str:
        return str(self.read(workflow_id).state)

    def take(self) -> dict[str, tuple[str, str]]:
        """Take all jobs that are ready: name (the body) → queue and job id."""
        taken: dict[str, tuple[str, str]] = {}
        for queue in QUEUES:
            found = self.engine.run(
                consume(self.engine.queue("shop", queue), ttr_ms=TTR_MS, count=1_000, now_ms=self.now_ms)
            )
            taken |= {job.body.decode(): (queue, job.job_id) for job in found.jobs}
        return taken

    def end(self, job: tuple[str, str], *, result: bytes | None = None) -> None:
        queue = self.engine.queue("shop", job[0])
        self.engine.run(ack_attempt(queue, job[1], result=result, now_ms=self.now_ms))

    def die(self, job: tuple[str, str], error: str = "broken") -> None:
        queue = self.engine.queue("shop", job[0])
        self.engine.run(fail(queue, job[1], dead=True, error=error, now_ms=self.now_ms))
        self.relay()

    def do(self, *names: str) -> None:
        """Take what is ready, which is these, and ack it."""
        taken = self.take()
        assert set(taken) == set(names)
        for name in names:
            self.end(taken[name], result=f"result of {name}".encode())

    def relay(self) -> None:
        self.engine.run(relay(self.engine.layout, now_ms=self.now_ms))

    def content(self) -> Content:
        return check(self.engine.client)

    def attend(self) -> None:
        """What the role does: carry messages, then attend to workflows."""
        self.relay()
        self.engine.run(attend_workflows(self.engine.layout, now_ms=self.now_ms))

    def cancel(self, workflow_id: str = WORKFLOW) -> bool:
        plan = cancel_workflow(self.engine.layout, "shop", workflow_id, given="now", now_ms=self.now_ms)
        return self.engine.run(plan)

    def retry(self, workflow_id: str = WORKFLOW) -> int:
        return self.engine.run(retry_workflow(self.engine.layout, "shop", workflow_id, now_ms=self.now_ms))

    def add(self, *nodes: NodeRequest, workflow_id: str = WORKFLOW) -> NodesAdded:
        return self.engine.run(add_nodes(self.engine.layout, "shop", workflow_id, nodes, now_ms=self.now_ms))

    def delete(self, name: str, workflow_id: str = WORKFLOW) -> None:
        (job,) = [one for one in self.read(workflow_id).nodes if one.name == name]
        self.engine.run(delete_jobs(self.engine.queue("shop", job.queue), [job.job_id], now_ms=self.now_ms))

    def left(self) -> list[str]:
        """What is in Redis but for statistics, events and counts of them."""
        harmless = (b"stats", b"trend", b"events", b"counters", b"active", b"waiting", b"sweeps", b"meta", b"trimmed")
        return sorted(key.decode() for key in self.engine.client.keys("*") if not key.endswith(harmless))
