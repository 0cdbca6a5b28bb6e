"""The page of queues: filters, every column's order, pages, and what stands in a row."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from dashboard.queue_columns import COLUMNS, DEFAULT
from queues.engine import Dependency, Engine, PublishOptions, ack_attempt, consume, fail, pause, publish
from queues.models import Namespace, QueuePolicy
from queues.services.queues import listing as queue_list
from queues.services.queues.listing import SORT_KEYS, STATES
from tests.support.rows import in_one_test

from .people import BANK, SHOP, People
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)


def put(engine: Engine, queue: str, *, namespace: str = SHOP, jobs: int = 1, **options: Any) -> None:
    engine.run(publish(engine.queue(namespace, queue), [b"x"] * jobs, PublishOptions(**options)))


def text_of(client: Client, query: str = "") -> str:
    response = client.get(f"/queues/{query}")
    assert response.status_code == 200
    return response.content.decode()


def names(client: Client, query: str = "") -> list[str]:
    return re.findall(
        r'<th scope="row"[^>]*><div class="one-line"><a href="/queues/default/\w+/([-\w]+)/"', text_of(client, query)
    )


def test_queues_are_listed_by_name_if_asked(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for name in ("pears", "apples", "figs"):
        put(engine, name)
    surveyor.look()

    assert names(people.bob.browser, "?sort=name") == ["apples", "figs", "pears"]
    assert names(people.bob.browser, "?sort=-name") == ["pears", "figs", "apples"]


def test_the_worst_queue_comes_first(engine: Engine, surveyor: Surveyor, people: People) -> None:
    """Forgotten for ten hours is worse than forgotten for a minute; what is well comes last, by name."""
    now = now_of(engine)
    for name, age_ms in (("calm", 0), ("b-forgotten", 60_000), ("c-lost", 36_000_000), ("alright", 0)):
        engine.run(publish(engine.queue(SHOP, name), [b"x"] * 50, PublishOptions(), now_ms=now - age_ms))
    surveyor.look()

    text = text_of(people.bob.browser)

    assert names(people.bob.browser) == ["c-lost", "b-forgotten", "alright", "calm"]
    assert text.index('class="pill bad"') < text.index('class="pill warn"') < text.index(">OK<")
    assert 'aria-sort="descending"' in text


def test_the_number_of_jobs_decides_the_order_if_asked(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for name, jobs in (("few", 1), ("many", 9), ("some", 4)):
        put(engine, name, jobs=jobs)
    surveyor.look()

    assert names(people.bob.browser, "?sort=-ready") == ["many", "some", "few"]
    assert names(people.bob.browser, "?sort=ready") == ["few", "some", "many"]
    assert 'aria-sort="descending"' in text_of(people.bob.browser, "?sort=-ready")


def test_a_row_has_a_number_under_each_heading(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, "orders", jobs=3)
    engine.run(consume(engine.queue(SHOP, "orders"), ttr_ms=60_000, count=2))
    surveyor.look()

    text = text_of(people.bob.browser, f"?columns={','.join(COLUMNS)}")
    sorted_by = re.findall(r'<th scope="col"[^>]*><a href="\?columns=[^"]*&amp;sort=-?(\w+)"', text)
    cells = dict(re.findall(r'<td class="number[^>]* data-label="([^"]+)"[^>]*>([^<]+)', text))

    assert set(sorted_by) == SORT_KEYS.keys()
    assert cells.keys() == {str(column.title) for column in COLUMNS.values() if column.kind == "number"}
    assert (cells["Ready"], cells["Working"], cells["Failing"]) == ("1", "2", "–")
    assert float(cells["Published/s"]) > float(cells["Consumed/s"]) > float(cells["Acked/s"]) == 0
    assert cells["Wait p50"] != "–" == cells["Run p95"]


def test_an_age_stands_beside_its_objective(engine: Engine, surveyor: Surveyor, people: People) -> None:
    space = Namespace.objects.get(name=SHOP)
    QueuePolicy.objects.create(namespace=space, queue="slow", objective_s=60)
    now = now_of(engine)
    for name in ("slow", "usual"):
        engine.run(publish(engine.queue(SHOP, name), [b"x"], PublishOptions(), now_ms=now - 125_000))
    surveyor.look()

    text = text_of(people.bob.browser, "?sort=name")

    ages = re.findall(
        r'<td class="number( bad)?" data-label="Oldest"[^>]*>(\d+ min) <span class="muted">/ (\d+ min)', text
    )
    assert ages == [(" bad", "2 min", "1 min"), ("", "2 min", "5 min")]


def test_the_share_of_attempts_that_failed(engine: Engine, surveyor: Surveyor, people: People) -> None:
    queue = engine.queue(SHOP, "orders")
    put(engine, "orders", jobs=4, tries=1)
    jobs = engine.run(consume(queue, ttr_ms=60_000, count=4)).jobs
    engine.run(fail(queue, jobs[0].job_id))
    for job in jobs[1:]:
        engine.run(ack_attempt(queue, job.job_id))
    surveyor.look()

    assert re.search(r'<td class="number warn" data-label="Failing">25 %</td>', text_of(people.bob.browser))


def test_columns_are_those_of_the_address_else_those_of_the_browser(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, "orders")
    surveyor.look()

    def headings(query: str = "") -> list[str]:
        return re.findall(r'<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]+)<', text_of(people.bob.browser, query))

    assert headings() == ["Queue", *(str(COLUMNS[key].title) for key in DEFAULT)]
    answer = people.bob.browser.post(
        "/queues/columns", {"column": ["run_p99", "dead", "other"], "query": "q=ord&columns=ready"}
    )
    assert (answer.status_code, answer["Location"]) == (302, "/queues/?q=ord")
    assert headings() == ["Queue", "Dead", "Run p99"]
    assert headings("?columns=ready,nonsense") == ["Queue", "Ready"]

    people.bob.browser.post("/queues/columns", {"act": "reset"})
    assert headings() == ["Queue", *(str(COLUMNS[key].title) for key in DEFAULT)]


def test_a_long_name_is_there_whole(engine: Engine, surveyor: Surveyor, people: People) -> None:
    name = "a-queue-whose-name-is-too-long-for-any-table-" * 4
    put(engine, name)
    surveyor.look()

    assert f'title="{name}">{name}</a>' in text_of(people.bob.browser)


@in_one_test("key", SORT_KEYS)
def test_every_column_can_be_sorted_by(key: str, engine: Engine, surveyor: Surveyor, people: People) -> None:
    for name in ("b", "a"):
        put(engine, name)
    put(engine, "taken", jobs=2)
    keys = engine.queue(SHOP, "taken")
    (job,) = engine.run(consume(keys, ttr_ms=60_000)).jobs
    engine.run(fail(keys, job.job_id, dead=True))
    surveyor.look()

    up, down = (names(people.bob.browser, f"?sort={sign}{key}") for sign in ("", "-"))

    assert sorted(up) == sorted(down) == ["a", "b", "taken"]
    assert up.index("a") < up.index("b"), "what is equal stays in order of names"


def test_names_are_filtered_by_a_part_of_them(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for name in ("mails-out", "Mails-in", "orders"):
        put(engine, name)
    surveyor.look()

    assert names(people.bob.browser, "?q=mails&sort=name") == ["Mails-in", "mails-out"]
    assert names(people.bob.browser, "?q=shop/ord") == ["orders"]
    assert "No matching queues" in text_of(people.bob.browser, "?q=nothing")


def test_a_namespace_can_be_chosen(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, "orders")
    put(engine, "loans", namespace=BANK)
    surveyor.look()

    assert names(people.root.browser, f"?namespace=default/{BANK}") == ["loans"]
    assert names(people.bob.browser, f"?namespace=default/{BANK}") == []


def queue_in(engine: Engine, state: str) -> None:
    keys = engine.queue(SHOP, state)
    if state == "paused":
        engine.run(pause(keys))
        return
    options: dict[str, Any] = {
        "delayed": {"delay_ms": 60_000},
        "retry": {"tries": 2},
        "completed": {"retention_ms": 60_000},
        "grouped": {"group": "mails"},
        "blocked": {"depends_on": (Dependency(queue="other", key="never"),)},
    }
    put(engine, state, **options.get(state, {}))
    if state in ("working", "retry", "dead", "completed", "idle", "attention"):
        (job,) = engine.run(consume(keys, ttr_ms=60_000)).jobs
        if state == "retry":
            engine.run(fail(keys, job.job_id, delay_ms=60_000))
        elif state in ("dead", "attention"):
            engine.run(fail(keys, job.job_id, dead=True))
        elif state == "completed":
            engine.run(ack_attempt(keys, job.job_id, result=b""))


@in_one_test("state", sorted(STATES.keys() - {"idle"}))
def test_queues_can_be_narrowed_to_a_state(state: str, engine: Engine, surveyor: Surveyor, people: People) -> None:
    for one in STATES.keys() - {"idle"}:
        queue_in(engine, one)
    surveyor.look()

    assert f'<option value="{state}"' in text_of(people.bob.browser)
    found = names(people.bob.browser, f"?state={state}")

    assert state in found
    assert set(found) <= ({"dead", "attention"} if state in ("dead", "attention") else {state})


def test_a_queue_without_jobs_and_work_is_idle(engine: Engine, surveyor: Surveyor, people: People) -> None:
    engine.run(pause(engine.queue(SHOP, "asleep")))
    put(engine, "awake")
    surveyor.look()

    assert names(people.bob.browser, "?state=idle") == ["asleep"]


def test_a_paused_queue_bears_a_badge(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, "orders")
    surveyor.look()
    assert ">Paused</span>" not in text_of(people.bob.browser)
    engine.run(pause(engine.queue(SHOP, "orders")))
    surveyor.look()

    assert ">Paused</span>" in text_of(people.bob.browser)


def test_many_queues_come_in_pages(
    engine: Engine, surveyor: Surveyor, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_list, "PAGE_QUEUES", 4)
    for number in range(10):
        put(engine, f"q{number}")
    surveyor.look()

    pages = [names(people.bob.browser, f"?page={page}") for page in (1, 2, 3)]

    assert [name for page in pages for name in page] == [f"q{number}" for number in range(10)]
    assert names(people.bob.browser, "?page=99") == pages[2]
    assert "1–4 of 10 queues" in text_of(people.bob.browser)
    assert "page=2" in text_of(people.bob.browser)


@in_one_test("query", ["?sort=other", "?page=-1", "?page=٣", "?state=no", "?namespace=x", "?q=%00"])
def test_a_query_that_makes_no_sense_is_answered(
    query: str, engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, "orders")
    surveyor.look()

    text_of(people.bob.browser, query)


def test_links_of_columns_keep_the_filters(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, "orders")
    surveyor.look()

    assert "?q=ord&amp;state=ready&amp;sort=-dead" in text_of(people.bob.browser, "?q=ord&state=ready&page=1&sort=name")


def test_an_empty_namespace_says_what_to_type(surveyor: Surveyor, people: People) -> None:
    surveyor.look()

    text = text_of(people.alice.browser)

    assert "curl -X PUT" in text
    assert f"/api/{SHOP}/greetings" in text


def test_without_a_pump_the_page_says_that_it_is_old(people: People) -> None:
    assert "No pump surveys pool default" in text_of(people.alice.browser)
