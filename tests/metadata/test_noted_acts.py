"""What the admin, the staff API, commands and sign-ins do is in the activity log, without secrets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from queues.models import Activity, Namespace, Pool, Token
from queues.services.tokens.managing import NewToken

from .conftest import SECRET

NO_LIMIT = {"limit-TOTAL_FORMS": 0, "limit-INITIAL_FORMS": 0}
Entry = tuple[str, str, str, str, str, str]


def entries(*, by: str = "root") -> list[Entry]:
    """What `by` did but for signing in, oldest first: action, pool, namespace, queue, target, detail."""
    rows = Activity.objects.filter(who=by).exclude(action="signed_in").order_by("pk")
    return list(rows.values_list("action", "pool", "namespace", "queue", "target", "detail"))


def post(browser: Client, path: str, **form: Any) -> None:
    answer = browser.post(f"/admin/{path}", form)
    assert answer.status_code == 302 or "token-secret" in answer.text, answer.text


def test_tokens_made_changed_revoked_and_deleted_in_the_admin(admin: Client, orders: Namespace) -> None:
    post(admin, "queues/token/add/", namespace=orders.pk, description="shop", secret=SECRET, **NO_LIMIT)
    token = Token.objects.get()
    change = f"queues/token/{token.pk}/change/"
    post(admin, change, description="web shop", **NO_LIMIT)
    post(admin, change, description="web shop", **NO_LIMIT)  # nothing
    limit = {"limit-0-read": 5, "limit-0-write": 0, "limit-0-interval_s": 60, "limit-0-token": token.pk}
    post(admin, change, description="web shop", **NO_LIMIT | {"limit-TOTAL_FORMS": 1}, **limit)
    post(admin, "queues/token/", action="revoke_selected", _selected_action=token.pk, confirmed=1)
    post(admin, f"queues/token/{token.pk}/delete/", post="yes")

    where = ("default", "orders", "", token.public_id)
    assert entries() == [
        ("token_created", *where, ""),
        ("token_changed", *where, "Description"),
        ("limit_changed", *where, "5 read, 0 write per 60 s"),
        ("token_revoked", *where, ""),
        ("token_deleted", *where, ""),
    ]


def test_namespaces_and_policies(admin: Client, default_pool: Pool) -> None:
    post(admin, "queues/namespace/add/", pool=default_pool.pk, name="orders")
    orders = Namespace.objects.get()
    post(admin, f"queues/namespace/{orders.pk}/change/", description="of the shop")
    post(admin, "queues/queuepolicy/add/", namespace=orders.pk, queue="mail", tries=3)
    policy = orders.policies.get()
    post(admin, f"queues/queuepolicy/{policy.pk}/change/", namespace=orders.pk, queue="mail", tries=4)
    post(admin, "queues/queuepolicy/", action="delete_selected", _selected_action=policy.pk, post="yes")
    post(admin, f"queues/namespace/{orders.pk}/delete/", post="yes")

    assert entries() == [
        ("namespace_created", "default", "orders", "", "", ""),
        ("namespace_changed", "default", "orders", "", "", "Description"),
        ("policy_changed", "default", "orders", "mail", "", ""),
        ("policy_changed", "default", "orders", "mail", "", "Tries"),
        ("policy_deleted", "default", "orders", "mail", "", ""),
        ("namespace_deleted", "default", "orders", "", "", ""),
    ]


def test_pools_without_their_passwords(admin: Client, redis_url: str) -> None:
    secret_url = "redis://:hunter2@127.0.0.1:1/7"
    post(admin, "queues/pool/add/", name="eu", url=secret_url, partitions=8, min_replicas=0, events_memory_mb=256)
    eu = Pool.objects.get(name="eu")
    change = {
        "url": "redis://:hunter3@127.0.0.1:1/7",
        "min_replicas": 0,
        "events_memory_mb": 256,
        "description": "Europe",
    }
    post(admin, f"queues/pool/{eu.pk}/change/", **change)
    post(admin, f"queues/pool/{eu.pk}/delete/", post="yes")

    assert [(entry[0], entry[1]) for entry in entries()] == [
        ("pool_created", "eu"),
        ("pool_changed", "eu"),
        ("pool_deleted", "eu"),
    ]
    assert not re.search("hunter", str(list(Activity.objects.values())))


def test_accounts_and_groups(admin: Client) -> None:
    passwords = {"password1": "correct horse 7", "password2": "correct horse 7", "usable_password": "true"}
    post(admin, "auth/user/add/", username="bob", **passwords)
    post(admin, "auth/group/add/", name="shop")
    bob, shop = User.objects.get(username="bob"), Group.objects.get()
    when = {"date_joined_0": "2026-01-01", "date_joined_1": "12:00"}
    post(admin, f"auth/user/{bob.pk}/change/", username="bob", is_active="on", groups=shop.pk, **when)
    post(admin, f"auth/group/{shop.pk}/change/", name="webshop")
    post(admin, f"auth/user/{bob.pk}/delete/", post="yes")
    post(admin, f"auth/group/{shop.pk}/delete/", post="yes")

    done = [(action, target) for action, _, _, _, target, _ in entries()]
    assert done == [
        ("person_created", "bob"),
        ("group_created", "shop"),
        ("person_changed", "bob"),
        ("group_changed", "webshop"),
        ("person_deleted", "bob"),
        ("group_deleted", "webshop"),
    ]
    assert "correct horse" not in str(list(Activity.objects.values()))


def test_commands_on_the_server_are_nobodys_acts(default_pool: Pool) -> None:
    call_command("token", "create", "orders", "--description", "shop")
    token = Token.objects.get()
    call_command("token", "limit", "orders", token.public_id, "--read", "5", "--interval", "60")
    call_command("token", "limit", "orders", token.public_id, "--remove")
    call_command("token", "revoke", "orders", token.public_id)

    where = ("default", "orders", "")
    assert entries(by="manage.py") == [
        ("namespace_created", *where, "", ""),
        ("token_created", *where, token.public_id, ""),
        ("limit_changed", *where, token.public_id, "5 read, 0 write per 60 s"),
        ("limit_deleted", *where, token.public_id, ""),
        ("token_revoked", *where, token.public_id, ""),
    ]


def test_a_token_named_by_its_secret_is_noted_by_its_id(token: NewToken) -> None:
    call_command("token", "revoke", "orders", token.secret)

    assert [entry[4] for entry in entries(by="manage.py")] == [token.public_id]
    assert token.secret not in str(list(Activity.objects.values()))


@pytest.mark.django_db(transaction=True)
def test_acts_by_the_staff_api(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root", password="pw"))
    credentials = {"authorization": "Basic cm9vdDpwdw=="}

    def call(method: str, path: str, **more: Any) -> None:
        answer = client.generic(method, path, headers=credentials, **more)
        assert answer.status_code in (200, 201, 204), answer.content

    Pool.objects.get_or_create(name="default")
    call("POST", f"/token/orders?description=shop&token={SECRET}")
    public_id = Token.objects.get().public_id
    limit = {"data": '{"read": 5, "interval": 60}', "content_type": "application/json"}
    call("POST", f"/token/orders/{SECRET}/limit", **limit)
    call("DELETE", f"/token/orders/{public_id}/limit")
    call("DELETE", f"/token/orders/{public_id}/limit")  # there is none
    call("DELETE", f"/token/orders/{SECRET}")
    call("DELETE", f"/token/orders/{SECRET}")  # revoked already
    call("POST", "/accesslog?status=enable")
    call("POST", "/accesslog?status=disable")

    where = ("default", "orders", "")
    assert entries() == [
        ("namespace_created", *where, "", ""),
        ("token_created", *where, public_id, ""),
        ("limit_changed", *where, public_id, "5 read, 0 write per 60 s"),
        ("limit_deleted", *where, public_id, ""),
        ("token_revoked", *where, public_id, ""),
        ("access_log_switched", "", "", "", "", "enabled"),
        ("access_log_switched", "", "", "", "", "disabled"),
    ]
    assert SECRET not in str(list(Activity.objects.values()))


def test_signing_in(db: None, client: Client) -> None:
    User.objects.create_user("alice", password="pw")

    client.post("/login/", {"username": "alice", "password": "wrong"})
    client.post("/login/", {"username": "alice", "password": "pw"})

    assert list(Activity.objects.values_list("who", "action")) == [("alice", "signed_in")]
