"""Respawns at a rate: what a step does, and that nothing is done twice when a process dies in one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queues.engine import JobState
from queues.models import Activity, ActivityAction, RespawnPlan, RespawnState
from queues.services.dead_letters import respawn_plans
from queues.services.dead_letters.actions import respawn_stretch
from queues.services.dead_letters.respawn_plans import HELD, carry_out_respawns
from tests.support.burying import bury

from .people import People
from .test_dead import counts

JSON: Mapping[str, str] = {"accept": "application/json"}


def start(browser: Client, rate: int = 5, unit: str = "s", **fields: Any) -> Any:
    return browser.post("/dead/respawns/start", {"rate": rate, "unit": unit} | fields, headers=JSON)


def plan() -> RespawnPlan:
    return RespawnPlan.objects.get()


def begun() -> datetime:
    return plan().created_at


def test_a_step_respawns_what_the_rate_allows(people: People) -> None:
    bury("shop", "mail", ["boom"] * 12)

    assert start(people.alice.browser).status_code == 200
    done = [carry_out_respawns(now=begun() + timedelta(seconds=second)) for second in (0, 1, 1, 2, 3, 4)]

    assert done == [0, 5, 0, 5, 2, 0]
    assert counts("mail") == {JobState.READY: 12}
    assert (plan().state, plan().done) == (RespawnState.DONE, 12)
    assert Activity.objects.get(action=ActivityAction.RESPAWNED).count == 12


def test_slow_rates_are_kept_and_a_pause_is_not_made_up_for(people: People) -> None:
    bury("shop", "mail", ["boom"] * 60)
    start(people.alice.browser, rate=6, unit="min")

    done = [carry_out_respawns(now=begun() + timedelta(seconds=second)) for second in (5, 10, 15, 20, 3600, 3605, 3610)]

    assert done == [0, 1, 0, 1, 1, 0, 1]


def test_only_what_the_filter_means_is_respawned(people: People) -> None:
    bury("shop", "mail", ["boom", "550 no such host"] * 4)
    bury("shop", "pay", ["boom"])

    start(people.alice.browser, like="550 no such host", queue="mail")
    done = [carry_out_respawns(now=begun() + timedelta(seconds=second)) for second in (1, 2)]

    assert done == [4, 0]
    assert "<bdi>mail</bdi> · <bdi>alice</bdi>" in people.alice.browser.get("/dead/respawns").text
    assert counts("mail") == {JobState.READY: 4, JobState.DEAD: 4}
    assert counts("pay") == {JobState.DEAD: 1}


def test_what_a_killed_process_respawned_is_not_respawned_again(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury("shop", "mail", ["boom"] * 8)
    start(people.alice.browser)
    real = respawn_stretch

    def die(**named: Any) -> None:
        real(**named)
        raise SystemExit  # after Redis has done it, before the database knows

    monkeypatch.setattr(respawn_plans, "respawn_stretch", die)
    with pytest.raises(SystemExit):
        carry_out_respawns(now=begun() + timedelta(seconds=1))
    monkeypatch.setattr(respawn_plans, "respawn_stretch", real)
    bury("shop", "mail", ["boom"] * 5)  # takes the five that are ready first: they die again

    soon = carry_out_respawns(now=begun() + timedelta(seconds=2))
    later = [carry_out_respawns(now=begun() + timedelta(seconds=2 + n) + HELD) for n in (0, 1, 2)]

    assert soon == 0, "the dead process holds the step"
    assert sum(later) == 3
    assert plan().state == RespawnState.DONE
    assert counts("mail")[JobState.DEAD] == 5, "those that died since it began"


def test_two_pumps_take_a_step_once(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    bury("shop", "mail", ["boom"] * 9)
    start(people.alice.browser)
    at = begun() + timedelta(seconds=1)
    real, others = respawn_stretch, []

    def meanwhile(**named: Any) -> Any:
        others.append(carry_out_respawns(now=at))
        return real(**named)

    monkeypatch.setattr(respawn_plans, "respawn_stretch", meanwhile)

    assert carry_out_respawns(now=at) == 5
    assert others == [0]


def test_it_can_be_stopped_and_the_rest_stays_dead(people: People) -> None:
    bury("shop", "mail", ["boom"] * 9)
    start(people.alice.browser, namespace="shop")
    carry_out_respawns(now=begun() + timedelta(seconds=1))
    page = people.olga.browser.get("/dead/").text
    url = f"/dead/respawns/{plan().pk}/stop"

    assert f'action="{url}"' in page
    assert "4 left to search" in page
    refused = [person.browser.post(url).status_code for person in (people.bob, people.charlie)]
    stopped = people.olga.browser.post(url, follow=True)

    assert refused == [403, 404]
    assert "Stopped: the other dead letters are untouched." in stopped.text
    assert carry_out_respawns(now=begun() + timedelta(seconds=2)) == 0
    assert counts("mail") == {JobState.READY: 5, JobState.DEAD: 4}
    assert "It had ended before." in people.olga.browser.post(url, follow=True).text


def test_it_ends_when_its_user_may_no_longer_do_it(people: People) -> None:
    bury("shop", "mail", ["boom"] * 9)
    start(people.olga.browser)
    people.olga.user.groups.clear()

    assert carry_out_respawns(now=timezone.now() + timedelta(seconds=1)) == 0
    assert counts("mail") == {JobState.DEAD: 9}


@pytest.mark.parametrize("fields", [{"rate": 0}, {"rate": 30_001, "unit": "min"}, {"rate": 5, "unit": "h"}])
def test_a_rate_that_is_none_is_refused(people: People, fields: dict[str, Any]) -> None:
    assert start(people.alice.browser, **fields).status_code == 400


def test_readers_start_none(people: People) -> None:
    bury("shop", "mail", ["boom"])

    assert start(people.bob.browser).status_code == 403
    assert start(people.charlie.browser, namespace="shop").status_code == 404


def test_one_user_cannot_use_up_all_plans(people: People) -> None:
    bury("shop", "mail", ["boom"])
    statuses = [start(people.olga.browser, rate=1, unit="min").status_code for _ in range(6)]

    assert statuses == [200] * 5 + [400]
    assert start(people.alice.browser).status_code == 200
