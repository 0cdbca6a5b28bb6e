"""Every route of the dashboard, and whom it lets in: who owns, operates or reads a namespace, and who must see nothing.

A route that no table names fails, and so does a name in a table that is no route.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from dashboard.urls import urlpatterns
from queues.engine import JobState, detail, open_engine, pause, stats
from queues.models import Activity, QueuePolicy
from queues.services.activity import ActivityAction, note_activity
from tests.support.burying import bury

from .people import BANK, POOL, SHOP, People
from .shop import Shop
from .surveyor import Surveyor

pytestmark = pytest.mark.django_db

QUEUE: Final = "parcels-of-the-shop"
ERROR: Final = "the glass broke on its way"
DELAYED: Final = 1_237
SECRETS: Final = (QUEUE, ERROR, "1,237")
"""Words, and a sum, that are on pages only if these show something of the shop."""

UNKNOWN: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

JSON: Final = {"Accept": "application/json"}
LIVE: Final = {"X-Live": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What GET answers. `sees`: what a reader of the shop finds there. In texts `{dead}` is the id of a dead job."""

    named: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    sees: str = ""
    alice: int = 200
    olga: int = 200
    bob: int = 200
    charlie: int = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What POST changes. `needs_admin`: to operate is not enough. `charlie`: 302 where it means all that he may see."""

    form: Mapping[str, str] = field(default_factory=dict)
    of: JobState = JobState.READY
    needs_admin: bool = False
    charlie: int = 404


PAGES: Final[Mapping[str, Page]] = {
    "overview": Page(sees="1,237", charlie=200),
    "overview_chart": Page(named={"kind": "backlog"}, charlie=200),
    "totals": Page(sees="1,237", charlie=200),
    "find": Page(query={"q": "{dead}"}, alice=302, olga=302, bob=302),
    "queues": Page(sees=QUEUE, charlie=200),
    "queue": Page(query={"state": "dead"}, sees=ERROR),
    "queue_live": Page(sees="1,237"),
    "queue_jobs": Page(query={"state": "dead"}, sees="{dead}"),
    "queue_chart": Page(named={"kind": "runs"}, sees="series"),
    "queue_publish": Page(sees=QUEUE, bob=403),
    "queue_policy": Page(sees=QUEUE, olga=403, bob=403),
    "job": Page(sees=ERROR),
    "job_live": Page(sees=ERROR),
    "job_body": Page(sees="a vase"),
    "job_raw": Page(named={"part": "body"}, sees="a vase"),
    "dead": Page(sees=ERROR, charlie=200),
    "dead_more": Page(sees=ERROR, charlie=200),
    "consumers": Page(sees=QUEUE, charlie=200),
    "schedules": Page(charlie=200),
    "reports": Page(charlie=200),
    "activity": Page(sees=QUEUE, charlie=200),
}

_SURE: Final = {"confirmed": "yes"}
_LETTER: Final = {"letter": f"{POOL}/{SHOP}/{QUEUE}/{{dead}}"} | _SURE

ACTS: Final[Mapping[str, tuple[Act, ...]]] = {
    "queue_publish": (Act(form={"body": "x", "encoding": "text"}),),
    "queue_policy": (Act(form={"tries": "3"}, needs_admin=True),),
    "queue_empty": (Act(form={"word": QUEUE} | _SURE, needs_admin=True),),
    "queue_pause": (Act(),),
    "queue_resume": (Act(),),
    "queue_act": (
        Act(form={"act": "delete", "state": "ready", "job": "{ready}"} | _SURE),
        Act(form={"act": "ack", "state": "working", "job": "{working}:1"}),
        Act(form={"act": "respawn", "state": "dead", "job": "{dead}"}),
    ),
    "queue_act_on_all": (
        Act(form={"act": "respawn", "state": "dead"} | _SURE),
        Act(form={"act": "delete", "state": "ready"} | _SURE, needs_admin=True),
    ),
    "job_act": (
        Act(form={"act": "delete", "state": "ready"} | _SURE),
        Act(form={"act": "retry", "state": "delayed"}, of=JobState.DELAYED),
        Act(form={"act": "reschedule", "state": "retry", "later": "7200"}, of=JobState.RETRY),
        Act(form={"act": "ack", "state": "working", "attempt": "1"}, of=JobState.WORKING),
        Act(form={"act": "release", "state": "working", "attempt": "1"}, of=JobState.WORKING),
        Act(form={"act": "respawn", "state": "dead"}, of=JobState.DEAD),
        Act(form={"act": "delete", "state": "completed"} | _SURE, of=JobState.COMPLETED),
    ),
    "dead_act": (
        Act(form={"do": "respawn-selected"} | _LETTER),
        Act(form={"do": "delete-selected"} | _LETTER),
        Act(form={"do": "respawn-all", "namespace": SHOP} | _SURE),
        Act(form={"do": "respawn-all"} | _SURE, charlie=302),
        Act(form={"do": "delete-all", "namespace": SHOP} | _SURE, needs_admin=True),
        Act(form={"do": "delete-all"} | _SURE, needs_admin=True, charlie=302),
    ),
}

OPEN: Final = frozenset({"login", "logout", "set_language"})
"""For everybody; they show and change nothing of a namespace."""

EACH_PAGE: Final = pytest.mark.parametrize("name", PAGES)
EACH_ACT: Final = pytest.mark.parametrize(
    ("name", "act"),
    [
        pytest.param(name, act, id="-".join((name, str(number), *act.form.values())[:3]))
        for name, acts in ACTS.items()
        for number, act in enumerate(acts)
    ],
)


class Premises(Shop):
    """The shop's queue with jobs in every state, looked at by a survey. `ids`: one job of each state."""

    def fill(self) -> None:
        self.queue = self.engine.queue(SHOP, QUEUE)
        states = [state for state in JobState if state is not JobState.READY]
        self.ids = {state: self.job_in(state, body=b"a vase", error=ERROR) for state in [*states, JobState.READY]}
        for count in (1_000, DELAYED - 1_001):
            self.publish(*[b"x"] * count, delay_ms=600_000)
        Surveyor(self.engine).look()

    def said(self, texts: Mapping[str, str]) -> dict[str, str]:
        """With the ids in it."""
        ids = {state.value: job_id for state, job_id in self.ids.items()}
        return {name: text.format(**ids) for name, text in texts.items()}

    def url(self, name: str, *, namespace: str = SHOP, of: JobState = JobState.DEAD) -> str:
        """Of the route."""
        known = {"pool": POOL, "namespace": namespace, "queue": QUEUE, "job_id": self.ids[of]}
        known |= PAGES[name].named if name in PAGES else {}
        return reverse(f"dashboard:{name}", kwargs={word: known[word] for word in routes()[name]})

    def whole_state(self) -> Any:
        """All that an act might change."""
        now = self.engine.run(stats(self.queue))
        jobs = [self.engine.run(detail(self.queue, job_id)) for job_id in self.ids.values()]
        policies = list(QueuePolicy.objects.order_by("pk").values())
        acts = list(Activity.objects.exclude(action="signed_in").order_by("pk").values())
        return now.paused, now.counts, [job and replace(job, now_ms=0) for job in jobs], policies, acts


