"""Workers and what they run are seen without reload, and are told what to do by buttons."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from queues.engine import Engine, annotate, open_engine, worker_beat
from queues.engine.stats.heartbeats import WorkerBeat
from tests.browser.looking import SOON_MS
from tests.browser.service import Shop
from tests.dashboard.workers import beat, commands, running
from tests.running.processes import ROOT
from tests.support.python_path import python_path


@pytest.fixture
def engine(shop: Shop) -> Iterator[Engine]:
    """On the Redis of the service."""
    engine = open_engine(shop.redis.url)
    yield engine
    engine.close()


def say(engine: Engine, worker: str, percent: float, job_id: str, *, state: str = "running") -> None:
    job = running(job_id, queue="rendering", percent=percent, note=f"{percent:.0f} of 100 frames")
    beat(engine, worker, namespace="demo", host=worker, running=[job], state=state, queues={"rendering": 1})


def test_a_worker_and_its_progress_appear_by_themselves(page: Page, shop: Shop, engine: Engine) -> None:
    page.goto("/workers/?q=studio-1")
    expect(page.get_by_role("heading", name="No matching workers")).to_be_visible()
    shop.put("rendering", b'{"task":"film.render"}')
    job_id = shop.take("rendering", consumer="studio-1", ttr=600)

    say(engine, "studio-1", 10, job_id)
    worker = page.get_by_role("article").filter(has_text="studio-1")
    expect(worker).to_contain_text("10 of 100 frames", timeout=SOON_MS)
    say(engine, "studio-1", 60, job_id)

    expect(worker).to_contain_text("60 of 100 frames", timeout=SOON_MS)
    expect(worker.get_by_role("progressbar")).to_have_attribute("value", "60")
    worker.get_by_role("link", name=job_id).click()
    expect(page).to_have_url(f"{shop.url}/queues/default/demo/rendering/jobs/{job_id}/")
    page.get_by_role("link", name="studio-1").click()
    expect(page).to_have_url(f"{shop.url}/workers/?q=studio-1#worker-studio-1")


def test_buttons_ask_first_and_say_what_was_done(page: Page, shop: Shop, engine: Engine) -> None:
    shop.put("rendering", b'{"task":"film.render"}')
    job_id = shop.take("rendering", consumer="studio-2", ttr=600)
    say(engine, "studio-2", 10, job_id)
    page.goto("/workers/?q=studio-2")
    worker = page.get_by_role("article").filter(has_text="studio-2")

    worker.get_by_role("button", name="Quiet").click()
    expect(page.locator(".banner[role=status]")).to_contain_text("Worker studio-2 was told to take no more jobs")
    say(engine, "studio-2", 10, job_id, state="quiet")
    expect(worker.get_by_role("button", name="Resume")).to_be_visible(timeout=SOON_MS)

    worker.get_by_role("button", name=f"Cancel {job_id}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Cancel this job?")
    dialog.get_by_role("button", name="Cancel job").click()

    expect(page.locator(".banner[role=status]")).to_contain_text(f"Job {job_id} is cancelled")
    expect(page).to_have_url(f"{shop.url}/workers/?q=studio-2")
    given = [command for command in commands(engine, "demo") if command[1] in ("studio-2", job_id)]
    assert given == [("quiet", "studio-2"), ("cancel", job_id)]


def test_the_log_of_a_job_is_read_while_it_runs(page: Page, shop: Shop, engine: Engine) -> None:
    shop.put("rendering", b'{"task":"film.render","args":["intro"],"kwargs":{"fps":24}}')
    job_id = shop.take("rendering", consumer="studio-3", ttr=600)
    say(engine, "studio-3", 10, job_id)
    page.goto(f"/queues/default/demo/rendering/jobs/{job_id}/")
    task = page.get_by_role("region", name="Task")
    expect(task).to_contain_text("film.render")
    expect(task).to_contain_text("fps")

    queue = engine.queue("demo", "rendering")
    engine.run(annotate(queue, job_id, {}, lines=["opened the camera"], keep_ms=600_000))

    expect(page.get_by_text("opened the camera")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "10")


def test_a_worker_that_ends_goes_from_the_page(page: Page, engine: Engine) -> None:
    say(engine, "studio-4", 10, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    page.goto("/workers/?q=studio-4")
    expect(page.get_by_role("article")).to_have_count(1)

    last = WorkerBeat(
        worker="studio-4",
        host="studio-4",
        pid=1,
        version="",
        namespace="demo",
        state="stopping",
        queues={},
        concurrency=1,
        up_ms=0,
        done=0,
        failed=0,
        cpu_percent=0,
        memory_bytes=0,
    )
    engine.run(worker_beat(last, since_ms=0, ends=True))

    expect(page.get_by_role("heading", name="No matching workers")).to_be_visible(timeout=SOON_MS)


TASKS = """
import asyncio
from taskq import App, Context

app = App()

@app.task(queue="films")
async def render(name: str, fps: int, ctx: Context) -> None:
    for frame in range(100_000):
        ctx.progress(frame / 1_000, f"frame {frame}")
        ctx.log(f"rendered {frame}")
        await asyncio.sleep(0.2)
"""


@pytest.fixture
def real_worker(shop: Shop, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`taskq worker tasks`."""
    (tmp_path / "tasks.py").write_text(TASKS)
    environment = os.environ | {
        "TASKQ_URL": shop.redis.url,
        "TASKQ_NAMESPACE": "demo",
        "PYTHONPATH": python_path(ROOT, tmp_path),
    }
    worker = subprocess.Popen([sys.executable, "-m", "taskq", "worker", "tasks"], cwd=tmp_path, env=environment)
    yield worker
    worker.kill()
    worker.wait()


def test_a_real_worker_is_followed_and_does_as_it_is_told(
    page: Page, shop: Shop, real_worker: subprocess.Popen[bytes]
) -> None:
    job_id = shop.put("films", b'{"task":"tasks.render","args":["intro"],"kwargs":{"fps":60}}')
    page.goto(f"/workers/?q=:{real_worker.pid}:")
    worker = page.get_by_role("article").filter(has_text=f"process {real_worker.pid}")
    expect(worker.get_by_role("row").filter(has_text=job_id)).to_contain_text("frame", timeout=SOON_MS)

    worker.get_by_role("link", name=job_id).click()
    expect(page.get_by_text("rendered 1\n")).to_be_visible(timeout=SOON_MS)
    page.wait_for_load_state()  # before, the new page has no script that asks first
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()

    expect(page.locator(".banner[role=status]")).to_contain_text(f"Job {job_id} is cancelled")
    expect(page.locator("h1 + .pill")).to_have_text("Dead", timeout=SOON_MS)
    expect(page.locator(".life")).to_contain_text("cancelled")

    page.goto(f"/workers/?q=:{real_worker.pid}:")
    worker.get_by_role("button", name="Quiet").click()
    expect(worker).to_contain_text("takes no more jobs", timeout=SOON_MS)
    worker.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop worker").click()
    expect(page.get_by_role("heading", name="No matching workers")).to_be_visible(timeout=SOON_MS)
    assert real_worker.wait(timeout=20) == 0
