"""Dead letters of many queues: found, grouped, respawned and deleted, for those who may."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group, Permission, User

from queues.engine import JobState, consume, count_jobs, fail, publish
from queues.models import Activity, Namespace, Pool, QueuePolicy
from queues.pools import engine_for
from queues.services.dead_letters import actions as dead_acts
from queues.services.dead_letters import filtering
from queues.services.dead_letters import scanning as dead_letters
from queues.services.dead_letters.actions import DeadBatch, DeadVerb, act_on_all, act_on_selected
from queues.services.dead_letters.filtering import DeadFilter, read_filter, read_position
from queues.services.dead_letters.scanning import count_queues, group_letters, scan_dead_letters
from queues.services.errors import InvalidArgumentError, NamespaceNotFoundError, RoleTooLowError
from queues.services.policies import policy_for
from tests.dashboard.surveyor import Surveyor
from tests.support.burying import bury
from tests.support.rows import in_one_test

OLD_MS = 1_700_000_000_000
"""2023-11-14, in the evening."""
EVERYTHING = DeadFilter()


def person(name: str, namespaces: Iterable[Namespace], *permissions: str) -> User:
    """Somebody whose group sees the namespaces and has the permissions."""
    group = Group.objects.create(name=f"{name}'s")
    group.permissions.set(Permission.objects.filter(codename__in=permissions))
    group.namespaces.set(namespaces)
    made = User.objects.create_user(name)
    made.groups.add(group)
    return made


@pytest.fixture
def ledger(default_pool: Pool) -> Namespace:
    return Namespace.objects.create(pool=default_pool, name="ledger")


@pytest.fixture
def owner(orders: Namespace, ledger: Namespace) -> User:
    return person("owner", [orders, ledger], "administer_queues")


def counts(namespace: str, queue: str) -> dict[JobState, int]:
    engine = engine_for("default")
    return {state: n for state, n in engine.run(count_jobs(engine.queue(namespace, queue))).items() if n}


def found(user: User, chosen: DeadFilter = EVERYTHING) -> dict[str, set[str]]:
    """Errors by queue, looked through to the end."""
    dead_queues, stretch = scan_dead_letters(user=user, chosen=chosen)
    letters = list(stretch.letters)
    while stretch.position is not None:
        start = read_position(str(stretch.position))
        _, stretch = scan_dead_letters(user=user, chosen=chosen, start=start, before_ms=dead_queues.before_ms)
        letters += stretch.letters
    assert len({letter.job.job_id for letter in letters}) == len(letters)
    by_queue: dict[str, set[str]] = {}
    for letter in letters:
        by_queue.setdefault(str(letter.address), set()).add(letter.job.error)
    return by_queue


def test_those_of_every_visible_queue_are_found(owner: User) -> None:
    bury("orders", "mail", ["a", "b"])
    bury("orders", "pay", ["c"])
    bury("ledger", "book", ["d"])

    assert found(owner) == {
        "default/ledger/book": {"d"},
        "default/orders/mail": {"a", "b"},
        "default/orders/pay": {"c"},
    }


def test_what_is_in_other_peoples_namespaces_is_neither_found_nor_counted(ledger: Namespace, orders: Namespace) -> None:
    bury("orders", "mail", ["a"])
    bury("ledger", "book", ["b"])
    clerk = person("clerk", [ledger])

    assert found(clerk) == {"default/ledger/book": {"b"}}
    assert scan_dead_letters(user=clerk, chosen=EVERYTHING)[0].count == 1
    with pytest.raises(NamespaceNotFoundError):
        scan_dead_letters(user=clerk, chosen=DeadFilter(namespace="orders"))


@in_one_test(
    ("chosen", "expected"),
    [
        (DeadFilter(namespace="orders"), {"timeout after 31 ms", "Timeout after 8 ms", "no such user", "old"}),
        (DeadFilter(queue="mail"), {"timeout after 31 ms", "Timeout after 8 ms", "no such user"}),
        (DeadFilter(error="TIMEOUT"), {"timeout after 31 ms", "Timeout after 8 ms", "timeout"}),
        (DeadFilter(error="after <n>"), {"timeout after 31 ms", "Timeout after 8 ms"}),
        (DeadFilter(like="timeout after <n> ms"), {"timeout after 31 ms"}),
        (DeadFilter(pool="elsewhere"), set()),
        (read_filter(day="2023-11-14"), {"old"}),
        (read_filter(day="2023-11-13"), set()),
    ],
)
def test_a_filter_lets_through_what_it_means(owner: User, chosen: DeadFilter, expected: set[str]) -> None:
    bury("orders", "mail", ["timeout after 31 ms", "Timeout after 8 ms", "no such user"])
    bury("orders", "pay", ["old"], now_ms=OLD_MS)
    bury("ledger", "book", ["timeout"])

    assert set().union(*found(owner, chosen).values()) == expected


def test_stretches_meet_each_dead_letter_once(owner: User) -> None:
    bury("orders", "mail", [f"m{n}" for n in range(7)])
    bury("orders", "none", [])
    bury("orders", "pay", [f"p{n}" for n in range(3)])
    bury("ledger", "book", [f"b{n}" for n in range(5)])

    dead_queues, stretch = scan_dead_letters(user=owner, chosen=EVERYTHING, scan_max=4)
    seen, lefts = [letter.job.error for letter in stretch.letters], [stretch.left]
    while stretch.position is not None:
        start = read_position(str(stretch.position))
        _, stretch = scan_dead_letters(
            user=owner, chosen=EVERYTHING, start=start, before_ms=dead_queues.before_ms, scan_max=4
        )
        seen += [letter.job.error for letter in stretch.letters]
        lefts.append(stretch.left)

    assert sorted(seen) == sorted([*(f"b{n}" for n in range(5)), *(f"m{n}" for n in range(7)), "p0", "p1", "p2"])
    assert lefts == [11, 7, 3, 0]


def test_a_stretch_looks_into_so_many_queues(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "QUEUES_AT_ONCE", 2)
    for number in range(5):
        bury("orders", f"q{number}", ["a"])

    _, stretch = scan_dead_letters(user=owner, chosen=EVERYTHING)

    assert (stretch.looked_at, stretch.left, str(stretch.position)) == (2, 3, "default/orders/q2|")
    assert len(found(owner)) == 5


def test_more_queues_than_are_walked_are_said_to_be_more(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for queue in ("a", "b", "c"):
        bury("orders", queue, ["x"])
    assert scan_dead_letters(user=owner, chosen=EVERYTHING)[0].is_whole

    monkeypatch.setattr(filtering, "QUEUES_MAX", 2)

    assert not scan_dead_letters(user=owner, chosen=EVERYTHING)[0].is_whole


def test_of_very_many_queues_the_survey_says_which_have_dead_letters(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filtering, "QUEUES_MAX", 2)
    engine = engine_for("default")
    surveyor = Surveyor(engine)
    for queue in ("a", "b", "c", "d"):
        engine.run(publish(engine.queue("orders", queue), [b"x"]))
    bury("ledger", "few", ["x"])
    bury("ledger", "most", ["x"] * 2)
    surveyor.look()

    dead_queues, _ = scan_dead_letters(user=owner, chosen=EVERYTHING)
    assert [str(one.address) for one in dead_queues.queues] == ["default/ledger/few", "default/ledger/most"]
    assert dead_queues.is_whole

    bury("orders", "more", ["x"] * 3)
    surveyor.look()
    dead_queues, _ = scan_dead_letters(user=owner, chosen=EVERYTHING)
    assert [str(one.address) for one in dead_queues.queues] == ["default/ledger/most", "default/orders/more"]
    assert not dead_queues.is_whole


def test_groups_are_by_error_by_queue_and_by_day(owner: User) -> None:
    bury("orders", "mail", ["timeout after 31 ms", "timeout after 32 ms", "boom"])
    bury("orders", "pay", ["timeout after 9 ms"], now_ms=OLD_MS)

    dead_queues, stretch = scan_dead_letters(user=owner, chosen=EVERYTHING)
    groups = group_letters(stretch.letters, before_ms=2**41)

    assert [(one.key, one.count) for one in groups.errors] == [("timeout after <n> ms", 3), ("boom", 1)]
    assert [(one.key, one.count) for one in groups.queues] == [("default/orders/mail", 3), ("default/orders/pay", 1)]
    today = datetime.now(UTC).date().isoformat()
    assert [(one.key, one.count) for one in groups.days] == [(today, 3), ("2023-11-14", 1)]
    assert [(one.key, one.count) for one in count_queues(dead_queues)] == [(g.key, g.count) for g in groups.queues]
    assert groups.errors[0].first_ms == OLD_MS
    assert not groups.are_cut


def test_selected_ones_are_respawned_with_the_policys_ttl_and_noted(owner: User, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="mail", ttl_s=77)
    assert policy_for(pool="default", namespace="orders", queue="mail").ttl_s == 77
    first, _second = bury("orders", "mail", ["a", "b"])

    done = act_on_selected(user=owner, verb=DeadVerb.RESPAWN, letters=[f"default/orders/mail/{first}"])

    assert done == 1
    assert counts("orders", "mail") == {JobState.READY: 1, JobState.DEAD: 1}
    engine = engine_for("default")
    (job,) = engine.run(consume(engine.queue("orders", "mail"), ttr_ms=1_000)).jobs
    assert (job.job_id, job.ttl_s) == (first, 77)
    noted = Activity.objects.get()
    assert (noted.who, noted.action, noted.queue, noted.count, noted.target) == ("owner", "respawned", "mail", 1, first)


def test_selected_ones_that_are_not_dead_stay_what_they_are(owner: User) -> None:
    (job_id,) = bury("orders", "mail", ["a"])
    name = f"default/orders/mail/{job_id}"
    assert act_on_selected(user=owner, verb=DeadVerb.RESPAWN, letters=[name]) == 1

    assert act_on_selected(user=owner, verb=DeadVerb.DELETE, letters=[name]) == 0
    assert counts("orders", "mail") == {JobState.READY: 1}
    assert Activity.objects.count() == 1


@pytest.mark.parametrize(
    "name", ["", "default/orders/mail/short", "orders/mail/01JD5ZQ8Y3VX0N4T6R7S8W9ABC", "a/b/c/d/e"]
)
def test_names_of_no_dead_letter_are_refused(owner: User, name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        act_on_selected(user=owner, verb=DeadVerb.DELETE, letters=[name])


def test_one_forbidden_dead_letter_among_the_selected_stops_all(orders: Namespace, ledger: Namespace) -> None:
    clerk = person("clerk", [ledger], "operate_queues")
    (mine,), (other,) = bury("ledger", "book", ["a"]), bury("orders", "mail", ["a"])

    with pytest.raises(NamespaceNotFoundError):
        act_on_selected(
            user=clerk,
            verb=DeadVerb.RESPAWN,
            letters=[f"default/ledger/book/{mine}", f"default/orders/mail/{other}"],
        )

    assert counts("ledger", "book") == counts("orders", "mail") == {JobState.DEAD: 1}


def run_all(user: User, verb: DeadVerb, chosen: DeadFilter) -> list[DeadBatch]:
    """Batches to the end."""
    batches = [act_on_all(user=user, verb=verb, chosen=chosen, act_id="run")]
    while batches[-1].position is not None:
        start = read_position(str(batches[-1].position))
        batches.append(
            act_on_all(user=user, verb=verb, chosen=chosen, start=start, before_ms=batches[0].before_ms, act_id="run")
        )
    return batches


@pytest.mark.parametrize("verb", DeadVerb)
def test_everything_that_a_filter_means_is_done_in_batches_and_nothing_else(
    owner: User, verb: DeadVerb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_acts, "BATCH", 10)
    monkeypatch.setattr(dead_acts, "ENOUGH", 8)
    bury("orders", "mail", ["timeout", "boom"] * 12)
    bury("orders", "pay", ["boom"] * 3)
    bury("ledger", "book", ["timeout"] * 5)

    batches = run_all(owner, verb, DeadFilter(error="timeout"))

    assert sum(batch.done for batch in batches) == 17
    assert sum(batch.looked_at for batch in batches) == 32
    assert max(batch.done for batch in batches) <= 10
    assert [batch.left for batch in batches] == sorted((batch.left for batch in batches), reverse=True)
    ready = {JobState.READY: 12} if verb is DeadVerb.RESPAWN else {}
    assert counts("orders", "mail") == {JobState.DEAD: 12, **ready}
    assert counts("orders", "pay") == {JobState.DEAD: 3}
    noted = {"respawn": "respawned", "delete": "deleted"}[verb]
    entries = Activity.objects.order_by("queue").values_list("action", "queue", "count", "detail")
    assert list(entries) == [(noted, "book", 5, "error: timeout"), (noted, "mail", 12, "error: timeout")]


def test_jobs_that_fail_again_at_once_are_not_respawned_for_ever(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_acts, "BATCH", 4)
    monkeypatch.setattr(dead_acts, "ENOUGH", 4)
    bury("orders", "mail", ["a"] * 6)
    first = act_on_all(user=owner, verb=DeadVerb.RESPAWN, chosen=EVERYTHING)
    engine = engine_for("default")
    queue = engine.queue("orders", "mail")
    for job in engine.run(consume(queue, ttr_ms=1_000, count=10)).jobs:
        engine.run(fail(queue, job.job_id, error="again", now_ms=first.before_ms + 5))

    second = act_on_all(
        user=owner, verb=DeadVerb.RESPAWN, chosen=EVERYTHING, start=first.position, before_ms=first.before_ms
    )

    assert (first.done, second.done, second.position) == (4, 2, None)
    assert counts("orders", "mail") == {JobState.READY: 2, JobState.DEAD: 4}


def test_what_one_may_only_read_is_left_alone_and_counted(orders: Namespace, ledger: Namespace) -> None:
    bob = person("bob", [ledger], "operate_queues")
    readers = Group.objects.create(name="readers")
    readers.namespaces.add(orders)
    bob.groups.add(readers)
    bury("ledger", "book", ["a"] * 2)
    bury("orders", "mail", ["a"] * 3)

    (batch,) = run_all(bob, DeadVerb.RESPAWN, EVERYTHING)

    assert (batch.done, batch.forbidden, batch.left) == (2, 3, 0)
    assert counts("orders", "mail") == {JobState.DEAD: 3}


@pytest.mark.parametrize(
    ("permissions", "verb"),
    [((), DeadVerb.RESPAWN), ((), DeadVerb.DELETE), (("operate_queues",), DeadVerb.DELETE)],
)
def test_who_may_do_it_nowhere_is_told_so(orders: Namespace, permissions: tuple[str, ...], verb: DeadVerb) -> None:
    bury("orders", "mail", ["a"])
    bob = person("bob", [orders], *permissions)

    with pytest.raises(RoleTooLowError):
        act_on_all(user=bob, verb=verb, chosen=EVERYTHING)

    assert counts("orders", "mail") == {JobState.DEAD: 1}


def test_an_operator_may_delete_those_that_they_selected(orders: Namespace) -> None:
    (job_id,) = bury("orders", "mail", ["a"])
    operator = person("operator", [orders], "operate_queues")

    assert act_on_selected(user=operator, verb=DeadVerb.DELETE, letters=[f"default/orders/mail/{job_id}"]) == 1


@in_one_test("text", ["x", "a/b|", "default/orders/mail|x", "default/orders/_q|", "|", "a/b/c/d|"])
def test_a_position_that_no_stretch_gave_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        read_position(text)


@in_one_test(
    "said", [{"day": "yesterday"}, {"day": "0001-01-01"}, {"queue": "a/b"}, {"pool": "ü"}, {"error": "x" * 2_000}]
)
def test_a_filter_that_means_nothing_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(InvalidArgumentError):
        read_filter(**said)
