"""Schedules that tasks declare, and their sync with a real service."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from taskq import App, NotConfiguredError, Schedule
from taskq.brokers.http import HttpBroker
from taskq.schedule_sync import contents, sync_schedules
from tests.http.client import Client
from tests.http.service import Server, site_fixtures
from tests.sdk.conftest import work
from tests.support.python_path import python_path

ROOT = Path(__file__).parents[2]
TASKS_PY = """\
from taskq import App

app = App()

@app.task(queue="mail", cron="*/5 * * * *", zone="Europe/Berlin", args=["x"])
def send(to): ...
"""


site, server = site_fixtures("sdk-schedules")


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    yield server.client
    for one in kept(server.client):
        server.client.call("DELETE", f"/api/{{ns}}/schedules/{one}")


@pytest.fixture
def app(server: Server, client: Client) -> Iterator[App]:
    account = server.site.account
    app = App(server.url, namespace=account["namespace"], token=account["token"])
    yield app
    app.close()


def kept(client: Client) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in client.call("GET", "/api/{ns}/schedules").json["schedules"]}


def sync(app: App, name: str) -> Any:
    async def synced() -> Any:
        try:
            return await sync_schedules(app, name)
        finally:
            await app.aclose()

    return asyncio.run(synced())


def again(app: App) -> App:
    """The app of the next deploy, in which nothing is declared yet."""
    fresh = App()
    fresh.broker = app.broker
    return fresh


def test_a_sync_creates_changes_and_removes_what_the_code_declares(app: App, client: Client) -> None:
    @app.task(name="shop.close", cron="30 2 * * *", zone="Europe/Berlin", args=[7], retry=4, limit_key="of-{order}")
    def close(order: int) -> None: ...

    @app.task(name="shop.look", every=timedelta(minutes=5))
    def look() -> None: ...

    first = sync(app, "shop")
    known = kept(client)
    assert (first.created, first.updated, first.removed) == (("shop.close", "shop.look"), (), ())
    assert known["shop.close"]["source"] == "code"
    assert (known["shop.close"]["app"], known["shop.close"]["tries"], known["shop.close"]["limit_key"]) == (
        "shop",
        4,
        "of-7",
    )
    assert (known["shop.close"]["cron"], known["shop.close"]["zone"]) == ("30 2 * * *", "Europe/Berlin")
    assert known["shop.look"]["every"] == 300

    second = sync(app, "shop")
    assert (second.created, second.updated) == ((), ("shop.close", "shop.look"))
    assert kept(client)["shop.look"]["next_ms"] == known["shop.look"]["next_ms"]

    later = again(app)
    later.task(name="shop.close", cron="0 3 * * *", priority=3)(lambda: None)
    third = sync(later, "shop")
    assert (third.updated, third.removed) == (("shop.close",), ("shop.look",))
    (close_now,) = kept(client).values()
    assert (close_now["name"], close_now["cron"], close_now["priority"]) == ("shop.close", "0 3 * * *", 3)
    assert close_now["limit_key"] is None


def test_two_apps_and_people_leave_each_others_schedules_alone(app: App, client: Client) -> None:
    client.call("PUT", "/api/{ns}/schedules/peoples", '{"queue": "q", "every": 60}')
    app.task(name="a.task", every=60)(lambda: None)
    other = again(app)
    other.task(name="b.task", every=60)(lambda: None)

    sync(app, "a")
    sync(other, "b")
    sync(again(app), "b")

    assert set(kept(client)) == {"peoples", "a.task"}
    thief = again(app)
    thief.task(name="peoples", every=60)(lambda: None)
    with pytest.raises(NotConfiguredError, match="peoples: people made a schedule of this name"):
        sync(thief, "a")


def test_a_pause_by_people_outlives_the_next_deploy(app: App, client: Client) -> None:
    app.task(name="a.task", every=60)(lambda: None)
    sync(app, "a")
    client.call("POST", "/api/{ns}/schedules/a.task/pause")

    sync(app, "a")

    assert kept(client)["a.task"]["state"] == "paused"


def test_what_a_schedule_publishes_runs_the_task_with_its_arguments(app: App, client: Client) -> None:
    ran: list[Any] = []

    @app.task(queue="by-clock", every=3600, args=["x"], kwargs={"subject": "y"})
    def send(to: str, *, subject: str) -> None:
        ran.append((to, subject))

    sync(app, "a")
    (name,) = kept(client)
    client.call("POST", f"/api/{{ns}}/schedules/{name}/run")

    work(app, queues={"by-clock": 1})

    assert ran == [("x", "y")]


def test_a_worker_syncs_when_it_starts(app: App, client: Client) -> None:
    app.task(name="a.task", every=60)(lambda: None)
    work(app, schedules_of="tasks")
    assert kept(client)["a.task"]["app"] == "tasks"

    named = again(app)
    named.name = "tasks"
    work(named, schedules_of="something else")
    assert kept(client) == {}


def test_the_command_syncs_and_says_what_it_did(server: Server, client: Client, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS_PY)
    account = server.site.account
    where = {"TASKQ_URL": server.url, "TASKQ_TOKEN": account["token"], "TASKQ_NAMESPACE": account["namespace"]}
    where |= {"PYTHONPATH": python_path(ROOT)}

    def run() -> str:
        command = [sys.executable, "-m", "taskq", "schedules", "sync", "tasks"]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | where, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    assert run() == "created tasks.send\n"
    assert run() == "kept tasks.send\n"
    (tmp_path / "tasks.py").write_text("from taskq import App\n\napp = App()\n")
    assert run() == "removed tasks.send\n"
    assert run() == "no schedules are declared\n"


def test_without_a_service_the_error_says_what_is_needed(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKQ_HTTP_URL", raising=False)
    app = App(redis_url, namespace="sdk")
    app.task(every=60)(lambda: None)

    with pytest.raises(NotConfiguredError, match="reaches Redis directly: set TASKQ_HTTP_URL"):
        sync(app, "a")


def test_an_app_on_redis_may_name_the_service_besides(
    server: Server, client: Client, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_HTTP_URL", server.url)
    monkeypatch.setenv("TASKQ_TOKEN", server.site.account["token"])
    app = App(redis_url, namespace=server.site.account["namespace"])
    app.task(name="a.task", every=60)(lambda: None)

    sync(app, "a")

    assert "a.task" in kept(client)


def test_an_app_on_redis_may_be_given_the_service(server: Server, client: Client, redis_url: str) -> None:
    account = server.site.account
    app = App(redis_url, namespace=account["namespace"], token=account["token"], service_url=server.url)
    app.task(name="a.task", every=60)(lambda: None)

    sync(app, "a")

    assert "a.task" in kept(client)


def test_in_django_the_settings_say_where_the_service_is() -> None:
    from taskq.django.connection_settings import ConnectionSettings
    from taskq.django.django_app import DjangoApp

    app = DjangoApp(lambda: ConnectionSettings("redis://x", "shop", "secret", "https://taskq.example.com"))

    assert app.service == ("https://taskq.example.com", "secret")


def test_mistakes_are_told_where_the_task_is_declared() -> None:
    app = App("redis://localhost:1/0")

    with pytest.raises(NotConfiguredError, match="one of cron=, every= and at="):
        app.task(cron="@daily", every=5)
    with pytest.raises(NotConfiguredError, match="need cron= or every="):
        app.task(zone="Europe/Berlin")
    with pytest.raises(NotConfiguredError, match="at= needs a time with a zone"):
        Schedule(at=datetime(2030, 1, 1))  # noqa: DTZ001
    app.task(name="t", every=5, schedules=[Schedule(every=6)])(lambda: None)
    with pytest.raises(NotConfiguredError, match="two schedules named t: give one of them a name="):
        contents(app)


def test_a_schedule_says_all_that_the_api_takes() -> None:
    app = App("redis://localhost:1/0")
    at = datetime(2030, 1, 1, tzinfo=UTC)
    rules = Schedule(at=at, name="once", catch_up="all", catch_up_max=7, jitter=30, overlap="skip")
    app.task(name="t", schedules=[rules], expires=90, retention=60, attributes={"a": "b"})(lambda: None)

    (content,) = contents(app).values()

    data = content.pop("data")
    assert isinstance(data, str)
    assert content == {
        "at": at.timestamp(),
        "queue": "default",
        "tries": 25,
        "ttl": 90,
        "priority": 0,
        "backoff": "sidekiq@failures",
        "retention": 60,
        "attributes": {"a": "b"},
        "catch_up": "all",
        "catch_up_max": 7,
        "jitter": 30,
        "overlap": "skip",
    }


def test_the_api_is_reached_below_its_path() -> None:
    broker = HttpBroker("http://localhost:1", "ns", "t" * 43)

    assert broker.put_schedule("a.b", {}).path == "schedules/a.b"  # type: ignore[attr-defined]
