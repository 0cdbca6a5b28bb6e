"""The shop's queue, and what tests of access ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import redis
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from queues.engine import JobState, NodeRequest, consume, create_workflow, detail, pause, read_workflow, stats
from queues.models import (
    Activity,
    AlertChannel,
    AlertDelivery,
    AlertTransport,
    DeletionKind,
    DeletionPhase,
    ErrorTriage,
    Incident,
    IncidentChange,
    IncidentKind,
    IncidentSeverity,
    Namespace,
    PendingDeletion,
    PushEndpoint,
    QueuePolicy,
    RespawnPlan,
    Schedule,
    Token,
)
from queues.pools.ttl_cache import forget_everything, forget_recent
from queues.services.deletions import LEFT_OUT
from queues.services.push.endpoints import EndpointOptions, save_endpoint
from queues.services.schedules.editing import put_schedule
from queues.services.schedules.values import ScheduleFields, ScheduleKind
from tests.dashboard.people import POOL, SHOP
from tests.dashboard.reported import Work, error, report_day
from tests.dashboard.shop import Shop
from tests.dashboard.surveyor import Surveyor
from tests.dashboard.workers import beat, commands, running

from .tables import (
    CHANNEL,
    DAY,
    DELAYED,
    ERROR,
    NODE,
    PAGES,
    QUEUE,
    SCHEDULE,
    TOKEN,
    TOKEN_ID,
    WORKER,
    WORKFLOW,
    Act,
    routes,
)


class Premises(Shop):
    """The shop's queue with jobs in every state, looked at by a survey. `ids`: one job of each state."""

    def fill(self) -> None:
        self.queue = self.engine.queue(SHOP, QUEUE)
        states = [state for state in JobState if state is not JobState.READY]
        self.ids = {state: self.job_in(state, body=b"a vase", error=ERROR) for state in [*states, JobState.READY]}
        for count in (1_000, DELAYED - 1_001):
            self.publish(*[b"x"] * count, delay_ms=600_000)
        nightly = ScheduleFields(queue=QUEUE, kind=ScheduleKind.CRON, cron="30 2 * * *")
        put_schedule(pool=POOL, namespace=SHOP, name=SCHEDULE, fields=nightly)
        layers = [
            NodeRequest(name="first-layer", queue="kiln", body=b"x"),
            NodeRequest(name=NODE, queue="kiln", body=b"x", depends_on=("first-layer",)),
        ]
        self.engine.run(create_workflow(self.engine.layout, SHOP, WORKFLOW, layers))
        self.work()
        options = EndpointOptions(url="https://hooks.example/of-the-shop")
        save_endpoint(pool=POOL, namespace=SHOP, queue=QUEUE, options=options)
        of_shop = Namespace.objects.get(pool__name=POOL, name=SHOP)
        self.incident = Incident.objects.create(
            kind=IncidentKind.JOBS_DYING,
            pool=POOL,
            namespace=SHOP,
            queue=QUEUE,
            scope=of_shop,
            severity=IncidentSeverity.CRITICAL,
            worst=IncidentSeverity.CRITICAL,
            since=timezone.now(),
            size=1,
        )
        self.channel = AlertChannel.objects.create(
            namespace=of_shop, name=CHANNEL, transport=AlertTransport.SLACK, url="https://hooks.example/of-the-shop"
        )
        Token.objects.create(public_id=TOKEN_ID, namespace=of_shop, digest="0" * 64, description=TOKEN)
        QueuePolicy.objects.create(namespace=of_shop, queue=QUEUE, objective_s=86_400)
        self.deletion = PendingDeletion.objects.create(
            user=User.objects.create_user("one who left"),
            kind=DeletionKind.JOBS,
            pool=POOL,
            namespace=SHOP,
            queue="vases",
            job_state="ready",
            count=1,
            request={"ids": [self.ids[JobState.READY]]},
            due_at=timezone.now() + timedelta(hours=1),
        )
        self.respawn = RespawnPlan.objects.create(
            who="somebody", pool=POOL, namespace=SHOP, queue=QUEUE, before_ms=1, per_minute=60
        )
        Surveyor(self.engine).look()
        work = [Work(queue=QUEUE, published=DELAYED, waits=[1_237], failed=1, dead=1)]
        told = {QUEUE: {"errors": [error(ERROR)]}, "": {"errors": [error(ERROR, queue=QUEUE)]}}
        report_day(DAY, work, said=told)

    def work(self) -> None:
        """Have the worker say what it does, which is forgotten sooner than all pages have been looked at."""
        beat(self.engine, WORKER, running=[running(self.ids[JobState.WORKING], queue=QUEUE)], queues={QUEUE: 1})

    def said(self, texts: Mapping[str, str]) -> dict[str, str]:
        """With the ids in it."""
        ids = {state.value: job_id for state, job_id in self.ids.items()}
        return {name: text.format(**ids) for name, text in texts.items()}

    def url(self, name: str, *, namespace: str = SHOP, of: JobState = JobState.DEAD) -> str:
        """Of the route."""
        known = {"pool": POOL, "namespace": namespace, "queue": QUEUE, "job_id": self.ids[of]}
        known |= {"schedule": SCHEDULE, "workflow_id": WORKFLOW, "public_id": TOKEN_ID}
        rows = {"alert": self.channel, "dead_respawn": self.respawn, "deletion": self.deletion}
        row = next((row for begin, row in rows.items() if name.startswith(begin)), self.incident)
        known |= {"pk": str(row.pk)}
        known |= PAGES[name].named if name in PAGES else {}
        return reverse(f"dashboard:{name}", kwargs={word: known[word] for word in routes()[name]})

    def take(self, *, consumer: str = "", count: int = 1) -> None:
        """For longer than all acts together take on a busy machine."""
        self.engine.run(consume(self.queue, ttr_ms=3_600_000, count=count, consumer=consumer))

    def whole_state(self) -> Any:
        """All that an act might change."""
        now, *jobs = self.engine.batch([stats(self.queue), *(detail(self.queue, one) for one in self.ids.values())])
        workflow = self.engine.run(read_workflow(self.engine.layout, SHOP, WORKFLOW))
        return (
            now.paused,
            commands(self.engine),
            now.counts,
            [job and replace(job, now_ms=0) for job in jobs],
            workflow.state,
            rows_of(QueuePolicy),
            rows_of(PushEndpoint),
            rows_of(PendingDeletion, "kind", "phase"),
            rows_of(IncidentChange),
            rows_of(AlertChannel),
            rows_of(ErrorTriage),
            rows_of(RespawnPlan),
            rows_of(AlertDelivery, "channel", "event"),
            rows_of(Schedule, "name", "kind", "paused", "fires"),
            rows_of(Namespace, "name", "description"),
            rows_of(Token, "namespace", "description", "revoked_at"),
            [row for row in rows_of(Activity) if "signed_in" not in row],
        )


