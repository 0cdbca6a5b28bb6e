"""The page of one queue: what it shows, finds and does, and for whom."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from queues.engine import JobState, PublishOptions, open_engine, peek, publish
from queues.engine.limits import SCAN_LOOKS
from queues.models import Activity, Pool, QueuePolicy
from queues.services.queue_page import PAGE_JOBS, STRETCHES

from .people import People
from .shop import AT, QUEUE, Shop

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"HTTP_ACCEPT": "application/json"}
LIVE = {"HTTP_X_LIVE": "1"}


@pytest.fixture
def shop(people: People, redis_url: str) -> Iterator[Shop]:
    engine = open_engine(redis_url)
    yield Shop(engine)
    engine.close()


@pytest.fixture
def alice(people: People, shop: Shop) -> Client:
    return people.alice.browser


@pytest.fixture
def olga(people: People, shop: Shop) -> Client:
    return people.olga.browser


@pytest.fixture
def bob(people: People, shop: Shop) -> Client:
    return people.bob.browser


def page(client: Client, path: str = "", **headers: str) -> str:
    response = client.get(AT + path, **headers)  # type: ignore[arg-type]
    assert response.status_code == 200, response.content.decode()
    return response.content.decode()


def post(client: Client, path: str, data: dict[str, Any] | None = None, *, status: int = 302, **headers: str) -> Any:
    response = client.post(AT + path, data or {}, **headers)  # type: ignore[arg-type]
    assert response.status_code == status, response.content.decode()
    return response.json() if headers == JSON else response


def noted() -> list[tuple[str, str, int | None]]:
    acts = Activity.objects.exclude(action="signed_in").order_by("pk")
    return [(one.who, one.action, one.count) for one in acts]


# What it shows


@pytest.mark.parametrize("state", JobState)
def test_each_state_has_a_tab_with_its_jobs(alice: Client, shop: Shop, state: JobState) -> None:
    ids: dict[JobState, str] = {one: shop.job_in(one) for one in JobState if one is not JobState.READY}
    ids[JobState.READY] = shop.job_in(JobState.READY)

    text = page(alice, f"?state={state}")

    assert [job_id for job_id in ids.values() if job_id in text] == [ids[state]]
    assert text.count('<span class="count">1</span>') == 6


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

    assert [job_id in first for job_id in ids] == [True] * PAGE_JOBS + [False] * 3
    assert [job_id in second for job_id in ids] == [False] * PAGE_JOBS + [True] * 3
    assert "data-more" not in second


def test_a_cursor_that_no_page_gave_out_is_refused(bob: Client) -> None:
    assert bob.get(AT + "?after=x").status_code == 400


def test_the_live_parts_answer_304_while_nothing_changes(bob: Client, shop: Shop) -> None:
    shop.publish(b"x", delay_ms=600_000)
    for path in ("jobs?state=delayed",):
        etag = bob.get(AT + path, **LIVE)["ETag"]  # type: ignore[arg-type]

        assert bob.get(AT + path, **LIVE, HTTP_IF_NONE_MATCH=etag).status_code == 304  # type: ignore[arg-type]
        shop.publish(b"y", delay_ms=700_000)
        assert bob.get(AT + path, **LIVE, HTTP_IF_NONE_MATCH=etag).status_code == 200  # type: ignore[arg-type]


def test_the_live_part_says_that_the_queue_is_paused(alice: Client) -> None:
    assert "Nothing is handed out" not in page(alice, "now")
    post(alice, "pause")
    assert "Nothing is handed out" in page(alice, "now")


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


# Filters


def test_filters_find_what_carries_the_text(bob: Client, shop: Shop) -> None:
    wanted = shop.job_in(JobState.DEAD, body=b'{"to": "Ann"}', error="Disk full", key="k-7", attributes={"a": "Bee"})
    other = shop.job_in(JobState.DEAD, error="Timeout", key="x", attributes={"c": "d"})

    for query in ("error=disk", "key=k-", "attribute=a%3Dbee", "attribute=bee", "body=ann", f"id={wanted[-6:]}"):
        text = page(bob, f"?state=dead&{query}")
        assert wanted in text, query
        assert other not in text, query
    whole_id = page(bob, f"?state=dead&id={wanted.lower()}")
    assert wanted in whole_id
    assert "No job matches" in page(bob, f"?state=ready&id={wanted}")


def test_the_filter_stays_in_the_form_and_in_the_tabs(bob: Client, shop: Shop) -> None:
    text = page(bob, "?state=dead&error=a%22%3E%3Cb")

    assert 'name="error" value="a&quot;&gt;&lt;b"' in text
    assert "state=retry&amp;error=a%22%3E%3Cb" in text


def test_a_long_scan_stops_says_how_far_it_came_and_goes_on(bob: Client, shop: Shop) -> None:
    looks = STRETCHES * SCAN_LOOKS
    for _ in range(looks // 1_000 + 1):
        shop.publish(*[b"no"] * 1_000)
    (wanted,) = shop.publish(b"needle")

    first = page(bob, "?body=needle")
    more = first.split('id="jobs-more" data-more="')[1].split('"')[0].replace("&amp;", "&")
    second = page(bob, more.removeprefix(AT), **LIVE)

    assert f"looked at {looks:,} of {looks + 1_001:,} jobs" in first
    assert "Scan on" in first
    assert "No job matches" not in first
    assert wanted in second
    assert f"looked at {looks + 1_001:,} of {looks + 1_001:,} jobs" in second
    assert "Scan on" not in second


def test_a_filter_that_is_too_long_is_refused(bob: Client) -> None:
    assert bob.get(AT + "?error=" + "x" * 300).status_code == 400


# Publish


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
        },
    )

    job_id = response["Location"].rstrip("/").rsplit("/", 1)[1]
    job = shop.find(job_id)
    assert job is not None
    assert (job.state, job.body, job.tries, job.priority) == (JobState.DELAYED, b'{"to":\n"Ann"}', 5, -3)
    assert (str(job.backoff), job.retention_ms, job.key) == ("fixed:2", 7_000, "order-7")
    assert job.attributes == {"tenant": "acme", "kind": "mail=1"}
    assert job.due_ms == job.published_ms + 60_000
    assert job.expires_ms == job.published_ms + 3_600_000
    assert noted() == [("olga", "published", 1)]
    assert "mail=1" not in str(Activity.objects.values())


def test_bytes_are_published_as_base64(olga: Client, shop: Shop) -> None:
    post(olga, "publish/", {"body": base64.b64encode(b"\x00\xff").decode() + "\r\n", "encoding": "base64"})

    found = shop.engine.run(peek(shop.queue))
    assert found is not None
    assert found.body == b"\x00\xff"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("tries", "0", "greater than or equal to 1"),
        ("priority", "101", "less than or equal to 100"),
        ("backoff", "often", "Expected none, fixed:S"),
        ("attributes", "no pair", "no NAME=VALUE: no pair"),
        ("attributes", "\n".join(f"a{n}=1" for n in range(17)), "A job has at most 16 attributes."),
        ("key_ttl_s", "5", "Only with a key"),
        ("key", "k" * 256, "A key has at most 255 bytes."),
        ("delay_s", "-1", "greater than or equal to 0"),
        ("delay_s", "999999", "It would expire before it is due"),
        ("body", "é" * 600_000, "at most 1 MiB"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_published(
    olga: Client, shop: Shop, field: str, value: str, said: str
) -> None:
    response = post(olga, "publish/", {"body": "b", "encoding": "text", field: value}, status=400)

    assert said in response.content.decode()
    assert shop.counts() == {}
    assert noted() == []


def test_what_is_no_base64_is_said(olga: Client) -> None:
    response = post(olga, "publish/", {"body": "###", "encoding": "base64"}, status=400)

    assert "This is not base64." in response.content.decode()


def test_a_second_job_with_the_same_key_leads_to_the_first(olga: Client, shop: Shop) -> None:
    (job_id,) = shop.publish(b"x", key="k")

    response = post(olga, "publish/", {"body": "y", "encoding": "text", "key": "k"})

    assert job_id in response["Location"]
    assert shop.counts() == {"ready": 1}
    assert noted() == []


# Pause, policy, empty


def test_a_queue_is_paused_and_resumed(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    post(olga, "pause")
    post(olga, "pause")
    assert "Nothing is handed out" in page(olga)
    post(olga, "resume")

    assert "Nothing is handed out" not in page(olga)
    assert noted() == [("olga", "paused", None), ("olga", "resumed", None)]


def test_how_long_a_job_may_wait_stands_with_the_policy(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")
    assert "300 s" in page(alice)

    post(alice, "policy/", {"objective_s": "45"})

    assert "45 s" in page(alice)
    assert "300 s" not in page(alice)


def test_a_policy_is_set_changed_and_removed(alice: Client, shop: Shop) -> None:
    blank = dict.fromkeys(("ttl_s", "ttr_s", "max_in_flight", "dead_max_age_s", "dead_max_count", "backoff"), "")

    post(alice, "policy/", blank | {"tries": "3", "backoff": "fixed:5"})
    assert 'value="3"' in page(alice, "policy/")
    (policy,) = QueuePolicy.objects.all()
    assert (policy.queue, policy.tries, policy.backoff, policy.ttl_s) == (QUEUE, 3, "fixed:5", None)
    post(alice, "policy/", blank | {"tries": "3", "backoff": "fixed:5"})
    post(alice, "policy/", blank | {"tries": ""})

    assert not QueuePolicy.objects.exists()
    assert noted() == [("alice", "policy_changed", None)] * 2
    details = Activity.objects.filter(action="policy_changed").order_by("pk").values_list("detail", flat=True)
    assert details[0] == "tries: – → 3, backoff:  → fixed:5"


def test_what_is_wrong_with_a_policy_is_said(alice: Client) -> None:
    response = post(alice, "policy/", {"backoff": "often", "tries": "3"}, status=400)

    assert "Expected none, fixed:S" in response.content.decode()
    assert not QueuePolicy.objects.exists()


def test_a_queue_is_emptied_once_its_name_is_typed(alice: Client, shop: Shop) -> None:
    for state in JobState:
        if state is not JobState.READY:
            shop.job_in(state)
    shop.publish(b"x")

    asked = post(alice, "empty", status=200).content.decode()
    assert "To confirm, type" in asked
    post(alice, "empty", {"confirmed": "yes", "word": "other"}, status=400)
    assert sum(shop.counts().values()) == 6
    post(alice, "empty", {"confirmed": "yes", "word": QUEUE})

    assert shop.counts() == {}
    assert noted() == [("alice", "emptied", 6)]


# Acts on jobs


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

    if question := {"delete": "Delete 1 job for good?", "ack": "End 1 job as if its consumer"}.get(act):
        assert question in post(olga, "act", data, status=200).content.decode()
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
    assert "1 job had changed meanwhile" in answer["message"]
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
    assert "No job was ticked." in page_after(olga, post(olga, "act", {"act": "retry", "state": "delayed"}))


def page_after(client: Client, response: Any) -> str:
    return client.get(response["Location"]).content.decode()


# Acts on everything that matches


def all_of(client: Client, **data: Any) -> list[dict[str, Any]]:
    """Batches until the end, as queue.js asks for them."""
    answers: list[dict[str, Any]] = []
    sent = {"confirmed": "yes", "run": "r1"} | data
    while not answers or answers[-1]["cursor"]:
        assert len(answers) < 100
        answers.append(post(client, "act-on-all", sent, status=200, **JSON))
        sent |= {"after": answers[-1]["cursor"] or "", "before_ms": answers[-1]["before_ms"] or ""}
    return answers


def bury(shop: Shop, number: int, error: str) -> None:
    shop.publish(*[b"x"] * number)
    for _ in range(number):
        job = shop.take_one()
        shop.fail(job, error)


def test_everything_that_matches_is_respawned_in_batches(olga: Client, shop: Shop) -> None:
    bury(shop, 30, "Disk full")
    bury(shop, 20, "Timeout")

    answers = all_of(olga, act="respawn", state="dead", error="disk")

    assert sum(answer["done"] for answer in answers) == 30
    assert answers[0]["size"] == 50
    assert shop.counts() == {"ready": 30, "dead": 20}
    assert noted() == [("olga", "respawned", 30)]
    assert Activity.objects.latest("pk").detail == "all dead, error: disk"


def test_all_jobs_of_a_state_take_as_many_batches_as_needed(alice: Client, shop: Shop) -> None:
    for _ in range(2):
        shop.publish(*[b"x"] * 800)

    answers = all_of(alice, act="delete", state="ready")

    assert [answer["done"] for answer in answers] == [500, 500, 500, 100]
    assert shop.counts() == {}
    assert noted() == [("alice", "deleted", 1600)]


def test_rescheduling_all_comes_to_an_end_though_jobs_move_behind_the_cursor(olga: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 700, delay_ms=60_000)

    answers = all_of(olga, act="reschedule", state="delayed", later="1", unit="3600")

    assert sum(answer["done"] for answer in answers) == 700
    assert shop.counts() == {"delayed": 700}


def test_a_job_that_dies_again_meanwhile_is_not_respawned_again(olga: Client, shop: Shop) -> None:
    bury(shop, 1, "boom")
    first = post(olga, "act-on-all", {"act": "respawn", "state": "dead", "confirmed": "yes"}, status=200, **JSON)
    shop.wait_a_moment()
    shop.fail(shop.take_one(), "boom")

    sent = {"act": "respawn", "state": "dead", "confirmed": "yes", "before_ms": first["before_ms"]}
    second = post(olga, "act-on-all", sent, status=200, **JSON)

    assert (first["done"], second["done"], second["looked_at"]) == (1, 0, 1)
    assert shop.counts() == {"dead": 1}


def test_deleting_everything_is_for_administrators(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    post(olga, "act-on-all", {"act": "delete", "state": "ready", "confirmed": "yes"}, status=403, **JSON)

    assert shop.counts() == {"ready": 1}
    assert "data-bulk" not in page(olga)


def test_everything_is_not_done_before_it_is_confirmed(alice: Client, shop: Shop) -> None:
    shop.publish(b"x")

    assert "not_confirmed" in str(post(alice, "act-on-all", {"act": "delete", "state": "ready"}, status=400, **JSON))
    asked = post(alice, "act-on-all", {"act": "delete", "state": "ready", "body": "x"}, status=200)

    assert 'name="body" value="x"' in asked.content.decode()
    assert shop.counts() == {"ready": 1}


def test_without_a_script_one_batch_is_done_and_the_rest_is_told_of(alice: Client, shop: Shop) -> None:
    shop.publish(*[b"x"] * 700)

    response = post(alice, "act-on-all", {"act": "delete", "state": "ready", "confirmed": "yes"})

    assert "Done: 500 jobs. There may be more" in page_after(alice, response)


@pytest.mark.parametrize("act", ["ack", "release", "delete"])
def test_what_is_worked_on_is_not_acted_upon_as_a_whole(alice: Client, shop: Shop, act: str) -> None:
    shop.job_in(JobState.WORKING)

    post(alice, "act-on-all", {"act": act, "state": "working", "confirmed": "yes"}, status=400, **JSON)


# Who may what

GETS = ("", "now", "jobs", "charts/waits", "publish/", "policy/")
POSTS = ("publish/", "policy/", "empty", "pause", "resume", "act", "act-on-all")
FULL = {
    "body": "x",
    "encoding": "text",
    "act": "delete",
    "state": "ready",
    "confirmed": "yes",
    "word": QUEUE,
    "job": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
}


def test_charlie_sees_nothing_and_does_nothing(people: People, shop: Shop) -> None:
    shop.publish(b"x")
    charlie = people.charlie.browser
    before = shop.counts()

    for path in GETS:
        assert charlie.get(AT + path).status_code == 404, path
    for path in POSTS:
        assert charlie.post(AT + path, FULL).status_code == 404, path
    assert shop.counts() == before
    assert noted() == []


def test_bob_looks_and_does_nothing(bob: Client, shop: Shop) -> None:
    shop.publish(b"x")

    text = page(bob)
    assert 'name="act"' not in text
    assert 'type="checkbox" name="job"' not in text
    assert [bob.get(AT + path).status_code for path in GETS] == [200, 200, 200, 200, 403, 403]
    for path in POSTS:
        assert bob.post(AT + path, FULL).status_code == 403, path
    assert shop.counts() == {"ready": 1}
    assert noted() == []


def test_an_operator_neither_empties_nor_sets_policies(olga: Client, shop: Shop) -> None:
    shop.publish(b"x")

    for path in ("policy/", "empty"):
        assert olga.post(AT + path, FULL).status_code == 403, path
    assert "Empty" not in page(olga)
    assert shop.counts() == {"ready": 1}


def test_who_is_not_signed_in_is_sent_to_the_sign_in(shop: Shop) -> None:
    for path in GETS:
        assert Client().get(AT + path)["Location"].startswith("/login/?next="), path
    for path in POSTS:
        assert Client().post(AT + path, FULL)["Location"].startswith("/login/?next="), path


def test_actions_need_a_csrf_token_and_post(shop: Shop, alice: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = alice.cookies
    for path in POSTS:
        assert strict.post(AT + path, FULL).status_code == 403, path
    for path in ("empty", "pause", "resume", "act", "act-on-all"):
        assert alice.get(AT + path).status_code == 405, path


def test_what_no_queue_can_be_called_is_not_found(alice: Client) -> None:
    for name in ("_internal", "a b", "é", "x" * 256):
        assert alice.get(f"/queues/default/shop/{name}/").status_code == 404, name
    assert alice.get("/queues/nowhere/shop/orders/").status_code == 404


def test_when_redis_is_away_the_page_says_so(alice: Client) -> None:
    Pool.objects.update(url="unix:///nowhere/redis.sock")

    for path in ("", "now", "jobs"):
        response = alice.get(AT + path)
        assert response.status_code == 503, path
        assert "Redis does not answer" in response.content.decode()


# Hostile jobs

HOSTILE = {
    "markup": b"<script>alert(1)</script><img src=x onerror=alert(1)>",
    "huge": b"<b>" * 350_000,
    "binary": bytes(range(256)) * 4,
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "invalid": b"\xc3\x28\xff<script>",
    "bidi": "\u202e<script>\u2066exe.fdp\u0000".encode(),
}


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


def assert_harmless(text: str) -> None:
    """No markup of a stranger's, nothing that turns text round or hides, no script that is not a file of ours."""
    assert "<script>" not in text
    assert "<img" not in text.replace('<img src="/static/', "")
    assert "onerror=alert(1)>" not in text
    assert not set("\u202e\u2066\u200b\x00") & set(text)
    assert text.count("<script") == text.count('<script type="module" src="/static/')
    assert " style=" not in text


def test_other_queues_jobs_are_never_listed(alice: Client, shop: Shop) -> None:
    other = shop.engine.queue("bank", QUEUE)
    (secret,) = shop.engine.run(publish(other, [b"x"], PublishOptions())).job_ids

    assert secret not in page(alice)
    assert f"/jobs/{secret}/" not in page(alice, "?id=" + secret)
