"""Who visits the pages in tests: Alice owns the shop's namespace, Bob may read it, Charlie must see nothing of it."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from queues.models import Namespace, Pool

POOL = "default"
NAMESPACE = "shop"
QUEUE = "orders"
AT = f"/queues/{POOL}/{NAMESPACE}/{QUEUE}/"


def make_namespace() -> Namespace:
    """The shop, shown to its owners, its operators and its readers."""
    pool = Pool.objects.get_or_create(name=POOL)[0]
    namespace = Namespace.objects.create(pool=pool, name=NAMESPACE)
    for name, permissions in {
        "owners": ("operate_queues", "administer_queues"),
        "operators": ("operate_queues",),
        "readers": (),
    }.items():
        group = Group.objects.create(name=name)
        group.permissions.set(Permission.objects.filter(codename__in=permissions))
        namespace.groups.add(group)
    return namespace


def signed_in(name: str, *groups: str) -> Client:
    """A browser in which a member of these groups is signed in."""
    user = User.objects.create_user(name)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client
