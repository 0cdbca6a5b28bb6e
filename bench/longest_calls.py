"""The largest calls: processor time of Redis for each, which other load changes less than time of the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from queues.engine import (
    DEFAULT_OPTIONS,
    Dependency,
    DependencyFailure,
    Engine,
    KeyMode,
    NodeRequest,
    Operation,
    PublishOptions,
    QueueKeys,
    ack,
    add_dependencies,
    cancel_workflow,
    close_dependencies,
    consume,
    create_workflow,
    fail,
    flush_due,
    flush_group,
    publish,
    publish_large,
    read_workflow,
    relay,
    retry_workflow,
)
from queues.engine.constants import BULK_MAX_JOBS, GROUP_BATCHES_PER_CALL, GROUP_MAX_SIZE, NODES_PER_REQUEST

from .report import Bar, Figure, Section, percentile
from .settings import Settings
from .stores import fresh_engine
from .tools import MissingToolError

ROUNDS = 15
BODIES = [b"x" * 100] * BULK_MAX_JOBS
KEY = "k" * 64
"""The longest."""
MEMBERS = [b"x" * 600] * GROUP_MAX_SIZE
MEMBER_KEYS = [f"{place}".rjust(255, "k") for place in range(GROUP_MAX_SIZE)]
"""Members that come near the bytes of a batch, and keys as long as they may be."""


class MeteredEngine(Engine):
    """Sends each operation by itself, and notes ms of Redis's main thread by the name of its script."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.client, engine.layout)
        pid = engine.client.info("server")["process_id"]
        self._clock = Path(f"/proc/{pid}/task/{pid}/schedstat")
        if not self._clock.exists():
            raise MissingToolError("processor time of Redis is read from /proc, which this system does not have")
        self.calls: dict[str, list[float]] = {}

    def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Results in order. Nothing is relayed after them."""
        return [self._call(operation) for operation in operations]

    def _call(self, operation: Operation[Any]) -> Any:
        began = self._now_ms()
        (result,) = super().batch([replace(operation, relay=None)])
        self.calls.setdefault(operation.script.name, []).append(self._now_ms() - began)
        return result

    def _now_ms(self) -> float:
        return int(self._clock.read_text().split()[0]) / 1e6


def _dependency(queue: QueueKeys, job_id: str) -> Dependency:
    return Dependency(queue=queue.queue, job_id=job_id)


def _publishes(engine: MeteredEngine, queue: QueueKeys) -> None:
    (first,) = engine.run(publish_large(engine.queue("bench", "first"), BODIES[:1])).job_ids
    needed = (Dependency(queue="first", job_id=first),)
    for options in (
        PublishOptions(),
        PublishOptions(priority=3, ttl_ms=60_000),
        PublishOptions(limit_key=KEY),
        PublishOptions(limit_key=KEY, delay_ms=30_000, ttl_ms=60_000),
        PublishOptions(depends_on=needed),
        PublishOptions(depends_on=needed, limit_key=KEY, ttl_ms=60_000),
    ):
        engine.run(publish_large(queue, BODIES, options))
    ids = engine.run(publish_large(queue, BODIES)).job_ids
    engine.run(
        publish_large(queue, BODIES[:1], PublishOptions(depends_on=tuple(_dependency(queue, one) for one in ids)))
    )


def _dependencies(engine: MeteredEngine, number: int) -> None:
    """A thousand that one waits for; a thousand that wait for one, which is acked, or dies, with each policy."""
    parts, total, first = (engine.queue("bench", f"{name}{number}") for name in ("parts", "total", "first"))
    (job_id,) = engine.run(publish_large(total, BODIES[:1], replace(DEFAULT_OPTIONS, dependencies_open=True))).job_ids
    ids = engine.run(publish_large(parts, BODIES)).job_ids
    engine.run(add_dependencies(engine.layout, total, job_id, [_dependency(parts, one) for one in ids]))
    engine.run(close_dependencies(total, job_id))
    for policy in DependencyFailure:
        (one,) = engine.run(publish_large(first, BODIES[:1])).job_ids
        options = PublishOptions(depends_on=(_dependency(first, one),), on_dependency_failure=policy, limit_key=KEY)
        engine.run(publish_large(engine.queue("bench", f"after{number}"), BODIES, options))
        _relay(engine)
        engine.run(consume(first, ttr_ms=60_000))
        engine.run(ack(first, [one]) if policy is DependencyFailure.WAIT else fail(first, one, dead=True))
        _relay(engine)
    engine.run(consume(parts, ttr_ms=60_000, count=1_000))
    engine.run(ack(parts, ids))
    _relay(engine)


def _groups(engine: MeteredEngine, number: int) -> None:
    """Flushes of a full batch: with keys and without, in the call that fills the group, and of as many small ones."""
    alone, filled, keyed = (engine.queue("bench", f"{name}{number}") for name in ("alone", "filled", "keyed"))
    options = PublishOptions(group="g", group_max_size=GROUP_MAX_SIZE)
    engine.run(publish_large(alone, MEMBERS[1:], options))
    for key in MEMBER_KEYS[1:]:
        engine.run(publish(keyed, MEMBERS[:1], replace(options, key=key, key_mode=KeyMode.UNTIL_DONE)))
    for queue in (alone, keyed):
        engine.batch([flush_group(queue, "g")])
    engine.run(publish_large(filled, MEMBERS, options))
    engine.run(publish_large(filled, BODIES, options))
    engine.run(publish_large(filled, BODIES, replace(options, group_max_size=GROUP_MAX_SIZE // GROUP_BATCHES_PER_CALL)))
    while engine.run(flush_due(engine.layout)).more:
        pass


def _workflow(engine: MeteredEngine, number: int) -> None:
    """One node, as many as possible after it, and one after all these: made, failed, retried, acked, cancelled."""
    queue, layout, workflow_id = engine.queue("bench", f"nodes{number}"), engine.layout, f"w{number}"
    names = [f"{place}".rjust(len(KEY), "n") for place in range(NODES_PER_REQUEST)]
    options = PublishOptions(ttl_ms=600_000, limit_key=KEY, on_dependency_failure=DependencyFailure.FAIL)
    needs = [(), *[(names[0],) for _ in names[2:]], tuple(names[1:-1])]
    nodes = [
        NodeRequest(name=name, queue=queue.queue, body=BODIES[0], depends_on=its, options=options)
        for name, its in zip(names, needs, strict=True)
    ]
    engine.run(create_workflow(layout, "bench", workflow_id, nodes))
    (first,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
    engine.run(fail(queue, first.job_id, dead=True))
    _relay(engine)
    engine.run(retry_workflow(layout, "bench", workflow_id))
    _relay(engine)
    engine.run(consume(queue, ttr_ms=60_000))
    engine.run(ack(queue, [first.job_id]))
    _relay(engine)
    engine.run(consume(queue, ttr_ms=60_000, count=100))
    engine.run(read_workflow(layout, "bench", workflow_id))
    engine.run(cancel_workflow(layout, "bench", workflow_id, given="bench"))
    _relay(engine)


def _relay(engine: MeteredEngine) -> None:
    while engine.run(relay(engine.layout)).more:
        pass


def measure(settings: Settings) -> Section:
    """A Redis of its own for each run. Of each script's largest calls, the median of the rounds counts."""
    rounds = settings.scaled(ROUNDS)
    runs = [_run(rounds) for _ in range(settings.runs)]
    slowest = sorted(runs[0], key=lambda name: -runs[0][name])
    return Section(
        title="Processor time of Redis for the largest calls: publishes, dependencies, groups, workflows",
        figures=[
            *(Figure(name=name, unit="ms", runs=[run[name] for run in runs]) for name in slowest[:20]),
            Figure(
                name="the longest",
                unit="ms",
                runs=[max(run.values()) for run in runs],
                bar=Bar(sense="≤", value=5),
            ),
        ],
    )


def _run(rounds: int) -> dict[str, float]:
    """By script: the largest call of a round, its median over the rounds."""
    longest: dict[str, list[float]] = {}
    with fresh_engine() as plain:
        engine = MeteredEngine(plain)
        for number in range(rounds):
            engine.calls = {}
            _publishes(engine, engine.queue("bench", "published"))
            _dependencies(engine, number)
            _groups(engine, number)
            _workflow(engine, number)
            for name, calls in engine.calls.items():
                longest.setdefault(name, []).append(max(calls))
    return {name: percentile(calls, 50) for name, calls in longest.items()}
