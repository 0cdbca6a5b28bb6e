"""The queue shop/orders, and browsers of those who own, operate and read it."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import Engine
from tests.dashboard.people import People
from tests.dashboard.shop import Shop


@pytest.fixture
def shop(people: People, engine: Engine) -> Shop:
    return Shop(engine)


@pytest.fixture
def alice(people: People, shop: Shop) -> Client:
    """She owns the queue."""
    return people.alice.browser


@pytest.fixture
def olga(people: People, shop: Shop) -> Client:
    """She operates it."""
    return people.olga.browser


@pytest.fixture
def bob(people: People, shop: Shop) -> Client:
    """He may look at it."""
    return people.bob.browser
