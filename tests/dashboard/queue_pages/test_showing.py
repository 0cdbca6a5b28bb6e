"""What the page of a queue shows."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState
from queues.services.queues.page import PAGE_JOBS
from tests.dashboard.shop import AT, Shop

from .asking import LIVE, page, post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("state", JobState)
def test_each_state_has_a_tab_with_its_jobs(alice: Client, shop: Shop, state: JobState) -> None:
    ids: dict[JobState, str] = {one: shop.job_in(one) for one in JobState if one is not JobState.READY}
    ids[JobState.READY] = shop.job_in(JobState.READY)

    text = page(alice, f"?state={state}")

    assert [job_id for job_id in ids.values() if job_id in text] == [ids[state]]
    assert text.count('<span class="count">1</span>') == len(JobState)


def test_a_queue_that_holds_nothing_says_how_to_publish(bob: Client) -> None:
    assert "curl -X PUT" in page(bob)
    for state in JobState:
        assert 'class="empty"' in page(bob, f"?state={state}")


def test_what_is_no_state_means_ready(bob: Client, shop: Shop) -> None:
    assert shop.job_in(JobState.READY) in page(bob, "?state=<script>")


def test_errors_consumers_keys_and_attributes_are_shown(bob: Client, shop: Shop) -> None:
    shop.job_in(JobState.DEAD, error="Disk full", key="order-7", attributes={"tenant": "acme"})
    shop.job_in(JobState.WORKING)

    dead = page(bob, "?state=dead")

    assert all(word in dead for word in ("Disk full", "order-7", "tenant", "acme"))
    assert "worker-1" in page(bob, "?state=working")


def test_pages_follow_each_other_by_cursor(bob: Client, shop: Shop) -> None:
    ids = shop.publish(*[b"x"] * (PAGE_JOBS + 3))

    first = page(bob)
    more = first.split('id="jobs-more" data-more="')[1].split('"')[0].replace("&amp;", "&")
    second = page(bob, more.removeprefix(AT))

    assert [job_id in first for job_id in ids] == [False] * 3 + [True] * PAGE_JOBS, "the latest come first"
    assert [job_id in second for job_id in ids] == [True] * 3 + [False] * PAGE_JOBS
    assert "data-more" not in second


def test_the_order_of_jobs_is_chosen_and_kept(bob: Client, shop: Shop) -> None:
    """Of dead jobs the latest come first, of delayed ones those that are due next."""
    delayed = [shop.publish(b"x", delay_ms=60_000 * minutes)[0] for minutes in (1, 2)]
    dead = [shop.job_in(JobState.DEAD) for _ in range(2)]

    def order(query: str, ids: list[str]) -> list[str]:
        text = page(bob, query)
        return sorted(ids, key=text.index)

    assert order("?state=dead", dead) == dead[::-1]
    assert order("?state=dead&order=earliest", dead) == dead
    assert order("?state=delayed", delayed) == delayed
    assert order("?state=delayed&order=latest", delayed) == delayed[::-1]
    text = page(bob, "?state=dead&order=earliest")
    assert 'aria-sort="ascending"><a href="?state=dead"' in text
    assert "jobs?state=dead&amp;order=earliest" in text, "what refreshes itself has the same order"


def test_of_a_traceback_the_exception_is_shown(bob: Client, shop: Shop) -> None:
    calls = "".join(f'  File "/app/part{number}.py", line {number}, in call\n' for number in range(9))
    shop.job_in(JobState.DEAD, error=f"Traceback (most recent call last):\n{calls}KeyError: 'order <17>'\n")

    text = page(bob, "?state=dead")

    assert "KeyError: &#x27;order &lt;17&gt;&#x27;</bdi>" in text
    assert "part1.py" not in text


def test_charts_stand_above_the_jobs(bob: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x")

    text = page(bob)

    for kind in ("throughput", "backlog", "wait", "run"):
        assert text.index(f'charts/{kind}"') < text.index('class="tabs"') < text.index(job_id)


def test_a_cursor_that_no_page_gave_out_is_refused(bob: Client) -> None:
    assert bob.get(AT + "?after=x").status_code == 400


def test_the_live_parts_answer_304_while_nothing_changes(bob: Client, shop: Shop) -> None:
    shop.publish(b"x", delay_ms=600_000)
    for path in ("jobs?state=delayed",):
        etag = bob.get(AT + path, **LIVE)["ETag"]  # type: ignore[arg-type]

        assert bob.get(AT + path, **LIVE, HTTP_IF_NONE_MATCH=etag).status_code == 304  # type: ignore[arg-type]
        shop.publish(b"y", delay_ms=700_000)
        assert bob.get(AT + path, **LIVE, HTTP_IF_NONE_MATCH=etag).status_code == 200  # type: ignore[arg-type]


def test_the_live_part_says_that_the_queue_is_paused(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")
    assert "Nothing is delivered" not in page(alice, "now")
    post(alice, "pause")
    assert "Nothing is delivered" in page(alice, "now")


@pytest.mark.parametrize("kind", ["waits", "runs"])
def test_distributions_come_as_numbers_for_a_chart(bob: Client, shop: Shop, kind: str) -> None:
    empty = bob.get(f"{AT}charts/{kind}").json()
    shop.job_in(JobState.COMPLETED)
    chart = bob.get(f"{AT}charts/{kind}").json()

    assert empty["series"][0]["values"] == []
    assert sum(chart["series"][0]["values"]) == 1
    assert len(chart["x"]["values"]) == len(chart["series"][0]["values"])


def test_charts_tell_of_the_last_hour_up_to_now(bob: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 7)

    backlog = bob.get(f"{AT}charts/backlog").json()
    throughput = bob.get(f"{AT}charts/throughput").json()

    assert {line["name"]: line["values"][-1] for line in backlog["series"]}["ready"] == 7
    assert {line["name"]: line["values"][-1] for line in throughput["series"]}["published"] == 7
    assert all(len(line["values"]) == len(backlog["x"]["values"]) for line in backlog["series"])
    assert backlog["x"]["values"] == sorted(backlog["x"]["values"])


def test_there_is_no_other_chart(bob: Client) -> None:
    assert bob.get(f"{AT}charts/other").status_code == 404


def test_redis_is_asked_a_bounded_number_of_times(bob: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 1_000)
    page(bob)

    before = calls(shop)
    page(bob)

    assert calls(shop) - before <= 4


def calls(shop: Shop) -> int:
    """Script calls that Redis has served."""
    return int(shop.engine.client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))
