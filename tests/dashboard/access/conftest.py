"""The shop, and somebody who stands with a foot in each namespace."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from queues.engine import Engine
from queues.services.activity import ActivityAction, note_activity
from tests.dashboard.people import POOL, SHOP, People

from .premises import Premises
from .tables import QUEUE


@pytest.fixture
def shop(people: People, engine: Engine) -> Premises:
    shop = Premises(engine)
    shop.fill()
    note_activity(user=people.alice.user, action=ActivityAction.PAUSED, pool=POOL, namespace=SHOP, queue=QUEUE)
    return shop


@pytest.fixture
def erin(people: People) -> Client:
    """Owns the bank as Charlie does, and may read the shop as Bob does."""
    user = User.objects.create_user("erin")
    user.groups.set(Group.objects.filter(name__in=["charlie's group", "readers"]))
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def strict(people: People) -> Client:
    """Alice's browser, whose forms need a token."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(people.alice.user)
    return browser
