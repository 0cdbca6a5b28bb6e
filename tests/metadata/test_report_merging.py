"""Several days as one: percentiles of all values, within the sketch's error, never an average of percentiles."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from math import ceil
from typing import Any

import pytest
from django.contrib.auth.models import User

from queues.lake.sketch import RELATIVE_ERROR, bucket_of
from queues.models import Namespace
from queues.services.reporting.reading.merging import merge_day, merge_range
from queues.services.reporting.values import Figures, Metric, TryCount

from .reporting import DAY, add_day, add_row


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


def measured(values: list[int]) -> dict[str, Any]:
    ordered = sorted(values)
    return {
        "wait_count": len(values),
        "wait_mean": sum(values) / len(values),
        "wait_max": ordered[-1],
        "wait_p95": ordered[ceil(0.95 * len(values)) - 1],
        "histograms": {"wait": dict(Counter(bucket_of(value) for value in values))},
    }


def test_percentiles_of_days_are_those_of_all_their_values(root: User, orders: Namespace) -> None:
    draw = random.Random(7)
    days = [[int(draw.lognormvariate(6, 1 + number)) for _ in range(500 * (number + 1))] for number in range(3)]
    for back, values in enumerate(days):
        add_row(add_day(DAY - timedelta(days=back)), "emails", scope=orders, **measured(values))

    merged = merge_range(user=root, pool="default", namespace="orders", queue="emails", until=DAY, days=7)

    everything = sorted(value for values in days for value in values)
    wait = merged.figures.wait
    assert (wait.count, wait.max, wait.is_exact) == (len(everything), everything[-1], False)
    assert wait.mean == pytest.approx(sum(everything) / len(everything))
    for share, found in ((0.5, wait.p50), (0.9, wait.p90), (0.95, wait.p95), (0.99, wait.p99)):
        true = everything[ceil(share * len(everything)) - 1]
        assert found is not None
        assert abs(found - true) <= RELATIVE_ERROR * true + 1
    average = sum(sorted(values)[ceil(0.95 * len(values)) - 1] for values in days) / 3
    assert abs(average - everything[ceil(0.95 * len(everything)) - 1]) > 0.1 * average
    assert merged.days == tuple(DAY - timedelta(days=back) for back in (2, 1, 0))
    assert merged.missing == tuple(DAY - timedelta(days=back) for back in (6, 5, 4, 3))


def test_of_one_day_the_exact_percentiles_stay(root: User, orders: Namespace) -> None:
    add_row(add_day(), "emails", scope=orders, **measured([1_003]))

    merged = merge_range(user=root, pool="default", namespace="orders", queue="emails", until=DAY, days=28)

    assert (merged.figures.wait.p95, merged.figures.wait.is_exact) == (1_003, True)
    assert merged.histograms[Metric.WAIT] == {bucket_of(1_003): 1}


def test_counts_add_up_and_rates_are_of_the_sums(root: User, orders: Namespace) -> None:
    tries = [{"attempt": 1, "outcome": "acked", "jobs": 5}]
    for back, (acked, dead, backlog) in enumerate([(90, 0, 4), (10, 100, 50)]):
        hours = [{"hour": 9, "acked": acked, "backlog": backlog}]
        day = add_day(DAY - timedelta(days=back))
        add_row(day, scope=orders, acked=acked, dead=dead, backlog=backlog, hours=hours, tries=tries)

    merged = merge_range(user=root, pool="default", namespace="orders", until=DAY, days=7)

    assert (merged.figures.acked, merged.figures.dead, merged.figures.success_rate) == (100, 100, 0.5)
    assert merged.figures.backlog == 4
    assert [(hour.hour, hour.acked, hour.backlog) for hour in merged.hours] == [(9, 100, None)]
    assert merged.tries == (TryCount(attempt=1, outcome="acked", jobs=10),)


def test_namespaces_of_a_day_are_one(root: User, orders: Namespace) -> None:
    bank = Namespace.objects.create(pool=orders.pool, name="bank")
    day = add_day()
    for scope, published, backlog in ((orders, 3, 5), (bank, 4, 6)):
        hours = [{"hour": 1, "published": published, "backlog": backlog}]
        add_row(day, scope=scope, published=published, backlog=backlog, hours=hours, **measured([published] * 10))

    merged = merge_day(user=root, day=DAY)

    assert (merged.figures.published, merged.figures.backlog, merged.figures.wait.p95) == (7, 11, 4)
    assert [(hour.published, hour.backlog) for hour in merged.hours] == [(7, 11)]


def test_a_backlog_that_is_not_known_everywhere_is_not_known(root: User, orders: Namespace) -> None:
    bank = Namespace.objects.create(pool=orders.pool, name="bank")
    day = add_day()
    add_row(day, scope=orders, backlog=5)
    add_row(day, scope=bank, backlog=None)

    assert merge_day(user=root, day=DAY).figures.backlog is None


def test_of_nothing_there_is_nothing(root: User) -> None:
    merged = merge_day(user=root, day=DAY)

    assert merged.figures == Figures()
    assert (merged.days, merged.missing, merged.hours) == ((), (DAY,), ())
