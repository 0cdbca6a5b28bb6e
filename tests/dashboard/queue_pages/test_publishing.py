"""A job is published by hand."""

from __future__ import annotations

import base64

import pytest
from django.test import Client

from queues.engine import JobState, peek
from queues.models import Activity
from tests.dashboard.shop import Shop
from tests.support.rows import in_one_test

from .asking import noted, post

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_is_published_with_all_options(olga: Client, shop: Shop) -> None:
    response = post(
        olga,
        "publish/",
        {
            "body": '{"to":\r\n"Ann"}',
            "encoding": "text",
            "delay_s": "60",
            "ttl_s": "3600",
            "tries": "5",
            "priority": "-3",
            "backoff": "fixed:2",
            "retention_s": "7",
            "key": "order-7",
            "key_ttl_s": "100",
            "attributes": "tenant=acme\r\n\r\nkind = mail=1 ",
            "limit_key": "acme",
        },
    )

    job_id = response["Location"].rstrip("/").rsplit("/", 1)[1]
    job = shop.find(job_id)
    assert job is not None
    assert (job.state, job.body, job.tries, job.priority) == (JobState.DELAYED, b'{"to":\n"Ann"}', 5, -3)
    assert (str(job.backoff), job.retention_ms, job.key) == ("fixed:2", 7_000, "order-7")
    assert job.limit_key == "acme"
    assert job.attributes == {"tenant": "acme", "kind": "mail=1"}
    assert job.due_ms in (job.published_ms + 60_000, job.published_ms + 60_001)  # never early by a part of a ms
    assert job.expires_ms == job.published_ms + 3_600_000
    assert noted() == [("olga", "published", 1)]
    assert "mail=1" not in str(Activity.objects.values())


def test_bytes_are_published_as_base64(olga: Client, shop: Shop) -> None:
    post(olga, "publish/", {"body": base64.b64encode(b"\x00\xff").decode() + "\r\n", "encoding": "base64"})

    found = shop.engine.run(peek(shop.queue))
    assert found is not None
    assert found.body == b"\x00\xff"


@in_one_test(
    ("field", "value", "said"),
    [
        ("tries", "0", "greater than or equal to 1"),
        ("priority", "101", "less than or equal to 100"),
        ("backoff", "often", "Expected none, fixed:S"),
        ("attributes", "no pair", "Expected NAME=VALUE: no pair"),
        ("attributes", "\n".join(f"a{n}=1" for n in range(17)), "A job has at most 16 attributes."),
        ("key_ttl_s", "5", "Needs an idempotency key"),
        ("key", "k" * 256, "A key has at most 255 bytes."),
        ("delay_s", "-1", "Write a length of time"),
        ("delay_s", "999999", "It would expire before it is due"),
        ("body", "é" * 600_000, "at most 1 MiB"),
        ("limit_key", "é" * 33, "Printable text of at most 64 bytes."),
        ("limit_key", "a\tb", "Printable text of at most 64 bytes."),
        ("group", "é" * 128, "printable text of at most 255 bytes."),
        ("group", "a\u202eb", "printable text of at most 255 bytes."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_published(
    olga: Client, shop: Shop, field: str, value: str, said: str
) -> None:
    response = post(olga, "publish/", {"body": "b", "encoding": "text", field: value}, status=400)

    assert said in response.content.decode()
    assert shop.counts() == {}
    assert noted() == []


def test_a_job_joins_a_group(olga: Client, shop: Shop) -> None:
    response = post(olga, "publish/", {"body": "x", "encoding": "text", "group": "letters"})

    job = shop.find(response["Location"].rstrip("/").rsplit("/", 1)[1])
    assert job is not None
    assert (job.state, job.group) == (JobState.GROUPED, "letters")


def test_a_job_has_a_limit_key_or_a_group(olga: Client, shop: Shop) -> None:
    answers = {"body": "x", "encoding": "text", "limit_key": "acme", "group": "letters"}

    response = post(olga, "publish/", answers, status=400)

    assert "Enter a limit key or a group, not both." in response.content.decode()
    assert shop.counts() == {}


def test_what_is_no_base64_is_said(olga: Client) -> None:
    response = post(olga, "publish/", {"body": "###", "encoding": "base64"}, status=400)

    assert "This is not base64." in response.content.decode()


def test_a_second_job_with_the_same_key_leads_to_the_first(olga: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x", key="k")

    response = post(olga, "publish/", {"body": "y", "encoding": "text", "key": "k"})

    assert job_id in response["Location"]
    assert shop.counts() == {"ready": 1}
    assert noted() == []
