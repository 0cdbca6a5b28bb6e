"""What is done with the selected jobs."""

from __future__ import annotations

import pytest
from django.test import Client

from queues.engine import JobState
from queues.models import Activity
from tests.dashboard.shop import Shop

from .asking import JSON, noted, page, page_after, post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("state", "act", "goes_to"),
    [
        (JobState.READY, "delete", None),
        (JobState.DELAYED, "retry", JobState.READY),
        (JobState.DELAYED, "reschedule", JobState.DELAYED),
        (JobState.DELAYED, "delete", None),
        (JobState.RETRY, "retry", JobState.READY),
        (JobState.RETRY, "reschedule", JobState.RETRY),
        (JobState.RETRY, "delete", None),
        (JobState.WORKING, "ack", None),
        (JobState.WORKING, "release", JobState.READY),
        (JobState.WORKING, "delete", None),
        (JobState.DEAD, "respawn", JobState.READY),
        (JobState.DEAD, "delete", None),
        (JobState.COMPLETED, "delete", None),
    ],
)
def test_ticked_jobs_are_acted_upon_as_their_state_allows(
    olga: Client, shop: Shop, state: JobState, act: str, goes_to: JobState | None
) -> None:
    job_id = shop.job_in(state)
    job = shop.find(job_id)
    assert job is not None
    data = {"act": act, "state": state, "job": [f"{job_id}:{job.attempt}"], "later": "5", "unit": "60"}

    if asked := {"delete": ("Delete 1 ", "Delete 1 job"), "ack": ("Ack 1 working job of orders", "Ack 1 job")}.get(act):
        page_that_asks = post(olga, "act", data, status=200).content.decode()
        assert f"<h1>{asked[0]}" in page_that_asks
        assert f">{asked[1]}</button>" in page_that_asks
        assert shop.state_of(job_id) is state
    answer = post(olga, "act", data | {"confirmed": "yes"}, status=200, **JSON)

    assert answer["done"] == 1
    assert shop.state_of(job_id) is goes_to
    names = {"ack": "acked", "retry": "retried", "release": "released", "reschedule": "rescheduled"}
    assert noted() == [("olga", names.get(act, f"{act}d" if act == "delete" else f"{act}ed"), 1)]
    assert Activity.objects.latest("pk").target == job_id


@pytest.mark.parametrize("state", JobState)
def test_other_acts_are_refused(olga: Client, shop: Shop, state: JobState) -> None:
    job_id = shop.job_in(state)
    allowed = set(page(olga, f"?state={state}").split('name="act" value="')[1:])
    offered = {text.split('"')[0] for text in allowed}

    for act in {"ack", "retry", "release", "reschedule", "respawn", "delete"} - offered:
        data = {"act": act, "state": state, "job": [f"{job_id}:1"], "later": "5", "confirmed": "yes"}
        post(olga, "act", data, status=400, **JSON)

    assert shop.state_of(job_id) is state
    assert noted() == []


def test_a_job_that_another_attempt_holds_by_now_is_left_alone(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    data = {"act": "ack", "state": "working", "job": [f"{job_id}:2"], "confirmed": "yes"}
    answer = post(olga, "act", data, status=200, **JSON)

    assert answer["done"] == 0
    assert "1 job had changed in the meantime" in answer["message"]
    assert shop.state_of(job_id) is JobState.WORKING
    assert noted() == []


def test_a_job_that_is_worked_on_by_now_is_not_deleted_with_the_delayed(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    data = {"act": "delete", "state": "delayed", "job": [job_id], "confirmed": "yes"}
    assert post(olga, "act", data, status=200, **JSON)["done"] == 0
    assert shop.state_of(job_id) is JobState.WORKING


def test_rescheduling_needs_a_time(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DELAYED)

    post(olga, "act", {"act": "reschedule", "state": "delayed", "job": [job_id]}, status=400, **JSON)
    post(
        olga,
        "act",
        {"act": "reschedule", "state": "delayed", "job": [job_id], "at": "2001-01-01T00:00"},
        status=200,
        **JSON,
    )

    assert shop.state_of(job_id) is JobState.READY


@pytest.mark.parametrize(
    "values", [["x"], ["' or 1"], ["01ARZ3NDEKTSV4RRFFQ69G5FAV:-1"], ["01ARZ3NDEKTSV4RRFFQ69G5FAV"] * 501]
)
def test_what_is_no_list_of_jobs_is_refused(olga: Client, values: list[str]) -> None:
    post(olga, "act", {"act": "retry", "state": "delayed", "job": values}, status=400, **JSON)


def test_nothing_ticked_is_nothing_done(olga: Client) -> None:
    assert "No job was selected." in page_after(olga, post(olga, "act", {"act": "retry", "state": "delayed"}))