def routes(patterns: list[Any] = urlpatterns) -> dict[str, list[str]]:
    """Name of each route, or what it looks like if it has none → the names in its path."""
    found: dict[str, list[str]] = {}
    for one in patterns:
        inner = routes(one.url_patterns) if isinstance(one, URLResolver) else {}
        if isinstance(one, URLPattern):
            inner = {one.name or str(one.pattern): list(one.pattern.converters)}
        assert not found.keys() & inner.keys(), "two routes have one name, so one of them would not be looked at"
        found |= inner
    return found


@pytest.fixture
def shop(people: People, redis_url: str) -> Iterator[Premises]:
    engine = open_engine(redis_url)
    shop = Premises(engine)
    shop.fill()
    note_activity(user=people.alice.user, action=ActivityAction.PAUSED, pool=POOL, namespace=SHOP, queue=QUEUE)
    yield shop
    engine.close()


@pytest.fixture
def erin(people: People) -> Client:
    """Owns the bank as Charlie does, and may read the shop as Bob does."""
    user = User.objects.create_user("erin")
    user.groups.set(Group.objects.filter(name__in=["charlie's group", "readers"]))
    browser = Client()
    browser.force_login(user)
    return browser


def prepare(shop: Premises, name: str) -> Any:
    """What is there before the act. A queue has to be paused to be resumed."""
    if name == "queue_resume":
        shop.engine.run(pause(shop.queue))
    return shop.whole_state()


