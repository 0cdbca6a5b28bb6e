"""Who visits the pages in tests: Alice owns `shop`, Olga operates it, Bob may read it; Charlie owns `bank` alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.backends.cached_db import SessionStore
from django.test import Client

from queues.models import Namespace, Pool

POOL: Final = "default"
SHOP: Final = "shop"
BANK: Final = "bank"

_OWNERS: Final = (
    *("operate_queues", "administer_queues"),
    *("view_token", "add_token", "delete_token", "change_namespace", "delete_namespace"),
)
_GROUPS: Final = {
    (SHOP, "owners"): _OWNERS,
    (SHOP, "operators"): ("operate_queues",),
    (SHOP, "readers"): (),
    (BANK, "charlie's group"): _OWNERS,
}
"""Namespace and name of each group → what its permissions let its members do there."""

_MEMBERS: Final = {"alice": "owners", "olga": "operators", "bob": "readers", "charlie": "charlie's group"}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody, who signs in when a test first needs their browser."""

    user: User

    @cached_property
    def browser(self) -> Client:
        """With a session as a sign-in makes it. A sign-in takes four times the queries."""
        session = SessionStore()
        session.update(
            {
                SESSION_KEY: str(self.user.pk),
                BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[-1],
                HASH_SESSION_KEY: self.user.get_session_auth_hash(),
            }
        )
        session.create()
        browser = Client()
        browser.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
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
        """All of them, now: it takes queries."""
        for person in (self.alice, self.olga, self.bob, self.charlie, self.dave, self.root):
            assert person.browser.session


def gather() -> People:
    """Make them, their groups and the two namespaces, in few queries."""
    pool = Pool.objects.get_or_create(name=POOL)[0]
    groups = {name: Group(name=name) for _, name in _GROUPS}
    Group.objects.bulk_create(groups.values())
    ids = dict(Permission.objects.filter(content_type__app_label="queues").values_list("codename", "id"))
    Group.permissions.through.objects.bulk_create(
        Group.permissions.through(group=groups[name], permission_id=ids[codename])
        for (_, name), codenames in _GROUPS.items()
        for codename in codenames
    )
    spaces = {name: Namespace.objects.get_or_create(pool=pool, name=name)[0] for name in (SHOP, BANK)}
    Namespace.groups.through.objects.bulk_create(
        Namespace.groups.through(namespace=spaces[namespace], group=groups[name]) for namespace, name in _GROUPS
    )
    names = (*_MEMBERS, "dave", "root")
    users = {
        name: User(username=name, is_superuser=name == "root", is_staff=name == "root", password="!") for name in names
    }
    User.objects.bulk_create(users.values())
    User.groups.through.objects.bulk_create(
        User.groups.through(user=users[name], group=groups[group]) for name, group in _MEMBERS.items()
    )
    return People(**{name: Person(user=user) for name, user in users.items()}, nobody=Client())
