"""The first day: steps tick themselves by what was done, and the code has the reader's address."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from queues.engine import Engine, PublishOptions, ack, consume, publish
from queues.models import Namespace
from queues.pools.ttl_cache import forget_recent
from queues.services.first_day import FirstStep, read_first_day
from queues.services.tokens.managing import create_token
from tests.support.waiting import wait_until

from .people import SHOP, People
from .workers import beat


def done(people: People, who: str = "alice") -> list[FirstStep]:
    """What is ticked for that person, if nothing is remembered."""
    forget_recent()
    return [one.step for one in read_first_day(user=getattr(people, who).user).steps if one.is_done]


def test_each_step_ticks_when_it_is_done(people: People, engine: Engine) -> None:
    assert done(people) == []

    create_token(namespace=SHOP, description="the till")
    assert done(people) == [FirstStep.TOKEN]

    queue = engine.queue(SHOP, "greetings")
    engine.run(publish(queue, [b"hello"], PublishOptions(tries=3)))
    assert done(people) == [FirstStep.TOKEN, FirstStep.PUBLISH]

    (job,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
    assert done(people) == [FirstStep.TOKEN, FirstStep.PUBLISH, FirstStep.CONSUME]

    engine.run(ack(queue, [job.job_id]))
    assert done(people) == [FirstStep.TOKEN, FirstStep.PUBLISH, FirstStep.CONSUME, FirstStep.ACK]

    beat(engine, "worker-1")
    wait_until(lambda: done(people) == list(FirstStep), or_fail="no worker is seen")
    assert done(people, "charlie") == [], "what happens in the shop is none of his business"


def test_the_page_marks_the_next_step_and_refreshes_it_alone(people: People) -> None:
    alice = people.alice.browser
    create_token(namespace=SHOP, description="the till")

    whole, live = alice.get("/first-day/").text, alice.get("/first-day/", headers={"X-Live": "1"}).text

    assert re.findall(r'data-key="(\w+)" class="(\w+)"', live) == [("token", "done"), ("publish", "now")]
    assert "<html" in whole
    assert "<html" not in live


@pytest.mark.parametrize(
    ("https", "headers", "origin"),
    [
        (False, {"Host": "jobs.example:8080"}, "http://jobs.example:8080"),
        (True, {"Host": "jobs.example", "X-Forwarded-Proto": "https"}, "https://jobs.example"),
        (False, {"Host": "jobs.example", "X-Forwarded-Proto": "https"}, "http://jobs.example"),
    ],
)
def test_the_code_has_the_address_at_which_the_reader_is(
    people: People, https: bool, headers: dict[str, str], origin: str
) -> None:
    proxy = ("HTTP_X_FORWARDED_PROTO", "https") if https else None
    with override_settings(ALLOWED_HOSTS=["jobs.example"], SECURE_PROXY_SSL_HEADER=proxy):
        text = people.alice.browser.get("/first-day/", headers=headers).text

    assert f"{origin}/api/{SHOP}/greetings?tries=3" in text


def test_a_new_installation_has_the_steps_on_the_overview_until_a_job_was_acked(people: People, engine: Engine) -> None:
    title = "Your first job in five steps"
    assert title in people.alice.browser.get("/").text
    assert title not in people.olga.browser.get("/").text, "she may make no token"

    queue = engine.queue(SHOP, "greetings")
    engine.run(publish(queue, [b"hello"]))
    (job,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
    engine.run(ack(queue, [job.job_id]))
    forget_recent()
    assert title not in people.alice.browser.get("/").text


def test_an_old_installation_is_left_alone(people: People) -> None:
    Namespace.objects.update(created=timezone.now() - timedelta(days=8))

    assert "Your first job in five steps" not in people.alice.browser.get("/").text
    assert "Your first job in five steps" in people.alice.browser.get("/first-day/").text


def test_without_any_namespace_a_superuser_names_the_first(people: People, client: Client) -> None:
    Namespace.objects.all().delete()

    text = people.root.browser.get("/").text

    assert '<input type="text" id="first-namespace" name="namespace" value="demo"' in text