def rows_of(model: type[Model], *names: str) -> list[tuple[Any, ...]]:
    """All rows of a table, or these columns of them. Django's own way takes a millisecond for each table."""
    columns = {field.name: field.column for field in model._meta.concrete_fields}
    wanted = ", ".join(f'"{columns[name]}"' for name in names or columns)
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT {wanted} FROM "{model._meta.db_table}" ORDER BY id')
        return list(cursor.fetchall())


FOR_EVER, GONE = -1, -2
"""What PTTL answers instead of a time."""


@contextmanager
def undone(redis_client: redis.Redis) -> Iterator[None]:
    """What is done inside is undone at the end: in the database, in Redis and in the memory of this process."""
    keys = redis_client.keys()
    with redis_client.pipeline(transaction=False) as reads:
        for key in keys:
            reads.dump(key)
            reads.pttl(key)
        found = reads.execute()
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        with redis_client.pipeline(transaction=False) as writes:
            writes.flushall()
            for key, value, ttl in zip(keys, found[::2], found[1::2], strict=True):
                if value is not None and ttl != GONE:
                    writes.restore(key, 0 if ttl == FOR_EVER else max(ttl, 1), value)
            writes.execute()
        forget_everything()
        forget_recent()


def text_of(answer: Any) -> str:
    """All of it, also of a download."""
    return b"".join(answer.streaming_content).decode() if answer.streaming else answer.text


def prepare(shop: Premises, name: str) -> Any:
    """What is there before the act. A queue has to be paused to be resumed, a deletion to have left out a pool."""
    if name == "queue_resume":
        shop.engine.run(pause(shop.queue))
    if name == "deletion_retry":
        PendingDeletion.objects.filter(pk=shop.deletion.pk).update(phase=DeletionPhase.FAILED, error=LEFT_OUT)
    return shop.whole_state()


def send(browser: Client, shop: Premises, name: str, act: Act, **headers: str) -> int:
    return browser.post(shop.url(name, of=act.of), shop.said(act.form), headers=headers).status_code
