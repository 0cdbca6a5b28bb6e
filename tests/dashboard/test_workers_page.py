"""The page of workers: what each says of itself, and who may see it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group

from queues.engine import Engine, list_workers
from queues.engine.keys import worker_beats_key
from queues.engine.stats.heartbeats import WORKER_RECORD_MAX_BYTES, ParkedTask, WorkerRecord
from queues.models import Namespace, Pool
from queues.pools.ttl_cache import forget_recent
from queues.services.workers import reading as service
from queues.services.workers.reading import read_workers

from .people import BANK, POOL, SHOP, People
from .queue_pages.hostile import assert_harmless
from .workers import EVIL, JOB, WORKER, beat, page, running, tell

pytestmark = pytest.mark.django_db(transaction=True)


def words(text: str) -> str:
    """What a reader sees of markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


# What is shown


def test_a_worker_is_shown_with_its_jobs_and_what_it_parked(engine: Engine, people: People) -> None:
    job = running(JOB, percent=41.5, note="83 of 200 lines", attempt=2)
    parked = ParkedTask(queue="orders", task="shop.refund", reason="this worker has no such task", jobs=3)
    beat(engine, WORKER, running=[job], parked=(parked,), queues={"orders": 3, "mail": 1})

    text = page(people.bob.browser)

    shown = words(text)
    for said in (
        "app-1 process 4711",
        "running",
        "orders × 3",
        "mail × 1",
        "1 of 10",
        "42.5 %",
        "100 MiB",
        "1 h",
        "1,234",
        "0.1.0",
        WORKER,
        "shop.close_order",
        "2 h",
        "83 of 200 lines",
        "41.5 %",
        "3 times shop.refund in orders : this worker has no such task",
    ):
        assert said in shown, said
    assert f'href="/queues/{POOL}/{SHOP}/orders/jobs/{JOB}/"' in text
    assert '<progress max="100" value="41.5"' in text
    assert f'id="worker-{WORKER}"' in text


@pytest.mark.parametrize(
    ("state", "said", "buttons"),
    [
        ("running", "running", {"quiet", "stop"}),
        ("quiet", "takes no more jobs", {"resume", "stop"}),
        ("stopping", "stopping", set()),
        ("of a newer version", "of a newer version", {"stop"}),
    ],
)
def test_a_state_has_its_word_and_its_buttons(
    engine: Engine, people: People, state: str, said: str, buttons: set[str]
) -> None:
    beat(engine, WORKER, state=state)

    text = page(people.olga.browser)

    assert said in text
    assert set(re.findall(r'name="act" value="(\w+)"', text)) == buttons


def test_the_fragment_is_what_the_page_has(engine: Engine, people: People) -> None:
    beat(engine, WORKER)

    fragment = page(people.bob.browser, **{"X-Live": "1"})

    assert "<html" not in fragment
    assert WORKER in fragment


def test_where_no_worker_runs_the_page_says_how_to_start_one(people: People) -> None:
    text = page(people.bob.browser)

    assert "No running workers" in text
    assert "taskq worker tasks" in text
    assert "No matching workers" in page(people.bob.browser, "?q=nobody")
    assert "Nothing here yet" in page(people.dave.browser)


@pytest.mark.parametrize(
    ("query", "hosts"),
    [("?q=APP-1", {"app-1"}), ("?q=app", {"app-1", "app-2"}), (f"?namespace={POOL}/{BANK}", set()), ("?q=%00", set())],
)
def test_filters_are_in_the_address(engine: Engine, people: People, query: str, hosts: set[str]) -> None:
    for host in ("app-1", "app-2"):
        beat(engine, f"{host}:1:x", host=host)

    text = page(people.bob.browser, query)

    assert {host for host in ("app-1", "app-2") if f"<bdi>{host}</bdi>" in text} == hosts


