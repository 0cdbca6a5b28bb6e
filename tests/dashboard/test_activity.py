"""The page of the activity log, and who may read what in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from django.contrib.auth.models import AnonymousUser, Group
from django.test import Client

from queues.models import Activity, Namespace, Pool
from queues.services.activity import PAGE, ActivityAction, ActivityFilter, list_activity, note_activity
from tests.support.rows import in_one_test

from .people import BANK, SHOP, People

NO_FILTER = ActivityFilter()


@pytest.fixture(autouse=True)
def no_sign_ins(people: People) -> None:
    """Those of the people themselves are forgotten."""
    people.sign_in()
    Activity.objects.all().delete()


def note(people: People, action: ActivityAction = ActivityAction.PAUSED, *, who: str = "alice", **fields: str) -> None:
    person = getattr(people, who)
    note_activity(user=person.user, action=action, **cast(Any, {"pool": "default", "namespace": SHOP, **fields}))


def shown(browser: Client, **query: str) -> list[str]:
    """What the rows say, as words."""
    answer = browser.get("/activity/", query)
    assert answer.status_code == 200
    body = re.findall(r"<tbody>(.*)</tbody>", answer.text, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", body[0], re.DOTALL) if body else []
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]


def test_an_empty_log_says_what_will_be_in_it(people: People) -> None:
    assert "No activity yet" in people.alice.browser.get("/activity/").text
    assert "Nothing matches" in people.alice.browser.get("/activity/?who=alice").text


def test_an_act_is_shown_with_who_did_what_where(people: People) -> None:
    note_activity(
        user=people.alice.user,
        action=ActivityAction.RESPAWNED,
        pool="default",
        namespace=SHOP,
        queue="mail",
        count=1_234,
        detail="error: timeout",
    )

    (row,) = shown(people.alice.browser)

    assert row.endswith("UTC alice respawned shop/mail 1,234 error: timeout")


@pytest.mark.parametrize(
    ("detail", "english", "chinese"),
    [
        ("all ready", "all ready", "全部就绪任务"),
        ("all dead letters", "all dead letters", "全部死信"),
        (
            "all dead, by text in the body, key: k",
            "all dead · by text in the body · key: k",
            "全部死信 · 按任务内容筛选 · key: k",
        ),
        ("all dead, error: down, all ready", "all dead · error: down, all ready", "全部死信 · error: down, all ready"),
        ("tries: 1 → 2, delay_s: – → 5", "tries: 1 → 2, delay_s: – → 5", "tries: 1 → 2, delay_s: – → 5"),
    ],
)
def test_which_jobs_were_meant_is_said_in_the_readers_language_and_what_was_typed_as_it_is(
    people: People, detail: str, english: str, chinese: str
) -> None:
    note(people, ActivityAction.RESPAWNED, queue="mail", detail=detail)
    browser = people.alice.browser

    assert shown(browser)[0].endswith(f"{SHOP}/mail – {english}")
    browser.cookies["taskq_language"] = "zh-hans"
    assert shown(browser)[0].endswith(f"{SHOP}/mail – {chinese}")


def test_people_see_what_was_done_in_their_namespaces_and_superusers_everything(people: People) -> None:
    note(people, queue="mail")
    note(people, who="charlie", namespace=BANK, queue="book")
    note(people, ActivityAction.POOL_CHANGED, who="root", namespace="")

    assert [len(shown(person.browser)) for person in (people.alice, people.bob, people.charlie)] == [1, 1, 1]
    assert "book" in shown(people.charlie.browser)[0]
    assert shown(people.dave.browser) == []
    assert len(shown(people.root.browser)) == 3
    for query in ({"namespace": SHOP}, {"queue": "mail"}, {"who": "alice"}):
        assert shown(people.charlie.browser, **query) == []


def test_nobody_reads_without_signing_in_or_with_an_account_that_is_off(people: People) -> None:
    note(people)
    people.bob.user.is_active = False

    assert people.nobody.get("/activity/").status_code == 302
    for user in (AnonymousUser(), people.bob.user):
        assert list_activity(user=user, chosen=NO_FILTER).entries == ()


def test_a_new_namespace_of_an_old_name_does_not_inherit_its_past(people: People) -> None:
    note(people, queue="mail")
    Namespace.objects.get(name=SHOP).delete()
    again = Namespace.objects.create(pool=Pool.objects.get(name="default"), name=SHOP)
    again.groups.add(Group.objects.get(name="charlie's group"))

    assert shown(people.charlie.browser) == []
    assert len(shown(people.root.browser)) == 1


@pytest.fixture
def four_entries(people: People) -> None:
    note(people, queue="mail")
    note(people, ActivityAction.RESUMED, queue="mail", who="bob")
    note(people, ActivityAction.RESUMED, queue="pay")
    note(people, namespace="bank", who="charlie")
    Activity.objects.filter(queue="pay").update(at=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC))


@pytest.mark.usefixtures("four_entries")
@in_one_test(
    ("query", "expected"),
    [
        ({}, 4),
        ({"who": "bob"}, 1),
        ({"who": "bo"}, 0),
        ({"action": "resumed"}, 2),
        ({"action": "resumed", "queue": "pay"}, 1),
        ({"action": "nonsense"}, 0),
        ({"namespace": "bank"}, 1),
        ({"queue": "mail"}, 2),
        ({"day": "2026-01-31"}, 1),
        ({"day": "2026-02-01"}, 0),
    ],
)
def test_filters_are_in_the_address(people: People, query: dict[str, str], expected: int) -> None:
    assert len(shown(people.root.browser, **query)) == expected


def test_pages_meet_each_entry_once_though_more_are_written_meanwhile(people: People) -> None:
    for number in range(2 * PAGE + 1):
        note(people, queue=f"q{number}")
    seen: list[str] = []
    before, sizes = None, []
    while True:
        page = list_activity(user=people.alice.user, chosen=NO_FILTER, before=before)
        seen += [entry.queue for entry in page.entries]
        sizes.append(len(page.entries))
        before = page.before
        note(people, queue="meanwhile")
        if before is None:
            break

    assert seen == [f"q{number}" for number in reversed(range(2 * PAGE + 1))]
    assert sizes == [PAGE, PAGE, 1]


def test_the_page_leads_to_older_entries_and_back(people: People) -> None:
    for number in range(PAGE + 1):
        note(people, queue=f"q{number}")
    first = people.alice.browser.get("/activity/?who=alice").text
    found = re.search(r'rel="next" href="\?([^"]+)"', first)
    assert found is not None

    older = people.alice.browser.get("/activity/?" + found[1].replace("&amp;", "&")).text

    assert "q0</a>" in older
    assert "q1</a>" not in older
    assert 'href="?who=alice"' in older
    assert "data-live" in first
    assert "data-live" not in older.split('id="main"')[1]


@in_one_test("query", ["day=nonsense", "before=x", "before=-1", "who=%00", "before=" + "9" * 30])
def test_an_address_that_means_nothing_is_refused(people: People, query: str) -> None:
    assert people.alice.browser.get(f"/activity/?{query}").status_code == 400


def test_a_cursor_beyond_all_entries_is_no_error(people: People) -> None:
    assert people.alice.browser.get("/activity/?before=" + "9" * 19).status_code == 200


def test_the_page_takes_a_few_queries(people: People, django_assert_max_num_queries: object) -> None:
    for number in range(PAGE):
        note(people, queue=f"q{number}")

    with django_assert_max_num_queries(5):  # type: ignore[operator]
        shown(people.alice.browser)


def test_what_a_later_version_wrote_is_shown_as_it_is(people: People) -> None:
    note(people)
    Activity.objects.update(action="teleported", detail="<b>bold</b>")

    text = people.alice.browser.get("/activity/").text

    assert ">teleported<" in text
    assert "&lt;b&gt;bold" in text
