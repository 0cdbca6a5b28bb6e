"""The page of workers: what each says of itself, who may see it, and who may tell workers what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from queues.engine import Engine, JobState, cancel_job, list_workers, release
from queues.engine.keys import worker_beats_key
from queues.engine.stats.workers import WORKER_RECORD_MAX_BYTES, ParkedTask, WorkerRecord
from queues.models import Activity, Namespace, Pool
from queues.services.recent import forget_recent
from queues.services.workers import commands as worker_actions
from queues.services.workers import reading as service
from queues.services.workers.reading import read_workers

from .people import BANK, POOL, SHOP, People
from .queue_pages.hostile import assert_harmless
from .shop import Shop
from .workers import beat, commands, running

pytestmark = pytest.mark.django_db(transaction=True)

JOB = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
WORKER = "app-1:4711:0a1b2c3d"
JSON: Any = {"HTTP_ACCEPT": "application/json"}
EVIL = "</td><script>alert(1)</script>\u202e\x00\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def shop(people: People, engine: Engine) -> Shop:
    return Shop(engine)


def page(client: Client, query: str = "", **headers: str) -> str:
    forget_recent()
    answer = client.get(f"/workers/{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def tell(client: Client, act: str, *, worker: str = WORKER, namespace: str = SHOP, **more: str) -> Any:
    form = {"act": act, "worker": worker, "confirmed": "yes"} | more
    return client.post(f"/workers/{POOL}/{namespace}/act", form, **JSON)


def noted() -> list[tuple[str, str, str, str]]:
    acts = Activity.objects.exclude(action="signed_in").order_by("pk")
    return [(one.who, one.action, one.namespace, one.target) for one in acts]


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

    assert "No worker runs" in text
    assert "taskq worker tasks" in text
    assert "No worker matches" in page(people.bob.browser, "?q=nobody")
    assert "Nothing to see yet" in page(people.dave.browser)


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


def test_a_worker_whose_id_has_invisible_characters_can_be_stopped(engine: Engine, people: People) -> None:
    beat(engine, EVIL)
    field = re.search(r'name="worker" value="([^"]*)"', page(people.olga.browser))
    assert field is not None

    assert tell(people.olga.browser, "stop", worker=field[1]).status_code == 200

    assert commands(engine) == [("stop", EVIL)]


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


# What may be done


@pytest.mark.parametrize(
    ("act", "noted_as", "said"),
    [
        ("quiet", "worker_quieted", "was told to take no more jobs"),
        ("resume", "worker_resumed", "was told to take jobs again"),
        ("stop", "worker_stopped", "was told to stop"),
    ],
)
def test_a_button_tells_the_worker_and_is_noted(
    engine: Engine, people: People, act: str, noted_as: str, said: str
) -> None:
    beat(engine, WORKER)

    answer = tell(people.olga.browser, act)

    assert answer.status_code == 200
    assert said in answer.json()["message"]
    assert commands(engine) == [(act, WORKER)]
    assert noted() == [("olga", noted_as, SHOP, WORKER)]
    assert WORKER in people.bob.browser.get("/activity/").text


def test_after_a_button_the_page_says_what_was_done(engine: Engine, people: People) -> None:
    beat(engine, WORKER)

    form = {"act": "quiet", "worker": WORKER, "next": "/workers/?q=app"}
    answer = people.olga.browser.post(f"/workers/{POOL}/{SHOP}/act", form, follow=True)

    assert answer.redirect_chain == [("/workers/?q=app", 302)]
    assert f"Worker {WORKER} was told to take no more jobs" in answer.text


def test_a_worker_is_stopped_only_when_that_is_confirmed(engine: Engine, people: People) -> None:
    beat(engine, WORKER)

    asked = people.olga.browser.post(f"/workers/{POOL}/{SHOP}/act", {"act": "stop", "worker": WORKER})

    assert "Stop this worker?" in asked.text
    assert commands(engine) == []


def test_who_only_reads_has_no_buttons_and_is_refused(engine: Engine, people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    beat(engine, "worker-1", running=[running(job_id)])

    text = page(people.bob.browser)

    assert job_id in text
    assert 'name="act"' not in text
    assert "/cancel" not in text
    for act in ("quiet", "resume", "stop"):
        assert tell(people.bob.browser, act, worker="worker-1").status_code == 403
    assert people.bob.browser.post(cancel_url(job_id), {"attempt": "1", "confirmed": "yes"}).status_code == 403
    assert (commands(engine), noted()) == ([], [])


@pytest.mark.parametrize("namespace", [SHOP, BANK])
def test_a_worker_of_another_namespace_is_not_told_anything(engine: Engine, people: People, namespace: str) -> None:
    """Neither by its own namespace, which one does not see, nor by way of one's own."""
    beat(engine, WORKER)

    for act in ("quiet", "resume", "stop"):
        assert tell(people.charlie.browser, act, namespace=namespace).status_code == 404
    assert (commands(engine), noted()) == ([], [])


