"""The admin's pool pages: what Redis says of itself, loud warnings, and a password that never comes out."""

from __future__ import annotations

import html
import re

import pytest
import redis
from django.contrib.auth.models import Permission, User
from django.test import Client

from queues.models import Namespace, Pool
from queues.services.tokens.managing import NewToken
from tests.support.redis_servers import version_of

LIST = "/admin/queues/pool/"
GONE = "redis://user:hunter2@127.0.0.1:1/0"
MASKED = "redis://user:***@127.0.0.1:1/0"


@pytest.fixture
def gone(db: None) -> Pool:
    return Pool.objects.create(name="gone", url=GONE, description="switched off")


def page_of(browser: Client, pool: Pool) -> str:
    response = browser.get(f"{LIST}{pool.pk}/change/")
    assert response.status_code == 200
    return response.text


def save(browser: Client, pool: Pool, url: str) -> str:
    """Save a pool with another URL; the page that follows."""
    form = {"url": url, "min_replicas": 0, "events_memory_mb": 256, "description": "changed"}
    return browser.post(f"{LIST}{pool.pk}/change/", form, follow=True).text


def test_a_fit_pool_shows_its_figures(admin: Client, default_pool: Pool, fit_redis: redis.Redis) -> None:
    text = page_of(admin, default_pool)
    assert "Fit to hold jobs" in text
    assert version_of(fit_redis) in text
    assert "standalone" in text
    assert 'class="tq-banner bad"' not in text


