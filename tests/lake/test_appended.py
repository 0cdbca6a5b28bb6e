"""Redis's own count of a day's events: what was written is read, or the file is named as damaged."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from queues.lake.appended import read_appended, write_appended
from queues.lake.storage import Storage

DAY = date(2026, 3, 30)


@pytest.mark.parametrize("partitions", [[123_456], [0, 1_050, 7]])
def test_no_flipped_bit_changes_a_number_unnoticed(tmp_path: Path, partitions: list[int]) -> None:
    storage = Storage(str(tmp_path))
    assert write_appended(storage, "default", DAY, partitions)
    assert not write_appended(storage, "default", DAY, [1])
    (file,) = tmp_path.rglob("*.json")
    sound = file.read_bytes()
    assert read_appended(storage, DAY) == ({"default": sum(partitions)}, [])

    for bit in range(8 * len(sound)):
        file.write_bytes(sound[: bit // 8] + bytes([sound[bit // 8] ^ 1 << bit % 8]) + sound[bit // 8 + 1 :])
        events, damaged = read_appended(storage, DAY)
        assert events == {"default": sum(partitions)} or (events, [url for url, _ in damaged]) == (
            {},
            [f"file://{file}"],
        )