def test_a_worker_that_is_gone_or_an_act_that_is_none_is_refused(engine: Engine, people: People) -> None:
    gone = tell(people.olga.browser, "quiet")
    assert gone.status_code == 404
    assert gone.json()["error"] == "There is no such worker, or it has not reported lately"
    beat(engine, WORKER)
    for act in ("", "cancel", "explode"):
        assert tell(people.olga.browser, act).status_code == 400
    assert commands(engine) == []


# Cancelling a running job


def cancel_url(job_id: str, namespace: str = SHOP) -> str:
    return f"/queues/{POOL}/{namespace}/orders/jobs/{job_id}/cancel"


def cancel(client: Client, job_id: str, *, namespace: str = SHOP, attempt: str = "1") -> Any:
    return client.post(cancel_url(job_id, namespace), {"attempt": attempt, "confirmed": "yes"}, **JSON)


def test_a_running_job_is_cancelled_by_its_worker(engine: Engine, people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    beat(engine, "worker-1", running=[running(job_id)])
    assert f'formaction="{cancel_url(job_id)}" name="attempt" value="1"' in page(people.olga.browser)

    answer = cancel(people.olga.browser, job_id)

    assert answer.json()["message"] == f"Job {job_id} is cancelled: its worker was told to end it."
    assert commands(engine) == [("cancel", job_id)]
    assert noted() == [("olga", "cancelled", SHOP, job_id)]


def test_a_job_is_cancelled_only_when_that_is_confirmed(engine: Engine, people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    asked = people.olga.browser.post(cancel_url(job_id), {"attempt": "1"})

    assert "Cancel this job?" in asked.text
    assert 'name="attempt" value="1"' in asked.text
    assert commands(engine) == []


@pytest.mark.parametrize(
    ("state", "attempt", "status"),
    [
        (JobState.WORKING, "2", 409),
        (JobState.WORKING, "", 409),
        (JobState.READY, "0", 409),
        (JobState.DEAD, "1", 409),
        (JobState.COMPLETED, "1", 409),
    ],
)
def test_a_job_that_changed_since_the_page_was_made_is_left_alone(
    engine: Engine, people: People, shop: Shop, state: JobState, attempt: str, status: int
) -> None:
    job_id = shop.job_in(state)

    assert cancel(people.olga.browser, job_id, attempt=attempt).status_code == status

    assert shop.state_of(job_id) is state
    assert (commands(engine), noted()) == ([], [])


@pytest.mark.parametrize("job_id", [JOB, "x", JOB.lower()])
def test_a_job_that_is_not_there_cannot_be_cancelled(engine: Engine, people: People, job_id: str) -> None:
    assert cancel(people.olga.browser, job_id).status_code == 404
    assert commands(engine) == []


@pytest.mark.parametrize("namespace", [SHOP, BANK])
def test_a_job_of_another_namespace_cannot_be_cancelled(
    engine: Engine, people: People, shop: Shop, namespace: str
) -> None:
    job_id = shop.job_in(JobState.WORKING)

    assert cancel(people.charlie.browser, job_id, namespace=namespace).status_code == 404
    assert (commands(engine), noted()) == ([], [])


def test_a_job_that_waits_again_by_then_is_deleted_and_that_is_said(
    engine: Engine, people: People, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker gave it back between the two looks that cancelling takes."""
    job_id = shop.job_in(JobState.WORKING)

    def released_before(*args: Any, **options: Any) -> Any:
        engine.run(release(shop.queue, job_id))
        return cancel_job(*args, **options)

    monkeypatch.setattr(worker_actions, "cancel_job", released_before)

    assert cancel(people.olga.browser, job_id).json()["message"] == "The job was waiting again: it is deleted."

    assert shop.state_of(job_id) is None
    assert commands(engine) == []
    assert noted() == [("olga", "cancelled", SHOP, job_id)]