def send(browser: Client, shop: Premises, name: str, act: Act, **headers: str) -> int:
    return browser.post(shop.url(name, of=act.of), shop.said(act.form), headers=headers).status_code


def test_every_route_is_in_a_table_and_every_entry_is_a_route() -> None:
    assert sorted(routes()) == sorted({*PAGES, *ACTS, *OPEN})


@EACH_PAGE
def test_who_may_look_is_shown_it(shop: Premises, people: People, erin: Client, name: str) -> None:
    page, url = PAGES[name], shop.url(name)
    readers = {
        "alice": (people.alice.browser, page.alice),
        "olga": (people.olga.browser, page.olga),
        "bob": (people.bob.browser, page.bob),
        "erin": (erin, page.bob),
    }

    for who, (browser, status) in readers.items():
        answer = browser.get(url, shop.said(page.query))
        assert answer.status_code == status, who
        assert status != 200 or shop.said({"": page.sees})[""] in answer.text, who


@EACH_PAGE
def test_who_is_in_another_namespace_or_in_none_is_shown_nothing(shop: Premises, people: People, name: str) -> None:
    page, url, query = PAGES[name], shop.url(name), shop.said(PAGES[name].query)
    secrets = {*SECRETS, *shop.ids.values()} - {*query.values()}

    for person, headers in product((people.charlie, people.dave), ({}, LIVE, JSON)):
        answer = person.browser.get(url, query, headers=headers)
        told = answer.text.replace(url, "")  # the form that changes the language leads back to where one asked for
        assert answer.status_code == page.charlie
        assert [secret for secret in secrets if secret in told] == []


@EACH_PAGE
def test_nobody_is_sent_to_the_sign_in(shop: Premises, people: People, name: str) -> None:
    url = shop.url(name)

    for headers in ({}, LIVE, JSON):
        answer = people.nobody.get(url, headers=headers)
        assert (answer.status_code, answer.content) == (302, b"")
        assert answer["Location"] == f"/login/?next={url}"


@EACH_ACT
def test_who_owns_the_namespace_may_do_it(shop: Premises, people: People, name: str, act: Act) -> None:
    before = prepare(shop, name)

    assert send(people.alice.browser, shop, name, act) == 302
    assert shop.whole_state() != before


@EACH_ACT
def test_an_operator_may_do_it_unless_it_is_for_owners(shop: Premises, people: People, name: str, act: Act) -> None:
    before = prepare(shop, name)

    assert send(people.olga.browser, shop, name, act) == (403 if act.needs_admin else 302)
    assert (shop.whole_state() == before) == act.needs_admin


@EACH_ACT
def test_nobody_else_may_do_it_and_nothing_changes(
    shop: Premises, people: People, erin: Client, name: str, act: Act
) -> None:
    before = prepare(shop, name)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.alice.user)
    bob, charlie, dave = people.bob.browser, people.charlie.browser, people.dave.browser
    others = {"bob": (bob, 403), "erin": (erin, 403), "charlie": (charlie, act.charlie), "dave": (dave, act.charlie)}
    others |= {"nobody": (people.nobody, 302), "alice, without a token": (strict, 403)}

    answers = {who: send(browser, shop, name, act) for who, (browser, _) in others.items()}

    assert answers == {who: status for who, (_, status) in others.items()}
    assert send(people.nobody, shop, name, act, **JSON) == 401
    assert send(charlie, shop, name, act, **JSON) == (200 if act.charlie == 302 else act.charlie)
    assert shop.whole_state() == before


@pytest.mark.parametrize("name", sorted({*PAGES, *ACTS}))
def test_pages_are_only_read_and_actions_only_posted(shop: Premises, people: People, name: str) -> None:
    browser, url, before = people.alice.browser, shop.url(name), shop.whole_state()

    assert (browser.get(url, PAGES[name].query if name in PAGES else {}).status_code == 405) == (name not in PAGES)
    if name not in ACTS:
        assert browser.post(url).status_code == 405
    assert [browser.put(url).status_code, browser.delete(url).status_code] == [405, 405]
    assert shop.whole_state() == before


