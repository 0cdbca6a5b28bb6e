"""People and things that the metadata tests share: Alice owns `orders`, Charlie belongs to another group."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import redis
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from queues.models import Namespace, Pool
from queues.services.tokens.managing import NewToken, create_token

SECRET = "a-secret-that-its-owner-chose"
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where these tests run once more on PostgreSQL, those that use no database have nothing to say."""
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        return
    using = [item for item in items if item.get_closest_marker("django_db") or uses_database(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in using])
    items[:] = using


def uses_database(item: pytest.Item) -> bool:
    return bool(DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())))


@pytest.fixture
def default_pool(db: None) -> Pool:
    return Pool.objects.get(name="default")


@pytest.fixture
def orders(default_pool: Pool) -> Namespace:
    return Namespace.objects.create(pool=default_pool, name="orders")


@pytest.fixture
def token(orders: Namespace) -> NewToken:
    return create_token(namespace="orders", description="web shop")


@pytest.fixture
def admin(client: Client, db: None) -> Client:
    """A browser in which a superuser is logged in."""
    client.force_login(User.objects.create_superuser("root", password="pw"))
    return client


def staff(name: str, group: str) -> Client:
    """A browser of somebody who may change everything in the admin that their group may see."""
    user = User.objects.create_user(name, is_staff=True)
    user.groups.add(Group.objects.get_or_create(name=group)[0])
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="queues"))
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def alice(orders: Namespace) -> Client:
    browser = staff("alice", "shop")
    orders.groups.add(Group.objects.get(name="shop"))
    return browser


@pytest.fixture
def charlie(db: None) -> Client:
    return staff("charlie", "strangers")


@pytest.fixture
def fit_redis(redis_client: redis.Redis) -> Iterator[redis.Redis]:
    """The test Redis, set up as one that may hold jobs."""
    redis_client.config_set("appendonly", "yes")
    yield redis_client
    redis_client.config_set("appendonly", "no")
    redis_client.config_set("maxmemory-policy", "noeviction")
