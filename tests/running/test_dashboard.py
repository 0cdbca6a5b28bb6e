"""The overview page: who sees what, and what it says when there is nothing to see or Redis is away."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from queues.engine import PublishOptions, open_engine, pause, publish
from queues.models import Namespace, Pool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def default_pool() -> Pool:
    return Pool.objects.get_or_create(name="default")[0]


@pytest.fixture
def namespaces(default_pool: Pool) -> tuple[Namespace, Namespace]:
    """Alice's, which the group `shop` may see, and another's."""
    alices = Namespace.objects.create(pool=default_pool, name="alices", description="orders of the shop")
    alices.groups.add(Group.objects.create(name="shop"))
    return alices, Namespace.objects.create(pool=default_pool, name="charlies")


def signed_in(*, superuser: bool = False, group: str | None = None) -> Client:
    user = User.objects.create_user("somebody", password="x", is_superuser=superuser, is_staff=True)
    if group is not None:
        user.groups.add(Group.objects.get(name=group))
    client = Client()
    client.force_login(user)
    return client


def put(url: str, namespace: str, queue: str, options: PublishOptions, *, jobs: int = 1) -> None:
    engine = open_engine(url)
    engine.run(publish(engine.queue(namespace, queue), [b"job"] * jobs, options))
    engine.close()


def page(client: Client, path: str = "/") -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("path", ["/", "/overview/queues"])
def test_who_is_not_signed_in_is_sent_to_the_sign_in(path: str) -> None:
    response = Client().get(path)

    assert response.status_code == 302
    assert response["Location"] == f"/login/?next={path}"


def test_a_member_of_its_group_sees_a_namespace_and_no_other(
    namespaces: tuple[Namespace, Namespace], redis_url: str
) -> None:
    put(redis_url, "alices", "orders", PublishOptions())
    put(redis_url, "charlies", "secret-plans", PublishOptions())
    client = signed_in(group="shop")

    for path in ("/", "/overview/queues"):
        text = page(client, path)
        assert "alices" in text
        assert "orders" in text
        assert "charlies" not in text
        assert "secret-plans" not in text


def test_who_is_in_no_group_is_told_so(namespaces: tuple[Namespace, Namespace]) -> None:
    text = page(signed_in())

    assert "alices" not in text
    assert "Ask an administrator" in text


def test_a_superuser_sees_all(namespaces: tuple[Namespace, Namespace]) -> None:
    text = page(signed_in(superuser=True))

    assert "alices" in text
    assert "charlies" in text


def test_counts_are_shown_by_state(namespaces: tuple[Namespace, Namespace], redis_url: str) -> None:
    put(redis_url, "alices", "orders", PublishOptions(), jobs=3)
    put(redis_url, "alices", "orders", PublishOptions(delay_ms=60_000), jobs=7)

    text = " ".join(page(signed_in(group="shop"), "/overview/queues").split())

    assert '<td class="number">3</td> <td class="number">7</td> <td class="number">0</td>' in text
    assert "pool default up" in text


def test_a_paused_queue_is_marked(namespaces: tuple[Namespace, Namespace], redis_url: str) -> None:
    put(redis_url, "alices", "orders", PublishOptions())
    engine = open_engine(redis_url)
    assert "paused</span>" not in page(signed_in(group="shop"))
    engine.run(pause(engine.queue("alices", "orders")))
    engine.close()
    client = Client()
    client.force_login(User.objects.get())

    assert "paused</span>" in page(client)


def test_an_empty_namespace_says_what_to_type(namespaces: tuple[Namespace, Namespace]) -> None:
    text = page(signed_in(group="shop"))

    assert "curl -X PUT" in text
    assert "/api/alices/greetings" in text


def test_with_no_namespace_at_all_a_superuser_is_told_how_to_begin() -> None:
    assert "manage.py token create" in page(signed_in(superuser=True))


def test_a_pool_that_is_down_is_said_to_be_and_the_others_are_shown(
    namespaces: tuple[Namespace, Namespace], redis_url: str
) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded")
    put(redis_url, "alices", "orders", PublishOptions())

    text = page(signed_in(superuser=True))

    assert "pool away down" in text
    assert "orders" in text


def test_why_a_pool_is_down_is_told_to_superusers_only(namespaces: tuple[Namespace, Namespace]) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded").groups.add(Group.objects.get(name="shop"))

    text = page(signed_in(group="shop"))

    assert "pool away down" in text
    assert "nowhere" not in text


def test_what_people_wrote_is_escaped(default_pool: Pool) -> None:
    Namespace.objects.create(pool=default_pool, name="n", description="<script>alert(1)</script>")

    text = page(signed_in(superuser=True))

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_signing_in_leads_to_the_overview_and_out_again() -> None:
    User.objects.create_user("alice", password="open sesame")
    client = Client()

    refused = client.post("/login/", {"username": "alice", "password": "wrong"})
    assert "do not match" in refused.content.decode()
    entered = client.post("/login/", {"username": "alice", "password": "open sesame"})
    assert entered["Location"] == "/"
    assert client.get("/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/").status_code == 302


def test_sign_in_does_not_lead_to_other_sites() -> None:
    User.objects.create_user("alice", password="open sesame")

    entered = Client().post("/login/?next=https://evil.example/", {"username": "alice", "password": "open sesame"})

    assert "evil.example" not in entered["Location"]


def test_pages_hold_no_inline_script(namespaces: tuple[Namespace, Namespace]) -> None:
    text = page(signed_in(superuser=True))

    assert "<script>" not in text
    assert '<script src="/static/dashboard/overview.js" defer></script>' in text
