"""A change of metadata is felt by other processes as soon as they hear of it."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.test import Client

from queues.engine.waiting.subscription import announce
from queues.models import Namespace, Pool, QueuePolicy, Token
from queues.pools import async_engine_for, cache_invalidation, close_async_engines, peek_async_engine
from queues.pools.cache_invalidation import dispatch, dispatch_gap
from queues.pools.ttl_cache import TtlCache, forget_everything
from queues.services.policies import peek_policy, policy_for
from queues.services.tokens import authentication
from queues.services.tokens.authentication import authorise, peek_access
from queues.services.tokens.limit_settings import Limit
from queues.services.tokens.managing import NewToken, create_token, delete_limit, revoke_token, set_limit
from tests.engine.loop import until
from tests.support.clock import ManualClock
from tests.support.loops import run_async
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db(transaction=True)

Told = list[tuple[str, str, str]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What the pools' Redis was told, instead of it being told."""
    told: Told = []
    monkeypatch.setattr(cache_invalidation, "announce", lambda _url, said: told.extend(tuple(one) for one in said))
    return told


def set_and_change_limit(token: NewToken) -> None:
    limit = Limit(read=1, write=1, interval_s=1)
    set_limit(namespace="orders", public_id_or_secret=token.public_id, limit=limit, only_new=True)
    set_limit(namespace="orders", public_id_or_secret=token.public_id, limit=limit)
    delete_limit(namespace="orders", public_id_or_secret=token.public_id)


def change_policies(_token: NewToken) -> None:
    policy = QueuePolicy.objects.create(namespace=Namespace.objects.get(name="orders"), tries=3)
    policy.delete()


@pytest.mark.parametrize(
    ("change", "kind", "times"),
    [
        (lambda token: revoke_token(namespace="orders", public_id_or_secret=token.secret), "token-revoked", 1),
        (lambda token: Token.objects.get(public_id=token.public_id).delete(), "token-revoked", 1),
        (set_and_change_limit, "token-changed", 3),
        (change_policies, "policy-changed", 2),
        (lambda _token: Namespace.objects.filter(name="orders").delete(), "namespace-deleted", 1),
    ],
    ids=["revoke", "delete token", "limit", "policy", "namespace"],
)
def test_every_change_is_told_once(
    token: NewToken, told: Told, change: Callable[[NewToken], object], kind: str, times: int
) -> None:
    other = create_token(namespace="orders", description="goes with its namespace")
    set_limit(namespace="orders", public_id_or_secret=other.public_id, limit=Limit(read=1, write=1, interval_s=1))
    told.clear()
    change(token)
    detail = token.public_id if kind.startswith("token") else "orders"
    assert told == [(kind, "default", detail)] * times


def test_the_admin_tells_of_limits_and_policies(admin: Client, token: NewToken, told: Told) -> None:
    row = Token.objects.get(public_id=token.public_id)
    form = {
        "description": "web shop",
        "limit-TOTAL_FORMS": "1",
        "limit-INITIAL_FORMS": "0",
        "limit-0-token": str(row.pk),
        "limit-0-read": "5",
        "limit-0-write": "5",
        "limit-0-interval_s": "1",
    }
    assert admin.post(f"/admin/queues/token/{row.pk}/change/", form).status_code == 302
    assert told == [("token-changed", "default", token.public_id)]


def test_nothing_is_told_before_it_is_so(token: NewToken, told: Told) -> None:
    with transaction.atomic():
        revoke_token(namespace="orders", public_id_or_secret=token.public_id)
        assert told == []
    assert told == [("token-revoked", "default", token.public_id)]
    with transaction.atomic():
        Namespace.objects.all().delete()
        transaction.set_rollback(True)
    assert len(told) == 1


def test_without_redis_a_revocation_succeeds_all_the_same(
    token: NewToken, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cache_invalidation, "_muted_until", {})
    Pool.objects.update(url="unix:///nonexistent/redis.sock")
    authorise(pool="default", secret=token.secret, namespace="orders")
    with caplog.at_level(logging.INFO, logger="queues.pools.cache_invalidation"):
        assert revoke_token(namespace="orders", public_id_or_secret=token.public_id)
        QueuePolicy.objects.create(namespace=Namespace.objects.get(name="orders"), tries=3)
    assert Token.objects.get(public_id=token.public_id).revoked_at is not None
    assert peek_access(pool="default", secret=token.secret, namespace="orders") is None, "this process knows"
    records = [vars(record) for record in caplog.records if record.name == cache_invalidation.__name__]
    assert [record["kind"] for record in records] == ["token-revoked"], "nobody tries twice in a row"


def known(token: NewToken) -> bool:
    return peek_access(pool="default", secret=token.secret, namespace="orders") is not None


def test_what_another_process_revoked_is_forgotten_at_once(
    token: NewToken, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "_known", TtlCache(clock=ManualClock()))  # where nothing expires

    async def use() -> None:
        engine = await async_engine_for("default")
        await until(lambda: engine._subscription.established, or_fail="it does not listen")
        await sync_to_async(authorise)(pool="default", secret=token.secret, namespace="orders")
        assert known(token)
        await sync_to_async(announce)(redis_url, [("token-revoked", "default", token.public_id)])
        await until(lambda: not known(token), or_fail="it still knows the token", timeout_s=1.0)
        await close_async_engines()

    run_async(use())


def test_an_engine_that_is_open_is_found_without_waiting(redis_url: str) -> None:
    async def use() -> None:
        assert peek_async_engine("default") is None
        engine = await async_engine_for("default")
        assert peek_async_engine("default") is engine
        assert peek_async_engine("nowhere") is None
        await sync_to_async(Pool.objects.update)(url=f"{redis_url}?db=3")
        forget_everything()
        assert peek_async_engine("default") is None, "its row may have changed"
        assert await async_engine_for("default") is not engine
        await close_async_engines()

    run_async(use())


def test_a_notice_concerns_only_whom_it_names(token: NewToken) -> None:
    authorise(pool="default", secret=token.secret, namespace="orders")
    policy_for(pool="default", namespace="orders", queue="close")

    def policy_known() -> bool:
        return peek_policy(pool="default", namespace="orders", queue="close") is not None

    for other in (
        b"token-revoked\tdefault\tsomebody",
        b"token-revoked\timages\t" + token.public_id.encode(),
        b"namespace-deleted\tdefault\temails",
        b"policy-changed\timages\torders",
        b"a-kind-of-tomorrow\tdefault\torders",
        b"token-revoked",
        b"\xff\t\t",
    ):
        dispatch(other)
    dispatch_gap("images")
    assert (known(token), policy_known()) == (True, True)

    dispatch(b"policy-changed\tdefault\torders")
    assert (known(token), policy_known()) == (True, False)
    dispatch(b"token-changed\tdefault\t" + token.public_id.encode())
    assert not known(token)
    authorise(pool="default", secret=token.secret, namespace="orders")
    dispatch(b"namespace-deleted\tdefault\torders")
    assert not known(token)


def test_after_a_gap_everything_of_the_pool_is_asked_again_unless_the_database_is_away(token: NewToken) -> None:
    authorise(pool="default", secret=token.secret, namespace="orders")
    dispatch_gap("default")
    assert not known(token)
    with database_away():
        assert authorise(pool="default", secret=token.secret, namespace="orders").token_id == token.public_id
