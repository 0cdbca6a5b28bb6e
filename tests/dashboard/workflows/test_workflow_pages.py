"""The pages of workflows: the list, one of them with its graph and nodes, and to whom they say nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from dashboard import workflow_picture
from dashboard.workflow_picture import short_label
from queues.engine import Engine, NodeRequest, ack_attempt, add_nodes, consume, create_workflow, fail, relay
from queues.models import Activity, Pool
from tests.dashboard.people import BANK, POOL, SHOP, People
from tests.dashboard.queue_pages.hostile import assert_harmless
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/workflows/"
LIVE = {"X-Live": "1"}
SCRIPT = {"Accept": "application/json"}
EVIL = "<img src=x onerror=alert(1)>\u202e\"'"


def at(workflow_id: str, part: str = "", namespace: str = SHOP) -> str:
    return f"/workflows/{POOL}/{namespace}/{workflow_id}/{part}"


def make(
    engine: Engine, workflow_id: str, needs: dict[str, tuple[str, ...]], *, name: str = "", namespace: str = SHOP
) -> None:
    """A workflow of such nodes, each in the queue `steps`."""
    nodes = [
        NodeRequest(name=one, queue="steps", body=one.encode(), depends_on=needed) for one, needed in needs.items()
    ]
    engine.run(create_workflow(engine.layout, namespace, workflow_id, nodes, name=name))


CHORD = {"split": (), "left": ("split",), "right": ("split",), "join": ("left", "right")}


@pytest.fixture
def alice(people: People) -> Client:
    return people.alice.browser


def work(engine: Engine, *, error: str = "") -> str:
    """Take the next job; ack it, or bury it with an error; carry what comes of that. Its id."""
    queue = engine.queue(SHOP, "steps")
    (job,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
    if error:
        engine.run(fail(queue, job.job_id, attempt=job.attempt, dead=True, error=error))
    else:
        engine.run(ack_attempt(queue, job.job_id, attempt=job.attempt))
    engine.run(relay(engine.layout))
    return job.job_id


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_without_workflows_the_list_says_how_to_make_one(alice: Client) -> None:
    page = alice.get(LIST).text

    assert "No workflows yet" in page
    assert f"/api/{SHOP}/workflows" in page


def test_the_list_shows_how_far_each_is_and_filters_by_state(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD, name="thumbnails")
    make(engine, "w-2", {"only": ()})
    work(engine)

    page = alice.get(LIST)
    shown = words(page.text)

    assert "thumbnails" in shown
    assert "1 / 4" in shown
    assert "0 / 1" in shown
    assert alice.get(LIST, {"state": "running"}).text.count("data-key=") == 2
    assert "No workflow matches" in alice.get(LIST, {"state": "failed"}).text
    assert "<html" not in alice.get(LIST, headers=LIVE).text


def test_the_list_goes_on_page_by_page(alice: Client, engine: Engine) -> None:
    for number in range(53):
        make(engine, f"w-{number:02}", {"only": ()})

    first = alice.get(LIST).text
    after = re.search(r'href="(\?after=[^"]+)"', first)

    assert first.count("data-key=") == 50
    assert after is not None
    assert alice.get(f"{LIST}{after[1]}").text.count("data-key=") == 3


def test_the_page_shows_state_nodes_and_what_they_wait_for(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD, name="thumbnails")
    job_id = work(engine)

    page = alice.get(at("w-1")).text
    shown = words(page)

    assert "thumbnails" in shown
    assert f"/queues/{POOL}/{SHOP}/steps/jobs/{job_id}/" in page
    assert "left, right" in shown
    assert page.count("data-key=") == 4
    assert alice.get(at("w-1"), {"q": "lef"}).text.count("data-key=") == 1
    assert alice.get(at("w-1"), {"state": "blocked"}).text.count("data-key=") == 1
    assert "No job of the workflow matches" in alice.get(at("w-1"), {"q": "nothing"}).text


def test_a_large_one_is_listed_in_pages_and_drawn_whole(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", {f"n{number}": () for number in range(230)})

    assert alice.get(at("w-1")).text.count("data-key=") == 50
    assert alice.get(at("w-1"), {"page": "5"}).text.count("data-key=") == 30
    assert alice.get(at("w-1"), {"page": "99"}).text.count("data-key=") == 30
    assert len(alice.get(at("w-1", "graph")).json()["nodes"]) == 230


def test_the_graph_is_sent_once_and_then_what_has_changed(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    whole = alice.get(at("w-1", "graph")).json()
    assert [node[0] for node in whole["nodes"]] == list(CHORD)
    assert [node[6] for node in whole["nodes"]] == ["ready", "blocked", "blocked", "blocked"]
    assert len(whole["edges"]) == 4

    work(engine)
    later = alice.get(at("w-1", "graph"), {"since": whole["version"]}).json()
    assert {number: state for number, state, *_ in later["changed"]} == {0: "done", 1: "ready", 2: "ready"}
    assert f'data-version="{later["version"]}"' in alice.get(at("w-1"), headers=LIVE).text

    again = alice.get(at("w-1", "graph"), {"since": later["version"]}).json()
    assert (again["version"], again["changed"]) == (later["version"], [])


def test_of_a_version_that_nobody_remembers_everything_is_sent(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    whole = alice.get(at("w-1", "graph")).json()

    for since in ("", "x.y", f"{whole['version']}0", "\0"):
        assert len(alice.get(at("w-1", "graph"), {"since": since}).json()["nodes"]) == 4


def test_added_nodes_are_another_graph(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    whole = alice.get(at("w-1", "graph")).json()
    more = [NodeRequest(name="report", queue="steps", body=b"x", depends_on=("join",))]
    engine.run(add_nodes(engine.layout, SHOP, "w-1", more))

    assert len(alice.get(at("w-1", "graph"), {"since": whole["version"]}).json()["nodes"]) == 5


@pytest.mark.parametrize("limit", ["NODES_MAX", "EDGES_MAX", "DRAWN_EDGES_MAX"])
def test_what_is_too_large_to_be_drawn_is_listed(
    alice: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    make(engine, "w-1", CHORD)
    assert alice.get(at("w-1", "graph")).status_code == 200
    monkeypatch.setattr(workflow_picture, limit, 3)

    page = alice.get(at("w-1")).text
    assert "too large to be drawn" in page
    assert page.count("data-key=") == 4
    assert alice.get(at("w-1", "graph")).status_code == 404


@pytest.mark.parametrize("part", ["", "graph"])
def test_nobody_sees_what_is_not_theirs(people: People, engine: Engine, part: str) -> None:
    make(engine, "w-1", CHORD, name="secret")

    assert people.bob.browser.get(at("w-1", part)).status_code == 200
    assert people.charlie.browser.get(at("w-1", part)).status_code == 404
    assert people.nobody.get(at("w-1", part)).status_code == 302
    assert "secret" not in people.charlie.browser.get(LIST).text
    assert people.charlie.browser.get(LIST, {"namespace": f"{POOL}/{SHOP}"}).status_code == 404
    assert "Nothing here yet" in people.dave.browser.get(LIST).text
    assert people.root.browser.get(LIST, {"namespace": f"{POOL}/{BANK}"}).status_code == 200


@in_one_test("workflow_id", ["unknown", "x" * 65, "a b", "%00", "..", "*"])
@in_one_test("part", ["", "graph"])
def test_an_unknown_one_is_not_found(alice: Client, workflow_id: str, part: str) -> None:
    assert alice.get(at(workflow_id, part)).status_code == 404


def test_the_list_begins_with_a_namespace_that_has_some(people: People, engine: Engine) -> None:
    make(engine, "w-1", CHORD, name="thumbnails")

    assert "thumbnails" in people.root.browser.get(LIST).text  # who sees the bank as well, which comes first


def test_when_redis_is_away_the_pages_say_so(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    Pool.objects.update(url="unix:///nowhere/redis.sock")

    assert "Pool default does not answer." in alice.get(LIST).text
    assert alice.get(at("w-1")).status_code == 503
    assert alice.get(at("w-1", "graph"), headers=SCRIPT).status_code == 503
    assert alice.post(at("w-1", "act"), {"act": "cancel", "confirmed": "yes"}).status_code == 503


@pytest.mark.parametrize("query", [{"after": "\u00e9"}, {"after": "x" * 200}])
def test_a_page_that_cannot_be_is_refused(alice: Client, query: dict[str, str]) -> None:
    assert alice.get(LIST, query).status_code == 400


def test_names_and_errors_of_strangers_are_harmless(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", {"first": ()}, name="<b>bold</b>")
    work(engine, error=EVIL)

    page = alice.get(at("w-1")).text
    assert_harmless(page)
    assert "&lt;b&gt;bold" in page
    graph = alice.get(at("w-1", "graph"))
    assert graph["Content-Type"] == "application/json"
    assert "\u202e" not in str(graph.json()["nodes"])
    assert "U+202E" in str(graph.json()["nodes"])


def test_a_failed_one_is_retried_from_the_failed_node(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    work(engine, error="TimeoutError")
    assert "Retry failed jobs" in alice.get(at("w-1")).text
    assert "TimeoutError" in alice.get(at("w-1")).text

    answer = alice.post(at("w-1", "act"), {"act": "retry"}, follow=True)

    assert "1 job runs again." in answer.text
    assert alice.get(at("w-1", "graph")).json()["nodes"][0][6] == "ready"
    assert Activity.objects.filter(action="workflow_retried", target="w-1").count() == 1


def test_cancelling_asks_first_and_is_noted(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    asked = alice.post(at("w-1", "act"), {"act": "cancel"})
    assert "Cancel this workflow?" in asked.text
    assert alice.get(at("w-1", "graph")).json()["nodes"][0][6] == "ready"

    answer = alice.post(at("w-1", "act"), {"act": "cancel", "confirmed": "yes"}, follow=True)

    assert "The workflow is cancelled." in answer.text
    assert {node[6] for node in alice.get(at("w-1", "graph")).json()["nodes"]} == {"cancelled"}
    assert 'value="cancel"' not in answer.text
    assert Activity.objects.filter(action="workflow_cancelled", target="w-1").count() == 1


@pytest.mark.parametrize("act", ["cancel", "retry"])
def test_only_who_operates_may_press_its_buttons(people: People, engine: Engine, act: str) -> None:
    make(engine, "w-1", CHORD)
    form: dict[str, Any] = {"act": act, "confirmed": "yes"}

    assert 'name="act"' not in people.bob.browser.get(at("w-1")).text
    assert people.bob.browser.post(at("w-1", "act"), form).status_code == 403
    assert people.charlie.browser.post(at("w-1", "act"), form).status_code == 404
    assert people.nobody.post(at("w-1", "act"), form).status_code == 302
    assert Client(enforce_csrf_checks=True).post(at("w-1", "act"), form).status_code == 403
    assert people.alice.browser.get(at("w-1", "graph")).json()["nodes"][0][6] == "ready"
    assert people.alice.browser.post(at("w-1", "act"), {"act": "explode"}).status_code == 400
    assert people.alice.browser.post(at("unknown", "act"), form).status_code == 404


def test_a_job_leads_to_its_workflow(alice: Client, engine: Engine) -> None:
    make(engine, "w-1", CHORD)
    node = alice.get(at("w-1", "graph")).json()["nodes"][0]

    page = alice.get(f"/queues/{POOL}/{SHOP}/steps/jobs/{node[3]}/").text

    assert "Part of a workflow:" in page
    assert at("w-1") in page


def test_long_names_keep_both_ends() -> None:
    assert short_label("fetch") == "fetch"
    label = short_label("transform-partition-of-the-year-2026-0042")
    assert (label[:9], label[-4:], len(label)) == ("transform", "0042", 24)
    assert short_label("\u6570" * 20).count("\u6570") == 11  # each as wide as two letters
