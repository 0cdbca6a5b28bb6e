"""`manage.py up` as a user meets it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from queues.embedded import EmbeddedRedis
from queues.engine import list_pumps, open_engine
from queues.management.local import data_dir
from queues.management.local.data_dir import CannotStartError, reserve_port
from queues.pump.roles import roles_for
from tests.http.service import copy_bootstrapped
from tests.running.processes import REDIS, Family, manage, run_manage
from tests.running.services import Service, start_service, stop_service
from tests.support.redis_servers import needs_redis_6_2, redis_6_2, version_of
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for the tests that leave it as they found it. It is the first on its data directory."""
    service = start_service(tmp_path_factory.mktemp("up"), "--no-demo", first_time=True)
    yield service
    assert stop_service(service) == 0, "SIGTERM is a way to stop it"
    service.family.wait_gone()


def test_the_first_line_tells_a_program_all_it_needs(service: Service) -> None:
    said = service.said

    assert said.keys() == {"url", "namespace", "token", "admin", "redis"}
    assert said["namespace"] == "demo"
    assert said["admin"].keys() == {"username", "password"}
    assert said["redis"].startswith("unix://")
    service.publish("first", "hello", "delay=1")
    assert service.consume("first") == "hello"


def test_pages_and_their_styles_are_served(service: Service) -> None:
    assert service.call("GET", "/login/")[0] == 200
    assert service.call("GET", "/admin/login/")[0] == 200
    assert service.call("GET", "/api/docs")[0] == 200
    assert service.call("GET", "/static/taskq/base.css")[0] == 200


@pytest.mark.parametrize("part", [" serve ", "runpump", REDIS], ids=["serve", "runpump", "redis"])
def test_a_part_that_is_killed_comes_back_and_no_job_is_lost(service: Service, part: str) -> None:
    queue = f"kill-{part.strip(' /.')}"
    service.publish(queue, "kept", "delay=1")
    old = service.family.pid_of(part)

    os.kill(old, signal.SIGKILL)

    wait_until(lambda: service.family.pid_of(part) != old, or_fail="it was not started again")
    wait_until(service.is_ready, or_fail="the service did not come back", timeout_s=20)
    # Readiness is up to a second old.
    wait_until(lambda: service.call("GET", f"/api/demo/{queue}/size")[0] == 200, or_fail="its Redis did not come back")
    assert service.consume(queue) == "kept"


def test_nobody_is_refused_while_the_web_server_is_replaced(service: Service) -> None:
    old = service.family.pid_of(" serve ")
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: old not in service.family.members(), or_fail="it lives")

    assert service.call("GET", "/healthz")[0] == 200, "its connection waits for the next one"


def test_a_web_worker_that_is_killed_is_replaced(service: Service) -> None:
    workers = {pid for pid, line in service.family.members().items() if " serve " in line}
    worker = max(workers)

    os.kill(worker, signal.SIGKILL)

    wait_until(service.is_ready, or_fail="no new worker", timeout_s=20)
    assert worker not in service.family.members()


def test_secrets_are_kept_for_their_owner_only_and_never_logged(service: Service) -> None:
    secrets = (service.said["token"], service.said["admin"]["password"])

    assert (service.data_dir / "demo.json").stat().st_mode & 0o777 == 0o600
    logs = {path.name: path.read_text() for path in (service.data_dir / "log").iterdir()}
    assert {"redis.log", "server.log", "pump.log"} <= logs.keys()
    assert [name for name, text in logs.items() if any(secret in text for secret in secrets)] == []
    assert not any(secret in line for line in service.family.members().values() for secret in secrets)


def test_a_data_directory_serves_one_at_a_time_and_so_does_a_port(service: Service, tmp_path: Path) -> None:
    """Both are waited for, for seconds: another service may be about to end. Who holds the port does not matter."""
    port = service.address.rpartition(":")[2]
    family = Family(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor() as threads:
        other_port = other.getsockname()[1]
        commands = [
            ("up", "--port=0", f"--data={service.data_dir}"),
            ("up", f"--port={port}", f"--data={tmp_path / 'one'}"),
            ("up", f"--port={other_port}", f"--data={tmp_path / 'two'}"),
        ]
        same_data, same_port, no_taskq = threads.map(
            lambda command: run_manage(*command, env=family.environment()), commands
        )

    assert_one_line_error(same_data, f"another taskq is running on {service.data_dir}")
    assert_one_line_error(same_port, f"cannot listen on 127.0.0.1:{port}")
    assert_one_line_error(no_taskq, f"cannot listen on 127.0.0.1:{other_port}")
    assert service.is_ready()
    family.wait_gone()


def test_a_port_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    done = run_manage("up", "--port=65536", f"--data={tmp_path}", env=Family().environment())

    assert_one_line_error(done, "there is no port 65536")
    with pytest.raises(CannotStartError, match="there is no port -1"):
        reserve_port("127.0.0.1", -1)


def test_a_port_that_is_reserved_is_nobody_elses_and_nobody_answers_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_dir, "TAKEOVER_S", 0)
    with reserve_port("127.0.0.1", 0) as reserved:
        address = reserved.getsockname()
        with pytest.raises(CannotStartError, match="cannot listen on"):
            reserve_port(*address)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
    with reserve_port(*address) as again:
        assert again.getsockname() == address


