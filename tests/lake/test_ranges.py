"""Which files of an hour count, however their ranges lie to each other: as a look at each pair says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queues.lake.files import HourFiles
from queues.lake.names import DrainedName, EntryId, compacted_name
from queues.lake.storage import Entry

IDS = st.builds(EntryId, st.integers(1, 4), st.integers(0, 2))
NAMES = st.builds(
    lambda partition, ids: DrainedName("default", partition, min(ids), max(ids)),
    st.integers(0, 1),
    st.tuples(IDS, IDS),
)


@given(st.sets(NAMES, max_size=8), st.sets(NAMES, max_size=4))
def test_a_file_counts_unless_another_has_its_entries(there: set[DrainedName], taken: set[DrainedName]) -> None:
    sources = frozenset(map(str, taken))
    compacted = compacted_name(sources)
    names = [*map(str, there), *([compacted] if taken else [])]
    files = HourFiles(
        [Entry(name=name, is_dir=False, size=1, age_s=None) for name in names],
        {compacted: sources} if taken else {},
    )

    def is_alone(one: DrainedName) -> bool:
        others = [
            other for other in there if other != one and (other.pool, other.partition) == (one.pool, one.partition)
        ]
        merged = [other for other in taken if (other.pool, other.partition) == (one.pool, one.partition)]
        return not any(other.first <= one.first and one.last <= other.last for other in others) and not any(
            other.first <= one.last and one.first <= other.last for other in merged
        )

    assert files.live == sorted([*(str(one) for one in there if is_alone(one)), *([compacted] if taken else [])])