def test_a_pool_that_may_evict_jobs_is_warned_of_on_both_pages(
    admin: Client, default_pool: Pool, fit_redis: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    fit_redis.config_set("maxmemory-policy", "allkeys-lru")
    listed = admin.get(LIST).text
    assert "<strong>default: Redis may delete jobs" in listed
    assert "<strong>default: Redis uses the C library" in listed
    for text in (page_of(admin, default_pool), listed):
        assert 'class="tq-banner bad" role="alert"' in text
        assert "Redis may delete jobs: maxmemory-policy is allkeys-lru" in text
        assert "Fit to hold jobs" not in text
    assert caplog.messages.count("pool has a problem") == 2


def test_a_pool_without_aof_is_warned_of(admin: Client, default_pool: Pool, redis_client: redis.Redis) -> None:
    assert "Redis forgets jobs when it restarts" in page_of(admin, default_pool)


def test_a_pool_that_does_not_answer_says_so(admin: Client, gone: Pool) -> None:
    assert "Redis does not answer" in page_of(admin, gone)
    text = admin.get(LIST).text
    assert "does not answer" in text
    assert "hunter2" not in text


def test_the_password_goes_in_and_never_comes_out(admin: Client, gone: Pool) -> None:
    text = page_of(admin, gone)
    assert MASKED in text
    assert "hunter2" not in text


def test_an_unchanged_url_keeps_its_password(admin: Client, gone: Pool) -> None:
    save(admin, gone, MASKED)
    gone.refresh_from_db()
    assert (gone.url, gone.description) == (GONE, "changed")


def test_a_changed_url_needs_its_password_again(admin: Client, gone: Pool) -> None:
    text = save(admin, gone, "redis://user:***@evil.example:1/0")
    assert "Type the password again" in text
    gone.refresh_from_db()
    assert gone.url == GONE
    text = save(admin, gone, "redis://user:new@127.0.0.1:1/1")
    gone.refresh_from_db()
    assert gone.url == "redis://user:new@127.0.0.1:1/1"
    assert "hunter2" not in text


def test_a_refused_form_does_not_show_the_stored_password(admin: Client, gone: Pool) -> None:
    assert "hunter2" not in save(admin, gone, "nonsense")


def test_who_may_only_look_does_not_see_the_password(client: Client, gone: Pool) -> None:
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_pool"))
    client.force_login(viewer)
    text = page_of(client, gone)
    assert MASKED in text
    assert "hunter2" not in text


def test_name_and_partitions_stay(admin: Client, gone: Pool) -> None:
    form = {
        "name": "other",
        "partitions": 99,
        "url": MASKED,
        "min_replicas": 0,
        "events_memory_mb": 64,
        "description": "",
    }
    admin.post(f"{LIST}{gone.pk}/change/", form)
    gone.refresh_from_db()
    assert (gone.name, gone.partitions, gone.events_memory_mb) == ("gone", 8, 64)


def test_a_pool_is_added_with_the_partitions_of_its_redis(admin: Client, redis_url: str) -> None:
    other = f"{redis_url}?db=3"
    with redis.Redis.from_url(other) as database:
        database.hset("taskq:meta", mapping={"layout": 1, "partitions": 4})
    form = {
        "name": "images",
        "url": other,
        "partitions": 8,
        "min_replicas": 1,
        "events_memory_mb": 256,
        "description": "",
    }
    assert "was set up with 4 partitions" in admin.post(f"{LIST}add/", form).text
    admin.post(f"{LIST}add/", form | {"partitions": 4})
    images = Pool.objects.get(name="images")
    assert (images.partitions, images.min_replicas) == (4, 1)
    assert "Too few replicas, so publishes are answered 503: 1 must confirm each, 0 connected." in page_of(
        admin, images
    )


def test_two_pools_on_one_database_are_refused(admin: Client, default_pool: Pool, redis_url: str) -> None:
    form = {
        "name": "images",
        "url": redis_url,
        "partitions": 8,
        "min_replicas": 0,
        "events_memory_mb": 256,
        "description": "",
    }
    assert "is on that Redis" in admin.post(f"{LIST}add/", form).text
    assert not Pool.objects.filter(name="images").exists()


def test_a_refused_form_does_not_show_the_password_that_was_typed(admin: Client, db: None) -> None:
    form = {
        "name": "bad name",
        "url": "redis://:hunter2secret@127.0.0.1:1/0",
        "partitions": 8,
        "min_replicas": 0,
        "events_memory_mb": 256,
    }
    text = admin.post(f"{LIST}add/", form).text
    assert "hunter2secret" not in text
    assert "redis://:***@127.0.0.1:1/0" in text


def test_only_the_default_pool_may_leave_its_url_blank(admin: Client, db: None) -> None:
    form = {"name": "images", "url": "", "partitions": 8, "min_replicas": 0, "events_memory_mb": 256, "description": ""}
    assert "may leave it blank" in admin.post(f"{LIST}add/", form).text


def test_a_pool_that_holds_namespaces_is_not_deleted(admin: Client, gone: Pool) -> None:
    namespace = Namespace.objects.create(pool=gone, name="thumbnails")
    url = f"{LIST}{gone.pk}/delete/"
    text = admin.get(url).text
    assert "still holds namespaces" in text
    assert "thumbnails" in text
    admin.post(url, {"post": "yes"})
    bulk = {"action": "delete_selected", "_selected_action": [gone.pk], "post": "yes"}
    admin.post(LIST, bulk)
    assert Pool.objects.filter(pk=gone.pk).exists()
    namespace.delete()
    admin.post(url, {"post": "yes"})
    assert not Pool.objects.filter(pk=gone.pk).exists()


def test_the_default_pool_stays(admin: Client, default_pool: Pool) -> None:
    assert admin.post(f"{LIST}{default_pool.pk}/delete/", {"post": "yes"}).status_code == 403
    admin.post(LIST, {"action": "delete_selected", "_selected_action": [default_pool.pk], "post": "yes"})
    assert Pool.objects.filter(name="default").exists()


def test_a_namespaces_page_leads_to_its_tokens_and_policies(admin: Client, token: NewToken, orders: Namespace) -> None:
    text = admin.get(f"/admin/queues/namespace/{orders.pk}/change/").text
    links = {name: html.unescape(url) for url, name in re.findall(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', text)}

    assert links["Tokens"] == f"/admin/queues/token/?q={orders.name}"
    assert links["Policies"] == f"/admin/queues/queuepolicy/?q={orders.name}"
    assert links["Create token"] == f"/admin/queues/token/add/?namespace={orders.pk}"


def test_deleting_a_namespace_with_tokens_asks_first(admin: Client, token: NewToken, orders: Namespace) -> None:
    url = f"/admin/queues/namespace/{orders.pk}/delete/"
    text = admin.get(url).text
    assert "its jobs stay in Redis" in text
    assert token.public_id in text
    assert Namespace.objects.exists()
    admin.post(url, {"post": "yes"})
    assert not Namespace.objects.exists()