def test_a_data_directory_that_cannot_be_written_is_an_error() -> None:
    done = run_manage("up", "--port=0", "--data=/proc/taskq", env=Family().environment())

    assert_one_line_error(done, "/proc/taskq")


def test_a_missing_redis_binary_is_an_error(tmp_path: Path) -> None:
    env = Family().environment(TASKQ_REDIS_SERVER="/nowhere/redis-server")

    done = run_manage("up", "--port=0", f"--data={tmp_path}", env=env)

    assert_one_line_error(done, "TASKQ_REDIS_SERVER=/nowhere/redis-server")


def test_a_redis_url_that_does_not_answer_is_an_error_without_its_password(tmp_path: Path) -> None:
    env = Family().environment(REDIS_URL="redis://:hush-hush@127.0.0.1:1/0")

    done = run_manage("up", "--port=0", f"--data={tmp_path}", env=env)

    assert_one_line_error(done, "127.0.0.1:1")
    assert "hush-hush" not in done.stderr


def test_a_redis_of_ones_own_is_used_and_none_is_started(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / "own", persistent=False) as redis:
        service = start_service(tmp_path / "data", "--no-pusher", pages_on_demand=True, REDIS_URL=redis.url)
        try:
            assert service.said["redis"] == redis.url
            assert not any(REDIS in line for line in service.family.members().values())
            service.publish("q", "hello")
            assert service.consume("q") == "hello"
        finally:
            status = stop_service(service, signal.SIGHUP)
    assert status == 0, "the end of a terminal stops it in order, too"
    service.family.wait_gone(timeout_s=0)


@needs_redis_6_2
def test_a_data_directory_of_redis_6_2_is_taken_over(tmp_path: Path) -> None:
    old = start_service(tmp_path, "--no-pusher", pages_on_demand=True, TASKQ_REDIS_SERVER=str(redis_6_2()))
    old.publish("ready", "now")
    old.publish("delayed", "later", "delay=0.1")
    old.publish("large", "x" * 1_000_000)
    with redis.Redis.from_url(old.said["redis"]) as client:
        assert version_of(client).startswith("Redis 6.2.")
    old.publish("ready", "now, too")
    status, leased = old.call("GET", "/api/demo/ready")
    stop_service(old)
    assert (status, [path.name for path in (tmp_path / "redis").glob("appendonly*")]) == (200, ["appendonly.aof"])

    new = start_service(tmp_path, "--no-pusher", pages_on_demand=True)
    try:
        assert [path.name for path in (tmp_path / "redis").glob("appendonly*")] == ["appendonlydir"]
        assert [new.consume(queue) for queue in ("ready", "delayed", "large")] == ["now, too", "later", "x" * 1_000_000]
        assert new.call("DELETE", f"/api/demo/ready/job/{leased['job_id']}")[0] == 204
    finally:
        stop_service(new)


def test_ctrl_c_answers_who_waits_and_stops_everything_and_a_restart_finds_everything(tmp_path: Path) -> None:
    service = start_service(tmp_path, "--demo", "--workers=2", pages_on_demand=True)
    service.publish("q", "kept")
    wait_until(lambda: _count(service, "order-close", "delayed") > 0, or_fail="no order waits for its payment")
    wait_until(lambda: _count(service, "emails", "working") > 0, or_fail="no email is being sent")
    wait_until(lambda: _count(service, "images", "ready") > 0, or_fail="no image waits")
    with ThreadPoolExecutor(max_workers=1) as threads:
        waiting = threads.submit(service.call, "GET", "/api/demo/nothing?timeout=60")
        wait_until(lambda: _has_waiter(service, "nothing"), or_fail="nobody waits")

        service.process.send_signal(signal.SIGINT)

        assert waiting.result(timeout=10) == (404, {"msg": "no job available"})
    _, errors = service.process.communicate(timeout=30)
    assert service.process.returncode == 0, errors
    assert errors == ""
    assert (tmp_path / "log" / "demo.log").read_text() == ""
    service.family.wait_gone(timeout_s=0)

    again = start_service(tmp_path, "--demo", "--workers=2", pages_on_demand=True)
    try:
        assert {**again.said, "url": ""} == {**service.said, "url": ""}
        assert again.consume("q") == "kept"
        _assert_killed_leaves_nothing(again)
    finally:
        stop_service(again)


