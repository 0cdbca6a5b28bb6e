"""Who may enter a namespace, and how soon a revocation is felt."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time

import pytest
from django.db import OperationalError, connection

from queues.models import Namespace, Pool
from queues.pools import find_pool
from queues.pools.database import is_outage_known
from queues.pools.ttl_cache import TtlCache, forget_everything
from queues.services.errors import InvalidTokenError, MetadataUnavailableError, PoolNotFoundError
from queues.services.tokens import authentication
from queues.services.tokens.authentication import Access, authorise, peek_access
from queues.services.tokens.limit_settings import Limit
from queues.services.tokens.managing import NewToken, create_token, list_tokens, revoke_token, set_limit
from tests.support.clock import ManualClock
from tests.support.database import url_of_database
from tests.support.outage import database_away
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock of the access memory."""
    clock = ManualClock()
    monkeypatch.setattr(authentication, "_known", TtlCache(clock=clock))
    return clock


def enter(token: NewToken, namespace: str = "orders", pool: str = "default") -> Access:
    return authorise(pool=pool, secret=token.secret, namespace=namespace)


@pytest.mark.django_db
def test_a_token_opens_its_namespace(token: NewToken) -> None:
    assert enter(token) == Access(pool="default", namespace="orders", token_id=token.public_id, limit=None)


@pytest.mark.django_db
def test_the_limit_comes_along(token: NewToken) -> None:
    limit = Limit(read=1, write=2, interval_s=3)
    set_limit(namespace="orders", public_id_or_secret=token.secret, limit=limit)
    assert enter(token).limit == limit


@pytest.mark.django_db
def test_every_refusal_looks_the_same(token: NewToken) -> None:
    Pool.objects.create(name="images", url="redis://host")
    create_token(namespace="emails", description="x")
    revoked = create_token(namespace="orders", description="old")
    revoke_token(namespace="orders", public_id_or_secret=revoked.public_id)
    refusals = set()
    for secret, namespace, pool in [
        (token.secret, "emails", "default"),
        (token.secret, "no-such-namespace", "default"),
        (token.secret, "orders", "images"),
        (token.public_id, "orders", "default"),
        (revoked.secret, "orders", "default"),
        ("unknown", "orders", "default"),
        ("", "orders", "default"),
        ("\udcff", "orders", "default"),
    ]:
        with pytest.raises(InvalidTokenError) as caught:
            authorise(pool=pool, secret=secret, namespace=namespace)
        refusals.add((type(caught.value), str(caught.value)))
    assert len(refusals) == 1


@pytest.mark.django_db
def test_an_unknown_pool_is_told(token: NewToken) -> None:
    with pytest.raises(PoolNotFoundError, match="pool not found"):
        enter(token, pool="nowhere")


@pytest.mark.django_db
def test_a_known_token_costs_no_query_for_a_second(
    token: NewToken, clock: ManualClock, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    enter(token)
    with django_assert_num_queries(0):  # type: ignore[operator]
        enter(token)
        assert peek_access(pool="default", secret=token.secret, namespace="orders") is not None
    clock.advance(1.01)
    assert peek_access(pool="default", secret=token.secret, namespace="orders") is None
    with django_assert_num_queries(1):  # type: ignore[operator]
        enter(token)


@pytest.mark.django_db
def test_a_revocation_is_felt_after_a_second(token: NewToken, clock: ManualClock) -> None:
    enter(token)
    revoke_token(namespace="orders", public_id_or_secret=token.public_id)
    clock.advance(1.01)
    with pytest.raises(InvalidTokenError):
        enter(token)


@pytest.mark.django_db
def test_a_token_that_goes_with_its_namespace_is_refused(token: NewToken, clock: ManualClock) -> None:
    enter(token)
    Namespace.objects.all().delete()
    clock.advance(1.01)
    with pytest.raises(InvalidTokenError):
        enter(token)


@pytest.mark.django_db
def test_guesses_do_not_fill_the_memory(token: NewToken, clock: ManualClock) -> None:
    enter(token)
    for number in range(20):
        with pytest.raises(InvalidTokenError):
            authorise(pool="default", secret=f"guess {number}", namespace="orders")
    assert len(authentication._known) == 1


@pytest.mark.django_db
def test_known_tokens_go_on_while_the_database_is_away_and_others_get_503(
    token: NewToken, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = create_token(namespace="orders", description="never used")
    enter(token)
    clock.advance(599)
    with database_away():
        assert enter(token).namespace == "orders"
        with pytest.raises(MetadataUnavailableError):
            enter(stranger)
        clock.advance(2)
        with pytest.raises(MetadataUnavailableError):
            enter(token)
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == ["database cannot be read"]
    forget_everything()
    assert enter(token).namespace == "orders"


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_broke_is_replaced(token: NewToken, clock: ManualClock) -> None:
    enter(token)
    clock.advance(2)
    old = connection.connection
    asked = []

    def broken(execute, *query):  # type: ignore[no-untyped-def]
        asked.append(connection.connection is old)
        if connection.connection is old:
            raise OperationalError("server closed the connection unexpectedly")
        return execute(*query)

    with connection.execute_wrapper(broken):
        assert enter(token).namespace == "orders"
    assert asked == [True, False]


@pytest.mark.django_db
@in_one_test("pool", ["\x00", "a\x00b", "a b", "\udcff", "x" * 256])
def test_a_name_that_no_pool_can_have_is_unknown_and_no_outage(token: NewToken, pool: str) -> None:
    with pytest.raises(PoolNotFoundError):
        enter(token, pool=pool)
    with pytest.raises(InvalidTokenError):
        enter(token, namespace=pool)
    for ask in (find_pool, lambda name: list_tokens(pool=name)):
        with pytest.raises(PoolNotFoundError):
            ask(pool)
    assert not revoke_token(namespace="orders", public_id_or_secret=f"{pool}:{token.secret}")
    assert not revoke_token(namespace="orders", public_id_or_secret=f"{token.secret}{pool[:1]}")
    assert not is_outage_known()
    assert enter(token).namespace == "orders"


WATCHER = """
import sys, time, django
django.setup()
from queues.services.tokens.authentication import authorise
from queues.services.errors import InvalidTokenError
while True:
    try:
        authorise(pool="default", secret=sys.argv[1], namespace="orders")
    except InvalidTokenError:
        print("refused", time.time(), flush=True)
        break
    print("open", flush=True)
    time.sleep(0.02)
"""


@pytest.mark.django_db(transaction=True)
def test_another_process_refuses_a_revoked_token_within_two_seconds(token: NewToken) -> None:
    environment = os.environ | {"DATABASE_URL": url_of_database()}
    command = [sys.executable, "-c", WATCHER, token.secret]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        try:
            assert wait_until(watcher.stdout.readline, or_fail="the other process said nothing") == "open\n"
            revoke_token(namespace="orders", public_id_or_secret=token.public_id)
            revoked_at = time.time()
            *_, last = iter(watcher.stdout.readline, "")
        finally:
            watcher.kill()
    word, refused_at = last.split()
    assert word == "refused"
    assert float(refused_at) - revoked_at < 2
