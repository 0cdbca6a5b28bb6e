"""A random walk through the engine beside a model of it: the rules, and what must hold after every step."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from queues.engine import (
    NO_LIMITS,
    Backoff,
    BackoffKind,
    ConsumeLimits,
    Delivery,
    DependenciesClosedError,
    Dependency,
    Engine,
    JobNotFoundError,
    JobState,
    LeaseLostError,
    PublishOptions,
    ack,
    ack_attempt,
    add_dependencies,
    close_dependencies,
    consume,
    consume_any,
    delete_dead,
    delete_jobs,
    destroy,
    extend,
    fail,
    flush_due,
    flush_group,
    once_key,
    open_engine,
    pause,
    peek,
    promote_due,
    publish,
    publish_once,
    reclaim_ended,
    relay,
    release,
    republish,
    reschedule,
    respawn,
    resume,
    size,
    stats,
    sweep,
    trim_dead,
)
from queues.engine.constants import ONCE_TTL_S
from queues.engine.record import unpack_members

from .model import Job, Need, Queue, differences
from .state import TURN_LIMITED, check
from .test_ack import UNKNOWN
from .world import START_MS

NAMES = ("orders", "mails", "images")

queues = st.sampled_from(NAMES)
picks = st.integers(min_value=0, max_value=10_000)
delays = st.sampled_from((0, 0, 0, 1, 50, 1_000, 20_000))
publish_options = st.fixed_dictionaries(
    {
        "delay_ms": delays,
        "ttl_ms": st.sampled_from((0, 60_000, 60_000, 30_000, 100_000)),
        "tries": st.sampled_from((1, 1, 2, 3, 1_000)),
        "priority": st.sampled_from((0, 0, 0, 5, -5, 100)),
        "retention_ms": st.sampled_from((0, 0, 500, 40_000)),
        "backoff": st.sampled_from((0, 0, 0, 100, 5_000)),
        "limit_key": st.sampled_from((None, None, "t1", "t2", "t3")),
    }
)
LIMITS = (
    NO_LIMITS,
    ConsumeLimits(key_in_flight=1),
    ConsumeLimits(key_in_flight=2, weights=(("t1", 3),)),
    ConsumeLimits(key_rate=0.1, key_burst=2),
    ConsumeLimits(rate=0.05, burst=2, key_in_flight=3),
)
"""A rate is the same wherever there is one: what a key has used of another rate is not what the model knows."""
OWN_LIMITS = dict(zip(NAMES, LIMITS[2:], strict=True))
"""What most consumers of a queue say."""
GROUP_LIMITS: dict[str, Any] = {"group_max_size": 4, "group_max_delay_ms": 9_000, "group_grace_ms": 2_000}
queue_limits = st.sampled_from((None, None, *LIMITS))
counts = st.sampled_from((1, 1, 1, 2, 5, 50))
rarely = st.sampled_from((False, False, False, True))
offs = st.sampled_from((0, 0, 0, 1, None))
"""From the attempt that holds a job; None: the caller names no attempt."""
key_names = st.sampled_from((None, None, "a", "b"))


class Walk(RuleBasedStateMachine):
    """Three queues in two partitions, so that they share indexes."""

    redis_url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        with redis.Redis.from_url(self.redis_url) as client:
            client.flushall()
        self.engine: Engine = open_engine(self.redis_url, partitions=2)
        self.models = {name: Queue() for name in NAMES}
        self.seen: dict[str, list[str]] = {name: [UNKNOWN] for name in NAMES}
        self.now = START_MS
        self.once = itertools.count()

    def teardown(self) -> None:
        self.engine.close()

    def run(self, work: Any) -> Any:
        return self.engine.run(work)

    # Dependencies (C, O)

    @rule(
        name=queues,
        picked=st.lists(st.tuples(queues, picks, st.booleans()), min_size=1, max_size=3),
        options=publish_options,
        policy=st.sampled_from(("wait", "fail", "continue")),
        is_open=st.booleans(),
    )
    def publish_blocked(
        self, name: str, picked: list[tuple[str, int, bool]], options: dict[str, Any], policy: str, is_open: bool
    ) -> None:
        """On jobs that are there, or were, or by keys. A job without a key is in no cycle."""
        needed = self._dependencies(picked)
        others = {"depends_on": needed, "on_dependency_failure": policy, "dependencies_open": is_open}
        chosen = PublishOptions(**(self._as_options(options, None) | others))
        published = self.run(publish(self._queue(name), [b"x"], chosen, now_ms=self.now))
        self.seen[name] += published.job_ids
        (job,) = self._made(published.job_ids, options)
        job.state, job.score, job.has_run, job.policy = "blocked", self.now + options["delay_ms"], True, policy[0]
        job.is_open = is_open
        self.models[name].jobs[job.job_id] = job
        for one in needed:
            self._register(name, job, one)
        self.settle()

    def _dependencies(self, picked: list[tuple[str, int, bool]]) -> tuple[Dependency, ...]:
        found = (
            Dependency(queue=other, key="ab"[number % 2])
            if by_key
            else Dependency(queue=other, job_id=self.pick(other, number, *JobState))
            for other, number, by_key in picked
        )
        return tuple(dict.fromkeys(found))

    @rule(name=queues, number=picks, picked=st.lists(st.tuples(queues, picks, st.booleans()), min_size=1, max_size=3))
    def add_dependencies(self, name: str, number: int, picked: list[tuple[str, int, bool]]) -> None:
        """On older jobs only, so that no cycle comes about."""
        job_id = self.pick(name, number, "blocked")
        job = self.models[name].jobs.get(job_id)
        needed = [one for one in self._dependencies(picked) if one.key or one.job_id < job_id]
        if not needed:
            return
        is_open = job is not None and job.state == "blocked" and job.is_open
        try:
            self.run(add_dependencies(self.engine.layout, self._queue(name), job_id, needed, now_ms=self.now))
        except DependenciesClosedError:
            assert job is not None
            assert not is_open
            return
        except JobNotFoundError:
            assert job is None
            return
        assert is_open
        assert job is not None
        for one in needed:
            known = ((need.queue, need.key or need.target) for need in job.needs)
            if (one.queue, one.key or one.job_id) not in known:
                self._register(name, job, one)
        self.settle()

    @rule(name=queues, number=picks)
    def close_dependencies(self, name: str, number: int) -> None:
        """Of any job: one that is not open is left as it is."""
        job_id = self.pick(name, number, "blocked")
        job = self.models[name].jobs.get(job_id)
        try:
            self.run(close_dependencies(self._queue(name), job_id, now_ms=self.now))
        except JobNotFoundError:
            assert job is None or 0 < job.expires_ms <= self.now
        if job is not None:
            job.is_open = False
        self.settle()

    def _register(self, name: str, job: Job, needed: Dependency) -> None:
        model, target = self.models[needed.queue], needed.job_id
        if needed.key:
            expires_ms, target = model.keys.get(needed.key, (1, ""))
            if 0 < expires_ms <= self.now:
                job.needs.append(Need(queue=needed.queue, key=needed.key))
                return
        found = model.jobs.get(target) or model.batch_of(target)
        if found is None or found.state == "completed":
            return
        if found.state == "dead" and job.policy != "w":
            if job.policy == "f":
                job.needs.append(Need(queue=needed.queue, has_failed=True))
            return
        job.needs.append(Need(queue=needed.queue, target=target, key=needed.key))
        found.marked = found.has_run = True

    def settle(self) -> None:
        """Carry everything, and let the model do the same; jobs that are ready together are in Redis's order."""
        while self.run(relay(self.engine.layout, now_ms=self.now)).more:
            pass
        content = check(self.engine.client)
        assert not any(part.outgoing for part in content.shared.values())
        readied: dict[str, list[Job]] = {name: [] for name in NAMES}
        while True:
            ended = [(name, *end) for name, model in self.models.items() for end in model.ended]
            for model in self.models.values():
                model.ended = []
            for name, job, how in ended:
                if job.marked:
                    self._tell(name, job, how)
            changed = False
            for name, model in self.models.items():
                for job in model.in_state("blocked"):
                    changed = self._settle_one(model, job, readied[name]) or changed
            if not changed and not any(model.ended for model in self.models.values()):
                break
        for name, jobs in readied.items():
            line = content.queue(self._queue(name).name.decode())
            order = [
                *line.line,
                *sorted(line.prio, key=lambda job_id: line.prio[job_id]),
                *sorted(line.lines, key=lambda job_id: line.lines[job_id]),
            ]
            for job in sorted(jobs, key=lambda one: order.index(one.job_id)):
                self.models[name].make_ready(job)

    def _tell(self, name: str, ended: Job, how: str) -> None:
        ids = {ended.job_id, *(member.job_id for member in ended.members)}
        keys = {ended.key, *(member.key for member in ended.members if member.marked)} - {""}
        for model in self.models.values():
            for job in model.in_state("blocked"):
                for need in list(job.needs):
                    is_it = need.target in ids or (not need.target and need.key in keys)
                    if need.queue == name and is_it:
                        self._tell_one(job, need, how, ended)

    def _tell_one(self, job: Job, need: Need, how: str, ended: Job) -> None:
        if how == "acked" or job.policy == "c":
            job.needs.remove(need)
        elif job.policy == "f":
            need.has_failed = True
        elif how == "gone" and need.target and need.key:
            model = self.models[need.queue]
            holder_id = model.keys.get(need.key, (0, ""))[1]
            holder = model.jobs.get(holder_id) or model.batch_of(holder_id)
            if holder is None or holder_id == need.target:
                need.target = ""
            elif holder.state == "completed":
                job.needs.remove(need)
            else:
                need.target = holder_id
                holder.marked = holder.has_run = True
        elif how == "gone" and need.target:
            need.target = "gone"

    def _settle_one(self, model: Queue, job: Job, readied: list[Job]) -> bool:
        if any(need.has_failed for need in job.needs):
            job.state, job.score, job.needs = "dead", self.now, []
            job.failures += 1
            model.ended.append((job, "dead"))
        elif not job.needs and not job.is_open:
            if job.score > self.now:
                job.state = "delayed"
            else:
                job.state, job.score = "settled", 0
                readied.append(job)
        else:
            return False
        return True

    def pick(self, name: str, number: int, *states: str) -> str:
        """Mostly a job in one of these states, sometimes any that ever was."""
        wanted = [job.job_id for job in self.models[name].in_state(*states)]
        choice = wanted if wanted and number % 8 != 7 else self.seen[name]
        return choice[number % len(choice)]

    @rule(seed=st.integers(min_value=0, max_value=2**32), steps=st.sampled_from((5, 20, 40)))
    def stroll(self, seed: int, steps: int) -> None:
        """A stretch with the proportions of a busy day, which single rules hardly ever come to."""
        chance = random.Random(seed)
        for _ in range(steps):
            self.stride(chance)
            self.redis_is_sound_and_agrees_with_the_model()

    def stride(self, chance: random.Random) -> None:
        """One step of a stroll."""
        name, number = chance.choice(NAMES), chance.randrange(10_000)
        off, delay = chance.choice((0, 0, 0, 0, 1, None)), chance.choice((0, 0, 50, 1_000))
        options = {
            "delay_ms": chance.choice((0, 0, 0, 50, 1_000, 20_000)),
            "ttl_ms": chance.choice((0, 60_000, 60_000, 30_000)),
            "tries": chance.choice((1, 2, 3, 3)),
            "priority": chance.choice((0, 0, 0, 5, -5)),
            "retention_ms": chance.choice((0, 0, 500, 40_000)),
            "backoff": chance.choice((0, 0, 100, 5_000)),
            "limit_key": chance.choice((None, None, "t1", "t2", "t3")),
        }
        key = chance.choice((None, None, None, "a", "b"))
        numbers = [chance.randrange(10_000) for _ in range(chance.randint(1, 3))]
        actions: list[tuple[int, Callable[[], None]]] = [
            (12, lambda: self.publish(name, chance.choice((1, 1, 2, 5)), options, key)),
            (2, lambda: self.republish(name, number, options, key)),
            (
                6,
                lambda: self.publish_blocked(
                    name,
                    [(chance.choice(NAMES), one, chance.random() < 0.3) for one in numbers],
                    options,
                    chance.choice(("wait", "fail", "continue")),
                    chance.random() < 0.3,
                ),
            ),
            (
                3,
                lambda: self.add_dependencies(
                    name, number, [(chance.choice(NAMES), one, chance.random() < 0.3) for one in numbers]
                ),
            ),
            (2, lambda: self.close_dependencies(name, number)),
            (
                14,
                lambda: self.consume(
                    name,
                    chance.choice((1, 2, 3, 9)),
                    chance.choice((0, 0, 4)),
                    number % 10 == 0,
                    chance.choice((OWN_LIMITS[name], OWN_LIMITS[name], OWN_LIMITS[name], None, *LIMITS)),
                ),
            ),
            (3, lambda: self.consume_any(chance.sample(NAMES, k=3), chance.choice((1, 4)), 3_000)),
            (2, lambda: self.peek(name)),
            (5, lambda: self.ack(name, numbers)),
            (3, lambda: self.ack_fenced(name, number, off or 0)),
            (9, lambda: self.fail(name, number, off, chance.choice((None, None, 0, 70)), chance.random() < 0.2)),
            (5, lambda: self.release(name, number, off, delay)),
            (3, lambda: self.extend(name, number, off, chance.choice((1, 500, 9_000)))),
            (6, lambda: self.delete(name, numbers, chance.choice(("", "", "dead", "retry")))),
            (5, lambda: self.reschedule(name, numbers, chance.choice((-50, 0, 50, 1_000, 90_000)))),
            (3, lambda: self.respawn(name, 2, chance.choice(([], numbers)), chance.choice((0, 5_000)))),
            (2, lambda: self.delete_dead(name, 1)),
            (2, lambda: self.trim_dead(name, chance.choice((None, 30_000)), chance.choice((None, 3)))),
            (1, lambda: self.pause(name)),
            (2, self.resume),
            (1, lambda: self.destroy(name, chance.random() < 0.2, True)),
            (14, lambda: self.advance(chance.choice((1, 10, 100, 800, 3_000, 3_000, 25_000)))),
            (4, self.promote),
            (
                8,
                lambda: self.publish_members(
                    name, chance.choice((1, 1, 2, 5)), options, chance.choice(("g1", "g2")), key
                ),
            ),
            (4, self.flush),
            (1, lambda: self.flush_now(name, chance.choice(("g1", "g2")))),
            (5, self.reclaim),
            (4, self.sweep),
        ]
        chance.choices([action for _, action in actions], [weight for weight, _ in actions])[0]()

    # Publish (A, B)

    @rule(name=queues, number=counts, options=publish_options, key=key_names)
    def publish(self, name: str, number: int, options: dict[str, Any], key: str | None) -> None:
        number = 1 if key else number
        model = self.models[name]
        queue, bodies, chosen = self._queue(name), [b"x"] * number, self._options(options, key)
        if number % 2:
            published = self.run(publish(queue, bodies, chosen, now_ms=self.now))
        else:
            once = [f"{next(self.once)}" for _ in bodies]
            operation = publish_once(queue, bodies, chosen, once=once, now_ms=self.now)
            published = self.run(operation)
            assert self.run(operation).job_ids == published.job_ids, "a repetition adds nothing"
            until_ms = self.now + 1000 * ONCE_TTL_S
            model.keys.update({once_key(a): (until_ms, b) for a, b in zip(once, published.job_ids, strict=True)})
        if self._expect_duplicate(name, key, published):
            return
        assert len(published.job_ids) == number
        model.add(self._made(published.job_ids, options), self.now + options["delay_ms"], self.now)
        self._hold_key(name, key, options, published.job_ids[0])

    @rule(name=queues, number=picks, options=publish_options, key=key_names)
    def republish(self, name: str, number: int, options: dict[str, Any], key: str | None) -> None:
        model = self.models[name]
        old = self.pick(name, number, *JobState)
        published = self.run(
            republish(self._queue(name), old, b"y", self._options(options, key), now_ms=self.now)
        )  # fmt: skip
        if self._expect_duplicate(name, key, published):
            return
        model.add(self._made(published.job_ids, options), self.now + options["delay_ms"], self.now)
        self._hold_key(name, key, options, published.job_ids[0])  # the old job may be one that waits for the key
        model.remove(old)

    # Groups (D, P)

    @rule(name=queues, number=counts, options=publish_options, group=st.sampled_from(("g1", "g2")), key=key_names)
    def publish_members(self, name: str, number: int, options: dict[str, Any], group: str, key: str | None) -> None:
        number, model = 1 if key else min(number, 5), self.models[name]
        options = options | {"limit_key": None}
        chosen = replace(self._options(options, key), group=group, **GROUP_LIMITS)
        published = self.run(publish(self._queue(name), [b"x"] * number, chosen, now_ms=self.now))
        if self._expect_duplicate(name, key, published):
            return
        for job in self._made(published.job_ids, options):
            model.jobs[job.job_id] = job
            job.state, job.score, job.group = "grouped", self.now + options["delay_ms"], group
            job.has_joined = not options["delay_ms"]
        self._hold_key(name, key, options, published.job_ids[0])
        self._find_batches(name)

    @rule()
    def flush(self) -> None:
        """A group whose time has come is flushed, and none that is not there."""
        while self.run(flush_due(self.engine.layout, now_ms=self.now)).more:
            pass
        for name, model in self.models.items():
            for job in model.in_state("grouped"):
                if not job.has_joined and job.score <= self.now:
                    model.join(job, self.now)
            self._find_batches(name)
            late_ms = self.now - GROUP_LIMITS["group_max_delay_ms"]
            late = [job for job in model.in_state("grouped") if job.has_joined and job.score <= late_ms]
            assert not late, f"{late} have not been flushed"

    @rule(name=queues, group=st.sampled_from(("g1", "g2")))
    def flush_now(self, name: str, group: str) -> None:
        self.run(flush_group(self._queue(name), group, now_ms=self.now))
        self._find_batches(name)
        left = [job for job in self.models[name].in_state("grouped") if job.has_joined and job.group == group]
        assert not left

    def _find_batches(self, name: str) -> None:
        """Batches that are new, and members that have expired: no others have gone."""
        model, real = self.models[name], check(self.engine.client).queue(self._queue(name).name.decode())
        new = [job_id for job_id, record in real.jobs.items() if record.options.members and job_id not in model.jobs]
        for job_id in sorted(new):
            ids = [member.job_id for member in unpack_members(real.jobs[job_id].stored_body)]
            assert ids == sorted(ids)
            assert len(ids) <= GROUP_LIMITS["group_max_size"]
            assert not model.expirable(self.now) & set(ids)
            batch = Job(
                job_id=job_id,
                tries=0,
                expires_ms=0,
                priority=0,
                retention_ms=0,
                backoff_ms=0,
                group=real.jobs[job_id].options.group,
                has_run=True,
            )
            model.become_batch(batch, ids)
            self.seen[name].append(job_id)
        gone = [job.job_id for job in model.in_state("grouped") if job.job_id not in real.jobs]
        assert set(gone) <= model.expirable(self.now)
        model.remove_all(gone)

    # Consume (F)

    @rule(
        name=queues,
        count=counts,
        in_flight=st.sampled_from((0, 0, 0, 2, 10)),
        freeze=st.booleans(),
        limited=queue_limits,
    )
    def consume(self, name: str, count: int, in_flight: int, freeze: bool, limited: ConsumeLimits | None) -> None:
        aside = self._aside(name)
        consumed = self.run(
            consume(self._queue(name), ttr_ms=3_000, count=count, max_in_flight=in_flight,
                    freeze_tries=freeze, queue_limits=limited, now_ms=self.now)
        )  # fmt: skip
        wanted = self._wanted(name, 3_000, count, in_flight, freeze, consumed.jobs, aside, limited)
        self._same_jobs(consumed.jobs, wanted)

    @rule(order=st.permutations(NAMES), count=counts, mark_ms=st.sampled_from((0, 3_000)))
    def consume_any(self, order: Sequence[str], count: int, mark_ms: int) -> None:
        aside = {name: self._aside(name) for name in order}
        consumed = self.run(
            consume_any(
                [self._queue(name) for name in order], ttr_ms=700, count=count, mark_ms=mark_ms, now_ms=self.now
            )
        )
        wanted: list[Job] = []
        for name in order:
            if len(wanted) < count:
                left = count - len(wanted)
                got = [job for job in consumed.jobs if job.queue == name]
                wanted += self._wanted(name, 700, left, 0, False, got, aside[name], None)
        self._same_jobs(consumed.jobs, wanted)

    @rule(name=queues)
    def peek(self, name: str) -> None:
        shown = self.run(peek(self._queue(name), now_ms=self.now))
        model = self.models[name]
        firsts = [job_id for key in model.keys_in_line() for job_id in model.alive_in_line(self.now, key)[:1]]
        kept = self._in_redis(name)
        for job_id in model.expirable(self.now) - set(kept):
            model.remove(job_id)
        assert bool(shown) == bool(firsts)
        assert shown is None or shown.job_id in firsts

    # The ends of an attempt (G, H, K)

    @rule(name=queues, numbers=st.lists(picks, min_size=1, max_size=5))
    def ack(self, name: str, numbers: list[int]) -> None:
        ids = [self.pick(name, number, "working") for number in numbers]
        outcomes = self.run(ack(self._queue(name), ids, now_ms=self.now))
        wanted = [
            "missing" if job_id in ids[:position] else self.models[name].ack(job_id, self.now)
            for position, job_id in enumerate(ids)
        ]
        assert [str(outcome) for outcome in outcomes] == wanted

    @rule(name=queues, number=picks, off=st.sampled_from((0, 0, 0, 1, -1)))
    def ack_fenced(self, name: str, number: int, off: int) -> None:
        job_id, attempt = self._attempt(name, number, off)
        try:
            ended = self.run(ack_attempt(self._queue(name), job_id, attempt=attempt, result=b"r", now_ms=self.now))
            outcome = str(ended.outcome)
        except LeaseLostError:
            outcome = "lost"
        assert outcome == self.models[name].ack(job_id, self.now, attempt)

    @rule(name=queues, number=picks, off=offs, delay=st.sampled_from((None, None, 0, 70)), dead=rarely)
    def fail(self, name: str, number: int, off: int | None, delay: int | None, dead: bool) -> None:
        job_id, attempt = self._attempt(name, number, off)
        held = self.models[name].holder(job_id, attempt)
        operation = fail(
            self._queue(name), job_id, attempt=attempt, error="e", delay_ms=delay, dead=dead, now_ms=self.now
        )
        try:
            failed = self.run(operation)
        except LeaseLostError:
            assert held is None
            assert job_id in self.models[name].jobs
        except JobNotFoundError:
            assert job_id not in self.models[name].jobs
        else:
            assert held is not None
            assert failed.state == self.models[name].after_failure(held, self.now, delay, dead)
            assert failed.due_ms == (held.score if held.state == "retry" else 0)

    @rule(name=queues, number=picks, off=offs, delay=delays)
    def release(self, name: str, number: int, off: int | None, delay: int) -> None:
        job_id, attempt = self._attempt(name, number, off)
        held = self.models[name].holder(job_id, attempt)
        try:
            self.run(release(self._queue(name), job_id, attempt=attempt, delay_ms=delay, now_ms=self.now))
        except (LeaseLostError, JobNotFoundError):
            assert held is None
        else:
            assert held is not None
            self.models[name].release(held, self.now, delay)

    @rule(name=queues, number=picks, off=offs, ttr=st.sampled_from((1, 500, 9_000)))
    def extend(self, name: str, number: int, off: int | None, ttr: int) -> None:
        job_id, attempt = self._attempt(name, number, off)
        held = self.models[name].holder(job_id, attempt)
        try:
            end = self.run(extend(self._queue(name), job_id, attempt=attempt, ttr_ms=ttr, now_ms=self.now))
        except LeaseLostError:
            assert held is None
        else:
            assert held is not None
            held.score = self.now + ttr
            assert end == held.score

    # Reschedule (Q)

    @rule(
        name=queues,
        numbers=st.lists(picks, min_size=1, max_size=4),
        later=st.sampled_from((-5_000, 0, 1, 800, 25_000, 90_000)),
    )
    def reschedule(self, name: str, numbers: list[int], later: int) -> None:
        ids = [self.pick(name, number, "delayed", "retry") for number in numbers]
        outcomes = self.run(reschedule(self._queue(name), ids, at_ms=self.now + later, now_ms=self.now))
        assert [str(outcome) for outcome in outcomes] == self.models[name].reschedule(ids, self.now, self.now + later)

    # Delete and respawn (L, M)

    @rule(
        name=queues,
        numbers=st.lists(picks, min_size=1, max_size=6),
        only=st.sampled_from(("", "", "dead", "retry", "ready")),
    )
    def delete(self, name: str, numbers: list[int], only: str) -> None:
        ids = [self.pick(name, number, *JobState) for number in numbers]
        deleted = self.run(delete_jobs(self._queue(name), ids, only=only, now_ms=self.now))
        assert deleted == self.models[name].remove_all(ids, lambda job: bool(only) and job.state != only)

    @rule(name=queues, limit=counts, numbers=st.lists(picks, max_size=3), ttl=st.sampled_from((0, 5_000)))
    def respawn(self, name: str, limit: int, numbers: list[int], ttl: int) -> None:
        model = self.models[name]
        ids = [self.pick(name, number, "dead") for number in numbers]
        if ids:
            count = self.run(respawn(self._queue(name), ids=ids, ttl_ms=ttl, now_ms=self.now))
        else:
            count = self.run(respawn(self._queue(name), limit=limit, ttl_ms=ttl, now_ms=self.now))
            ids = [job.job_id for job in model.in_state("dead")[:limit]]
        assert count == model.respawn(ids, self.now, ttl)

    @rule(name=queues, limit=st.sampled_from((1, 2)))
    def delete_dead(self, name: str, limit: int) -> None:
        oldest = [job.job_id for job in self.models[name].in_state("dead")[:limit]]
        assert self.run(delete_dead(self._queue(name), limit=limit, now_ms=self.now)) == len(oldest)
        self.models[name].remove_all(oldest)

    @rule(name=queues, age=st.sampled_from((None, 30_000)), count=st.sampled_from((None, 3)))
    def trim_dead(self, name: str, age: int | None, count: int | None) -> None:
        trimmed = self.run(trim_dead(self._queue(name), max_age_ms=age, max_count=count, now_ms=self.now))
        dead = self.models[name].in_state("dead")
        old = [job for job in dead if age is not None and job.score <= self.now - age]
        left = dead[len(old) :]
        many = left[: max(0, len(left) - count)] if count is not None else []
        assert trimmed.jobs == len(old) + len(many)
        self.models[name].remove_all([job.job_id for job in (*old, *many)])

    # Whole queues

    @rule(name=queues)
    def pause(self, name: str) -> None:
        assert self.run(pause(self._queue(name), now_ms=self.now)) != self.models[name].paused
        self.models[name].paused = True

    @rule()
    def resume(self) -> None:
        for name in NAMES:
            assert self.run(resume(self._queue(name), now_ms=self.now)) == self.models[name].paused
            self.models[name].paused = False

    @rule(name=queues, everything=rarely, really=rarely)
    def destroy(self, name: str, everything: bool, really: bool) -> None:
        if not really:
            return
        model = self.models[name]
        doomed = list(model.jobs) if everything else [job.job_id for job in model.in_state("ready")]
        assert self.run(destroy(self._queue(name), everything=everything, now_ms=self.now)) == len(doomed)
        model.remove_all(doomed)
        if everything:
            for job, _ in model.ended:
                for one in (job, *job.members):
                    one.key = ""  # nobody who waits for it is told
            model.keys.clear()
            model.used_until.clear()

    # Time and the background roles (E, I, J, N)

    @rule(ms=st.sampled_from((1, 10, 100, 800, 3_000, 3_000, 25_000, 61_000)))
    def advance(self, ms: int) -> None:
        self.now += ms

    @rule()
    def promote(self) -> None:
        moved = self.run(promote_due(self.engine.layout, now_ms=self.now)).jobs
        assert moved == sum(model.promote(self.now) for model in self.models.values())

    @rule()
    def reclaim(self) -> None:
        done = self.run(reclaim_ended(self.engine.layout, now_ms=self.now))
        wanted = [model.reclaim(self.now) for model in self.models.values()]
        assert (done.jobs, done.dead) == (sum(jobs for jobs, _ in wanted), sum(dead for _, dead in wanted))

    @rule()
    def sweep(self) -> None:
        """It may find any part of what has expired, and nothing else."""
        swept = self.run(sweep(self.engine.layout, now_ms=self.now)).jobs
        content = check(self.engine.client)
        for name, model in self.models.items():
            real = content.queue(self._queue(name).name.decode())
            gone = model.jobs.keys() - real.jobs.keys()
            assert gone <= model.expirable(self.now)
            swept -= model.remove_all(list(gone))
            dropped = model.keys.keys() - real.keys.keys()
            assert all(0 < model.keys[key][0] <= self.now for key in dropped)
            for key in dropped:
                del model.keys[key]
            swept -= len(dropped)
        assert swept == 0

    # What must hold after every step

    @invariant()
    def redis_is_sound_and_agrees_with_the_model(self) -> None:
        self.settle()
        content = check(self.engine.client)
        found = [
            problem
            for name, model in self.models.items()
            for problem in differences(model, self._queue(name).name.decode(), content)
        ]
        assert not found, "\n".join(found)
        self.counts_agree()

    def counts_agree(self) -> None:
        for name, model in self.models.items():
            wanted = {state: len(model.in_state(state)) for state in JobState}
            queue = self._queue(name)
            found, ready = self.engine.batch([stats(queue, now_ms=self.now), size(queue)])
            assert found.counts == wanted
            assert ready == wanted[JobState.READY]

    def _wanted(
        self,
        name: str,
        ttr_ms: int,
        count: int,
        in_flight: int,
        freeze: bool,
        got: Sequence[Delivery],
        aside: Collection[str],
        limited: ConsumeLimits | None,
    ) -> list[Job]:
        """What should have been handed out. Between limit keys the model knows no order, so it judges what was."""
        model, kept = self.models[name], self._in_redis(name)
        if limited is None and not any(job.limit_key for job in model.jobs.values()):
            return model.consume(self.now, ttr_ms, count, in_flight, freeze, kept=kept)
        return model.consume_with_limitsly(
            self.now,
            ttr_ms,
            count,
            in_flight,
            freeze,
            kept=kept,
            got=[job.job_id for job in got],
            aside=aside,
            queue_limits=limited or NO_LIMITS,
        )

    def _aside(self, name: str) -> Collection[str]:
        """Limit keys that are at a limit and not to be looked at yet."""
        turns = check(self.engine.client).queue(self._queue(name).name.decode()).turns
        return [key for key, score in turns.items() if 0 > score >= -TURN_LIMITED and score + TURN_LIMITED > self.now]

    def _in_redis(self, name: str) -> Collection[str]:
        """Ids of the jobs that it has."""
        return check(self.engine.client).queue(self._queue(name).name.decode()).jobs.keys()

    def _queue(self, name: str) -> Any:
        return self.engine.queue("shop", name)

    def _options(self, options: dict[str, Any], key: str | None) -> PublishOptions:
        return PublishOptions(**self._as_options(options, key))

    def _as_options(self, options: dict[str, Any], key: str | None) -> dict[str, Any]:
        base_ms = options["backoff"]
        backoff = Backoff(kind=BackoffKind.FIXED, base_ms=base_ms) if base_ms else Backoff()
        return options | {"backoff": backoff, "key": key}

    def _made(self, ids: tuple[str, ...], options: dict[str, Any]) -> list[Job]:
        return [
            Job(
                job_id=job_id,
                tries=options["tries"],
                expires_ms=self.now + options["ttl_ms"] if options["ttl_ms"] else 0,
                priority=options["priority"],
                retention_ms=options["retention_ms"],
                backoff_ms=options["backoff"],
                limit_key=options["limit_key"] or "",
            )
            for job_id in ids
        ]

    def _expect_duplicate(self, name: str, key: str | None, published: Any) -> bool:
        expires_ms, holder = self.models[name].keys.get(key or "", (1, ""))
        is_held = expires_ms == 0 or expires_ms > self.now
        assert published.duplicate == is_held
        if is_held:
            assert published.job_ids == (holder,)
        else:
            self.seen[name] += published.job_ids
        return is_held

    def _hold_key(self, name: str, key: str | None, options: dict[str, Any], job_id: str) -> None:
        if key:
            job = self.models[name].jobs[job_id]
            job.key = key
            awaited = (
                need for model in self.models.values() for one in model.in_state("blocked") for need in one.needs
            )
            if any(need.queue == name and need.key == key and not need.target for need in awaited):
                job.marked = job.has_run = True
            self.models[name].keys[key] = (self.now + options["ttl_ms"] if options["ttl_ms"] else 0, job_id)

    def _attempt(self, name: str, number: int, off: int | None) -> tuple[str, int | None]:
        """A job, mostly a working one, and an attempt: the current, another, or none."""
        job_id = self.pick(name, number, "working")
        job = self.models[name].jobs.get(job_id)
        return job_id, None if off is None else (job.attempt if job else 1) + off

    def _same_jobs(self, got: tuple[Delivery, ...], wanted: list[Job]) -> None:
        assert [(job.job_id, job.attempt, job.used, job.tries) for job in got] == [
            (job.job_id, job.attempt, job.used, job.tries) for job in wanted
        ]
