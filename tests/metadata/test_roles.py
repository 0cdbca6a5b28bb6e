"""Who may do what: Alice's group owns `orders`, Bob's may read it, Charlie's sees nothing of it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.models import Namespace, Pool
from queues.services import permissions
from queues.services.errors import NamespaceNotFoundError, RoleTooLowError
from queues.services.permissions import Role, check_role, places_of, role_in, roles_among, roles_of

OPERATE, ADMINISTER = "operate_queues", "administer_queues"


def group(name: str, *permissions: str, sees: Iterable[Namespace] = ()) -> Group:
    made = Group.objects.create(name=name)
    made.permissions.set(Permission.objects.filter(codename__in=permissions))
    made.namespaces.set(sees)
    return made


def person(name: str, *groups: Group, permissions: Iterable[str] = ()) -> User:
    made = User.objects.create_user(name, is_staff=True)
    made.groups.set(groups)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return made


def role(user: User | AnonymousUser, namespace: str = "orders", pool: str = "default") -> Role | None:
    """None: they see nothing there. `roles_of` and `roles_among` must say the same."""
    try:
        found: Role | None = role_in(user=user, pool=pool, namespace=namespace)
    except NamespaceNotFoundError:
        found = None
    assert roles_of(user=user).get((pool, namespace)) == found
    assert roles_among(user=user, places=[(pool, namespace), (pool, "another")]).get((pool, namespace)) == found
    return found


@pytest.mark.parametrize(
    ("permissions", "expected"),
    [((), Role.READ), ((OPERATE,), Role.OPERATE), ((ADMINISTER,), Role.ADMIN), ((OPERATE, ADMINISTER), Role.ADMIN)],
)
def test_permissions_of_a_group_that_the_namespace_is_shown_to_count(
    orders: Namespace, permissions: tuple[str, ...], expected: Role
) -> None:
    assert role(person("alice", group("shop", *permissions, sees=[orders]))) == expected


@pytest.mark.parametrize("name", ["a\0b", "%s", "%(user)s", "o'rders", '"', "{x}", "订单"])
def test_a_name_that_no_namespace_has_is_no_namespace(orders: Namespace, name: str) -> None:
    """PostgreSQL cannot even be asked for the first one."""
    alice = person("alice", group("shop", ADMINISTER, sees=[orders]))

    with pytest.raises(NamespaceNotFoundError):
        role_in(user=alice, pool="default", namespace=name)
    with pytest.raises(NamespaceNotFoundError):
        role_in(user=alice, pool=name, namespace=orders.name)
    assert role(alice) == Role.ADMIN


def test_what_is_named_is_found_however_many_namespaces_there_are(
    orders: Namespace, default_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions, "NAMESPACES_MAX", 2)
    spaces = [Namespace.objects.create(pool=default_pool, name=name) for name in ("a", "b", "c")]
    alice = person("alice", group("shop", OPERATE, sees=[orders, *spaces]))
    places = [("default", one.name) for one in (orders, *spaces)]

    assert roles_among(user=alice, places=places) == dict.fromkeys(places, Role.OPERATE)
    assert [*roles_of(user=alice)] == places_of(user=alice) == sorted(places)[:2]


def test_permissions_of_another_group_do_not_count(orders: Namespace, default_pool: Pool) -> None:
    ledger = Namespace.objects.create(pool=default_pool, name="ledger")
    bob = person("bob", group("readers", sees=[orders]), group("bank", OPERATE, ADMINISTER, sees=[ledger]))

    assert role(bob) == Role.READ
    assert role(bob, "ledger") == Role.ADMIN


def test_permissions_of_ones_own_count_in_every_namespace_that_one_sees(orders: Namespace, default_pool: Pool) -> None:
    Namespace.objects.create(pool=default_pool, name="ledger")
    bob = person("bob", group("readers", sees=[orders]), permissions=[OPERATE])

    assert role(bob) == Role.OPERATE
    assert role(bob, "ledger") is None


def test_a_permission_of_another_app_does_not_count_whatever_its_name(orders: Namespace) -> None:
    shop = group("shop", sees=[orders])
    alice = person("alice", shop)
    of_users = ContentType.objects.get(app_label="auth", model="user")
    same_name = Permission.objects.create(codename=OPERATE, content_type=of_users)
    shop.permissions.add(same_name)
    alice.user_permissions.add(same_name)

    assert role(alice) == Role.READ


def test_the_highest_of_several_groups_counts(orders: Namespace) -> None:
    bob = person("bob", group("readers", sees=[orders]), group("operators", OPERATE, sees=[orders]))

    assert role(bob) == Role.OPERATE


def test_nobody_but_members_of_its_groups_sees_a_namespace(orders: Namespace) -> None:
    group("shop", ADMINISTER, sees=[orders])

    assert role(person("charlie", group("strangers", ADMINISTER), permissions=[OPERATE, ADMINISTER])) is None
    assert role(AnonymousUser()) is None


def test_an_account_that_was_switched_off_sees_nothing(orders: Namespace) -> None:
    alice = person("alice", group("shop", ADMINISTER, sees=[orders]))
    root = User.objects.create_superuser("root")
    for user in (alice, root):
        user.is_active = False
        user.save()

    assert role(alice) is None
    assert role(root) is None


def test_a_superuser_is_admin_of_what_there_is_and_of_nothing_else(orders: Namespace) -> None:
    root = User.objects.create_superuser("root")

    assert role(root) == Role.ADMIN
    assert role(root, "nowhere") is None
    assert role(root, "orders", pool="elsewhere") is None


def test_what_is_hidden_and_what_is_not_there_are_refused_alike(orders: Namespace) -> None:
    charlie = person("charlie")

    for namespace in ("orders", "nowhere"):
        with pytest.raises(NamespaceNotFoundError, match=r"^namespace not found$"):
            check_role(user=charlie, pool="default", namespace=namespace, needed=Role.READ)


def test_too_low_a_role_is_refused_by_name(orders: Namespace) -> None:
    bob = person("bob", group("readers", sees=[orders]))

    check_role(user=bob, pool="default", namespace="orders", needed=Role.READ)
    with pytest.raises(RoleTooLowError):
        check_role(user=bob, pool="default", namespace="orders", needed=Role.OPERATE)


def test_all_roles_are_read_by_one_query_however_many_namespaces_there_are(default_pool: Pool) -> None:
    many = [Namespace.objects.create(pool=default_pool, name=f"n{number}") for number in range(30)]
    bob = person("bob", group("readers", sees=many[:20]), group("operators", OPERATE, sees=many[10:]))

    with CaptureQueriesContext(
        connection,
    ) as queries:
        roles = roles_of(user=bob)

    assert len(queries) == 1
    assert len(roles) == 30
    assert [roles["default", "n5"], roles["default", "n15"]] == [Role.READ, Role.OPERATE]
