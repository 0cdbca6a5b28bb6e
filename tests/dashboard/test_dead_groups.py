"""Groups of dead letters: acts on one of them, trends and shares, who sees to them, and what is muted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queues.engine import Engine, JobState
from queues.models import Activity, ActivityAction, ErrorTriage, IncidentKind
from queues.services.dead_letters import triage
from queues.services.dead_letters.triage import COUNT_EVERY, count_muted
from queues.services.incident_watch.visible_incidents import read_queue_incidents
from queues.services.queues.muted_letters import forget_muted
from tests.support.burying import bury

from .people import People
from .surveyor import Surveyor
from .test_dead import act, counts, get, groups

JSON: Mapping[str, str] = {"accept": "application/json"}
LIKE = "550 no such host"


def decide(browser: Client, do: str, **fields: Any) -> Any:
    form = {"do": do, "pool": "default", "namespace": "shop", "like": LIKE} | fields
    return browser.post("/dead/triage", form, follow=True)


def test_codes_tell_groups_apart(people: People) -> None:
    bury("shop", "mail", ["550 no such host", "421 try again", "550 no such host"])

    assert groups(get(people.alice.browser), "errors") == {"550 no such host": 2, "421 try again": 1}


def test_a_group_is_respawned_or_deleted_from_its_row(people: People) -> None:
    bury("shop", "mail", ["550 no such host", "boom: 1", "boom: 2"])

    text = get(people.alice.browser)
    buttons = re.findall(r'name="group" value="([^"]+)"', text)
    assert {"respawn-all:boom%3A%20%3Cn%3E", "delete-all:550%20no%20such%20host"} <= set(buttons)

    assert act(people.alice.browser, group="respawn-all:boom%3A%20%3Cn%3E").json()["done"] == 2
    assert act(people.alice.browser, group="delete-all:550%20no%20such%20host").status_code == 400
    sure = {"group": "delete-all:550%20no%20such%20host", "word": "delete"}
    assert act(people.alice.browser, **sure).json()["done"] == 1
    assert counts("mail") == {JobState.READY: 2}


def test_a_group_has_a_trend_and_its_share_of_the_attempts(people: People, engine: Engine) -> None:
    now_ms = round(timezone.now().timestamp() * 1000)
    bury("shop", "mail", ["boom"] * 2, now_ms=now_ms - 3 * 3_600_000)
    bury("shop", "mail", ["boom"])

    (trend,) = re.findall(r'data-trend="([^"]+)"', get(people.alice.browser))

    hours = [int(count) for count in trend.split(",")]
    assert (len(hours), sum(hours), hours[-1]) == (24, 3, 1)
    assert sum(hours[-5:-1]) == 2


def test_a_group_is_assigned_to_a_user_of_the_namespace(people: People) -> None:
    bury("shop", "mail", [LIKE])

    page = decide(people.olga.browser, "assign", to="bob", note="ask the <provider>")

    assert "Assigned to bob." in page.text
    assert "ask the &lt;provider&gt;" in page.text
    assert '<span class="pill info">bob</span>' in get(people.alice.browser)
    noted = Activity.objects.get(action=ActivityAction.ERRORS_ASSIGNED)
    assert (noted.who, noted.namespace, noted.detail) == ("olga", "shop", f"like: {LIKE}, to: bob")
    assert decide(people.olga.browser, "assign", to="charlie").status_code == 400, "he sees nothing of the shop"


def test_only_operators_decide(people: People) -> None:
    bury("shop", "mail", [LIKE])

    statuses = [decide(person.browser, "mute", until="1d").status_code for person in (people.bob, people.charlie)]

    assert statuses == [403, 404]
    assert not ErrorTriage.objects.exists()
    assert 'name="until"' not in get(people.bob.browser, like=LIKE)


@pytest.mark.parametrize("fields", [{"until": "soon"}, {"until": ""}, {"until": "1d", "like": ""}])
def test_a_mute_that_means_nothing_is_refused(people: People, fields: dict[str, str]) -> None:
    assert decide(people.alice.browser, "mute", **fields).status_code == 400


def incident_size(people: People) -> int:
    """Dead letters of shop/mail that incidents count."""
    forget_muted()
    lines = read_queue_incidents(user=people.alice.user, pool="default", namespace="shop", queue="mail")
    return sum(line.size for line in lines if line.kind == IncidentKind.JOBS_DYING)


def banner(people: People) -> str:
    """What the page of shop/mail says is wrong."""
    return " ".join(re.sub(r"<[^>]+>", " ", people.alice.browser.get("/queues/default/shop/mail/").text).split())


def test_what_is_muted_is_left_out_of_incidents_until_it_doubles(people: People, surveyor: Surveyor) -> None:
    bury("shop", "mail", [LIKE] * 3 + ["boom"])
    surveyor.look()
    assert incident_size(people) == 4

    page = decide(people.alice.browser, "mute", until="doubled")
    assert "incidents leave out 3 dead letters" in page.text
    assert "muted until there are 6" in page.text
    forget_muted()
    assert "1 job died in the last 5 min (1 in total). 3 more are muted." in banner(people)
    assert incident_size(people) == 1

    bury("shop", "mail", [LIKE] * 2)
    later = timezone.now() + COUNT_EVERY
    assert count_muted(now=later) == 1
    surveyor.look()
    assert incident_size(people) == 1, "five are fewer than six"

    bury("shop", "mail", [LIKE])
    count_muted(now=later + COUNT_EVERY)
    surveyor.look()
    assert incident_size(people) == 7
    assert Activity.objects.filter(action=ActivityAction.ERRORS_UNMUTED, detail__contains="doubled: 6").exists()


def test_a_mute_ends_with_its_time_or_by_hand(people: People, surveyor: Surveyor) -> None:
    bury("shop", "mail", [LIKE])
    surveyor.look()
    decide(people.alice.browser, "mute", until="1h")
    assert incident_size(people) == 0

    decide(people.alice.browser, "unmute")
    assert incident_size(people) == 1

    decide(people.alice.browser, "mute", until="1h")
    ErrorTriage.objects.update(muted_until=timezone.now() - timedelta(seconds=1))
    assert incident_size(people) == 1
    count_muted()
    assert ErrorTriage.objects.get().muted_at is None


def test_who_mutes_anew_while_pumps_count_keeps_it_muted(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    bury("shop", "mail", [LIKE])
    decide(people.alice.browser, "mute", until="doubled")
    bury("shop", "mail", [LIKE])
    real = triage._count

    def mute_meanwhile(*place: Any) -> Any:
        found = real(*place)
        monkeypatch.setattr(triage, "_count", real)
        decide(people.alice.browser, "mute", until="1d")
        return found

    monkeypatch.setattr(triage, "_count", mute_meanwhile)
    count_muted(now=timezone.now() + COUNT_EVERY)

    assert ErrorTriage.objects.get().muted_until is not None
    assert not Activity.objects.filter(action=ActivityAction.ERRORS_UNMUTED).exists()
