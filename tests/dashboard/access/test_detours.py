"""Nobody gets at another namespace by way of one of their own."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState, detail
from tests.dashboard.people import BANK, POOL, SHOP, People
from tests.support.burying import bury

from .premises import Premises
from .tables import ERROR, JSON, QUEUE, SURE, UNKNOWN

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["job", "job_live", "job_body", "job_raw"])
def test_a_job_is_not_reached_by_way_of_a_namespace_of_ones_own(shop: Premises, people: People, name: str) -> None:
    url = shop.url(name, namespace=BANK)
    theirs = people.charlie.browser.get(url)
    nobodys = people.charlie.browser.get(url.replace(shop.ids[JobState.DEAD], UNKNOWN))

    assert theirs.status_code == nobodys.status_code
    assert [secret for secret in (ERROR, "a vase", "worker-1") if secret in theirs.text] == []


@pytest.mark.parametrize("path", ["/dead/", "/dead/more"])
def test_a_position_in_anothers_queue_leads_to_nothing_of_it(shop: Premises, people: People, path: str) -> None:
    for query in ({"at": f"{POOL}/{SHOP}/{QUEUE}|"}, {"queue": QUEUE}, {"error": "glass"}):
        answer = people.charlie.browser.get(path, query)
        assert answer.status_code == 200
        assert ERROR not in answer.text
        assert shop.ids[JobState.DEAD] not in answer.text
    assert people.charlie.browser.get(path, {"namespace": SHOP}).status_code == 404


@pytest.mark.parametrize("do", ["respawn-all", "delete-all"])
def test_who_owns_the_bank_and_reads_the_shop_acts_on_the_banks_dead_letters_only(
    shop: Premises, erin: Client, do: str
) -> None:
    bury(BANK, "book", ["the vault is empty"])
    before = shop.whole_state()[:4]

    answer = erin.post("/dead/act", {"do": do, "word": "delete"} | SURE, headers=JSON).json()

    assert (answer["done"], answer["forbidden"]) == (1, 1)
    assert shop.whole_state()[:4] == before


@pytest.mark.parametrize("do", ["respawn-selected", "delete-selected"])
def test_letters_of_which_one_may_not_be_touched_are_all_left_alone(shop: Premises, erin: Client, do: str) -> None:
    (job_id,) = bury(BANK, "book", ["the vault is empty"])
    letters = [f"{POOL}/{BANK}/book/{job_id}", f"{POOL}/{SHOP}/{QUEUE}/{shop.ids[JobState.DEAD]}"]
    before = shop.whole_state()

    assert erin.post("/dead/act", {"do": do, "letter": letters} | SURE).status_code == 403
    assert shop.whole_state() == before
    kept = shop.engine.run(detail(shop.engine.queue(BANK, "book"), job_id))
    assert kept is not None
    assert kept.state is JobState.DEAD
