"""The page of a job that Redis no longer has, by the events in the lake."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queues.engine import JobState, delete_jobs
from queues.engine.names import published_ms
from queues.lake import job_events
from queues.lake.compact import compact_day
from queues.lake.files import footer_of
from queues.lake.job_events import find_job_events
from queues.services.jobs import gone
from tests.dashboard.people import POOL, SHOP, People
from tests.dashboard.shop import AT, QUEUE, Shop
from tests.support.reports import event, write_events

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
HOSTILE = "</pre><script>boom\u202e"


@pytest.fixture
def lake(tmp_path: Path, settings: Any) -> Path:
    settings.TASKQ_LAKE_URL = str(tmp_path / "lake")
    return tmp_path / "lake"


def life_of(job_id: str, *, hours: int = 0) -> list[dict[str, Any]]:
    """Published, failed once, and acked `hours` later; and others of the same times."""
    begun = datetime.fromtimestamp(published_ms(job_id) / 1000, UTC)
    said = {"pool": POOL, "namespace": SHOP, "queue": QUEUE, "job": job_id}
    return [
        event("published", begun, size=7, **said),
        event("consumed", begun + timedelta(seconds=2), attempt=1, wait_ms=2_000, worker="w-1", size=7, **said),
        event("failed", begun + timedelta(seconds=3), attempt=1, run_ms=1_000, error=HOSTILE, worker="w-1", **said),
        event("consumed", begun + timedelta(hours=hours, seconds=9), attempt=2, wait_ms=5, worker="w-2", **said),
        event("acked", begun + timedelta(hours=hours, seconds=10), attempt=2, run_ms=1_500, worker="w-2", **said),
        event("deleted", begun + timedelta(seconds=4), **said | {"job": OTHER}),
        event("deleted", begun + timedelta(seconds=4), **said | {"namespace": "bank"}),
        event("deleted", begun + timedelta(seconds=4), **said | {"pool": "other"}),
        event("deleted", begun + timedelta(seconds=4), **said | {"queue": "other"}),
    ]


def gone_job(shop: Shop) -> str:
    job_id = shop.job_in(JobState.READY)
    shop.engine.run(delete_jobs(shop.queue, [job_id]))
    return job_id


def test_a_gone_job_shows_what_the_lake_knows(bob: Client, people: People, shop: Shop, lake: Path) -> None:
    job_id = gone_job(shop)
    nothing = bob.get(f"{AT}jobs/{job_id}/events")
    assert nothing.status_code == 200
    assert "no event of it was found" in nothing.text
    write_events(lake, [one | {"partition": shop.queue.partition} for one in life_of(job_id)])
    rename(lake, shop.queue.partition)

    answer = bob.get(f"{AT}jobs/{job_id}/events")

    assert answer.status_code == 200
    assert "<html" in answer.text
    assert "<html" not in bob.get(f"{AT}jobs/{job_id}/events", headers={"X-Live": "1"}).text
    told = html.unescape(" ".join(re.sub(r"<[^>]+>", " ", answer.text).split()))
    assert "The job was acked" in told
    assert "waited 2.0 s" in told or "waited 2 s" in told
    assert "after 1.5 s by w-2" in told
    assert re.findall(r'<li class="moment (\w+)">', answer.text) == [
        "published",
        "consumed",
        "failed",
        "consumed",
        "acked",
    ]
    assert "<script>boom" not in answer.text
    for path in ("", "events"):
        assert people.charlie.browser.get(f"{AT}jobs/{job_id}/{path}").status_code == 404


def test_the_page_of_a_gone_job_does_not_wait_for_the_lake(
    bob: Client, shop: Shop, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the lake is read")

    monkeypatch.setattr(gone, "find_job_events", fail)

    answer = bob.get(f"{AT}jobs/{gone_job(shop)}/")

    assert answer.status_code == 200
    assert "Redis does not have this job." in answer.text
    assert "/events" in answer.text
    assert bob.get(f"{AT}jobs/no-id/").status_code == 404


def rename(lake: Path, partition: int) -> None:
    """As the drain of that partition names files."""
    for file in lake.rglob("*.parquet"):
        file.rename(file.with_name(file.name.replace("-p0000-", f"-p{partition:04d}-")))


def search(lake: Path, job_id: str, **more: Any) -> tuple[list[str], bool]:
    named: dict[str, Any] = {"pool": POOL, "namespace": SHOP, "queue": QUEUE, "partition": 0, "job_id": job_id}
    named |= {"published_ms": published_ms(job_id), "now_ms": published_ms(job_id) + 3 * 86_400_000}
    found = find_job_events(str(lake), **named | more)
    return [one.kind for one in found.events], found.is_whole


LIFE = ["published", "consumed", "failed", "consumed", "acked"]
JOB = "01K0Q6ZQ8Y3VX0N4T6R7S8W9AB"


@pytest.mark.parametrize("is_compacted", [False, True])
def test_the_hours_up_to_its_end_are_looked_through(tmp_path: Path, *, is_compacted: bool) -> None:
    write_events(tmp_path, life_of(JOB, hours=30))
    write_events(tmp_path, life_of(OTHER)[:1])
    begun = datetime.fromtimestamp(published_ms(JOB) / 1000, UTC)
    if is_compacted:
        write_events(tmp_path, [event("published", begun + timedelta(seconds=5), queue="z", job=OTHER)])
        assert compact_day(str(tmp_path), begun.date()).files_after == 1

    assert search(tmp_path, JOB) == (LIFE, True)


def test_files_of_other_partitions_and_later_hours_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_events(tmp_path, life_of(JOB))
    rename(tmp_path, 3)
    later = datetime.fromtimestamp(published_ms(JOB) / 1000, UTC) + timedelta(hours=5)
    write_events(tmp_path, [event("published", later, job=OTHER)])
    opened: list[str] = []

    def note(storage: Any, path: str, file: Any) -> Any:
        opened.append(path)
        return footer_of(storage, path, file)

    monkeypatch.setattr(job_events, "footer_of", note)

    assert search(tmp_path, JOB, partition=2) == ([], True)
    assert opened == []
    assert search(tmp_path, JOB, partition=3) == (LIFE, True)
    assert len(opened) == 1, "its end is found in the first hour"


@pytest.mark.parametrize(("bound", "value"), [("FILES_MAX", 0), ("BYTES_MAX", 10), ("SECONDS_MAX", -1.0)])
def test_a_search_that_is_at_its_bound_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: float
) -> None:
    write_events(tmp_path, life_of(JOB))
    monkeypatch.setattr(job_events, bound, value)

    assert search(tmp_path, JOB, seconds=job_events.SECONDS_MAX) == ([], False)


def test_a_damaged_file_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    write_events(tmp_path, life_of(JOB))
    (file,) = tmp_path.rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9])

    assert search(tmp_path, JOB) == ([], False)


def test_damaged_files_are_named_on_the_page_and_in_the_log(
    bob: Client, shop: Shop, lake: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = gone_job(shop)
    write_events(lake, [one | {"partition": shop.queue.partition} for one in life_of(job_id)])
    rename(lake, shop.queue.partition)
    sound = next(lake.rglob("*.parquet"))
    damaged = sound.with_name("made.parquet")
    damaged.write_bytes(sound.read_bytes()[:-9])

    answer = bob.get(f"{AT}jobs/{job_id}/events")

    assert f"Damaged files that were left out: <code>{damaged.name}</code>" in answer.text
    assert str(lake) not in answer.text
    (record,) = [one for one in caplog.records if one.__dict__.get("action") == "job.damaged_file"]
    assert (record.__dict__["file"], record.__dict__["job_id"]) == (f"file://{damaged}", job_id)
    assert record.__dict__["reason"].startswith("not readable as Parquet")


def test_a_job_of_the_future_is_not_looked_for(tmp_path: Path) -> None:
    now_ms = round(timezone.now().timestamp() * 1000)

    assert search(tmp_path, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", now_ms=now_ms)[0] == []
