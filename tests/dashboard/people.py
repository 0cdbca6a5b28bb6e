"""Who visits the pages in tests: Alice owns `shop`, Olga operates it, Bob may read it; Charlie owns `bank` alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from queues.models import Namespace, Pool

POOL: Final = "default"
SHOP: Final = "shop"
BANK: Final = "bank"

_GROUPS: Final = {
    (SHOP, "owners"): ("operate_queues", "administer_queues"),
    (SHOP, "operators"): ("operate_queues",),
    (SHOP, "readers"): (),
    (BANK, "charlie's group"): ("operate_queues", "administer_queues"),
}
"""Namespace and name of each group → what its permissions let its members do there."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody, who signs in when a test first needs their browser."""

    user: User

    @cached_property
    def browser(self) -> Client:
        browser = Client()
        browser.force_login(self.user)
        return browser


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """`dave` is in no group, `root` a superuser; `nobody` is a browser in which nobody is signed in."""

    alice: Person
    olga: Person
    bob: Person
    charlie: Person
    dave: Person
    root: Person
    nobody: Client

    def sign_in(self) -> None:
        """All of them, now: it takes queries, and is noted."""
        for person in (self.alice, self.olga, self.bob, self.charlie, self.dave, self.root):
            assert person.browser.session


def gather() -> People:
    """Make them, their groups and the two namespaces."""
    pool = Pool.objects.get_or_create(name=POOL)[0]
    for (namespace, name), permissions in _GROUPS.items():
        group = Group.objects.create(name=name)
        group.permissions.set(Permission.objects.filter(codename__in=permissions))
        Namespace.objects.get_or_create(pool=pool, name=namespace)[0].groups.add(group)
    return People(
        alice=_person("alice", "owners"),
        olga=_person("olga", "operators"),
        bob=_person("bob", "readers"),
        charlie=_person("charlie", "charlie's group"),
        dave=_person("dave"),
        root=_person("root", is_superuser=True),
        nobody=Client(),
    )


def _person(name: str, *groups: str, is_superuser: bool = False) -> Person:
    user = User.objects.create_user(name, is_superuser=is_superuser, is_staff=is_superuser)
    user.groups.set(Group.objects.filter(name__in=groups))
    return Person(user=user)
