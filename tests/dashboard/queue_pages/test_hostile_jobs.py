"""A job that wants to do harm is listed harmlessly."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState
from tests.dashboard.shop import Shop

from .asking import LIVE, page
from .hostile import HOSTILE, assert_harmless

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_job_is_listed_harmlessly(alice: Client, shop: Shop, body: bytes) -> None:
    shop.job_in(
        JobState.DEAD,
        body=body[: 1024 * 1024],
        error="</td><script>boom\u202e",
        key="<script>key\u202e",
        attributes={"<script>": "\u2066<img src=x>"},
    )

    text = page(alice, "?state=dead") + page(alice, "jobs?state=dead", **LIVE)

    assert_harmless(text)
    assert len(text) < 200_000
