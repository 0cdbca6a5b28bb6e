"""The processes that make up a local service."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping
from typing import Final

from django.conf import settings

from queues.embedded import Answer, EmbeddedRedis
from queues.supervision import Child, ChildSpec, last_lines

from .data_dir import CannotStartError, DataDir

ASK_TIMEOUT_S: Final = 5.0

REDIS_HUNG_AFTER_S: Final = 30.0
"""When it is killed. Mostly it waits for the disk: killing it loses what it could not write, and the new one reads all
its data from that disk before it serves."""


def redis_part(data_dir: DataDir, redis: EmbeddedRedis, *, env: Mapping[str, str]) -> ChildSpec:
    """The embedded Redis. It inherits the lock, so that no other service starts on its files while it still writes."""
    return ChildSpec(
        name="redis",
        argv=tuple(redis.command()),
        env=env,
        log=data_dir.log("redis"),
        is_ready=lambda: redis.answer() is Answer.READY,
        is_loading=lambda: redis.answer() is Answer.LOADING,
        is_tied=False,
        keep_fds=(data_dir.lock_fd,),
        answers=lambda: redis.answer() is not Answer.NOTHING,
        hung_after_s=settings.TASKQ_HUNG_AFTER_S,
        killed_after_s=REDIS_HUNG_AFTER_S,
    )


def server_part(
    data_dir: DataDir, *, host: str, port: int, workers: int, url: str, env: Mapping[str, str]
) -> ChildSpec:
    """The web server; ready when Redis and the database answer through it."""
    return ChildSpec(
        name="server",
        argv=_manage("serve", f"--host={host}", f"--port={port}", f"--workers={workers}"),
        env=env,
        log=data_dir.log("server"),
        is_ready=lambda: answers(url, "/readyz"),
        hung_after_s=settings.TASKQ_HUNG_AFTER_S,
    )


def pump_part(data_dir: DataDir, *, env: Mapping[str, str]) -> ChildSpec:
    """The background roles; ready when they beat."""
    started = time.time()

    def beats() -> bool:
        return data_dir.heartbeat_file.exists() and data_dir.heartbeat_file.stat().st_mtime >= started

    return ChildSpec(
        name="pump",
        argv=_manage("runpump", f"--heartbeat={data_dir.heartbeat_file}"),
        env=env,
        log=data_dir.log("pump"),
        is_ready=beats,
        hung_after_s=settings.TASKQ_HUNG_AFTER_S,
    )


def pusher_part(data_dir: DataDir, *, env: Mapping[str, str]) -> ChildSpec:
    """What delivers to push endpoints. Nothing waits for it: without endpoints it only looks for some."""
    return ChildSpec(
        name="pusher",
        argv=_manage("runpusher"),
        env=env,
        log=data_dir.log("pusher"),
        is_ready=lambda: True,
        hung_after_s=settings.TASKQ_HUNG_AFTER_S,
    )


def demo_part(data_dir: DataDir, *, url: str, namespace: str, token: str, env: Mapping[str, str]) -> ChildSpec:
    """The demo load. The token goes by the environment: command lines are for all to see."""
    return ChildSpec(
        name="demo",
        argv=_manage("demo"),
        env={**env, "TASKQ_URL": url, "TASKQ_NAMESPACE": namespace, "TASKQ_TOKEN": token},
        log=data_dir.log("demo"),
        is_ready=lambda: True,
        hung_after_s=settings.TASKQ_HUNG_AFTER_S,
        stop_timeout_s=3.0,
    )


def bootstrap(data_dir: DataDir, *, env: Mapping[str, str]) -> None:
    """Prepare database and account. Raises CannotStartError."""
    log = data_dir.log("bootstrap")
    with log.open("wb") as output:
        argv = _manage("bootstrap", f"--account={data_dir.account_file}")
        child = Child(argv, env=dict(env), stdout=output, stderr=output)
        child.wait()
    if child.status != 0:
        reason = "".join(last_lines(log, count=1))
        raise CannotStartError(f"cannot prepare the database: {reason or 'no reason given'} (all of it: {log})")


def answers(url: str, path: str) -> bool:
    """Whether GET of `path` says 200."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=ASK_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _manage(*arguments: str) -> tuple[str, ...]:
    return (*settings.TASKQ_COMMAND, *arguments)
