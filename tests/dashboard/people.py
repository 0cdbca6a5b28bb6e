"""Who visits the pages in tests: Alice owns `shop`, Olga operates it, Bob may read it; Charlie owns `bank` alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.cached_db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils.crypto import get_random_string

from queues.models import Namespace, Pool
from tests.support.inserting import insert

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
        """With a session as a sign-in makes it, by one query."""
        key = get_random_string(32)
        session = SessionStore(key)
        values = {
            SESSION_KEY: str(self.user.pk),
            BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[-1],
            HASH_SESSION_KEY: self.user.get_session_auth_hash(),
        }
        insert(
            [
                Session(
                    session_key=key,
                    session_data=session.encode(values),
                    expire_date=session.get_expiry_date(expiry=session.get_session_cookie_age()),
                )
            ]
        )
        browser = Client()
        browser.cookies[settings.SESSION_COOKIE_NAME] = key
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


FIRST_ID: Final = 1_000_000
"""The ids of the rows begin here: PostgreSQL gives others ids from 1 on, SQLite ids above the largest."""


def gather() -> People:
    """Make them, their groups and the two namespaces."""
    pool = Pool.objects.get_or_create(name=POOL)[0]
    groups = {name: Group(pk=FIRST_ID + at, name=name) for at, (_, name) in enumerate(_GROUPS)}
    insert([*groups.values()])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT codename, auth_permission.id FROM auth_permission JOIN django_content_type"
            " ON django_content_type.id = content_type_id WHERE app_label = 'queues'"
        )
        permissions = dict(cursor.fetchall())
        cursor.execute("SELECT name, id FROM queues_namespace WHERE pool_id = %s", [pool.pk])
        spaces = dict(cursor.fetchall())
    insert(
        [
            Group.permissions.through(group_id=groups[name].pk, permission_id=permissions[codename])
            for (_, name), codenames in _GROUPS.items()
            for codename in codenames
        ]
    )
    missing = [
        Namespace(pk=FIRST_ID + at, pool=pool, name=name) for at, name in enumerate((SHOP, BANK)) if name not in spaces
    ]
    if missing:
        insert(missing)
        spaces |= {space.name: space.pk for space in missing}
    insert(
        [
            Namespace.groups.through(namespace_id=spaces[namespace], group_id=groups[name].pk)
            for namespace, name in _GROUPS
        ]
    )
    names = (*_MEMBERS, "dave", "root")
    users = {
        name: User(pk=FIRST_ID + at, username=name, is_superuser=name == "root", is_staff=name == "root", password="!")
        for at, name in enumerate(names)
    }
    insert([*users.values()])
    insert([User.groups.through(user_id=users[name].pk, group_id=groups[group].pk) for name, group in _MEMBERS.items()])
    return People(**{name: Person(user=user) for name, user in users.items()}, nobody=Client())
