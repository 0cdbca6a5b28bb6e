"""Names say what a file holds, sort as entries do, and mean the same when they are read back."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.lake import names
from queues.lake.names import TIMES_END_MS, EntryId
from tests.support.rows import in_one_test

ids = st.builds(EntryId, st.integers(0, 10**15 - 1), st.integers(0, 2**63 - 1))
usual_ids = st.builds(EntryId, st.integers(0, 10**15 - 1), st.integers(0, 10**10 - 1))
pools = st.text("abz_-09ABZ", min_size=1, max_size=255)


@given(pools, st.integers(0, 255), ids, ids)
def test_the_name_of_a_drained_file_can_be_read_back(pool: str, partition: int, first: EntryId, last: EntryId) -> None:
    name = names.drained_name(pool, partition, first, last)

    assert names.parse_drained(str(name)) == name
    assert names.is_data(str(name))
    assert not names.is_compacted(str(name))
    assert len(names.temporary_name(str(name))) <= 255


@given(usual_ids, usual_ids)
def test_names_sort_as_entries_do(one: EntryId, other: EntryId) -> None:
    assert (one < other) == (one.in_name() < other.in_name())
    assert EntryId.parse(one.in_name()) == EntryId.parse(str(one)) == one


@in_one_test("pool", ["compact", "compact-" + "a" * 20, "demo", "-", "a-p0001", "_gaps"])
def test_no_name_of_a_pool_makes_a_file_look_like_something_else(pool: str) -> None:
    name = str(names.drained_name(pool, 3, EntryId(1, 0), EntryId(2, 0)))

    assert names.is_data(name)
    assert not names.is_compacted(name)
    assert names.manifest_of(name) is None
    assert not names.is_temporary(name)


def test_pools_that_need_another_name_do_not_share_one() -> None:
    assert names.pool_in_name("_a") != names.pool_in_name("_b")
    assert names.pool_in_name("x" * 200) != names.pool_in_name("x" * 201)
    assert names.pool_in_name("shop") == "shop"


def test_what_is_no_data_is_not_taken_for_it() -> None:
    for name in ("_compact-x.json", "_x.parquet", ".x.parquet", "x.parquet.tmp-1", "x.csv", "_SUCCESS"):
        assert not names.is_data(name)
    assert names.is_temporary(names.temporary_name("a.parquet"))
    assert names.temporary_name("a.parquet") != names.temporary_name("a.parquet")


def test_the_same_files_make_the_same_compacted_name_in_any_order() -> None:
    name = names.compacted_name(["a", "b"])

    assert name == names.compacted_name(["b", "a"]) != names.compacted_name(["a", "c"])
    assert names.is_compacted(name)
    assert names.manifest_of(names.manifest_name(name)) == name


@given(st.integers(0, TIMES_END_MS - 1))
def test_a_time_belongs_to_its_utc_hour(ms: int) -> None:
    at = datetime.fromtimestamp(ms // 1000, tz=UTC)

    assert names.hour_dir(ms) == f"date={at.date().isoformat()}/hour={at:%H}"


@pytest.mark.parametrize("ms", [-1, TIMES_END_MS])
def test_a_time_that_no_directory_can_name_is_refused(ms: int) -> None:
    with pytest.raises(ValueError, match="no such time"):
        names.hour_dir(ms)


def test_a_gap_is_named_by_its_time() -> None:
    assert names.parse_gap(names.gap_name("p", 1, 5, 9)) == (5, 9)
    assert names.parse_gap(names.gap_name("p", 1, None, 9)) == (None, 9)
    assert names.parse_gap("p.json") is None


def test_days_are_named_as_spark_expects() -> None:
    assert names.day_dir(date(2026, 1, 2)) == "date=2026-01-02"