@pytest.mark.parametrize("kind", ["backlog", "throughput"])
def test_charts_count_only_what_may_be_seen(shop: Premises, people: People, kind: str) -> None:
    url = reverse("dashboard:overview_chart", kwargs={"kind": kind})

    def numbers(browser: Client) -> set[int]:
        return {value for line in browser.get(url).json()["series"] for value in line["values"] if value}

    assert numbers(people.charlie.browser) == set()
    assert numbers(people.dave.browser) == set()
    assert kind == "throughput" or DELAYED in numbers(people.bob.browser)


@pytest.mark.parametrize("name", ["job", "job_live", "job_body", "job_raw"])
def test_a_job_is_not_reached_by_way_of_a_namespace_of_ones_own(shop: Premises, people: People, name: str) -> None:
    url = shop.url(name, namespace=BANK)
    theirs = people.charlie.browser.get(url)
    nobodys = people.charlie.browser.get(url.replace(shop.ids[JobState.DEAD], UNKNOWN))

    assert theirs.status_code == nobodys.status_code
    assert [secret for secret in (ERROR, "a vase", "worker-1") if secret in theirs.text] == []


@EACH_ACT
def test_nothing_is_done_by_way_of_a_namespace_of_ones_own(shop: Premises, erin: Client, name: str, act: Act) -> None:
    if name == "dead_act":
        form = shop.said(act.form) | {"letter": f"{POOL}/{BANK}/{QUEUE}/{shop.ids[JobState.DEAD]}", "namespace": BANK}
    else:
        form = shop.said(act.form)
    before = prepare(shop, name)[:3]

    erin.post(shop.url(name, namespace=BANK, of=act.of), form)

    assert shop.whole_state()[:3] == before


@pytest.mark.parametrize("path", ["/dead/", "/dead/more"])
def test_a_position_in_anothers_queue_leads_to_nothing_of_it(shop: Premises, people: People, path: str) -> None:
    for query in ({"at": f"{POOL}/{SHOP}/{QUEUE}|"}, {"queue": QUEUE}, {"error": "glass"}):
        answer = people.charlie.browser.get(path, query)
        assert answer.status_code == 200
        assert ERROR not in answer.text
        assert shop.ids[JobState.DEAD] not in answer.text
    assert people.charlie.browser.get(path, {"namespace": SHOP}).status_code == 404


@pytest.mark.parametrize("do", ["respawn-all", "delete-all"])
def test_who_owns_the_bank_and_reads_the_shop_acts_on_the_banks_dead_letters_only(
    shop: Premises, erin: Client, do: str
) -> None:
    bury(BANK, "book", ["the vault is empty"])
    before = shop.whole_state()[:3]

    answer = erin.post("/dead/act", {"do": do} | _SURE, headers=JSON).json()

    assert (answer["done"], answer["forbidden"]) == (1, 1)
    assert shop.whole_state()[:3] == before


@pytest.mark.parametrize("do", ["respawn-selected", "delete-selected"])
def test_letters_of_which_one_may_not_be_touched_are_all_left_alone(shop: Premises, erin: Client, do: str) -> None:
    (job_id,) = bury(BANK, "book", ["the vault is empty"])
    letters = [f"{POOL}/{BANK}/book/{job_id}", f"{POOL}/{SHOP}/{QUEUE}/{shop.ids[JobState.DEAD]}"]
    before = shop.whole_state()

    assert erin.post("/dead/act", {"do": do, "letter": letters} | _SURE).status_code == 403
    assert shop.whole_state() == before
    kept = shop.engine.run(detail(shop.engine.queue(BANK, "book"), job_id))
    assert kept is not None
    assert kept.state is JobState.DEAD


def test_what_is_open_to_everybody_shows_nothing_and_is_guarded_against_other_sites(
    shop: Premises, people: People
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.alice.user)

    signing_in = people.nobody.get("/login/")
    assert signing_in.status_code == 200
    assert [secret for secret in (*SECRETS, *shop.ids.values()) if secret in signing_in.text] == []
    assert [strict.post(path).status_code for path in ("/login/", "/logout/", "/language/")] == [403] * 3
    assert people.alice.browser.get("/logout/").status_code == 405
    assert people.alice.browser.get("/totals").status_code == 200
    assert people.alice.browser.post("/logout/").status_code == 302
    assert people.alice.browser.get("/totals").status_code == 302
