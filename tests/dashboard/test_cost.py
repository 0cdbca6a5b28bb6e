"""What a page costs: round trips and queries, the same however many queues, namespaces and viewers there are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from queues.engine import Engine, Operation, publish
from queues.models import Namespace, Pool
from queues.pools.ttl_cache import Recent, forget_everything, forget_recent

from .people import POOL, People
from .surveyor import Surveyor

pytestmark = pytest.mark.django_db(transaction=True)

ROUND_TRIPS: Final = {"/": 1, "/totals": 1, "/queues/?sort=-ready": 2, "/overview/charts?range=24h": 2}
"""Of each page to each pool, when nothing is remembered."""

QUERIES_MAX: Final = 11
"""Person, pools (for superusers), namespaces with roles, a pool's row, objectives; and on the overview incidents,
triage, when the first namespace was made, and three about the latest report."""


@pytest.fixture(autouse=True)
def _slow_pages_are_no_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page has asked for stays new, however long the page takes on a busy machine."""
    monkeypatch.setattr(Recent, "_is_new", lambda *_: True)


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of calls in each round trip that pages make from now on, not other tests' threads."""
    made: list[int] = []
    ask: Callable[..., list[Any]] = Engine._replies

    def counted(engine: Engine, operations: Sequence[Operation[Any]]) -> list[Any]:
        thread = threading.current_thread()
        if thread is threading.main_thread() or thread.name.startswith("survey"):
            made.append(len(operations))
        return ask(engine, operations)

    monkeypatch.setattr(Engine, "_replies", counted)
    return made


def fill(engine: Engine, people: People, *, namespaces: int, queues: int, days: int = 0) -> None:
    """Namespaces that Alice's group sees, with so many queues each, made so many days ago."""
    pool, group = Pool.objects.get(name=POOL), Group.objects.get(name="owners")
    for number in range(namespaces):
        namespace = Namespace.objects.get_or_create(pool=pool, name=f"n{number}")[0]
        namespace.groups.add(group)
        Namespace.objects.filter(pk=namespace.pk).update(created=timezone.now() - timedelta(days=days))
        engine.batch([publish(engine.queue(namespace.name, f"q{one}"), [b"x"]) for one in range(queues)])


def look(browser: Client, path: str) -> None:
    """Nothing is remembered, as if the last look were long ago: what lasts a second may or may not do so here."""
    forget_everything()
    forget_recent()
    assert browser.get(path).status_code == 200


@pytest.mark.parametrize("path", ROUND_TRIPS)
@pytest.mark.parametrize(("namespaces", "queues"), [(1, 3), (40, 20)])
def test_round_trips_and_queries_do_not_depend_on_how_much_there_is(
    path: str,
    namespaces: int,
    queues: int,
    engine: Engine,
    surveyor: Surveyor,
    people: People,
    round_trips: list[int],
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    fill(engine, people, namespaces=namespaces, queues=queues, days=30)  # steps of a first day are beside the point
    surveyor.look()
    for browser in (people.alice.browser, people.root.browser):
        look(browser, path)  # the engine is open from here on
        round_trips.clear()

        with django_assert_max_num_queries(QUERIES_MAX):
            look(browser, path)

        assert 1 <= len(round_trips) <= ROUND_TRIPS[path]
        # survey, pumps, partitions; and a page of trends, or sums of namespaces
        assert sum(round_trips) <= 2 + engine.layout.partitions + 101


def test_twenty_viewers_cost_no_more_than_one(
    engine: Engine, surveyor: Surveyor, people: People, round_trips: list[int]
) -> None:
    fill(engine, people, namespaces=2, queues=5)
    surveyor.look()
    look(people.alice.browser, "/")
    round_trips.clear()

    for _ in range(20):
        assert people.alice.browser.get("/").status_code == 200
        assert people.root.browser.get("/totals").status_code == 200

    assert round_trips == []
