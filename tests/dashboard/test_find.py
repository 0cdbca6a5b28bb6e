"""The search box and the command palette: from what is typed to jobs, queues and pages, for whom they are shown to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from queues.engine import Engine, PublishOptions, open_engine, publish, scan_jobs
from queues.models import Namespace, Pool
from queues.services import search
from tests.dashboard.surveyor import Surveyor

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


@pytest.fixture
def engine(job: str, redis_url: str) -> Iterator[Engine]:
    """With queues that pumps know of: `orders`, `orders-eu` and 40 for mails of Alice's, `orders` of Charlie's."""
    engine = open_engine(redis_url)
    for namespace, queue, key in (("alices", "orders-eu", "order-7"), ("charlies", "orders", "order-7")):
        engine.run(publish(engine.queue(namespace, queue), [b"x"], PublishOptions(key=key)))
    for number in range(40):
        engine.run(publish(engine.queue("alices", f"mails-{number:03}"), [b"x"], PublishOptions()))
    Surveyor(engine).look()
    yield engine
    engine.close()


def found(client: Client, text: str) -> str:
    answer = client.get("/find", {"q": text})
    return str(answer["Location"]) if answer.status_code == 302 else answer.text


@pytest.mark.parametrize("text", ["orders", " Orders ", "alices/orders", "default:alices/orders"])
def test_the_exact_name_of_a_queue_leads_there(engine: Engine, text: str) -> None:
    assert found(browser("alice", "shop"), text) == "/queues/default/alices/orders/"


def test_a_name_that_several_queues_have_lists_them(engine: Engine) -> None:
    listed = found(browser("root", superuser=True), "orders")

    assert "/queues/default/alices/orders/" in listed
    assert "/queues/default/charlies/orders/" in listed
    assert "/queues/default/alices/orders-eu/" not in listed


def test_an_idempotency_key_leads_to_its_job(engine: Engine) -> None:
    mine = found(browser("alice", "shop"), "order-7")

    assert mine.startswith("/queues/default/alices/orders-eu/jobs/")
    assert found(browser("root", superuser=True), "order-7").count("/jobs/") == 2


def test_the_beginning_of_an_id_leads_to_its_job(engine: Engine, job: str) -> None:
    assert found(browser("alice", "shop"), job[:24].lower()) == place(job)
    assert found(browser("charlie", "strangers"), job[:24]) == f"/queues/?q={job[:24]}"


def test_a_search_that_would_take_too_long_says_that_it_is_not_whole(
    engine: Engine, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SCANS_MAX", 1)

    assert "Not everything could be searched" in found(browser("root", superuser=True), job[:6])


def test_a_search_that_found_nothing_says_how_far_it_came(
    engine: Engine, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SCANS_MAX", 3)
    missing = f"{job[:10]}000000"

    listed = found(browser("root", superuser=True), missing)

    assert "Nothing found so far" in listed
    assert re.search(r"checked [1-9]\d* jobs, and the keys of 43 queues", listed)


def test_all_pools_share_what_one_search_may_cost(
    engine: Engine, job: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        other = Pool.objects.create(name=f"other-{number}", url=redis_url)
        Namespace.objects.create(pool=other, name="alices")
    monkeypatch.setattr(search, "SCANS_MAX", 12)
    calls: list[object] = []

    def count(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return scan_jobs(*arguments, **options)

    monkeypatch.setattr(search, "scan_jobs", count)
    found(browser("root", superuser=True), f"{job[:10]}000000")

    assert 0 < len(calls) <= 12


def test_a_user_has_one_search_at_a_time(engine: Engine, job: str) -> None:
    alice, root = browser("alice", "shop"), browser("root", superuser=True)
    user = User.objects.get(username="alice")

    with search.one_search_at_a_time(user):
        refused = alice.get("/find", {"q": job})
        others = root.get("/find", {"q": job})

    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert "Your last search is still under way" in refused.text
    assert others["Location"] == alice.get("/find", {"q": job})["Location"] == place(job)


def offered(client: Client, text: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for item in client.get("/palette", {"q": text}).json()["items"]:
        groups.setdefault(item["group"], []).append(item["title"])
    return groups


def test_the_palette_offers_pages_queues_and_what_one_may_do(engine: Engine) -> None:
    reader, root = browser("alice", "shop"), browser("root", superuser=True)

    assert offered(reader, "orders") == {
        "Queues": ["orders", "orders-eu"],
        "Actions": ["Dead letters of orders", "Dead letters of orders-eu"],
        "Search": ["Search for “orders”"],
    }
    assert offered(reader, "dead")["Pages"] == ["Dead letters"]
    assert "Admin" not in offered(reader, "")["Pages"]
    assert offered(root, "pause orders-eu")["Actions"] == ["Pause orders-eu"]
    assert "Delete all jobs from orders-eu…" in offered(root, "orders-eu")["Actions"]


def test_the_palette_lists_little_of_very_many_queues(engine: Engine) -> None:
    listed = offered(browser("root", superuser=True), "MAIL")

    assert len(listed["Queues"]) == 8
    assert len(listed["Actions"]) == 15
