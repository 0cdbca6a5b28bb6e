"""Deletions wait for ten seconds: until then they can be undone, and then the server carries them out by itself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queues.engine import JobState, consume, detail, fail, release, respawn
from queues.engine.errors import StoreUnavailableError
from queues.models import Activity, DeletionPhase, PendingDeletion
from queues.services import deletions
from queues.services.dead_letters import actions as dead_actions
from queues.services.dead_letters.filtering import DeadQueues, find_dead_queues
from queues.services.deletions import BATCHES_PER_TURN, UNDO_S, carry_out_deletions
from queues.services.jobs.actions import act_on_jobs
from tests.dashboard.people import SHOP, People
from tests.dashboard.shop import AT, QUEUE, Shop
from tests.dashboard.test_dead import counts
from tests.support.burying import bury

from .asking import JSON, noted, page, page_after, post

pytestmark = pytest.mark.django_db(transaction=True)

UNDO = {"undo": "yes", "confirmed": "yes"}


def delete(client: Client, shop: Shop, *job_ids: str, state: JobState = JobState.READY) -> int:
    """The number of the deletion."""
    fields = {"act": "delete", "state": state, "job": list(job_ids)} | UNDO
    return int(post(client, "act", fields, status=200, **JSON)["deletion"])


def after(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


def phase(pk: int) -> str:
    return str(PendingDeletion.objects.get(pk=pk).phase)


@pytest.mark.parametrize("state", JobState)
def test_a_job_is_deleted_after_ten_seconds_and_not_before(olga: Client, shop: Shop, state: JobState) -> None:
    job_id = shop.job_in(state)
    before = shop.find(job_id)

    pk = delete(olga, shop, job_id, state=state)
    assert carry_out_deletions(now=after(UNDO_S - 1)) == 0
    assert shop.state_of(job_id) is state
    assert f"deletions/{pk}/undo" in page(olga)
    assert page(olga, f"?state={state}").count("to be deleted") == 1
    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1

    assert before is not None
    assert shop.find(job_id) is None
    assert f"deletions/{pk}/undo" not in page(olga)
    assert noted() == [("olga", "deleted", 1)]


def test_a_deletion_is_undone(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DEAD)
    before = shop.find(job_id)
    pk = delete(olga, shop, job_id, state=JobState.DEAD)

    answer = olga.post(f"/deletions/{pk}/undo", {"next": f"{AT}?state=dead"})

    assert "Undone: no job was deleted." in page_after(olga, answer)
    assert carry_out_deletions(now=after(60)) == 0
    kept = shop.find(job_id)
    assert before is not None
    assert kept is not None
    assert (kept.state, kept.body, kept.history, kept.tries, kept.died_ms) == (
        before.state,
        before.body,
        before.history,
        before.tries,
        before.died_ms,
    )
    assert noted() == []


def test_what_has_begun_cannot_be_undone(olga: Client, shop: Shop) -> None:
    pk = delete(olga, shop, shop.job_in(JobState.READY))
    carry_out_deletions(now=after(UNDO_S + 1))

    assert "Too late" in page_after(olga, olga.post(f"/deletions/{pk}/undo", {"next": AT}))
    assert phase(pk) == DeletionPhase.DONE


def test_a_job_that_a_consumer_has_taken_meanwhile_is_left_to_it(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.READY)
    delete(olga, shop, job_id)
    shop.engine.run(consume(shop.queue, ttr_ms=60_000))

    assert carry_out_deletions(now=after(UNDO_S + 1)) == 0
    assert shop.state_of(job_id) is JobState.WORKING


def test_a_working_job_that_another_consumer_has_taken_meanwhile_is_left_to_it(olga: Client, shop: Shop) -> None:
    taken_again, same = shop.publish(b"1", b"2")
    shop.engine.run(consume(shop.queue, ttr_ms=60_000, count=2))
    delete(olga, shop, f"{taken_again}:1", f"{same}:1", state=JobState.WORKING)
    shop.engine.run(release(shop.queue, taken_again, attempt=1))
    shop.engine.run(consume(shop.queue, ttr_ms=60_000))

    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1
    assert shop.state_of(taken_again) is JobState.WORKING


def test_all_of_a_state_go_in_batches_but_those_that_came_later_stay(
    alice: Client, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "BATCHES_PER_TURN", 1)
    shop.publish(*[b"x"] * 900)
    fields = {"act": "delete", "state": "ready", "word": QUEUE} | UNDO
    assert post(alice, "act-on-all", fields, status=200, **JSON)["message"] == "900 jobs will be deleted in 10 s."
    assert "900 ready jobs from orders." in page(alice)
    shop.wait_a_moment()
    (later,) = shop.publish(b"later")

    turns = [carry_out_deletions(now=after(UNDO_S + 1)) for _ in range(3)]

    assert turns == [500, 400, 0]
    assert shop.counts() == {"ready": 1}
    assert shop.state_of(later) is JobState.READY
    assert BATCHES_PER_TURN > 1
    assert noted() == [("alice", "deleted", 900)]


def test_a_queue_is_emptied_and_that_can_be_undone(alice: Client, shop: Shop) -> None:
    shop.job_in(JobState.DEAD)
    shop.publish(b"x")

    back = post(alice, "empty", {"word": QUEUE} | UNDO)
    shown = page_after(alice, back)
    assert "all jobs (2) from orders." in shown
    (found,) = re.findall(r"/deletions/(\d+)/undo", shown)
    alice.post(f"/deletions/{found}/undo")
    carry_out_deletions(now=after(60))
    assert shop.counts() == {"ready": 1, "dead": 1}

    post(alice, "empty", {"word": QUEUE} | UNDO)
    carry_out_deletions(now=after(UNDO_S + 1))
    assert shop.counts() == {}


def test_one_job_is_not_asked_about_two_are(olga: Client, shop: Shop) -> None:
    ids = shop.publish(b"1", b"2")
    fields: dict[str, Any] = {"act": "delete", "state": "ready", "undo": "yes"}

    post(olga, "act", fields | {"job": ids[:1]}, status=200, **JSON)
    post(olga, "act", fields | {"job": ids}, status=400, **JSON)
    olga.post(f"{AT}jobs/{ids[1]}/act", fields)

    assert PendingDeletion.objects.count() == 2


def test_dead_letters_wait_too(people: People) -> None:
    (first, *_rest) = bury(SHOP, "mail", ["a", "b", "c"])
    browser = people.alice.browser
    browser.post("/dead/act", {"do": "delete-selected", "letter": f"default/{SHOP}/mail/{first}", "undo": "yes"})
    shown = browser.get("/dead/").text
    assert "1 dead letter." in shown
    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1

    browser.post("/dead/act", {"do": "delete-all", "error": "b", "word": "delete"} | UNDO)
    assert "every match among 2 dead letters." in browser.get("/dead/").text
    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1


def test_what_dies_later_on_the_same_day_stays(people: People) -> None:
    bury(SHOP, "mail", ["a"])
    browser = people.alice.browser
    today = timezone.now().date().isoformat()
    browser.post("/dead/act", {"do": "delete-all", "day": today, "word": "delete"} | UNDO)
    bury(SHOP, "mail", ["b"], now_ms=round(after(1).timestamp() * 1000))

    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1
    assert counts("mail") == {JobState.DEAD: 1}


def die_again(shop: Shop, job_id: str, *, queue: str = QUEUE) -> None:
    """Respawn it, have it delivered, and let it die again."""
    keys = shop.engine.queue(SHOP, queue)
    shop.wait_a_moment()
    shop.engine.run(respawn(keys, ids=[job_id], ttl_ms=60_000))
    (job,) = shop.engine.run(consume(keys, ttr_ms=60_000)).jobs
    assert job.job_id == job_id
    shop.engine.run(fail(keys, job_id, error="again", dead=True))


def test_what_was_respawned_and_has_died_again_stays(people: People, shop: Shop) -> None:
    first, second = bury(SHOP, "mail", ["a", "b"])
    letters = [f"default/{SHOP}/mail/{job_id}" for job_id in (first, second)]
    people.alice.browser.post("/dead/act", {"do": "delete-selected", "letter": letters} | UNDO)
    die_again(shop, second, queue="mail")

    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1
    left = shop.engine.run(detail(shop.engine.queue(SHOP, "mail"), second))
    assert left is not None
    assert left.state is JobState.DEAD


def test_what_was_respawned_and_has_died_again_stays_in_its_queue(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DEAD)
    pk = delete(olga, shop, job_id, state=JobState.DEAD)
    die_again(shop, job_id)

    assert carry_out_deletions(now=after(UNDO_S + 1)) == 0
    assert shop.state_of(job_id) is JobState.DEAD
    assert phase(pk) == DeletionPhase.DONE


def test_a_pool_that_is_silent_is_named_and_can_be_asked_again(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    bury(SHOP, "mail", ["a", "b"])
    browser = people.alice.browser
    browser.post("/dead/act", {"do": "delete-all", "word": "delete"} | UNDO)
    pk = PendingDeletion.objects.get().pk

    def without_pool(**named: Any) -> DeadQueues:
        return replace(find_dead_queues(**named), away=("east",))

    with monkeypatch.context() as patch:
        patch.setattr(dead_actions, "find_dead_queues", without_pool)
        assert carry_out_deletions(now=after(UNDO_S + 1)) == 2
    shown = browser.get("/dead/").text
    assert "Not everything was deleted" in shown
    assert "2 deleted. No answer from east: its dead letters were not deleted." in shown
    assert phase(pk) == DeletionPhase.FAILED

    bury(SHOP, "mail", ["died later"], now_ms=round(after(1).timestamp() * 1000))
    assert "The deletion goes on." in browser.post(f"/deletions/{pk}/retry", {"next": "/dead/"}, follow=True).text
    assert carry_out_deletions(now=after(UNDO_S + 2)) == 0
    assert phase(pk) == DeletionPhase.DONE
    assert counts("mail") == {JobState.DEAD: 1}
    assert "Nothing is left" in browser.post(f"/deletions/{pk}/retry", {"next": "/dead/"}, follow=True).text


def test_who_loses_the_right_meanwhile_deletes_nothing(people: People, shop: Shop) -> None:
    pk = delete(people.olga.browser, shop, shop.job_in(JobState.READY))
    people.olga.user.groups.clear()

    assert carry_out_deletions(now=after(UNDO_S + 1)) == 0
    assert phase(pk) == DeletionPhase.FAILED
    assert "Deletion failed" in page(people.alice.browser)
    assert shop.counts() == {"ready": 1}
    assert not Activity.objects.filter(action="deleted").exists()


def test_redis_that_is_away_is_asked_again(olga: Client, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    pk = delete(olga, shop, shop.job_in(JobState.READY))

    def fail(**_: object) -> int:
        raise StoreUnavailableError("away")

    with monkeypatch.context() as patch:
        patch.setattr(deletions, "act_on_jobs", fail)
        with pytest.raises(StoreUnavailableError):
            carry_out_deletions(now=after(UNDO_S + 1))

    assert phase(pk) == DeletionPhase.RUNNING
    assert carry_out_deletions(now=after(UNDO_S + 1)) == 1


def test_a_deletion_whose_process_died_is_taken_over(olga: Client, shop: Shop) -> None:
    pk = delete(olga, shop, shop.job_in(JobState.READY))
    dead_since = PendingDeletion.objects.filter(pk=pk)
    dead_since.update(phase=DeletionPhase.RUNNING, claimed_at=after(UNDO_S))

    assert carry_out_deletions(now=after(UNDO_S + 30)) == 0
    assert carry_out_deletions(now=after(UNDO_S + 90)) == 1


def empty_later(alice: Client) -> int:
    """The number of the deletion that empties the queue."""
    return int(post(alice, "empty", {"word": QUEUE} | UNDO, status=200, **JSON)["deletion"])


def test_a_queue_is_not_emptied_twice_after_a_process_died(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")
    pk = empty_later(alice)
    PendingDeletion.objects.filter(pk=pk).update(phase=DeletionPhase.RUNNING, claimed_at=after(UNDO_S))

    assert carry_out_deletions(now=after(UNDO_S + 90)) == 0
    assert phase(pk) == DeletionPhase.FAILED
    assert "newer jobs would be deleted" in page(alice)
    assert shop.counts() == {"ready": 1}


def test_a_queue_is_not_emptied_long_after_it_was_asked_for(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")
    pk = empty_later(alice)

    assert carry_out_deletions(now=after(3_600)) == 0
    assert phase(pk) == DeletionPhase.FAILED
    assert shop.counts() == {"ready": 1}


def test_deletions_of_a_pool_that_is_away_do_not_keep_others_waiting(
    olga: Client, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "ROWS_PER_TURN", 1)
    stuck, other = shop.publish(b"1", b"2")
    delete(olga, shop, stuck)

    def fail(**named: Any) -> int:
        if named["jobs"][0].job_id == stuck:
            raise StoreUnavailableError("away")
        return act_on_jobs(**named)

    monkeypatch.setattr(deletions, "act_on_jobs", fail)
    with pytest.raises(StoreUnavailableError):
        carry_out_deletions(now=after(UNDO_S + 1))
    delete(olga, shop, other)

    assert carry_out_deletions(now=after(UNDO_S + 2)) == 1
    assert shop.find(other) is None


def test_what_cannot_be_carried_out_is_refused_at_once(
    alice: Client, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"act": "delete", "state": "ready", "word": QUEUE} | UNDO
    post(alice, "act-on-all", fields | {"body": "x" * 100_000}, status=400, **JSON)
    letters = [f"default/{SHOP}/{QUEUE}/{shop.job_in(JobState.DEAD)}"] * 501
    assert alice.post("/dead/act", {"do": "delete-selected", "letter": letters} | UNDO).status_code == 400

    monkeypatch.setattr(deletions, "OWN_MAX", 1)
    delete(alice, shop, shop.job_in(JobState.READY))
    refused = post(alice, "act-on-all", fields, status=400, **JSON)

    assert refused["error"] == "Too many of your deletions are waiting: try again in a minute."
    assert PendingDeletion.objects.count() == 1
