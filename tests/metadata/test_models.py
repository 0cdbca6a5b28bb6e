"""What the database accepts."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from queues.models import Namespace, Pool, QueuePolicy, Token, TokenLimit
from queues.models.pool import ensure_default_pool
from tests.support.rows import in_one_test


def refused(**values: Any) -> set[str]:
    """The fields of a pool that validation objects to."""
    with pytest.raises(ValidationError) as caught:
        Pool(**{"name": "images", "url": "redis://host"} | values).full_clean()
    return set(caught.value.message_dict)


@pytest.mark.django_db
def test_the_default_pool_is_there_after_migrating_and_means_redis_url(default_pool: Pool, redis_url: str) -> None:
    assert default_pool.url == ""
    assert default_pool.effective_url == redis_url
    default_pool.full_clean()


@pytest.mark.django_db
def test_a_default_pool_that_was_changed_is_left_alone(default_pool: Pool) -> None:
    Pool.objects.update(url="redis://elsewhere", partitions=3)
    ensure_default_pool()
    assert list(Pool.objects.values_list("url", "partitions")) == [("redis://elsewhere", 3)]


@pytest.mark.django_db
@in_one_test(
    "url",
    [
        "redis://host",
        "rediss://user:password@host:6380/2",
        "unix:///run/redis.sock?db=1",
        "redis+sentinel://a:26379,b:26379/main/0",
        "redis+cluster://a:7000,b:7000",
    ],
)
def test_a_pool_takes_every_form_of_url(url: str) -> None:
    Pool(name="images", url=url).full_clean()


@pytest.mark.django_db
@in_one_test("url", ["", "host:6379", "http://host", "redis://", "redis://host:x", "redis+sentinel://a:1"])
def test_a_pool_refuses_what_is_no_redis_url(url: str) -> None:
    assert refused(url=url) == {"url"}


@pytest.mark.django_db
@pytest.mark.parametrize("url", ["redis://host/0?password=hunter2", "unix:///s?db=0&password=x", "redis://u:p@ss@host"])
def test_a_pool_refuses_a_password_where_it_could_not_be_masked(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Pool(name="images", url=url).full_clean()
    assert caught.value.message_dict["url"][0].startswith("Write the password before the host")
    assert "any @ in it as %40" in str(caught.value)


@pytest.mark.django_db
@in_one_test("name", ["", "two words", "a/b", "ümlaut", "a:b", "x" * 256])
def test_a_pool_refuses_names_that_do_not_fit_into_a_token(name: str) -> None:
    assert refused(name=name) == {"name"}


@pytest.mark.django_db
@pytest.mark.parametrize("partitions", [0, 257])
def test_partitions_are_bounded(partitions: int) -> None:
    assert refused(partitions=partitions) >= {"partitions"}


@pytest.mark.django_db
def test_name_and_partitions_of_a_pool_stay(default_pool: Pool) -> None:
    default_pool.partitions = 9
    with pytest.raises(ValidationError, match="depend on it"):
        default_pool.full_clean()
    default_pool.refresh_from_db()
    default_pool.name, default_pool.url = "other", "redis://host"
    with pytest.raises(ValidationError, match="cannot be changed"):
        default_pool.full_clean()


def test_a_pool_shows_its_url_without_the_password() -> None:
    pool = Pool(name="images", url="redis://user:hunter2@host/0")
    assert pool.shown_url == "redis://user:***@host/0"
    assert "hunter2" not in str(pool) + repr(pool)


@pytest.mark.django_db
def test_a_pool_with_namespaces_cannot_be_deleted(orders: Namespace) -> None:
    with pytest.raises(ProtectedError):
        orders.pool.delete()
    orders.delete()
    orders.pool.delete()


@pytest.mark.django_db
def test_two_pools_may_each_have_a_namespace_of_the_same_name(orders: Namespace) -> None:
    images = Pool.objects.create(name="images", url="redis://host")
    Namespace.objects.create(pool=images, name="orders")
    with pytest.raises(IntegrityError), transaction.atomic():
        Namespace.objects.create(pool=images, name="orders")


@pytest.mark.django_db
def test_a_namespace_is_seen_by_its_groups_and_by_superusers(orders: Namespace) -> None:
    group = Group.objects.create(name="shop")
    alice, charlie = User.objects.create_user("alice"), User.objects.create_user("charlie")
    alice.groups.add(group, Group.objects.create(name="also"))
    orders.groups.set(Group.objects.all())
    root = User.objects.create_superuser("root")
    gone = User.objects.create_superuser("gone", is_active=False)
    everybody: list[AbstractBaseUser | AnonymousUser] = [alice, charlie, root, gone, AnonymousUser()]
    assert [list(Namespace.objects.visible_to(user)) for user in everybody] == [[orders], [], [orders], [], []]


@pytest.mark.django_db
def test_one_secret_may_open_two_namespaces_but_not_twice_the_same(orders: Namespace) -> None:
    emails = Namespace.objects.create(pool=orders.pool, name="emails")
    for number, namespace in enumerate([orders, emails]):
        Token.objects.create(public_id=f"t{number}", namespace=namespace, digest="d", description="x")
    with pytest.raises(IntegrityError), transaction.atomic():
        Token.objects.create(public_id="t3", namespace=orders, digest="d", description="x")


@pytest.mark.django_db
def test_a_limit_needs_an_interval(orders: Namespace) -> None:
    token = Token.objects.create(public_id="t", namespace=orders, digest="d", description="x")
    with pytest.raises(IntegrityError), transaction.atomic():
        TokenLimit.objects.create(token=token, read=1, write=1, interval_s=0)


@pytest.mark.django_db
@in_one_test(
    ("field", "value"),
    [
        ("queue", "_reserved"),
        ("queue", "a/b"),
        ("tries", 0),
        ("tries", 65_536),
        ("ttl_s", 2**32),
        ("ttr_s", 0),
        ("backoff", "fixed"),
        ("backoff", "exponential:0"),
        ("max_in_flight", 0),
        ("dead_max_age_s", 0),
    ],
)
def test_a_policy_refuses_what_the_engine_would(orders: Namespace, field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        QueuePolicy(namespace=orders, **{field: value}).full_clean()
    assert set(caught.value.message_dict) == {field}


@pytest.mark.django_db
def test_a_policy_takes_what_the_engine_does(orders: Namespace) -> None:
    QueuePolicy(
        namespace=orders,
        queue="close",
        tries=65_535,
        ttl_s=2**32 - 1,
        ttr_s=1,
        backoff="exponential:0.5:60",
        max_in_flight=1,
        dead_max_age_s=1,
        dead_max_count=0,
    ).full_clean()
