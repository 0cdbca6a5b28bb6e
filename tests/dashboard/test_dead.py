"""The page of the dead letters: groups, filters, rows, and what its buttons do."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from queues.engine import JobState, count_jobs
from queues.pools import engine_for
from queues.pools.ttl_cache import forget_everything
from queues.services.dead_letters import actions as dead_acts
from tests.support.burying import bury
from tests.support.rows import in_one_test

from .people import People

JSON = {"accept": "application/json"}


def get(browser: Client, **query: str) -> str:
    answer = browser.get("/dead/", query)
    assert answer.status_code == 200
    return answer.text


def groups(text: str, kind: str) -> dict[str, int]:
    """Keys and counts of the rows of one kind."""
    (section,) = re.findall(rf'data-kind="{kind}".*?</tbody>', text, re.DOTALL)
    rows = re.findall(r'<tr data-key="([^"]*)" data-count="(\d+)"', section)
    return {html.unescape(key): int(count) for key, count in rows}


def rows(text: str) -> list[str]:
    """Names of the dead letters that are shown one by one."""
    return re.findall(r'name="letter" value="([^"]+)"', text)


def act(browser: Client, **fields: Any) -> Any:
    return browser.post("/dead/act", {"confirmed": "yes"} | fields, headers=JSON)


def counts(queue: str, namespace: str = "shop") -> dict[JobState, int]:
    engine = engine_for("default")
    return {state: n for state, n in engine.run(count_jobs(engine.queue(namespace, queue))).items() if n}


def test_without_dead_letters_the_page_says_what_will_be_here(people: People) -> None:
    assert "No dead letters" in get(people.alice.browser)
    assert "Nothing matches" in get(people.alice.browser, error="timeout")


def test_a_row_says_the_exception_of_a_traceback(people: People) -> None:
    calls = "".join(f'  File "mail.py", line {line}, in send\n    deliver()\n' for line in range(10))
    bury("shop", "mail", [f"Traceback (most recent call last):\n{calls}ConnectionError: 550 no such host"])

    (row,) = re.findall(r'<td class="wrap wide dead-error">(.*?)</td>', get(people.alice.browser), re.DOTALL)

    assert "ConnectionError: 550 no such host" in row
    assert "Traceback" not in row


def test_they_are_grouped_by_error_by_queue_and_by_day(people: People) -> None:
    bury("shop", "mail", ["timeout after 31 ms", "timeout after 32 ms", "boom"])
    bury("shop", "pay", ["boom"], now_ms=1_700_000_000_000)
    bury("bank", "book", ["vault is empty"])

    text = get(people.alice.browser)

    assert groups(text, "errors") == {"timeout after <n> ms": 2, "boom": 2}
    assert groups(text, "queues") == {"default/shop/mail": 3, "default/shop/pay": 1}
    assert groups(text, "days")["2023-11-14"] == 1
    assert len(rows(text)) == 4
    assert "vault" not in text
    assert "bank" not in text


@pytest.fixture
def some_dead(people: People) -> None:
    bury("shop", "mail", ["timeout after 31 ms", "timeout after 32 ms", "boom"])
    bury("shop", "pay", ["boom"], now_ms=1_700_000_000_000)


@pytest.mark.usefixtures("some_dead")
@in_one_test(
    ("query", "count"),
    [
        ({"error": "TIMEOUT"}, 2),
        ({"like": "timeout after <n> ms"}, 2),
        ({"queue": "pay"}, 1),
        ({"namespace": "shop"}, 4),
        ({"namespace": "default/shop", "queue": "mail"}, 3),
        ({"day": "2023-11-14"}, 1),
        ({"day": "2023-11-14", "error": "timeout"}, 0),
    ],
)
def test_filters_are_in_the_address(people: People, query: dict[str, str], count: int) -> None:
    assert len(rows(get(people.alice.browser, **query))) == count


def test_a_group_leads_to_the_page_that_shows_only_it(people: People) -> None:
    bury("shop", "mail", ["a & b 1", "a & b 2", "boom"])
    text = get(people.alice.browser)

    found = re.search(r'<a href="([^"]+)" title="a &amp; b 2">', text)
    assert found is not None
    shown = people.alice.browser.get(f"/dead/{html.unescape(found[1])}").text

    assert len(rows(shown)) == 2
    assert "<code>a &amp; b &lt;n&gt;</code>" in shown


@pytest.mark.parametrize("query", [{"day": "nonsense"}, {"queue": "a/b"}, {"at": "x"}, {"before_ms": "-1"}])
def test_an_address_that_means_nothing_is_refused(people: People, query: dict[str, str]) -> None:
    assert people.alice.browser.get("/dead/", query).status_code == 400
    assert people.alice.browser.get("/dead/more", query).status_code == 400


def test_what_was_not_looked_at_is_told_and_can_be_looked_at(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.views.dead_letters.SCAN_MAX", 4)
    bury("shop", "mail", [f"error {word}" for word in "abcdefghij"])

    text = get(people.alice.browser)

    assert sum(groups(text, "errors").values()) == 4
    assert groups(text, "queues") == {"default/shop/mail": 10}
    (at,) = re.findall(r'data-at="([^"]+)"', text)
    (before,) = re.findall(r'data-before-ms="(\d+)"', text)
    seen: dict[str, int] = groups(text, "errors")
    lefts = []
    while at is not None:
        more = people.alice.browser.get("/dead/more", {"at": at, "before_ms": before}, headers=JSON).json()
        seen |= {group["key"]: group["count"] for group in more["errors"]}
        lefts.append(more["left"])
        at = more["at"]
        assert more["queues"] == []
        assert more["rows"].count("<tr ") == more["matched"]
    assert len(seen) == 10
    assert lefts == [2, 0]


def test_rows_come_by_pages_that_meet_each_once(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.views.dead_letters.ROWS", 3)
    ids = bury("shop", "mail", ["a"] * 5) + bury("shop", "pay", ["b"] * 3)
    text, seen = get(people.alice.browser), []
    while True:
        seen.append([name.rpartition("/")[2] for name in rows(text)])
        following = re.search(r'rel="next" href="([^"]+)"', text)
        if following is None:
            break
        text = people.alice.browser.get(f"/dead/{html.unescape(following[1])}").text

    assert [len(page) for page in seen] == [3, 3, 2]
    assert sorted(job_id for page in seen for job_id in page) == sorted(ids)


def test_hostile_errors_are_shown_as_text(people: People) -> None:
    bury("shop", "mail", ['<script>alert(1)</script> " onload=x'])

    text = get(people.alice.browser)

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    more = people.alice.browser.get("/dead/more", headers=JSON).json()
    assert "<script>" not in more["rows"] + more["errors"][0]["html"]


def test_what_turns_text_round_is_shown_by_its_number(people: People) -> None:
    bury("shop", "mail", ["invoice\u202egnp.exe"])

    text = re.sub(r' data-key="[^"]*"', "", get(people.alice.browser))  # which scripts find rows by
    more = people.alice.browser.get("/dead/more", headers=JSON).json()

    assert "\u202e" not in text + more["rows"] + more["errors"][0]["html"] + more["errors"][0]["example"]
    assert text.count('invoice<mark class="odd">U+202E</mark>gnp.exe') == 2
    assert 'title="invoice[U+202E]gnp.exe"' in text


def test_selected_ones_are_respawned_at_once(people: People) -> None:
    first, _ = bury("shop", "mail", ["a", "b"])

    answer = people.alice.browser.post(
        "/dead/act", {"do": "respawn-selected", "letter": f"default/shop/mail/{first}", "queue": "mail"}, follow=True
    )

    assert answer.redirect_chain == [("/dead/?queue=mail", 302)]
    assert "1 dead letter respawned." in answer.text
    assert counts("mail") == {JobState.READY: 1, JobState.DEAD: 1}


@pytest.mark.parametrize("do", ["delete-selected", "delete-all", "respawn-all"])
def test_what_cannot_be_taken_back_is_asked_about_first(people: People, do: str) -> None:
    (job_id,) = bury("shop", "mail", ["a"])
    fields = {"do": do, "letter": f"default/shop/mail/{job_id}", "error": "a"}

    page = people.alice.browser.post("/dead/act", fields)
    script = people.alice.browser.post("/dead/act", fields, headers=JSON)

    assert (page.status_code, script.status_code) == (200, 400)
    assert counts("mail") == {JobState.DEAD: 1}
    repeated = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    del repeated["csrfmiddlewaretoken"], repeated["next"]
    if do == "delete-all":
        assert "Delete every match among 1 dead letter of several queues?" in page.text
        assert people.alice.browser.post("/dead/act", repeated).status_code == 400
        repeated["word"] = "delete"
    assert people.alice.browser.post("/dead/act", repeated).status_code == 302
    assert JobState.DEAD not in counts("mail")


def test_everything_that_matches_goes_batch_by_batch(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_acts, "BATCH", 5)
    monkeypatch.setattr(dead_acts, "ENOUGH", 4)
    bury("shop", "mail", ["timeout 1", "boom"] * 9)
    bury("shop", "pay", ["timeout 2"] * 2)

    fields: dict[str, Any] = {"do": "respawn-all", "error": "timeout", "run": "r"}
    done, answers = 0, 0
    while True:
        answer = act(people.alice.browser, **fields).json()
        done, answers = done + answer["done"], answers + 1
        if answer["at"] is None:
            break
        fields |= {"at": answer["at"], "before_ms": answer["before_ms"]}

    assert (done, answers > 1) == (11, True)
    assert counts("mail") == {JobState.READY: 9, JobState.DEAD: 9}
    assert counts("pay") == {JobState.READY: 2}


def test_without_scripts_one_batch_is_done_and_the_rest_announced(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_acts, "BATCH", 5)
    monkeypatch.setattr(dead_acts, "ENOUGH", 4)
    bury("shop", "mail", ["a"] * 8)

    sure = {"confirmed": "yes", "word": "delete"}
    answer = people.alice.browser.post("/dead/act", {"do": "delete-all"} | sure, follow=True)

    assert "5 dead letters deleted. 3 are left to search: repeat the action." in answer.text


def test_nothing_selected_is_nothing_done(people: People) -> None:
    assert act(people.alice.browser, do="delete-selected").json()["done"] == 0


@pytest.mark.parametrize("do", ["", "respawn", "destroy-all", "respawn-some"])
def test_an_act_that_is_none_is_refused(people: People, do: str) -> None:
    assert act(people.alice.browser, do=do).status_code == 400


def test_who_may_only_read_sees_no_buttons(people: People) -> None:
    bury("shop", "mail", ["a"])

    text = get(people.bob.browser)

    assert len(rows(text)) == 1
    assert 'name="do"' not in text
    assert re.search(r'name="letter"[^>]* disabled', text)


def test_every_page_is_made_of_a_few_questions_to_redis(people: People) -> None:
    for number in range(30):
        bury("shop", f"q{number}", ["a"] * 3)
    engine = engine_for("default")
    get(people.alice.browser)

    forget_everything()  # how much of pools and policies is remembered depends on how fast the machine is
    before = engine.client.info("stats")["total_reads_processed"]
    with CaptureQueriesContext(connection) as captured:
        get(people.alice.browser)

    assert len(captured) <= 6
    assert engine.client.info("stats")["total_reads_processed"] - before < 12
