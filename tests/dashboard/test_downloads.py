"""CSV and JSON of jobs, dead letters and the activity log: all rows, well quoted, no more than a batch in memory."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.test import Client

from dashboard import downloads
from dashboard.downloads import send_rows
from queues.engine import Engine
from queues.models import ActivityAction
from queues.services.activity import note_activity
from tests.support.burying import bury

from .people import People
from .shop import AT, Shop


def sent(browser: Client, url: str, **query: Any) -> str:
    answer: Any = browser.get(url, query)
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def shop(engine: Engine) -> Shop:
    return Shop(engine)


HOSTILE = '=cmd|"/C calc"!A1, "quoted"\r\nand a second line'


def test_all_dead_letters_of_a_filter_as_csv_and_json(people: People) -> None:
    bury("shop", "mail", [HOSTILE, "550 no such host"])
    bury("shop", "pay", ["boom"] * 3)
    bury("bank", "book", ["vault is empty"])

    rows = read_csv(sent(people.alice.browser, "/dead/download"))
    group = json.loads(sent(people.alice.browser, "/dead/download", like="550 no such host", **{"as": "json"}))

    assert [row["queue"] for row in rows] == ["mail"] * 2 + ["pay"] * 3
    assert f"'{HOSTILE}" in [row["error"] for row in rows], "no spreadsheet takes it for a formula"
    assert [(row["error"], row["group"], row["attempts"]) for row in group] == [("550 no such host",) * 2 + (1,)]


def test_jobs_of_a_state_with_whole_bodies(people: People, shop: Shop) -> None:
    long = "中" * 20_000
    first, second = shop.publish(b"\xff\x00", long.encode(), attributes={"trace": "+1"})

    rows = json.loads(sent(people.bob.browser, f"{AT}jobs/download", state="ready", **{"as": "json"}))
    told = read_csv(sent(people.bob.browser, f"{AT}jobs/download", state="ready"))

    assert [row["job_id"] for row in rows] == [first, second]
    assert [(row["body_encoding"], row["body"]) for row in rows] == [("base64", "/wA="), ("text", long)]
    assert [row["attributes"] for row in rows] == [{"trace": "+1"}] * 2
    assert told[1]["body"] == long
    assert told[1]["attributes"] == '{"trace": "+1"}'


def test_the_filter_of_the_page_holds(people: People, shop: Shop) -> None:
    shop.publish(b"apple")
    shop.publish(b"pear")

    rows = read_csv(sent(people.bob.browser, f"{AT}jobs/download", body="pear"))

    assert [row["body"] for row in rows] == ["pear"]


def test_the_activity_of_a_filter(people: People) -> None:
    for queue in ("mail", "pay", "mail"):
        of_shop: dict[str, Any] = {"pool": "default", "namespace": "shop", "queue": queue}
        note_activity(user=people.alice.user, action=ActivityAction.PAUSED, **of_shop)
    note_activity(user=people.charlie.user, action=ActivityAction.PAUSED, pool="default", namespace="bank")

    rows = read_csv(sent(people.bob.browser, "/activity/download", queue="mail"))
    everything = json.loads(sent(people.bob.browser, "/activity/download", **{"as": "json"}))

    assert [(row["who"], row["action"], row["queue"]) for row in rows] == [("alice", "paused", "mail")] * 2
    assert {row["namespace"] for row in everything} == {"shop"}


def test_a_download_has_so_many_rows_and_its_name_says_so(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "ROWS_MAX", 3)
    bury("shop", "mail", ["boom"] * 4)

    answer: Any = people.alice.browser.get("/dead/download")

    assert len(read_csv(b"".join(answer.streaming_content).decode())) == 3
    assert 'filename="dead-letters-first-3.csv"' in answer["Content-Disposition"]


@pytest.mark.parametrize("url", ["/dead/download", f"{AT}jobs/download", "/activity/download"])
def test_a_form_that_is_none_is_refused(people: People, url: str) -> None:
    assert people.alice.browser.get(url, {"as": "xlsx"}).status_code == 400


def test_what_others_own_is_not_sent(people: People) -> None:
    bury("shop", "mail", ["boom"])

    assert read_csv(sent(people.charlie.browser, "/dead/download")) == []
    assert people.charlie.browser.get(f"{AT}jobs/download").status_code == 404


def test_batches_are_made_when_they_are_sent() -> None:
    made: list[int] = []

    def batches() -> Any:
        for number in range(1_000):
            made.append(number)
            yield [{"n": number}]

    request = ASGIRequest({"type": "http", "method": "GET", "path": "/", "headers": []}, io.BytesIO())
    response: Any = send_rows(request, name="n", columns=("n",), batches=batches())

    async def begin() -> list[bytes]:
        pieces = aiter(response)
        return [await anext(pieces) for _ in range(3)]

    assert asyncio.run(begin()) == [b"n\r\n", b"0\r\n", b"1\r\n"]
    assert len(made) <= 3


@pytest.mark.parametrize(("form", "expected"), [("csv", "n\r\n1\r\n"), ("json", '[\n{"n": 1}\n]\n')])
def test_a_search_without_matches_leaves_its_thread_after_each_batch(
    monkeypatch: pytest.MonkeyPatch, form: str, expected: str
) -> None:
    turns: list[str | None] = []
    real = downloads._next

    def note(pieces: Any) -> str | None:
        turns.append(real(pieces))
        return turns[-1]

    monkeypatch.setattr(downloads, "_next", note)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": f"as={form}".encode()}
    batches = iter([[], [], [], [{"n": 1}]])
    response: Any = send_rows(ASGIRequest(scope, io.BytesIO()), name="n", columns=("n",), batches=batches)

    async def read() -> list[bytes]:
        return [piece async for piece in response]

    pieces = asyncio.run(read())
    assert b"".join(pieces).decode() == expected
    assert b"" not in pieces, "which would end a chunked answer"
    assert turns.count("") == 3
