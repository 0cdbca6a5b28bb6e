"""The pages of schedules: the list, one of them, the form with its preview, and the buttons."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from queues.engine import Engine, JobState, consume, count_jobs
from queues.models import Activity, Schedule
from queues.services.schedules.editing import put_schedule, run_now, set_paused
from queues.services.schedules.values import Overlap, ScheduleFields, ScheduleKind
from tests.dashboard.people import BANK, POOL, SHOP, People
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db

LIST = "/schedules/"
NEW = f"/schedules/{POOL}/{SHOP}/new"
AT = f"/schedules/{POOL}/{SHOP}/nightly/"
FORM = {
    "name": "nightly",
    "kind": "cron",
    "cron": "30 2 * * *",
    "zone": "Europe/Berlin",
    "queue": "reports",
    "body": "hello\r\nyou",
    "encoding": "text",
    "catch_up": "all",
    "catch_up_max": "7",
    "overlap": "skip",
    "limit_key": "acme",
}


@pytest.fixture
def alice(people: People) -> Client:
    return people.alice.browser


def put(name: str = "nightly", namespace: str = SHOP, app: str = "", **changes: Any) -> None:
    fields: dict[str, Any] = {"queue": "reports", "kind": ScheduleKind.CRON, "cron": "30 2 * * *", **changes}
    put_schedule(pool=POOL, namespace=namespace, name=name, fields=ScheduleFields(**fields), app=app)


def test_without_schedules_the_page_says_how_to_make_one(alice: Client) -> None:
    page = alice.get(LIST).text

    assert "No schedules yet" in page
    assert "/api/NAMESPACE/schedules/nightly" in page


def test_the_list_has_the_next_fire_the_last_one_with_its_job_and_the_state(alice: Client) -> None:
    put(zone="Asia/Shanghai")
    put("paused-one", kind=ScheduleKind.INTERVAL, interval_ms=300_000)
    set_paused(pool=POOL, namespace=SHOP, name="paused-one", paused=True)
    fire = run_now(pool=POOL, namespace=SHOP, name="nightly")

    page = alice.get(LIST).text

    assert "30 2 * * *" in page
    assert "Asia/Shanghai" in page
    assert f"/queues/{POOL}/{SHOP}/reports/jobs/{fire.job_id}/" in page
    assert "every 5 min" in page
    assert alice.get(LIST, {"state": "paused"}).text.count("data-key=") == 1
    assert alice.get(LIST, {"q": "nightl"}).text.count("data-key=") == 1
    assert "No schedule matches" in alice.get(LIST, {"q": "nothing"}).text


def test_the_list_of_everybody_has_their_namespaces_only(people: People) -> None:
    put("of-the-shop")
    put("of-the-bank", namespace=BANK)

    assert "of-the-bank" not in people.alice.browser.get(LIST).text
    assert "of-the-shop" not in people.charlie.browser.get(LIST).text
    assert people.root.browser.get(LIST).text.count("data-key=") == 2


def test_a_form_makes_a_schedule(alice: Client) -> None:
    answer = alice.post(NEW, FORM)

    assert (answer.status_code, answer["Location"]) == (302, AT)
    row = Schedule.objects.get()
    assert (row.cron, row.zone, row.queue, bytes(row.body)) == ("30 2 * * *", "Europe/Berlin", "reports", b"hello\nyou")
    assert (row.catch_up, row.catch_up_max, row.overlap, row.source) == ("all", 7, "skip", "people")
    assert row.limit_key == "acme"
    assert "<dt>Limit key</dt><dd><bdi>acme</bdi></dd>" in alice.get(AT).text
    assert 'value="acme"' in alice.get(f"{AT}edit").text
    assert row.fire_at is not None
    assert Activity.objects.filter(action="schedule_created", target="nightly").exists()


def test_it_does_not_take_the_name_of_another(alice: Client) -> None:
    put()

    answer = alice.post(NEW, FORM | {"cron": "@daily"})

    assert answer.status_code == 400
    assert "A schedule with this name already exists." in answer.text
    assert Schedule.objects.get().cron == "30 2 * * *"


@in_one_test(
    ("changes", "words"),
    [
        ({"cron": "61 * * * *"}, "The minute &quot;61&quot; cannot be read; allowed are 0-59."),
        ({"cron": "* * *"}, "A cron expression has 5 fields, or 6 with seconds first."),
        ({"cron": ""}, "This field is required."),
        ({"zone": "Mars/Base"}, "Unknown time zone"),
        ({"kind": "interval", "every": "0.1", "unit": "1"}, "An interval takes from one second to ten years."),
        ({"kind": "once", "at": "2001-01-01T00:00:00"}, "That moment has passed."),
        ({"jitter_s": "86400"}, "Jitter must be shorter than the time between two fires."),
        ({"queue": "_x"}, "Names consist of letters"),
        ({"name": "a b"}, "Letters, digits, -, _, . and : only"),
        ({"name": "peek"}, "The API reserves this name"),
        ({"backoff": "often"}, "Expected none, fixed:S"),
        ({"encoding": "base64", "body": "?"}, "This is not base64."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_saved(alice: Client, changes: dict[str, str], words: str) -> None:
    answer = alice.post(NEW, FORM | changes)

    assert answer.status_code == 400
    assert words in answer.text
    assert not Schedule.objects.exists()


def test_without_scripts_a_button_shows_the_next_fires_before_anything_is_saved(alice: Client) -> None:
    answer = alice.post(NEW, FORM | {"preview": "1", "cron": "0 0 1 1 *"})

    assert answer.status_code == 200
    assert answer.text.count("-01-01 00:00:00 +01:00") == 10
    assert not Schedule.objects.exists()


def test_with_scripts_the_preview_is_a_fragment(alice: Client) -> None:
    timing = {"kind": "cron", "cron": "0 0 1 1 *", "zone": "Asia/Shanghai"}

    assert alice.get("/schedules/preview", timing).text.count("-01-01 00:00:00 +08:00") == 10
    assert "cannot be read" in alice.get("/schedules/preview", timing | {"cron": "61 * * * *"}).text
    assert "to see its next 10 fires" in alice.get("/schedules/preview", {"kind": "cron"}).text


def test_the_form_of_an_existing_one_brings_back_what_it_is(alice: Client) -> None:
    raw = bytes(range(256))
    put(kind=ScheduleKind.INTERVAL, cron="", interval_ms=5_400_000, body=raw, attributes={"a": "b"}, tries=4)
    page = alice.get(f"{AT}edit")
    form = {name: value for name, value in page.context["form"].initial.items() if value is not None}
    before = Schedule.objects.values().get()

    assert alice.post(f"{AT}edit", form).status_code == 302

    after = Schedule.objects.values().get()
    assert {**after, "updated": None} == {**before, "updated": None}


def test_one_of_code_is_shown_as_such_and_not_edited(alice: Client) -> None:
    put(app="shop")

    page = alice.get(AT).text

    assert "Declared in the code of shop." in page
    assert f"{AT}edit" not in page
    assert alice.get(f"{AT}edit").status_code == 409
    assert alice.post(f"{AT}edit", FORM).status_code == 409
    assert alice.post(f"{AT}act", {"act": "pause"}).status_code == 302


def test_the_page_of_one_has_its_history_and_next_fires(alice: Client) -> None:
    put(overlap=Overlap.SKIP, body=b"<script>alert(1)</script>\xe2\x80\xae")
    first = run_now(pool=POOL, namespace=SHOP, name="nightly")
    run_now(pool=POOL, namespace=SHOP, name="nightly")

    page = alice.get(AT).text

    assert first.job_id in page
    assert page.count(">skipped<") == 2  # the newest, above, and its row
    assert page.count('class="muted mono zone-time"') == 10
    assert "<script>alert(1)" not in page
    assert "\u202e" not in page


def test_buttons_pause_resume_run_and_delete(alice: Client, engine: Engine) -> None:
    put()

    for act, state in (("pause", True), ("resume", False)):
        assert alice.post(f"{AT}act", {"act": act}).status_code == 302
        assert Schedule.objects.get().paused is state
    alice.post(f"{AT}act", {"act": "run"})
    queue = engine.queue(SHOP, "reports")
    assert engine.run(count_jobs(queue))[JobState.READY] == 1
    assert "really" not in alice.post(f"{AT}act", {"act": "delete"}).text
    assert Schedule.objects.exists()
    assert alice.post(f"{AT}act", {"act": "delete", "confirmed": "yes"})["Location"] == LIST
    assert not Schedule.objects.exists()
    assert len(engine.run(consume(queue, ttr_ms=1_000)).jobs) == 1
    noted = ["schedule_paused", "schedule_resumed", "schedule_run", "schedule_deleted"]
    assert list(Activity.objects.order_by("pk").values_list("action", flat=True)) == noted


def test_what_is_no_button_is_refused(alice: Client) -> None:
    put()

    assert alice.post(f"{AT}act", {"act": "explode"}).status_code == 400
    assert alice.get("/schedules/default/shop/nowhere/").status_code == 404
    assert alice.get("/schedules/default/shop/a%00b/").status_code == 404
    assert alice.get(LIST, {"q": "a\0b", "namespace": "\0", "state": "?", "after": "x"}).status_code == 200


def test_a_list_of_any_length_takes_a_bounded_number_of_queries(
    alice: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(60):
        put(f"s{number:02}")
    alice.get(LIST)

    with django_assert_max_num_queries(20):
        first = alice.get(LIST)
    assert first.text.count("data-key=") == 50
    assert alice.get(LIST, {"after": "50"}).text.count("data-key=") == 10
