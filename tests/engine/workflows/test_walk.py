"""Workflows in random order: after each step every job is in one place and the records agree with it; in the end
nothing is left. Plans are abandoned in between, as by processes that die."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Generator
from typing import Any

import pytest

from queues.engine import (
    NodeState,
    WorkflowConflictError,
    WorkflowState,
    add_nodes,
    attend_workflows,
    cancel_workflow,
    create_workflow,
    relay,
    respawn,
    retry_workflow,
    sweep,
)
from queues.engine.constants import NODE_TTL_S, WORKFLOW_RETENTION_S, WORKFLOW_STAGED_MS

from .shop import QUEUES, Shop, node

SEEDS = int(os.environ.get("TASKQ_WALK_EXAMPLES", "30"))
STEPS = 40


class Walk:
    """Several workflows. Jobs are known by `workflow.node`, which is their body."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self.shop = shop
        self.chance = random.Random(seed)
        self.made = 0
        self.needs: dict[str, tuple[str, set[str]]] = {}
        """Of each node its policy, and what it depends on."""
        self.acked: set[str] = set()
        self.freed: set[str] = set()
        """Respawned as dead letters: these wait for nothing."""
        self.taken: dict[str, tuple[str, str]] = {}

    def run(self, plan: Generator[Any, Any, Any]) -> Any:
        """To its end, or to some step of it."""
        if self.chance.random() < 0.7:
            return self.shop.engine.run(plan)
        batch = next(plan)
        for _ in range(self.chance.randrange(8)):
            try:
                batch = plan.send(self.shop.engine.batch(batch))
            except StopIteration:
                break
        plan.close()
        return None

    def nodes(self, workflow_id: str, known: list[str]) -> list[Any]:
        first = len(known)
        new: list[Any] = []
        for number in range(first, first + self.chance.randint(1, 5)):
            name = f"n{number}"
            after = self.chance.sample(known, min(len(known), self.chance.randrange(3)))
            policy = self.chance.choice(["wait", "wait", "fail", "continue"])
            queue = self.chance.choice(QUEUES)
            body = f"{workflow_id}.{name}".encode()
            delay_ms, tries = self.chance.choice([0, 0, 0, 500]), self.chance.randint(1, 2)
            new.append(node(name, *after, queue=queue, body=body, on_failure=policy, delay_ms=delay_ms, tries=tries))
            self.needs[body.decode()] = (policy, {f"{workflow_id}.{one}" for one in after})
            known = [*known, name]
        self.chance.shuffle(new)
        return new

    def create(self) -> None:
        self.made += 1
        workflow_id = f"w{self.made}"
        nodes = self.nodes(workflow_id, [])
        self.run(create_workflow(self.shop.engine.layout, "shop", workflow_id, nodes, now_ms=self.shop.now_ms))

    def add(self) -> None:
        found = self.some()
        if found is not None:
            nodes = self.nodes(found.workflow_id, [one.name for one in found.nodes])
            layout, now_ms = self.shop.engine.layout, self.shop.now_ms
            self.try_it(lambda: self.run(add_nodes(layout, "shop", found.workflow_id, nodes, now_ms=now_ms)))

    def cancel(self) -> None:
        layout, now_ms = self.shop.engine.layout, self.shop.now_ms
        if self.chance.random() < 0.3 and (found := self.some()) is not None:
            self.try_it(lambda: self.run(cancel_workflow(layout, "shop", found.workflow_id, given="g", now_ms=now_ms)))

    def retry(self) -> None:
        layout, now_ms = self.shop.engine.layout, self.shop.now_ms
        if (found := self.some()) is not None:
            self.try_it(lambda: self.run(retry_workflow(layout, "shop", found.workflow_id, now_ms=now_ms)))

    def try_it(self, act: Any) -> None:
        with contextlib.suppress(WorkflowConflictError):  # it is in no state for that
            act()

    def some(self) -> Any:
        names = sorted(self.shop.content().workflows)
        made = [name.partition("/")[2] for name in names if self.shop.content().workflows[name].fields]
        return self.shop.read(self.chance.choice(made)) if made else None

    def take(self) -> None:
        for body, job in self.shop.take().items():
            policy, needs = self.needs[body]
            if policy != "continue" and body not in self.freed:
                assert needs <= self.acked, f"{body} runs before {needs - self.acked}"
            self.taken[body] = job

    def end(self) -> None:
        for body in self.chance.sample(sorted(self.taken), self.chance.randint(0, len(self.taken))):
            job = self.taken.pop(body)
            if self.chance.random() < 0.75:
                self.shop.end(job, result=b"r")
                self.acked.add(body)
            else:
                self.shop.die(job)

    def delete(self) -> None:
        found = self.some()
        alive = [one for one in found.nodes if one.state in ("ready", "blocked", "dead")] if found else []
        if alive and self.chance.random() < 0.3:
            self.shop.delete(self.chance.choice(alive).name, found.workflow_id)

    def respawn(self) -> None:
        found = self.some()
        dead = [one for one in found.nodes if one.state is NodeState.DEAD] if found else []
        if dead:
            one = self.chance.choice(dead)
            self.freed.add(f"{found.workflow_id}.{one.name}")
            queue = self.shop.engine.queue("shop", one.queue)
            self.run(respawn(queue, ttl_ms=0, ids=[one.job_id], now_ms=self.shop.now_ms))

    def advance(self) -> None:
        self.shop.now_ms += self.chance.choice([1, 100, 600, 1_500])

    def tick(self) -> None:
        layout, now_ms = self.shop.engine.layout, self.shop.now_ms
        self.run(relay(layout, now_ms=now_ms))
        self.run(attend_workflows(layout, now_ms=now_ms))

    def step(self) -> None:
        acts = [self.create, self.add, self.cancel, self.retry, self.take, self.end, self.delete, self.respawn]
        acts += [self.take, self.end, self.advance, self.advance, self.tick, self.tick]
        self.chance.choice(acts)()
        self.shop.content()

    def settle(self) -> None:
        """Everything that can go on does."""
        idle = 0
        while idle < 8:
            self.shop.now_ms += 1_500
            self.shop.attend()
            self.take()
            idle = 0 if self.taken else idle + 1
            for body, job in self.taken.items():
                self.shop.end(job)
                self.acked.add(body)
            self.taken.clear()

    def check_states(self) -> None:
        """What has been told is what is the case."""
        for name, one in self.shop.content().workflows.items():
            if not one.fields:
                continue
            found = self.shop.read(name.partition("/")[2])
            states = [str(each.state) for each in found.nodes]
            if found.state is WorkflowState.DONE:
                assert set(states) == {"done"}
            elif found.state is WorkflowState.FAILED:
                assert {"dead", "deleted", "expired"} & set(states)
            else:
                assert found.state is WorkflowState.CANCELLED, f"{name} is still {found.state}: {states}"
            assert found.nodes_done == states.count("done")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_walk_leaves_every_job_in_one_place_and_nothing_behind(shop: Shop, seed: int) -> None:
    walk = Walk(shop, seed)
    for _ in range(STEPS):
        walk.step()
    walk.settle()
    walk.check_states()

    shop.now_ms += (NODE_TTL_S + WORKFLOW_RETENTION_S) * 1000 + WORKFLOW_STAGED_MS
    for _ in range(4):
        shop.engine.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
        shop.attend()
        shop.now_ms += WORKFLOW_RETENTION_S * 1000 + WORKFLOW_STAGED_MS
    shop.attend()
    shop.relay()
    shop.content()
    assert [key for key in shop.left() if not key.endswith((":flags", ":due", ":ends", ":commands:shop"))] == []