def _assert_killed_leaves_nothing(service: Service) -> None:
    """When `up --demo --workers=2` itself is killed, all that it has started goes, too."""
    lines = sorted(service.family.members().values())
    assert sum(" serve " in line for line in lines) == 1, lines
    wait_until(lambda: _workers(service.family) == 2, or_fail="the workers did not start")
    assert [word for word in (REDIS, "runpump", "demo") if not any(word in line for line in lines)] == []

    service.process.kill()
    service.process.wait()

    service.family.wait_gone()


def _workers(family: Family) -> int:
    """Number of the web server's worker processes."""
    return sum("spawn_main" in line for line in family.members().values())


def test_for_people_it_prints_where_to_look_and_lines_that_work_and_a_second_ctrl_c_leaves_at_once(
    tmp_path: Path,
) -> None:
    copy_bootstrapped(tmp_path)
    family = Family(tmp_path)
    process = manage("up", "--port=0", f"--data={tmp_path}", env=family.environment())
    assert process.stdout is not None
    text = ""
    while "Ctrl-C" not in text:
        line = process.stdout.readline()
        assert line, process.communicate()
        text += line
    try:
        publish, consume, delete = re.findall(r"^ *(curl .*)$", text, re.MULTILINE)
        assert '"published"' in _shell(publish)
        job_id = re.search(r'"job_id":"(\w+)"', _shell(consume))
        assert job_id is not None
        assert _shell(delete.replace("JOB_ID", job_id[1])) == ""
        for page in re.findall(r"(http://\S+/(?:admin/|api/docs)?)$", text, re.MULTILINE):
            assert _shell(f"curl --location --output /dev/null --write-out '%{{http_code}}' {page}") == "200"
        port = re.search(r"dashboard +http://127\.0\.0\.1:(\d+)/", text)
        assert port is not None
        _assert_second_ctrl_c_ends_it(process, family, int(port[1]))
    finally:
        process.kill()
        process.communicate()
    family.wait_gone()


def _assert_second_ctrl_c_ends_it(process: subprocess.Popen[str], family: Family, port: int) -> None:
    """Where stopping takes long, clients are refused meanwhile, and a second Ctrl-C ends all at once."""
    os.kill(family.pid_of(REDIS), signal.SIGSTOP)  # so that stopping it takes long
    process.send_signal(signal.SIGINT)
    wait_until(lambda: all(" serve " not in line for line in family.members().values()), or_fail="it does not stop")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    process.send_signal(signal.SIGINT)

    process.communicate(timeout=5)
    assert process.returncode == 1
    family.wait_gone()


def test_each_role_of_its_pump_is_heard_of(service: Service) -> None:
    """The last test: the pump, which the tests before have not stopped for seconds, need not be waited for."""
    with contextlib.closing(open_engine(service.said["redis"])) as engine:
        roles = {role.name for role in roles_for("default")}
        wait_until(
            lambda: any(beat.roles.keys() == roles for beat in engine.run(list_pumps())),
            or_fail="a role is not heard of",
            timeout_s=30,
        )


def assert_one_line_error(done: subprocess.CompletedProcess[str], text: str) -> None:
    assert done.returncode != 0
    assert done.stdout == ""
    assert text in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def _has_waiter(service: Service, queue: str) -> bool:
    with redis.Redis.from_url(service.said["redis"]) as client:
        members = [member for key in client.scan_iter("*:waiting") for member in client.zrange(key, 0, -1)]
    return any(member.endswith(f"/{queue}".encode()) for member in members)


def _count(service: Service, queue: str, state: str) -> int:
    return int(service.call("GET", f"/api/demo/{queue}/stats")[1].get(state, 0))


def _shell(line: str) -> str:
    done = subprocess.run(
        line.replace("curl ", "curl --silent --show-error ", 1), shell=True, capture_output=True, text=True, check=True
    )
    return done.stdout
