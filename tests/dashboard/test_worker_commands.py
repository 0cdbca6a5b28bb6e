"""What people do on the page of workers: telling a worker to change its state, and cancelling a running job."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queues.engine import Engine, JobState, cancel_job, release
from queues.models import Activity
from queues.services.workers import commands as worker_actions

from .people import BANK, POOL, SHOP, People
from .shop import Shop
from .workers import EVIL, JOB, JSON, WORKER, beat, commands, page, running, tell

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop(people: People, engine: Engine) -> Shop:
    return Shop(engine)


def noted() -> list[tuple[str, str, str, str]]:
    acts = Activity.objects.exclude(action="signed_in").order_by("pk")
    return [(one.who, one.action, one.namespace, one.target) for one in acts]


# Telling a worker


@pytest.mark.parametrize(
    ("act", "noted_as", "said"),
    [
        ("quiet", "worker_quieted", "was told to take no more jobs"),
        ("resume", "worker_resumed", "was told to take jobs again"),
        ("stop", "worker_stopped", "was told to stop"),
    ],
)
def test_a_button_tells_the_worker_and_is_noted(
    engine: Engine, people: People, act: str, noted_as: str, said: str
) -> None:
    beat(engine, WORKER)

    answer = tell(people.olga.browser, act)

    assert answer.status_code == 200
    assert said in answer.json()["message"]
    assert commands(engine) == [(act, WORKER)]
    assert noted() == [("olga", noted_as, SHOP, WORKER)]
    assert WORKER in people.bob.browser.get("/activity/").text


def test_after_a_button_the_page_says_what_was_done(engine: Engine, people: People) -> None:
    beat(engine, WORKER)

    form = {"act": "quiet", "worker": WORKER, "next": "/workers/?q=app"}
    answer = people.olga.browser.post(f"/workers/{POOL}/{SHOP}/act", form, follow=True)

    assert answer.redirect_chain == [("/workers/?q=app", 302)]
    assert f"Worker {WORKER} was told to take no more jobs" in answer.text


def test_a_worker_is_stopped_only_when_that_is_confirmed(engine: Engine, people: People) -> None:
    beat(engine, WORKER)

    asked = people.olga.browser.post(f"/workers/{POOL}/{SHOP}/act", {"act": "stop", "worker": WORKER})

    assert "Stop this worker?" in asked.text
    assert commands(engine) == []


def test_who_only_reads_has_no_buttons_and_is_refused(engine: Engine, people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    beat(engine, "worker-1", running=[running(job_id)])

    text = page(people.bob.browser)

    assert job_id in text
    assert 'name="act"' not in text
    assert "/cancel" not in text
    for act in ("quiet", "resume", "stop"):
        assert tell(people.bob.browser, act, worker="worker-1").status_code == 403
    assert people.bob.browser.post(cancel_url(job_id), {"attempt": "1", "confirmed": "yes"}).status_code == 403
    assert (commands(engine), noted()) == ([], [])


@pytest.mark.parametrize("namespace", [SHOP, BANK])
def test_a_worker_of_another_namespace_is_not_told_anything(engine: Engine, people: People, namespace: str) -> None:
    """Neither by its own namespace, which one does not see, nor by way of one's own."""
    beat(engine, WORKER)

    for act in ("quiet", "resume", "stop"):
        assert tell(people.charlie.browser, act, namespace=namespace).status_code == 404
    assert (commands(engine), noted()) == ([], [])


def test_a_worker_that_is_gone_or_an_act_that_is_none_is_refused(engine: Engine, people: People) -> None:
    gone = tell(people.olga.browser, "quiet")
    assert gone.status_code == 404
    assert gone.json()["error"] == "Worker not found, or it has not reported lately"
    beat(engine, WORKER)
    for act in ("", "cancel", "explode"):
        assert tell(people.olga.browser, act).status_code == 400
    assert commands(engine) == []


def test_a_worker_whose_id_has_invisible_characters_can_be_stopped(engine: Engine, people: People) -> None:
    beat(engine, EVIL)
    field = re.search(r'name="worker" value="([^"]*)"', page(people.olga.browser))
    assert field is not None

    assert tell(people.olga.browser, "stop", worker=field[1]).status_code == 200

    assert commands(engine) == [("stop", EVIL)]


# Cancelling a running job


def cancel_url(job_id: str, namespace: str = SHOP) -> str:
    return f"/queues/{POOL}/{namespace}/orders/jobs/{job_id}/cancel"


def cancel(client: Client, job_id: str, *, namespace: str = SHOP, attempt: str = "1") -> Any:
    return client.post(cancel_url(job_id, namespace), {"attempt": attempt, "confirmed": "yes"}, **JSON)


def test_a_running_job_is_cancelled_by_its_worker(engine: Engine, people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)
    beat(engine, "worker-1", running=[running(job_id)])
    assert f'formaction="{cancel_url(job_id)}" name="attempt" value="1"' in page(people.olga.browser)

    answer = cancel(people.olga.browser, job_id)

    assert answer.json()["message"] == f"Job {job_id} is cancelled: its worker was told to end it."
    assert commands(engine) == [("cancel", job_id)]
    assert noted() == [("olga", "cancelled", SHOP, job_id)]


def test_a_job_is_cancelled_only_when_that_is_confirmed(engine: Engine, people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    asked = people.olga.browser.post(cancel_url(job_id), {"attempt": "1"})

    assert "Cancel this job?" in asked.text
    assert 'name="attempt" value="1"' in asked.text
    assert commands(engine) == []


@pytest.mark.parametrize(
    ("state", "attempt", "status"),
    [
        (JobState.WORKING, "2", 409),
        (JobState.WORKING, "", 409),
        (JobState.READY, "0", 409),
        (JobState.DEAD, "1", 409),
        (JobState.COMPLETED, "1", 409),
    ],
)
def test_a_job_that_changed_since_the_page_was_made_is_left_alone(
    engine: Engine, people: People, shop: Shop, state: JobState, attempt: str, status: int
) -> None:
    job_id = shop.job_in(state)

    assert cancel(people.olga.browser, job_id, attempt=attempt).status_code == status

    assert shop.state_of(job_id) is state
    assert (commands(engine), noted()) == ([], [])


@pytest.mark.parametrize("job_id", [JOB, "x", JOB.lower()])
def test_a_job_that_is_not_there_cannot_be_cancelled(engine: Engine, people: People, job_id: str) -> None:
    assert cancel(people.olga.browser, job_id).status_code == 404
    assert commands(engine) == []


@pytest.mark.parametrize("namespace", [SHOP, BANK])
def test_a_job_of_another_namespace_cannot_be_cancelled(
    engine: Engine, people: People, shop: Shop, namespace: str
) -> None:
    job_id = shop.job_in(JobState.WORKING)

    assert cancel(people.charlie.browser, job_id, namespace=namespace).status_code == 404
    assert (commands(engine), noted()) == ([], [])


def test_a_job_that_waits_again_by_then_is_deleted_and_that_is_said(
    engine: Engine, people: People, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker gave it back between the two looks that cancelling takes."""
    job_id = shop.job_in(JobState.WORKING)

    def released_before(*args: Any, **options: Any) -> Any:
        engine.run(release(shop.queue, job_id))
        return cancel_job(*args, **options)

    monkeypatch.setattr(worker_actions, "cancel_job", released_before)

    assert cancel(people.olga.browser, job_id).json()["message"] == "The job was no longer working: it is deleted."

    assert shop.state_of(job_id) is None
    assert commands(engine) == []
    assert noted() == [("olga", "cancelled", SHOP, job_id)]