def test_what_is_listed_is_bounded_and_says_so(engine: Engine, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    queues = {f"q{number}": 1 for number in range(22)}
    for number in range(5):
        beat(engine, f"app-{number}", running=[running(JOB)] * 25, running_untold=4, queues=queues)
    monkeypatch.setattr(service, "WORKERS_SHOWN", 3)

    view = read_workers(user=people.bob.user)
    text = page(people.bob.browser)

    assert [row.worker for row in view.workers] == ["app-0", "app-1", "app-2"]
    assert view.more == 2
    assert {(len(row.jobs), row.jobs_more, row.used, row.queues_more) for row in view.workers} == {(20, 9, 29, 12)}
    assert "2 more workers are not listed" in text
    assert "It runs 9 more jobs." in text


def test_the_more_workers_the_fewer_jobs_of_each(engine: Engine, people: People) -> None:
    for number in range(100):
        beat(engine, f"app-{number}", running=[running(JOB)] * 10)

    rows = read_workers(user=people.bob.user).workers

    assert {(len(row.jobs), row.jobs_more) for row in rows} == {(4, 6)}


def test_only_the_records_that_are_listed_are_parsed(
    engine: Engine, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        beat(engine, f"app-{number}")
    beat(engine, "vault", namespace=BANK)
    parsed: list[str] = []
    unpack = WorkerRecord.unpack

    def counted(record: Any) -> Any:
        parsed.append(record.worker)
        return unpack(record)

    monkeypatch.setattr(WorkerRecord, "unpack", counted)
    monkeypatch.setattr(service, "WORKERS_SHOWN", 2)
    forget_recent()

    read_workers(user=people.bob.user)

    assert parsed == ["app-0", "app-1"]


def test_the_largest_record_is_shown(engine: Engine, people: People) -> None:
    jobs = [running(JOB, note="n" * 200, task="t" * 200) for _ in range(500)]
    beat(engine, WORKER, running=jobs)

    (row,) = read_workers(user=people.bob.user).workers

    assert row.used == 500
    assert len(page(people.bob.browser)) < WORKER_RECORD_MAX_BYTES


def test_a_pool_that_is_away_is_said_to_be_and_the_others_are_shown(engine: Engine, people: People) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded").groups.add(Group.objects.get(name="readers"))
    beat(engine, WORKER)

    text = page(people.bob.browser)

    assert "Pool away does not answer" in text
    assert WORKER in text


def test_where_no_pool_answers_the_page_says_so(people: People) -> None:
    Pool.objects.update(url="unix:///nowhere/redis.sock")

    answer = people.bob.browser.get("/workers/")

    assert answer.status_code == 503
    assert "Redis does not answer" in answer.text


def test_many_viewers_ask_redis_once(engine: Engine, people: People) -> None:
    beat(engine, "app-1")
    read_workers(user=people.bob.user)
    beat(engine, "app-2")

    assert [row.worker for row in read_workers(user=people.alice.user).workers] == ["app-1"]
    forget_recent()
    assert [row.worker for row in read_workers(user=people.alice.user).workers] == ["app-1", "app-2"]


# Who may see it


def test_another_namespace_is_not_seen_in_any_way(engine: Engine, people: People) -> None:
    beat(engine, "vault-1", namespace=BANK, host="vault", running=[running(JOB, task="bank.transfer")])

    view = read_workers(user=people.bob.user)
    assert (view.workers, view.more, view.unreadable) == ((), 0, 0)
    for query in ("", f"?namespace={POOL}/{BANK}", "?q=vault"):
        text = page(people.bob.browser, query).replace("?q=vault", "").replace('value="vault"', "")
        for secret in ("vault", "transfer", JOB):
            assert secret not in text, secret
    assert "vault-1" in page(people.charlie.browser)
    assert "vault-1" in page(people.root.browser)


def test_a_worker_that_says_another_namespace_is_shown_where_it_is_stored(
    engine: Engine, people: People, redis_client: Any
) -> None:
    beat(engine, "vault-1", namespace=BANK)
    record = redis_client.hget(worker_beats_key(BANK), f"{BANK}/vault-1")
    redis_client.hset(worker_beats_key(BANK), f"{BANK}/vault-1", b'{"namespace":"shop",' + record[1:])

    assert read_workers(user=people.bob.user).workers == ()
    assert "vault-1" in page(people.charlie.browser)


def test_texts_of_workers_are_escaped(engine: Engine, people: People) -> None:
    parked = ParkedTask(queue=EVIL, task=EVIL, reason=EVIL, jobs=1)
    job = running(EVIL, queue=EVIL, task=EVIL, note=EVIL, percent=50)
    beat(
        engine,
        EVIL,
        host=EVIL,
        version=EVIL,
        state=EVIL,
        queues={EVIL: 1, "_odd": 1, "": 1},
        running=[job, running(JOB, queue="a/b"), running("../../x")],
        parked=(parked,),
    )

    assert_harmless(page(people.olga.browser))


@pytest.mark.parametrize(
    "fields",
    [
        {"pid": "x"},
        {"cpu_percent": None},
        {"memory_bytes": float("inf")},
        {"queues": ["orders"]},
        {"queues": {"orders": {}}},
        {"host": 7},
        {"done": True},
        {"running": [running(JOB, percent="x")]},
        {"running": [running(JOB, note=None)]},
        {"parked": (ParkedTask(queue="q", task="t", reason="r", jobs=float("nan")),)},  # type: ignore[arg-type]
    ],
)
def test_a_record_with_values_of_the_wrong_kind_is_counted_and_hides_no_other(
    engine: Engine, people: People, fields: dict[str, Any]
) -> None:
    beat(engine, "odd", **fields)
    beat(engine, WORKER)

    text = page(people.bob.browser)

    assert WORKER in text
    assert "1 worker is of another version of taskq" in text


@pytest.mark.parametrize("record", [b"", b"[]", b"{", b"[" * 50_000, b'{"namespace":"shop"}', b'{"namespace":"shop"'])
def test_a_record_that_cannot_be_read_hides_no_other(
    engine: Engine, people: People, redis_client: Any, record: bytes
) -> None:
    beat(engine, "odd")
    beat(engine, WORKER)
    redis_client.hset(worker_beats_key(SHOP), f"{SHOP}/odd", record)

    assert WORKER in page(people.bob.browser)
    assert [one.worker for one in engine.run(list_workers())] == [WORKER]
    assert tell(people.olga.browser, "quiet", worker="odd").status_code == 404
