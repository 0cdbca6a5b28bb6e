"""The search box: from a job's id to the job, for whom it is shown to."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from queues.engine import PublishOptions, open_engine, publish
from queues.models import Namespace, Pool

pytestmark = pytest.mark.django_db(transaction=True)

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def pool() -> Pool:
    return Pool.objects.get_or_create(name="default")[0]


@pytest.fixture
def job(pool: Pool, redis_url: str) -> str:
    """A job of Alice's, whose namespace is shown to the group `shop`."""
    Namespace.objects.create(pool=pool, name="alices").groups.add(Group.objects.create(name="shop"))
    Namespace.objects.create(pool=pool, name="charlies").groups.add(Group.objects.create(name="strangers"))
    engine = open_engine(redis_url)
    (job_id,) = engine.run(publish(engine.queue("alices", "orders"), [b"x"], PublishOptions())).job_ids
    engine.close()
    return job_id


def browser(name: str, *groups: str, superuser: bool = False) -> Client:
    user = User.objects.create_user(name, is_superuser=superuser)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def place(job_id: str) -> str:
    return f"/queues/default/alices/orders/jobs/{job_id}/"


@pytest.mark.parametrize(
    "form", ["{}", "  {} ", "job {}, please", "http://taskq/api/alices/orders/job/{}", "alices/orders/{}"]
)
def test_an_id_leads_to_its_job_whatever_is_pasted_around_it(job: str, form: str) -> None:
    answer = browser("alice", "shop").get("/find", {"q": form.format(job)})

    assert (answer.status_code, answer["Location"]) == (302, place(job))


def test_an_id_in_small_letters_is_one_too(job: str) -> None:
    assert browser("alice", "shop").get("/find", {"q": job.lower()})["Location"] == place(job)


def test_a_superuser_finds_every_job(job: str) -> None:
    assert browser("root", superuser=True).get("/find", {"q": job})["Location"] == place(job)


@pytest.mark.parametrize("groups", [(), ("strangers",)])
def test_a_job_that_is_not_shown_to_somebody_is_as_good_as_none(job: str, groups: tuple[str, ...]) -> None:
    charlie = browser("charlie", *groups)

    theirs, nobodys = charlie.get("/find", {"q": job}), charlie.get("/find", {"q": UNKNOWN})

    assert theirs.status_code == nobodys.status_code == 404
    assert "alices" not in theirs.text
    assert "orders" not in theirs.text


def test_who_is_not_signed_in_finds_nothing(job: str) -> None:
    answer = Client().get("/find", {"q": job})

    assert answer["Location"].startswith("/login/?next=/find")


def test_a_pool_that_cannot_be_asked_is_named(job: str) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded")
    root = browser("root", superuser=True)

    missing = root.get("/find", {"q": UNKNOWN})

    assert missing.status_code == 503
    assert "Pool away does not answer" in missing.text
    assert root.get("/find", {"q": job})["Location"] == place(job)


def test_what_is_no_id_is_looked_for_among_the_queues(job: str) -> None:
    alice = browser("alice", "shop")

    assert alice.get("/find", {"q": "order & more"})["Location"] == "/queues/?q=order+%26+more"
    assert alice.get("/find")["Location"] == "/queues/"
    assert alice.get("/find", {"q": UNKNOWN + "X"})["Location"] == f"/queues/?q={UNKNOWN}X"
