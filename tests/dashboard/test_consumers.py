"""The page of consumers: who waits or works, on what, since when, from where, and who may see it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from queues.engine import Engine, consume, publish, tell_waiting
from queues.engine.stats.consumers import QueueWaiters, WaitingBeat, WaitingConsumer
from queues.models import Namespace, Pool
from queues.pools.ttl_cache import forget_recent
from queues.services.consumers import reading as service
from queues.services.consumers.reading import ConsumerState, read_consumers
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    """May see the namespace `shop`; there is another one, `bank`."""
    pool = Pool.objects.get_or_create(name="default")[0]
    group = Group.objects.create(name="shop")
    Namespace.objects.create(pool=pool, name="shop").groups.add(group)
    Namespace.objects.create(pool=pool, name="bank")
    user = User.objects.create_user("alice", password="x")
    user.groups.add(group)
    return user


def waiting(name: str, *queues: str, namespace: str = "shop", calls: int = 1, left_ms: int = 0) -> WaitingConsumer:
    return WaitingConsumer(
        namespace=namespace,
        queues=queues or ("emails",),
        consumer=name,
        address="10.0.0.7",
        waiting=calls,
        since_ms=60_000,
        left_ms=left_ms,
    )


def tell(engine: Engine, *consumers: WaitingConsumer, process: str = "web:1") -> None:
    counts = [
        QueueWaiters(namespace=one.namespace, queue=queue, waiting=one.waiting)
        for one in consumers
        for queue in one.queues
        if one.waiting
    ]
    beat = WaitingBeat(
        process=process,
        waiting=sum(one.waiting for one in consumers),
        consumers=consumers,
        consumers_omitted=0,
        queues=tuple(counts),
        queues_omitted=0,
    )
    engine.run(tell_waiting(beat))


def hand_out(engine: Engine, queue: str, consumer: str, *, namespace: str = "shop", ttr_ms: int = 60_000) -> str:
    """The id of a job in the hands of `consumer`."""
    keys = engine.queue(namespace, queue)
    (job_id,) = engine.run(publish(keys, [b"body"])).job_ids
    (job,) = engine.run(consume(keys, ttr_ms=ttr_ms, consumer=consumer)).jobs
    assert job.job_id == job_id
    return job_id


def seen_by(user: User, query: str = "", **headers: str) -> str:
    client = Client()
    client.force_login(user)
    response = client.get(f"/consumers/{query}", headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_who_waits_and_works_under_one_name_is_one_row(engine: Engine, alice: User) -> None:
    tell(engine, waiting("mailer", "emails", calls=2))
    tell(engine, waiting("mailer", "emails", "letters"), process="web:2")
    job_id = hand_out(engine, "emails", "mailer")

    (row,) = read_consumers(user=alice).consumers

    assert (row.consumer, row.addresses, row.queues, row.waiting) == ("mailer", ("10.0.0.7",), ("emails", "letters"), 3)
    assert [job.job_id for job in row.jobs] == [job_id]
    assert row.state is ConsumerState.WORKING
    assert row.since_ms <= row.jobs[0].taken_ms - 59_000


def test_who_gives_no_name_is_known_by_address(engine: Engine, alice: User) -> None:
    hand_out(engine, "emails", "10.0.0.9")
    hand_out(engine, "emails", "named")

    rows = {row.consumer: row.addresses for row in read_consumers(user=alice).consumers}

    assert rows == {"10.0.0.9": ("10.0.0.9",), "named": ()}


def test_what_is_most_pressing_comes_first(engine: Engine, alice: User) -> None:
    tell(engine, waiting("b-waits"), waiting("a-left", calls=0, left_ms=5_000))
    hand_out(engine, "images", "d-works")
    hand_out(engine, "orders", "c-is-overdue", ttr_ms=1)
    wait_until(lambda: read_consumers(user=alice).overdue, or_fail="its lease does not end")

    view = read_consumers(user=alice)

    assert [(row.consumer, row.state.value) for row in view.consumers] == [
        ("c-is-overdue", "overdue"),
        ("d-works", "working"),
        ("b-waits", "waiting"),
        ("a-left", "away"),
    ]
    assert (view.waiting, view.working, view.overdue) == (1, 2, 1)


def test_queues_are_listed_with_who_waits_and_works_on_them(engine: Engine, alice: User) -> None:
    tell(engine, waiting("mailer", "emails", "letters", calls=2))
    hand_out(engine, "emails", "other")

    rows = {row.queue: row for row in read_consumers(user=alice).queues}

    assert {name: (row.waiting, row.working, row.overdue, row.consumers) for name, row in rows.items()} == {
        "emails": (2, 1, 0, ("mailer", "other")),
        "letters": (2, 0, 0, ("mailer",)),
    }


def test_another_namespace_is_not_seen_in_any_way(engine: Engine, alice: User) -> None:
    tell(engine, waiting("vault-keeper", "vaults", namespace="bank", calls=7))
    hand_out(engine, "transfers", "clerk", namespace="bank")

    view = read_consumers(user=alice)

    assert (view.consumers, view.queues, view.waiting, view.working, view.more) == ((), (), 0, 0, False)
    for query in ("", "?by=queue", "?namespace=default/bank"):
        text = seen_by(alice, query)
        for secret in ("vault", "clerk", "transfers"):
            assert secret not in text


def test_a_superuser_sees_all_and_may_choose(engine: Engine, alice: User) -> None:
    root = User.objects.create_superuser("root")
    tell(engine, waiting("mailer"), waiting("clerk", namespace="bank"))

    assert {row.consumer for row in read_consumers(user=root).consumers} == {"mailer", "clerk"}
    assert {row.consumer for row in read_consumers(user=root, namespace="default/bank").consumers} == {"clerk"}


@in_one_test(
    ("query", "names"),
    [
        ("?q=MAIL", {"mailer"}),
        ("?q=10.0.0", {"mailer", "resizer"}),
        ("?q=images", {"resizer", "painter"}),
        ("?state=working", {"painter"}),
        ("?state=waiting", {"mailer", "resizer"}),
        ("?state=nonsense", {"mailer", "resizer", "painter"}),
        ("?q=nobody", set()),
    ],
)
def test_filters_are_in_the_address(engine: Engine, alice: User, query: str, names: set[str]) -> None:
    tell(engine, waiting("mailer"), waiting("resizer", "images"))
    hand_out(engine, "images", "painter")

    text = seen_by(alice, query, **{"X-Live": "1"})

    assert {name for name in ("mailer", "resizer", "painter") if f"<bdi>{name}</bdi>" in text} == names


def test_the_page_links_to_the_jobs_in_hand(engine: Engine, alice: User) -> None:
    job_id = hand_out(engine, "emails", "mailer")

    assert f'href="/queues/default/shop/emails/jobs/{job_id}/"' in seen_by(alice)


def test_names_that_consumers_give_are_escaped(engine: Engine, alice: User) -> None:
    tell(engine, waiting("<script>alert(1)</script>"))
    hand_out(engine, "emails", '"><img src=x onerror=alert(1)>')

    for query in ("", "?by=queue", "?q=<script>alert(1)</script>"):
        text = seen_by(alice, query)
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_where_nobody_waits_the_page_says_how_to(alice: User) -> None:
    assert "X-Consumer" in seen_by(alice)
    assert "/api/shop/greetings?timeout=60" in seen_by(alice)


def test_where_nobody_matches_the_page_leads_back(engine: Engine, alice: User) -> None:
    tell(engine, waiting("mailer"))

    text = seen_by(alice, "?q=nobody&by=queue")

    assert "No matching consumers" in text
    assert 'href="?by=queue"' in text


def test_a_pool_that_is_away_is_said_to_be_and_the_others_are_shown(engine: Engine, alice: User) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded").groups.add(Group.objects.get(name="shop"))
    tell(engine, waiting("mailer"))

    text = seen_by(alice)

    assert "Pool away does not answer" in text
    assert "mailer" in text


def test_what_is_read_is_bounded_and_says_so(engine: Engine, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        hand_out(engine, f"q{number}", "mailer")
    hand_out(engine, "q0", "mailer")
    assert not read_consumers(user=alice).more

    monkeypatch.setattr(service, "JOBS_PER_QUEUE", 1)
    view = read_consumers(user=alice)
    assert view.more
    assert (view.working, len(view.consumers[0].jobs)) == (6, 5)

    monkeypatch.setattr(service, "QUEUES_LOOKED_AT", 3)
    assert len(read_consumers(user=alice).queues) == 3


def test_many_viewers_ask_redis_who_waits_once(engine: Engine, alice: User) -> None:
    tell(engine, waiting("mailer"))
    read_consumers(user=alice)

    tell(engine, waiting("resizer"))

    assert [row.consumer for row in read_consumers(user=alice).consumers] == ["mailer"]
    forget_recent()
    assert [row.consumer for row in read_consumers(user=alice).consumers] == ["resizer"]
