"""The page of a job that is a task of the Python SDK: its arguments, what its worker says of it, its Cancel button."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from dashboard.job_bodies import ARGUMENTS_SHOWN, read_task_message
from queues.engine import JobState, annotate, release
from tests.dashboard.people import BANK, POOL, SHOP, People
from tests.dashboard.shop import AT, Shop
from tests.dashboard.workers import beat, running
from tests.support.rows import in_one_test

from .asking import uncoloured
from .hostile import HOSTILE, assert_harmless

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = "worker-1"
"""The consumer of the jobs of `job_in`."""

EVIL = "</code><script>alert(1)</script>\u202e"
MESSAGE = b'{"task": "shop.close_order", "args": [7, {"a":1}], "kwargs": {"reason": "unpaid"}, "version": 2}'


def page(client: Client, job_id: str, path: str = "") -> str:
    answer = client.get(f"{AT}jobs/{job_id}/{path}")
    assert answer.status_code == 200, answer.text
    return answer.text


def say(shop: Shop, job_id: str, *lines: str, **fields: str) -> None:
    """What a worker says of the job."""
    shop.engine.run(annotate(shop.queue, job_id, fields, lines=lines, keep_ms=60_000))


# The message


def test_name_and_arguments_stand_above_the_body(bob: Client, shop: Shop) -> None:
    text = page(bob, shop.job_in(JobState.READY, body=MESSAGE))

    shown = uncoloured(text[text.index("shop.close_order") : text.index("<h2>Body</h2>")])
    values = re.findall(r"<dt>.*?>([^<>]+)</.*?<dd><code[^>]*>(.*?)</code>", shown, re.DOTALL)
    assert values == [
        ("positional 1", "7"),
        ("positional 2", "{\n  &quot;a&quot;: 1\n}"),
        ("reason", "&quot;unpaid&quot;"),
    ]


@in_one_test(
    "body",
    [
        b"",
        b"x",
        b"7",
        b"[]",
        b"{}",
        b'{"task": ""}',
        b'{"task": 7}',
        b'{"task": null}',
        b'{"task": "t", "args": {}}',
        b'{"task": "t", "kwargs": []}',
        b'{"task": "t", "order": 7}',
        b'{"task": "t"} x',
        b'{"task": "t", "args": [NaN]}',
        b'{"task": "t", "args": [}',
        b'{"task": "\xff"}',
        b'{"task": "t", "args": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        *HOSTILE.values(),
    ],
)
def test_what_is_no_message_of_a_task_is_a_body_and_no_more(body: bytes) -> None:
    assert read_task_message(body) is None


def test_values_are_shown_as_they_stand_in_the_body() -> None:
    values = ["1.10", "1e400", "9" * 5_000, '"\\u4e2d"', "-0", "null", "true", '"a, b]}"', "[ ]", '{"k" : [1 , 2]}']
    body = '\n{ "kwargs" :{"x\\n":1 } ,"task":"t","args" : [ ' + " , ".join(values) + " ] } "

    message = read_task_message(body.encode())

    assert message is not None
    shown = [uncoloured(value).replace("&quot;", '"') for value in message.args]
    assert shown[:2] == ["1.10", "1e400"]
    assert shown[2] == "9" * 2_000 + "…"
    assert shown[3:] == ['"中"', *values[4:8], "[]", '{\n  "k": [\n    1,\n    2\n  ]\n}']
    assert [(name, uncoloured(value)) for name, value in message.kwargs] == [("x\n", "1")]


def test_only_so_many_arguments_are_shown() -> None:
    body = json.dumps({"task": "t", "args": [1] * 60, "kwargs": {f"k{n}": n for n in range(55)}}).encode()

    message = read_task_message(body)

    assert message is not None
    assert (len(message.args), len(message.kwargs), message.more) == (ARGUMENTS_SHOWN, ARGUMENTS_SHOWN, 15)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"task": "t", "encrypted": "gAAA"}', "The arguments are encrypted."),
        (b'{"task": "t", "serializer": "pickle", "payload": "gASV"}', "serializer pickle"),
        (b'{"task": "t"}', "Without arguments."),
    ],
)
def test_why_there_are_no_arguments_is_said(bob: Client, shop: Shop, body: bytes, said: str) -> None:
    assert said in page(bob, shop.job_in(JobState.READY, body=body))


def test_a_hostile_message_is_shown_harmlessly(bob: Client, shop: Shop) -> None:
    content = {"task": EVIL, "args": [EVIL, [EVIL]], "kwargs": {EVIL: EVIL}, "serializer": EVIL}
    for body in (json.dumps(content), json.dumps(content, ensure_ascii=False)):
        assert_harmless(page(bob, shop.job_in(JobState.DELAYED, body=body.encode())))


def test_a_large_message_makes_no_large_card(bob: Client, shop: Shop) -> None:
    body = json.dumps({"task": "t", "args": ["<" * 500_000]}).encode()

    assert len(page(bob, shop.job_in(JobState.READY, body=body))) < 700_000


# What the worker says


def test_progress_log_and_worker_are_shown_while_it_runs(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    beat(shop.engine, WORKER, running=[running(job_id, percent=41.5, note="83 of 200 lines")])
    say(shop, job_id, "the first line", "the second line", percent="12", note="an older word")

    for path in ("", "now"):
        text = page(bob, job_id, path)
        for said in ('value="41.5"', "83 of 200 lines", "the first line\nthe second line\n"):
            assert said in text, said
        assert "an older word" not in text
        assert f'href="/workers/?q={WORKER}#worker-{WORKER}"' in text


def test_progress_of_an_attempt_before_is_not_that_of_this_one(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    say(shop, job_id, percent="90", note="nearly")
    beat(shop.engine, WORKER, running=[running(job_id)])

    assert "<progress" not in page(bob, job_id)


@pytest.mark.parametrize("state", [JobState.WORKING, JobState.RETRY, JobState.DEAD, JobState.COMPLETED])
def test_without_its_worker_what_was_said_last_is_shown(bob: Client, shop: Shop, state: JobState) -> None:
    job_id = shop.job_in(state)
    say(shop, job_id, "a line", percent="55.5", note="halfway")

    text = page(bob, job_id)

    assert "a line" in text
    assert ('value="55.5"' in text) == ("halfway" in text) == (state is not JobState.COMPLETED)
    assert "/workers/?q=" not in text


@in_one_test("percent", ["", "x", "nan", "inf", "-inf", "1e999"])
def test_a_percent_that_is_none_is_not_shown(bob: Client, shop: Shop, percent: str) -> None:
    job_id = shop.job_in(JobState.WORKING)
    say(shop, job_id, percent=percent)

    assert "<progress" not in page(bob, job_id)


@pytest.mark.parametrize(("percent", "shown"), [("-5", "0"), ("250", "100")])
def test_a_percent_stays_on_its_bar(bob: Client, shop: Shop, percent: str, shown: str) -> None:
    job_id = shop.job_in(JobState.WORKING)
    say(shop, job_id, percent=percent)

    assert f'<progress max="100" value="{shown}"' in page(bob, job_id)


def test_why_a_job_is_parked_is_said_while_it_waits(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    say(shop, job_id, parked="shop.refund: this worker has no such task")
    assert "Parked" not in page(bob, job_id)

    shop.engine.run(release(shop.queue, job_id, delay_ms=60_000))

    text = page(bob, job_id)
    assert "Parked" in text
    assert "shop.refund: this worker has no such task" in text


def test_what_a_hostile_worker_says_is_shown_harmlessly(bob: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x")
    shop.take(consumer=EVIL)
    beat(shop.engine, EVIL, running=[running(job_id, percent=5, note=EVIL)])
    say(shop, job_id, EVIL * 50, note=EVIL, parked=EVIL, other=EVIL)

    assert_harmless(page(bob, job_id))
    shop.engine.run(release(shop.queue, job_id, delay_ms=60_000))
    assert_harmless(page(bob, job_id))


def test_a_worker_of_another_namespace_is_not_told_of(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    beat(shop.engine, WORKER, namespace=BANK, running=[running(job_id, percent=41, note="of the bank")])

    text = page(bob, job_id)

    assert "of the bank" not in text
    assert "/workers/?q=" not in text


# Cancel


def test_a_job_that_a_worker_runs_has_a_button_for_those_who_operate(
    bob: Client, olga: Client, people: People, shop: Shop
) -> None:
    job_id = shop.job_in(JobState.WORKING)
    url = f'formaction="/queues/{POOL}/{SHOP}/orders/jobs/{job_id}/cancel"'
    assert url not in page(olga, job_id), "its consumer would not hear of it"
    beat(shop.engine, WORKER, running=[running(job_id)])

    assert url in page(olga, job_id)
    assert url in page(olga, job_id, "now")
    assert url not in page(bob, job_id)


def test_after_the_button_the_page_says_what_was_done(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    form: dict[str, Any] = {"attempt": "1", "state": "working", "confirmed": "yes"}
    answer = olga.post(f"{AT}jobs/{job_id}/cancel", form, follow=True)

    assert answer.redirect_chain == [(f"{AT}jobs/{job_id}/", 302)]
    assert f"Job {job_id} is cancelled" in answer.text
