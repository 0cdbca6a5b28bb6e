"""URLs of a lake keep what they say of hosts, ports and accounts; a file system's own paths do not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from queues.lake.damage import find_damaged
from queues.lake.files import DamagedFile, read_day
from queues.lake.schema import arrow_schema
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import parquet_bytes
from tests.support.reports import at, event

DAY = date(2026, 3, 29)


class FarFileSystem(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Takes the host and port of a URL for what they are, as file systems of HDFS do: not a part of the path."""

    protocol = "far"
    root_marker = "/"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]

    def __init__(self, host: str = "", port: int = 0, **options: Any) -> None:
        super().__init__(**options)
        if (host, port) != ("nn.example.org", 8020):
            raise OSError(f"there is no {host}:{port}")

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(urlsplit(path).path if "://" in path else path))

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        parts = urlsplit(path)
        return {"host": parts.hostname, "port": parts.port}


@pytest.fixture
def _far() -> Iterator[None]:
    fsspec.register_implementation("far", FarFileSystem, clobber=True)
    yield
    FarFileSystem.store.clear()
    FarFileSystem.pseudo_dirs[:] = [""]
    FarFileSystem.clear_instance_cache()


@pytest.mark.parametrize("root", ["far://nn.example.org:8020/", "far://nn.example.org:8020/data/lake"])
@pytest.mark.usefixtures("_far")
def test_a_file_is_found_again_by_its_url(root: str) -> None:
    storage = Storage(root)
    folder = f"date={DAY}/hour=09"
    row = event("published", at(DAY, 9), job="01J") | {"partition": 0, "entry_ms": 1, "entry_seq": 1, "line": 0}
    sound = parquet_bytes(pa.Table.from_pylist([row], arrow_schema()))
    storage.put(f"{folder}/sound.parquet", sound)
    storage.put(f"{folder}/damaged.parquet", sound[:-1])
    broken = bytearray(sound)
    broken[len(broken) // 8] ^= 1
    storage.put(f"{folder}/broken.parquet", bytes(broken))

    found = read_day(root, DAY)

    url = f"{root.rstrip('/')}/{folder}"
    live = {file.url: file for file in found.live}
    assert set(live) == {f"{url}/sound.parquet", f"{url}/broken.parquet"}
    assert [file.url for file in found.corrupt] == [f"{url}/damaged.parquet"]
    reason = "is damaged: its data is not what was written"
    assert find_damaged(found.live) == [DamagedFile(f"{url}/broken.parquet", reason, 1)]
    assert storage.url("") == root
    assert [entry.name for entry in storage.list("")] == [f"date={DAY}"]


@pytest.mark.usefixtures("_far")
def test_an_error_names_the_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage("far://nn.example.org:8020/lake")

    def refuse(*_args: Any, **_options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(storage.fs, "ls", refuse)
    with pytest.raises(LakeError, match=r"far://nn\.example\.org:8020/lake/_gaps: Permission denied"):
        storage.list("_gaps")


@pytest.mark.parametrize(
    ("root", "url"),
    [
        ("s3://bucket/lake/", "s3://bucket/lake/a"),
        ("s3://bucket", "s3://bucket/a"),
        ("memory://lake", "memory://lake/a"),
    ],
)
def test_a_url_is_put_together_as_it_was_given(root: str, url: str) -> None:
    if root.startswith("s3:"):
        pytest.importorskip("s3fs")
    assert Storage(root).url("a") == url
