"""The page of one job: its life, what it carries, what may be done with it, and by whom."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queues.engine import Dependency, JobState, delete_jobs, relay, release
from queues.models import Activity, Pool
from tests.dashboard.people import People
from tests.dashboard.shop import AT, Shop
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

from .asking import JSON, LIVE, noted, uncoloured
from .hostile import HOSTILE, assert_harmless

pytestmark = pytest.mark.django_db(transaction=True)

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
GETS = ("", "now", "peek", "raw/body")


def at(job_id: str, path: str = "") -> str:
    return f"{AT}jobs/{job_id}/{path}"


def page(client: Client, job_id: str, path: str = "", **headers: str) -> str:
    response = client.get(at(job_id, path), **headers)  # type: ignore[arg-type]
    assert response.status_code == 200, response.content.decode()
    return response.content.decode()


def act(client: Client, job_id: str, name: str, state: JobState, **data: Any) -> Any:
    form = {"act": name, "state": state.value, "attempt": "1", "confirmed": "yes"} | data
    return client.post(at(job_id, "act"), form, **JSON)  # type: ignore[arg-type]


def life(text: str) -> list[str]:
    """The kinds of moments on the time line, in order."""
    return re.findall(r'<li class="moment ([\w ]+)">', text)


# Its life


@pytest.mark.parametrize(
    ("state", "moments"),
    [
        (JobState.READY, ["published", "due", "future will_expire"]),
        (JobState.DELAYED, ["published", "future will_be_due", "future will_expire"]),
        (JobState.RETRY, ["published", "failed", "future will_be_due", "future will_expire"]),
        (JobState.WORKING, ["published", "working", "future will_lose_lease", "future will_expire"]),
        (JobState.DEAD, ["published", "failed", "dead"]),
        (JobState.COMPLETED, ["published", "acked", "future will_be_purged"]),
    ],
)
def test_the_life_of_a_job_is_told_in_order(bob: Client, shop: Shop, state: JobState, moments: list[str]) -> None:
    job_id = shop.job_in(state, error="Disk full")

    for path in ("", "now"):
        text = page(bob, job_id, path)
        assert life(text) == moments
        assert ("Disk full" in text) == (state in (JobState.RETRY, JobState.DEAD))
        assert ("worker-1" in text) == (state not in (JobState.READY, JobState.DELAYED))


def test_when_a_delayed_job_was_due_is_told_before_its_attempt(bob: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x", delay_ms=20)
    wait_until(shop.take_if_any, or_fail="the job did not become due")

    assert life(page(bob, job_id))[:3] == ["published", "due", "working"]


def test_attempts_that_left_no_trace_are_said_to_have_been(bob: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x")
    for _ in range(2):
        shop.take()
        shop.engine.run(release(shop.queue, job_id))
    told = [kind for kind in life(page(bob, job_id)) if kind != "due"]
    assert told[:3] == ["published", "unknown", "released"]
    shop.wait_a_moment()
    shop.engine.run(release(shop.queue, shop.take_one()))
    shop.fail(shop.take_one(), "boom")

    text = page(bob, job_id)

    assert life(text) == ["published", "unknown", "due", "failed", "dead"]
    assert "Attempts 1 to 3" in text
    assert "Attempt 4" in text


def test_a_job_that_was_rescheduled_before_its_first_attempt_has_had_none(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DELAYED)

    assert act(olga, job_id, "reschedule", JobState.DELAYED, later="2", unit="3600").status_code == 200

    assert life(page(olga, job_id)) == ["published", "future will_be_due", "future will_expire"]


def test_options_attributes_body_and_result_are_shown(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(
        JobState.COMPLETED, body=b'{"to":"Ann"}', key="order-7", attributes={"tenant": "acme"}, priority=9, tries=3
    )

    text = uncoloured(page(bob, job_id))

    for said in (
        "order-7",
        "tenant",
        "acme",
        "&quot;to&quot;: &quot;Ann&quot;",
        "&quot;sent&quot;: true",
        "1 of 3 used",
    ):
        assert said in text, said


def test_a_job_that_went_while_one_looked_is_said_to_be_gone(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.READY)
    shop.engine.run(delete_jobs(shop.queue, [job_id]))

    gone = bob.get(at(job_id, "now"), **LIVE)  # type: ignore[arg-type]
    assert (gone.status_code, "The job is gone" in gone.content.decode()) == (404, True)
    assert "The job is gone" not in bob.get(at(job_id)).content.decode()


@in_one_test("job_id", [UNKNOWN, "x", "<script>", UNKNOWN.lower(), UNKNOWN + "A"])
def test_an_unknown_job_is_not_found(bob: Client, job_id: str) -> None:
    for path in ("peek", "raw/body", *(["", "events"] if job_id != UNKNOWN else [])):
        assert bob.get(at(job_id, path)).status_code == 404


# What it carries


def test_a_peek_shows_the_body_as_asked(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.READY, body=b'{"a":1}')

    assert "{\n  &quot;a&quot;: 1\n}" in uncoloured(page(bob, job_id, "peek"))
    assert "{&quot;a&quot;:1}" in page(bob, job_id, "peek?as=text")
    assert "00000000  7b 22 61 22" in page(bob, job_id, "peek?as=hex")


def test_the_raw_body_is_saved_and_never_shown_as_what_it_claims_to_be(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.COMPLETED, body=HOSTILE["markup"])

    response = bob.get(at(job_id, "raw/body"))

    assert response.content == HOSTILE["markup"]
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == f'attachment; filename="{job_id}.body.bin"'
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["X-Content-Type-Options"] == "nosniff"
    assert bob.get(at(job_id, "raw/result")).content == b'{"sent": true}'
    assert bob.get(at(job_id, "raw/other")).status_code == 404


def test_a_job_without_a_result_has_none_to_save(bob: Client, shop: Shop) -> None:
    assert bob.get(at(shop.job_in(JobState.READY), "raw/result")).status_code == 404


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("form", ["", "?as=text", "?as=json", "?as=hex"])
def test_a_hostile_job_is_shown_harmlessly(bob: Client, shop: Shop, body: bytes, form: str) -> None:
    job_id = shop.job_in(
        JobState.DEAD,
        body=body[: 1024 * 1024],
        error="</pre><script>boom\u202e",
        key="<script>key\u202e",
        attributes={"<script>": "\u2066<img src=x>"},
    )

    text = page(bob, job_id, form)

    assert_harmless(text)
    assert_harmless(page(bob, job_id, "peek" + form))
    assert len(text) < 700_000


# What may be done with it


@pytest.mark.parametrize(
    ("state", "name", "goes_to", "noted_as"),
    [
        (JobState.READY, "delete", None, "deleted"),
        (JobState.DELAYED, "retry", JobState.READY, "retried"),
        (JobState.DELAYED, "reschedule", JobState.DELAYED, "rescheduled"),
        (JobState.RETRY, "retry", JobState.READY, "retried"),
        (JobState.RETRY, "reschedule", JobState.RETRY, "rescheduled"),
        (JobState.WORKING, "ack", None, "acked"),
        (JobState.WORKING, "release", JobState.READY, "released"),
        (JobState.DEAD, "respawn", JobState.READY, "respawned"),
        (JobState.COMPLETED, "delete", None, "deleted"),
    ],
)
def test_a_button_does_what_it_says_and_is_noted(
    olga: Client, shop: Shop, state: JobState, name: str, goes_to: JobState | None, noted_as: str
) -> None:
    job_id = shop.job_in(state)
    assert f'name="act" value="{name}"' in page(olga, job_id)

    assert act(olga, job_id, name, state, later="5", unit="60").status_code == 200

    assert shop.state_of(job_id) is goes_to
    assert noted() == [("olga", noted_as, 1)]
    assert Activity.objects.latest("pk").target == job_id


@pytest.mark.parametrize(
    ("state", "name", "question"),
    [(JobState.DEAD, "delete", "Delete job {}?"), (JobState.WORKING, "ack", "Ack job {}, as if its consumer")],
)
def test_what_ends_a_job_is_asked_about_first(
    olga: Client, shop: Shop, state: JobState, name: str, question: str
) -> None:
    job_id = shop.job_in(state)

    asked = olga.post(at(job_id, "act"), {"act": name, "state": state.value, "attempt": "1"})

    assert question.format(job_id) in asked.content.decode()
    assert shop.state_of(job_id) is state


def test_an_attempt_with_very_many_digits_is_none(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    assert act(olga, job_id, "release", JobState.WORKING, attempt="9" * 5_000).status_code == 409
    assert shop.state_of(job_id) is JobState.WORKING


def test_a_job_that_changed_since_the_page_was_made_is_left_alone(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.WORKING)

    assert act(olga, job_id, "ack", JobState.WORKING, attempt="2").status_code == 409
    assert act(olga, job_id, "respawn", JobState.DEAD).status_code == 409
    assert act(olga, job_id, "respawn", JobState.WORKING).status_code == 400

    assert shop.state_of(job_id) is JobState.WORKING
    assert noted() == []


def test_bob_looks_and_does_nothing(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DEAD)

    assert 'name="act"' not in page(bob, job_id)
    for name in ("respawn", "delete"):
        assert act(bob, job_id, name, JobState.DEAD).status_code == 403
    assert shop.state_of(job_id) is JobState.DEAD
    assert noted() == []


def test_charlie_and_strangers_see_nothing(people: People, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DEAD)

    for path in GETS:
        assert people.charlie.browser.get(at(job_id, path)).status_code == 404, path
        assert people.nobody.get(at(job_id, path))["Location"].startswith("/login/?next="), path
    assert act(people.charlie.browser, job_id, "delete", JobState.DEAD).status_code == 404
    assert people.nobody.post(at(job_id, "act"), {}).status_code == 302
    assert shop.state_of(job_id) is JobState.DEAD


def test_when_redis_is_away_the_page_says_so(bob: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DEAD)
    Pool.objects.update(url="unix:///nowhere/redis.sock")

    for path in GETS:
        response = bob.get(at(job_id, path))
        assert response.status_code == 503, path
        assert "Redis does not answer" in response.content.decode()


def test_a_blocked_job_shows_what_it_waits_for(alice: Client, shop: Shop) -> None:
    needed = (Dependency(queue="mails", key="<b>"), Dependency(queue="mails", key="other"))
    shown = page(alice, shop.job_in(JobState.BLOCKED, depends_on=needed))

    assert "Waits for" in shown
    assert ":&lt;b&gt;" in shown
    assert ":other" in shown
    assert shown.count("not published yet") == 2
    assert "2 jobs" in shown
    assert "until it is closed" not in shown


def test_an_open_job_says_that_more_dependencies_may_come(alice: Client, shop: Shop) -> None:
    shown = page(alice, shop.job_in(JobState.BLOCKED, depends_on=(), dependencies_open=True))

    assert "0 jobs" in shown
    assert "the job stays blocked until it is closed" in shown


def test_dependencies_lead_to_each_other(alice: Client, shop: Shop) -> None:
    first = shop.job_in(JobState.READY, key="first")
    by_id = shop.job_in(JobState.BLOCKED, depends_on=(Dependency(queue="orders", job_id=first),))
    by_key = shop.job_in(JobState.BLOCKED, depends_on=(Dependency(queue="orders", key="first"),))
    shop.engine.run(relay(shop.engine.layout))

    waiting = page(alice, first)
    assert "Waiting for this job" in waiting
    assert at(by_id) in waiting
    assert at(by_key) in waiting
    for one in (by_id, by_key):
        shown = page(alice, one)
        assert "Waits for" in shown
        assert f'href="{at(first)}"' in shown
        assert "Waiting for this job" not in shown


# More about it


def test_a_job_is_published_again_by_a_form_that_is_filled_in(olga: Client, shop: Shop) -> None:
    body = '{"to": "Ann 中"}\n\nand "more" & <so on>\n'.encode()
    job_id = shop.job_in(JobState.DEAD, body=body, tries=4, attributes={"tenant": "acme"}, key="order-7")
    assert f"publish/?from={job_id}" in page(olga, job_id)

    form = olga.get(f"{AT}publish/", {"from": job_id}).context["form"]
    filled = {name: value for name, value in form.initial.items() if value is not None}
    answer = olga.post(f"{AT}publish/", filled, **JSON)  # type: ignore[arg-type]

    again = shop.find(answer.json()["job_id"])
    assert again is not None
    assert (again.body, again.tries, again.attributes, again.key) == (body, 4, {"tenant": "acme"}, "")


@pytest.mark.parametrize("body", [b"\xff\x00", b"a\r\nb", b""])
def test_a_body_that_a_form_would_change_is_published_again_as_it_was(olga: Client, shop: Shop, body: bytes) -> None:
    job_id = shop.job_in(JobState.DEAD, body=body)

    form = olga.get(f"{AT}publish/", {"from": job_id}).context["form"]
    filled = {name: value for name, value in form.initial.items() if value is not None}
    answer = olga.post(f"{AT}publish/", filled, **JSON)  # type: ignore[arg-type]

    again = shop.find(answer.json()["job_id"])
    assert again is not None
    assert again.body == body


def test_jobs_with_the_same_key_are_listed(bob: Client, shop: Shop) -> None:
    done = shop.job_in(JobState.COMPLETED, key="order-7", key_ttl_ms=1)
    shop.wait_a_moment()
    again = shop.job_in(JobState.DELAYED, key="order-7", key_ttl_ms=1)
    shop.job_in(JobState.DELAYED, key="order-77")

    assert re.findall(r'<li><a class="mono" href="[^"]+/jobs/(\w+)/"', page(bob, again)) == [done]


def test_the_activity_of_a_job_leads_to_it_and_back(olga: Client, shop: Shop) -> None:
    job_id = shop.job_in(JobState.DEAD)
    assert act(olga, job_id, "respawn", JobState.DEAD).status_code == 200

    activity = olga.get("/activity/", {"target": job_id}).content.decode()

    assert f"/activity/?target={job_id}" in page(olga, job_id)
    assert f'href="{at(job_id)}"' in activity
    assert "No entry in the namespaces" in olga.get("/activity/", {"target": UNKNOWN}).content.decode()
