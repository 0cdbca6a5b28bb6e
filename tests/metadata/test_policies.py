"""What a queue's policy and its namespace's say together."""

from __future__ import annotations

import pytest

from queues.engine.backoff import Backoff, BackoffKind
from queues.models import Namespace, QueuePolicy
from queues.pools.ttl_cache import TtlCache
from queues.services import policies
from queues.services.policies import NO_POLICY, DeadBounds, EffectivePolicy, list_dead_bounds, peek_policy, policy_for
from tests.support.clock import ManualClock
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock()
    monkeypatch.setattr(policies, "_by_namespace", TtlCache(clock=clock))
    return clock


def of(queue: str, namespace: str = "orders") -> EffectivePolicy:
    return policy_for(pool="default", namespace=namespace, queue=queue)


def test_without_policies_nothing_is_set(orders: Namespace) -> None:
    assert of("close") == of("close", "unknown") == NO_POLICY == EffectivePolicy()


def test_a_queue_inherits_field_by_field(orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, tries=3, ttl_s=0, backoff="fixed:5", dead_max_count=9)
    QueuePolicy.objects.create(namespace=orders, queue="close", tries=5, ttr_s=30, backoff="sidekiq", dead_max_count=0)
    assert of("close") == EffectivePolicy(
        tries=5, ttl_s=0, ttr_s=30, backoff=Backoff(kind=BackoffKind.SIDEKIQ), dead_max_count=0
    )
    fixed = Backoff(kind=BackoffKind.FIXED, base_ms=5_000)
    assert of("other") == EffectivePolicy(tries=3, ttl_s=0, backoff=fixed, dead_max_count=9)


def test_another_namespace_has_its_own(orders: Namespace) -> None:
    emails = Namespace.objects.create(pool=orders.pool, name="emails")
    QueuePolicy.objects.create(namespace=emails, tries=7)
    assert of("close") == NO_POLICY
    assert of("close", "emails").tries == 7


def test_a_change_is_felt_after_a_second(orders: Namespace, clock: ManualClock) -> None:
    policy = QueuePolicy.objects.create(namespace=orders, tries=3)
    assert of("close").tries == 3
    policy.tries = 4
    policy.save()
    assert of("close").tries == 3
    assert peek_policy(pool="default", namespace="orders", queue="close") == EffectivePolicy(tries=3)
    clock.advance(1.01)
    assert peek_policy(pool="default", namespace="orders", queue="close") is None
    assert of("close").tries == 4


def test_policies_outlast_an_outage(orders: Namespace, clock: ManualClock) -> None:
    QueuePolicy.objects.create(namespace=orders, tries=3)
    of("close")
    clock.advance(60)
    with database_away():
        assert of("close").tries == 3


def test_bounds_of_dead_letters_are_listed_for_the_sweep(orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, tries=3)
    QueuePolicy.objects.create(namespace=orders, queue="close", dead_max_age_s=60)
    QueuePolicy.objects.create(namespace=orders, queue="open", dead_max_count=0)
    assert list_dead_bounds(pool="default") == [
        DeadBounds(namespace="orders", queue="close", max_age_s=60, max_count=None),
        DeadBounds(namespace="orders", queue="open", max_age_s=None, max_count=0),
    ]
    assert list_dead_bounds(pool="other") == []
