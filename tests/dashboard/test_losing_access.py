"""Who loses an account, a group or a role loses what it gave at once; what is hidden looks like what is not there."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from queues.engine import JobState
from tests.support.burying import bury
from tests.support.rows import in_one_test

from .people import POOL, SHOP, People

PAGES = ("/", "/queues/", "/dead/", "/activity/", f"/queues/{POOL}/{SHOP}/mail/")
HERS = f"/queues/{POOL}/{SHOP}/mail/"


def statuses(browser: Client) -> list[int]:
    return [browser.get(path).status_code for path in PAGES]


def test_an_account_that_is_switched_off_is_signed_out(people: People) -> None:
    assert statuses(people.alice.browser) == [200] * 5

    people.alice.user.is_active = False
    people.alice.user.save()

    assert statuses(people.alice.browser) == [302] * 5


def test_who_leaves_a_group_no_longer_sees_its_namespaces(people: People) -> None:
    bury(SHOP, "mail", ["the glass broke"])
    assert "the glass broke" in people.bob.browser.get("/dead/").text

    people.bob.user.groups.clear()

    assert statuses(people.bob.browser) == [200, 200, 200, 200, 404]
    assert "the glass broke" not in people.bob.browser.get("/dead/").text


def test_a_group_that_a_namespace_is_taken_from_no_longer_sees_it(people: People) -> None:
    Group.objects.get(name="readers").namespaces.clear()

    assert people.bob.browser.get(HERS).status_code == 404
    assert people.alice.browser.get(HERS).status_code == 200


def test_a_permission_that_is_taken_away_is_gone_at_the_next_act(people: People) -> None:
    bury(SHOP, "mail", ["the glass broke"])
    assert people.olga.browser.post(f"{HERS}pause").status_code == 302

    Group.objects.get(name="operators").permissions.clear()

    assert people.olga.browser.post(f"{HERS}resume").status_code == 403
    assert people.olga.browser.get(HERS).status_code == 200


def test_a_permission_in_another_namespace_opens_nothing_here(people: People) -> None:
    people.bob.user.groups.add(Group.objects.get(name="charlie's group"))
    bury("bank", "mail", ["the glass broke"])

    assert people.bob.browser.post(f"/queues/{POOL}/bank/mail/pause").status_code == 302
    assert people.bob.browser.post(f"{HERS}pause").status_code == 403


def test_a_permission_of_ones_own_opens_nothing_that_one_does_not_see(people: People) -> None:
    people.dave.user.user_permissions.set(Permission.objects.filter(codename="administer_queues"))

    assert people.dave.browser.post(f"{HERS}pause").status_code == 404


@in_one_test("path", ["", "now", "jobs", "policy/", "publish/", f"jobs/{'0' * 26}/"])
def test_what_is_hidden_and_what_is_not_there_look_the_same(people: People, path: str) -> None:
    bury(SHOP, "mail", ["the glass broke"])
    answers = [
        people.charlie.browser.get(f"/queues/{pool}/{namespace}/mail/{path}")
        for pool, namespace in ((POOL, SHOP), (POOL, "nowhere"), ("nowhere", SHOP))
    ]

    assert [answer.status_code for answer in answers] == [404] * 3
    assert len({_without_names(answer.text) for answer in answers}) == 1


@pytest.mark.parametrize("verb", ["respawn", "delete"])
@pytest.mark.parametrize("namespace", [SHOP, "nowhere"])
def test_acts_on_what_is_hidden_and_on_what_is_not_there_are_refused_alike(
    people: People, verb: str, namespace: str
) -> None:
    (job_id,) = bury(SHOP, "mail", ["the glass broke"])
    headers = {"accept": "application/json"}

    form = {"confirmed": "yes", "do": f"{verb}-selected", "letter": f"{POOL}/{namespace}/mail/{job_id}"}
    refused = people.charlie.browser.post("/dead/act", form, headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (404, "namespace_not_found")
    assert JobState.DEAD.value in people.alice.browser.get(f"{HERS}jobs/{job_id}/").text


def _without_names(text: str) -> str:
    """Without the address that was asked for, and tokens."""
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text)
    return re.sub(r'name="next" value="[^"]*"', "", text)
