"""What stands beside what: queues in a table, two days, many days as one, past weeks."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from queues.models import Namespace, Pool
from queues.pools.ttl_cache import forget_recent
from tests.support.rows import in_one_test

from .people import POOL, SHOP, People
from .report_reading import AT, DAY, OF_ORDERS, OF_SHOP, charts_of, text_of
from .reported import Work, report_day

pytestmark = pytest.mark.django_db


def test_sums_of_everything_stand_beside_the_median_of_past_weeks(people: People) -> None:
    for weeks, published in ((1, 10), (2, 20), (3, 60)):
        report_day(DAY - timedelta(weeks=weeks), [Work(published=published)])
    report_day(DAY, [Work(published=30)])

    assert "Published 30 50 % more (usual 20)" in text_of(people.bob.browser, AT)


@pytest.fixture
def three_queues(people: People) -> None:
    work = [
        Work(queue="a", published=1, waits=[9_000]),
        Work(queue="b", published=3, waits=[1]),
        Work(queue="c", published=2, waits=[5], failed=1),
    ]
    report_day(DAY, work, said={"a": {"objective_s": 1}})


@pytest.mark.usefixtures("three_queues")
@in_one_test(
    ("query", "names"),
    [
        ({}, ["b", "c", "a"]),
        ({"sort": "queue"}, ["a", "b", "c"]),
        ({"sort": "-queue"}, ["c", "b", "a"]),
        ({"sort": "-wait_p95"}, ["a", "c", "b"]),
        ({"sort": "; drop"}, ["b", "c", "a"]),
        ({"q": "B"}, ["b"]),
        ({"only": "failing"}, ["c"]),
        ({"only": "missed"}, ["a"]),
        ({"page": "9"}, ["b", "c", "a"]),
    ],
)
def test_the_table_is_sorted_and_filtered_by_the_address(
    people: People, query: dict[str, str], names: list[str]
) -> None:
    page = people.bob.browser.get(OF_SHOP, query).text
    table = page[page.index('id="queues"') :]

    assert re.findall(rf'<th scope="row"><a href="{OF_SHOP}([a-z])/">', table) == names


def test_a_long_table_has_pages(people: People) -> None:
    report_day(DAY, [Work(queue=f"q{number:02}", published=100 - number) for number in range(60)])

    text = text_of(people.bob.browser, AT, page="2", q="q")

    assert "51–60 of 60 queues" in text
    assert 'href="?page=1&amp;q=q#queues"' in people.bob.browser.get(AT, {"page": "2", "q": "q"}).text


def test_two_days_stand_side_by_side(people: People) -> None:
    other = DAY - timedelta(days=3)
    report_day(other, [Work(published=50, waits=[7] * 3), Work(queue="gone", published=1)])
    report_day(DAY, [Work(published=100, waits=[14] * 3), Work(queue="new", published=2)])
    browser = people.bob.browser

    text = text_of(browser, OF_SHOP, **{"with": f"{other}"})
    charts = charts_of(browser, OF_SHOP, **{"with": f"{other}"})

    assert f"{DAY} beside {other}" in text
    assert "Published 102 51 100 % more" in text
    both = charts["Published by hour"]["series"]
    assert [(one["name"], one["values"][12]) for one in both] == [(f"{DAY}", 102), (f"{other}", 51)]
    assert "orders 100 50" in text
    assert "new 2 –" in text
    assert "gone – 1" in text


def test_a_day_of_which_nothing_is_known_can_be_compared_with(people: People) -> None:
    report_day(DAY, [Work(published=100)])

    text = text_of(people.bob.browser, AT, **{"with": "2020-01-01"})

    assert "Nothing is known of the other day" in text


def test_days_are_merged_and_not_averaged(people: People) -> None:
    report_day(DAY - timedelta(days=1), [Work(published=1, waits=[10] * 99)])
    report_day(DAY, [Work(published=1, waits=[100] * 1)])

    text = text_of(people.bob.browser, OF_ORDERS)

    assert "Published 1 2 2" in text
    assert "Wait p95 100 ms 10 ms 10 ms" in text
    assert "5 without reports" in text


@pytest.mark.parametrize(("namespaces", "queues"), [(1, 2), (30, 10)])
def test_queries_do_not_depend_on_how_much_there_is(
    people: People, namespaces: int, queues: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    people.sign_in()
    pool = Pool.objects.get(name=POOL)
    names = [SHOP, *(f"n{number}" for number in range(namespaces - 1))]
    for name in names[1:]:
        Namespace.objects.create(pool=pool, name=name).groups.add(*people.bob.user.groups.all())
    work = [Work(namespace=name, queue=f"q{number}", published=1) for name in names for number in range(queues)]
    report_day(DAY, [*work, Work(published=1)])

    for url in (AT, OF_SHOP, OF_ORDERS, f"{AT}?with={DAY - timedelta(days=1)}"):
        forget_recent()
        with django_assert_max_num_queries(30):
            people.bob.browser.get(url)
