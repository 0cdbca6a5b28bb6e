"""Policies of namespaces and queues: units, what is inherited, the picture of a backoff; and namespaces themselves."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from queues.engine.errors import StoreUnavailableError
from queues.models import Activity, Namespace, QueuePolicy

from .people import POOL, SHOP, People

OF_NAMESPACE = f"/namespaces/{POOL}/{SHOP}/policy"
OF_QUEUE = f"/queues/{POOL}/{SHOP}/mails/policy/"
BACKOFF = f"/namespaces/{POOL}/{SHOP}/backoff"


def field(text: str, name: str) -> tuple[str, str]:
    """Value and placeholder of an input."""
    found = re.search(rf'<input[^>]* name="{name}"[^>]*>', text)
    assert found
    values = dict(re.findall(r'(\w+)="([^"]*)"', found[0]))
    return html.unescape(values.get("value", "")), html.unescape(values.get("placeholder", ""))


def test_lengths_of_time_have_units_in_and_out(people: People) -> None:
    alice = people.alice.browser

    assert alice.post(OF_NAMESPACE, {"ttl_s": "1d12h", "ttr_s": "5m", "tries": "4"}).status_code == 302

    row = QueuePolicy.objects.get()
    assert (row.queue, row.ttl_s, row.ttr_s, row.tries) == ("", 129_600, 300, 4)
    assert field(alice.get(OF_NAMESPACE).text, "ttl_s")[0] == "1d12h"
    wrong = alice.post(OF_NAMESPACE, {"ttr_s": "0s"})
    assert wrong.status_code == 400
    assert "At least 1s." in wrong.text


def test_placeholders_say_what_a_blank_field_inherits(people: People) -> None:
    alice = people.alice.browser
    names = ("tries", "ttl_s", "ttr_s", "backoff", "max_in_flight", "objective_s")

    def inherited(url: str) -> list[str]:
        text = alice.get(url).text
        return [field(text, name)[1] for name in names]

    assert inherited(OF_NAMESPACE) == ["1", "1d", "2m", "none", "unlimited", "5m"]
    alice.post(OF_NAMESPACE, {"tries": "4", "ttl_s": "2h", "backoff": "linear:10", "max_in_flight": "7"})
    assert inherited(OF_QUEUE) == ["4", "2h", "2m", "linear:10", "7", "5m"]


def test_a_backoff_is_drawn_as_the_engine_computes_it(people: People) -> None:
    text = people.alice.browser.get(BACKOFF, {"backoff": "exponential:10:30", "tries": "5"}).text

    rows = re.findall(
        r'<th scope="row">(\d+)</th>\s*<td class="number">([^<]*)</td>\s*<td class="number">([^<]*)<', text
    )
    assert rows == [
        ("1", "–", "at once"),
        ("2", "5 s – 10 s", "5 s – 10 s"),
        ("3", "10 s – 20 s", "15 s – 30 s"),
        ("4", "15 s – 30 s", "30 s – 1 min"),
        ("5", "15 s – 30 s", "45 s – 1 min 30 s"),
    ]


@pytest.mark.parametrize(
    ("picked", "text"),
    [
        ({"kind": "fixed", "base": "5m"}, "fixed:300"),
        ({"kind": "exponential", "base": "10s", "cap": "1h"}, "exponential:10:3600"),
        ({"kind": "linear", "base": "10", "failures_only": "on"}, "linear:10@failures"),
        ({"kind": "sidekiq", "base": "10"}, "sidekiq"),
        ({"kind": ""}, ""),
    ],
)
def test_what_is_picked_becomes_the_text(people: People, picked: dict[str, str], text: str) -> None:
    answer = people.alice.browser.get(BACKOFF, picked)

    assert re.findall(r'data-backoff="([^"]*)"', answer.text) == [text]


@pytest.mark.parametrize(
    ("picked", "says"),
    [
        ({"backoff": "often"}, "Expected none, fixed:S"),
        ({"kind": "fixed", "base": "soon"}, "Write a length of time"),
        ({"kind": "fixed"}, "How long does it wait the first time?"),
        ({"tries": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_drawn_is_said(people: People, picked: dict[str, str], says: str) -> None:
    assert says in people.alice.browser.get(BACKOFF, picked).text


def test_every_policy_that_was_set_is_listed_with_what_it_inherits(people: People) -> None:
    alice = people.alice.browser
    alice.post(OF_NAMESPACE, {"ttl_s": "2h"})
    alice.post(OF_QUEUE, {"tries": "9"})

    text = alice.get("/policies/?q=mails").text

    assert "mails" in text
    assert ">9<" in text
    assert ">2h<" in text
    assert "all queues" not in text


def test_a_superuser_makes_a_namespace_once(people: People) -> None:
    root = people.root.browser
    form = {"name": "annex", "pool": POOL, "description": "the annex"}

    assert root.post("/namespaces/new", form).status_code == 302
    again = root.post("/namespaces/new", form)
    wrong = root.post("/namespaces/new", form | {"name": "a b"})

    assert Namespace.objects.get(name="annex").description == "the annex"
    assert again.status_code == wrong.status_code == 400
    assert "has a namespace of that name already" in again.text
    assert "the annex" in root.get("/namespaces/?q=anne").text


def test_a_namespace_is_described_and_deleted_once_its_name_is_typed(people: People) -> None:
    alice, there = people.alice.browser, f"/namespaces/{POOL}/{SHOP}"

    assert alice.post(f"{there}/edit", {"description": "glass and more"}).status_code == 302
    assert "glass and more" in alice.get(f"{there}/").text
    assert alice.post(f"{there}/delete", {"confirmed": "yes", "word": "shops"}).status_code == 400
    assert Namespace.objects.filter(name=SHOP).exists()
    assert alice.post(f"{there}/delete", {"confirmed": "yes", "word": SHOP}).status_code == 302

    assert not Namespace.objects.filter(name=SHOP).exists()
    acts = Activity.objects.filter(action__startswith="namespace").order_by("pk").values_list("action", flat=True)
    assert list(acts) == ["namespace_changed", "namespace_deleted"]


def test_a_browser_that_is_not_signed_in_is_led_to_the_sign_in(client: Client, db: None) -> None:
    assert client.get("/policies/")["Location"] == "/login/?next=/policies/"


def test_a_policy_can_be_edited_while_redis_does_not_answer(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_asked: object) -> object:
        raise StoreUnavailableError("no answer")

    monkeypatch.setattr("dashboard.backoff_picture.preview_waits", refuse)

    answer = people.alice.browser.get(OF_NAMESPACE)

    assert answer.status_code == 200
    assert "Redis does not answer" in answer.text
    assert people.alice.browser.post(OF_NAMESPACE, {"tries": "4"}).status_code == 302
