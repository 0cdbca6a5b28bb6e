"""Services: tokens and their limits."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from queues.models import Namespace, Pool, Token
from queues.services.errors import (
    InvalidArgumentError,
    LimitExistsError,
    LimitNotFoundError,
    PoolNotFoundError,
    TokenExistsError,
    TokenNotFoundError,
)
from queues.services.tokens.limit_settings import Limit
from queues.services.tokens.managing import (
    NewToken,
    create_token,
    delete_limit,
    get_limit,
    list_limits,
    list_tokens,
    revoke_token,
    set_limit,
)
from queues.services.tokens.secrets import split_token
from tests.support.rows import in_one_test

from .conftest import SECRET

LIMIT = Limit(read=10, write=5, interval_s=60)


@pytest.mark.django_db
def test_a_new_token_is_random_and_only_its_digest_is_kept(orders: Namespace) -> None:
    first, second = (create_token(namespace="orders", description="web") for _ in range(2))
    assert first.secret != second.secret
    assert len(first.secret) == 43
    kept = str(list(Token.objects.values()))
    assert first.secret not in kept
    assert first.public_id in kept


@pytest.mark.django_db
def test_a_token_of_another_pool_shows_its_pool() -> None:
    Pool.objects.create(name="images", url="redis://host")
    assert create_token(namespace="n", description="x").display.count(":") == 0
    new = create_token(namespace="n", pool="images", description="x")
    assert new.display == f"images:{new.secret}"
    assert split_token(new.display) == ("images", new.secret)


@pytest.mark.django_db
def test_a_token_makes_its_namespace() -> None:
    create_token(namespace="fresh", description="x")
    assert Namespace.objects.get(name="fresh").pool.name == "default"


@pytest.mark.django_db
def test_a_given_secret_is_taken_once_per_namespace() -> None:
    assert create_token(namespace="orders", description="x", secret=SECRET).display == SECRET
    with pytest.raises(TokenExistsError):
        create_token(namespace="orders", description="y", secret=SECRET)
    create_token(namespace="emails", description="x", secret=SECRET)


@pytest.mark.django_db
@in_one_test("secret", ["x" * 19, "x" * 256, "with a space in the middle", "pool:" + SECRET, "a/" + SECRET, "ü" * 20])
def test_a_given_secret_that_cannot_be_sent_is_refused(secret: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        create_token(namespace="orders", description="x", secret=secret)
    assert secret not in str(caught.value)
    assert not Namespace.objects.exists()


@pytest.mark.django_db
def test_twenty_characters_are_enough() -> None:
    create_token(namespace="orders", description="x", secret="0123456789abcdefghij")


@pytest.mark.django_db
@pytest.mark.parametrize("description", ["", "  ", "x" * 256])
def test_a_token_needs_a_description(description: str) -> None:
    with pytest.raises(InvalidArgumentError, match="description"):
        create_token(namespace="orders", description=description)
    assert not Namespace.objects.exists()


@pytest.mark.django_db
def test_an_unknown_pool_is_told() -> None:
    for call in (
        lambda: create_token(namespace="orders", pool="nowhere", description="x"),
        lambda: list_tokens(pool="nowhere"),
    ):
        with pytest.raises(PoolNotFoundError, match="pool not found"):
            call()


@pytest.mark.django_db
def test_a_token_is_revoked_by_id_or_by_secret_once(token: NewToken) -> None:
    other = create_token(namespace="orders", description="y")
    assert revoke_token(namespace="orders", public_id_or_secret=token.public_id)
    assert not revoke_token(namespace="orders", public_id_or_secret=token.public_id)
    assert revoke_token(namespace="orders", public_id_or_secret=other.display)
    assert list_tokens(namespace="orders") == []
    assert all(info.revoked_at for info in list_tokens(namespace="orders", include_revoked=True))


@pytest.mark.django_db
def test_a_token_is_not_revoked_through_another_namespace_or_pool(token: NewToken) -> None:
    Pool.objects.create(name="images", url="redis://host")
    create_token(namespace="emails", description="x")
    assert not revoke_token(namespace="emails", public_id_or_secret=token.public_id)
    assert not revoke_token(pool="images", namespace="orders", public_id_or_secret=token.public_id)
    assert [info.public_id for info in list_tokens(namespace="orders")] == [token.public_id]


@pytest.mark.django_db
def test_lists_never_hold_secrets(token: NewToken) -> None:
    assert token.secret not in repr(list_tokens()) + repr(token)


@pytest.mark.django_db
def test_no_secret_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        new = create_token(namespace="orders", description="x", secret=SECRET)
        revoke_token(namespace="orders", public_id_or_secret=new.secret)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("queues")] == [
        "token created",
        "token revoked",
    ]
    assert SECRET not in str([vars(record) for record in caplog.records])


@pytest.mark.django_db
def test_a_limit_is_set_read_replaced_and_deleted(token: NewToken) -> None:
    named: dict[str, Any] = {"namespace": "orders", "public_id_or_secret": token.secret}
    with pytest.raises(LimitNotFoundError):
        get_limit(**named)
    set_limit(**named, limit=LIMIT, only_new=True)
    with pytest.raises(LimitExistsError):
        set_limit(**named, limit=LIMIT, only_new=True)
    set_limit(**named, limit=Limit(read=0, write=1, interval_s=1))
    assert get_limit(**named) == Limit(read=0, write=1, interval_s=1)
    assert [(info.public_id, info.limit.write) for info in list_limits()] == [(token.public_id, 1)]
    assert delete_limit(**named)
    assert not delete_limit(**named)
    assert list_limits() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "limit",
    [
        Limit(read=0, write=0, interval_s=1),
        Limit(read=1, write=1, interval_s=0),
        Limit(read=-1, write=1, interval_s=1),
        Limit(read=1, write=2**31, interval_s=1),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(token: NewToken, limit: Limit) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid"):
        set_limit(namespace="orders", public_id_or_secret=token.secret, limit=limit)
    assert list_limits() == []


@pytest.mark.django_db
def test_a_revoked_token_has_no_limit_to_set(token: NewToken) -> None:
    revoke_token(namespace="orders", public_id_or_secret=token.secret)
    with pytest.raises(TokenNotFoundError):
        set_limit(namespace="orders", public_id_or_secret=token.secret, limit=LIMIT)


@pytest.mark.django_db
@pytest.mark.parametrize("description", ["a\x00b", "two\nlines", "\x85x\x85x", "\udcff"])
def test_a_description_that_cannot_be_kept_or_shown_is_refused(default_pool: Pool, description: str) -> None:
    with pytest.raises(InvalidArgumentError, match="description contains control characters"):
        create_token(namespace="orders", description=description)
    assert create_token(namespace="orders", description="für 太郎\u3000と花子").public_id
