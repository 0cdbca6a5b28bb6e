"""Alice's group owns `orders`; Charlie, with the same rights in another group, must learn nothing of it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from queues.models import Namespace, PushEndpoint, QueuePolicy, Token, TokenLimit
from queues.services.tokens.managing import NewToken


@pytest.fixture
def pages(orders: Namespace, token: NewToken) -> dict[str, str]:
    """Every admin page that has to do with `orders`, by what it is."""
    row = Token.objects.get()
    TokenLimit.objects.create(token=row, read=1, write=1, interval_s=1)
    policy = QueuePolicy.objects.create(namespace=orders, queue="close-orders", tries=3)
    endpoint = PushEndpoint.objects.create(namespace=orders, queue="close-orders", url="https://orders.example/")
    found: dict[str, str] = {}
    rows = (("namespace", orders.pk), ("token", row.pk), ("queuepolicy", policy.pk), ("pushendpoint", endpoint.pk))
    for model, pk in rows:
        found |= {f"{model} {page}": f"/admin/queues/{model}/{pk}/{page}/" for page in ("change", "delete", "history")}
    return found


LISTS = [
    f"/admin/queues/{page}"
    for page in (
        *("namespace/", "token/", "token/add/", "queuepolicy/", "queuepolicy/add/"),
        *("pushendpoint/", "pushendpoint/add/"),
    )
]


def test_alice_sees_what_is_hers(alice: Client, pages: dict[str, str]) -> None:
    assert {name: alice.get(url).status_code for name, url in pages.items()} == dict.fromkeys(pages, 200)
    assert "orders" in alice.get("/admin/queues/namespace/").text
    assert "orders" in alice.get("/admin/queues/token/add/").text, "to choose from"


def test_charlie_sees_none_of_it(charlie: Client, pages: dict[str, str]) -> None:
    for url in pages.values():
        response = charlie.get(url, follow=True)
        assert response.redirect_chain == [("/admin/", 302)], url
    for url in (*LISTS, "/admin/"):
        response = charlie.get(url)
        assert response.status_code == 200, url
        assert "orders" not in response.text, url


def test_charlie_changes_none_of_it(charlie: Client, orders: Namespace, pages: dict[str, str]) -> None:
    for url in pages.values():
        charlie.post(url, {"post": "yes", "description": "mine", "name": "mine"})
    row = Token.objects.get()
    for action in ("revoke_selected", "delete_selected"):
        form = {"action": action, "_selected_action": [row.pk], "confirmed": "yes", "post": "yes"}
        charlie.post("/admin/queues/token/", form)
    refused = charlie.post("/admin/queues/token/add/", {"namespace": orders.pk, "description": "mine"})
    assert "Select a valid choice" in refused.text
    charlie.post("/admin/queues/queuepolicy/add/", {"namespace": orders.pk, "queue": "mine"})
    assert list(Token.objects.values_list("description", "revoked_at")) == [("web shop", None)]
    assert list(QueuePolicy.objects.values_list("queue", flat=True)) == ["close-orders"]
    assert Namespace.objects.get() == orders


@pytest.mark.parametrize("name", ["orders", "strange"])
def test_charlie_cannot_find_out_by_making_namespaces_which_names_are_taken(
    charlie: Client, orders: Namespace, name: str
) -> None:
    form = {"pool": orders.pool.pk, "name": name, "description": ""}
    assert charlie.post("/admin/queues/namespace/add/", form).status_code == 403
    assert charlie.get("/admin/queues/namespace/add/").status_code == 403
    assert list(Namespace.objects.all()) == [orders]


def test_a_superuser_makes_a_namespace_and_says_who_sees_it(admin: Client, charlie: Client, orders: Namespace) -> None:
    strangers = Group.objects.get(name="strangers")
    form = {"pool": orders.pool.pk, "name": "strange", "description": "", "groups": [strangers.pk]}
    admin.post("/admin/queues/namespace/add/", form)
    assert "strange" in charlie.get("/admin/queues/namespace/").text


def test_alice_cannot_give_her_namespace_away(alice: Client, orders: Namespace) -> None:
    alice.post(f"/admin/queues/namespace/{orders.pk}/change/", {"description": "x", "groups": []})
    assert [group.name for group in orders.groups.all()] == ["shop"]
    assert Namespace.objects.get().description == "x"
