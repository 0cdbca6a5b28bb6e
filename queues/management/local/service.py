"""The processes that make up a local service, and their start in the order in which they need each other."""

from __future__ import annotations

import http.client
import ipaddress
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from queues.embedded import Answer, EmbeddedRedis, EmbeddedRedisError
from queues.engine import probe_store, redact_url
from queues.supervision import Child, ChildSpec, Supervisor, last_lines

from .data_dir import Account, CannotStartError, DataDir, lock_data_dir, reserve_port

READY_TIMEOUT_S: Final = 60.0
ASK_TIMEOUT_S: Final = 5.0

REDIS_HUNG_AFTER_S: Final = 30.0
"""When it is killed. Mostly it waits for the disk: killing it loses what it could not write, and the new one reads all
its data from that disk before it serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the person who starts it may choose."""

    data_dir: Path
    host: str
    port: int
    workers: int
    demo: bool
    pusher: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service that answers. `listener`: what its web server listens on, also while that is replaced."""

    url: str
    listener: socket.socket
    redis_url: str
    account: Account
    data_dir: Path


def start_service(supervisor: Supervisor, options: Options) -> Running | None:
    """Start everything and return once all of it answers; None if asked to stop meanwhile.

    A Redis of ours is started unless REDIS_URL names one. Raises CannotStartError, and what the supervisor raises.
    """
    data_dir = lock_data_dir(options.data_dir)
    listener = reserve_port(options.host, options.port)
    url = f"http://{_shown_host(options.host)}:{listener.getsockname()[1]}"
    env = _environment(options)
    redis_url = _start_redis(supervisor, data_dir, env)
    if not supervisor.wait_ready(timeout_s=READY_TIMEOUT_S):
        return None
    bootstrap(data_dir, env=env)
    account = Account.read(data_dir.account_file)
    assert account is not None, "bootstrap has written it"
    supervisor.start(server_part(data_dir, fd=listener.fileno(), workers=options.workers, url=url, env=env))
    supervisor.start(pump_part(data_dir, env=env))
    if not supervisor.wait_ready(timeout_s=READY_TIMEOUT_S):
        return None
    if options.pusher:
        supervisor.start(pusher_part(data_dir, env=env))
    if options.demo:
        supervisor.start(demo_part(data_dir, url=url, namespace=account.namespace, token=account.token, env=env))
    return Running(url=url, listener=listener, redis_url=redis_url, account=account, data_dir=data_dir.path)


def _start_redis(supervisor: Supervisor, data_dir: DataDir, env: dict[str, str]) -> str:
    """Use the Redis of REDIS_URL or start one; enter its URL into `env`. The URL as it may be shown."""
    chosen = env.get("REDIS_URL", "").strip()
    if chosen:
        store = probe_store(chosen)
        if not store.reachable:
            raise CannotStartError(f"REDIS_URL {redact_url(chosen)} does not answer: {store.error}")
        return redact_url(chosen)
    redis = EmbeddedRedis(data_dir.redis_dir, persistent=True)
    try:
        supervisor.start(redis_part(data_dir, redis, env=env))
    except EmbeddedRedisError as error:
        raise CannotStartError(str(error)) from error
    env["REDIS_URL"] = redis.url
    return redis.url


def _environment(options: Options) -> dict[str, str]:
    env = {**os.environ, "TASKQ_DATA_DIR": str(options.data_dir), "PYTHONUNBUFFERED": "1"}
    if not _is_loopback(options.host) and not env.get("ALLOWED_HOSTS", "").strip():
        # A server that listens on more than this machine is reached by names that are not known here.
        env["ALLOWED_HOSTS"] = "*"
    return env


def _shown_host(host: str) -> str:
    """`host` as it stands in a URL; this machine's own name where it means "every address"."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  compared, not listened on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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


def server_part(data_dir: DataDir, *, fd: int, workers: int, url: str, env: Mapping[str, str]) -> ChildSpec:
    """The web server; ready when Redis and the database answer through it. `fd`: the socket that it listens on."""
    return ChildSpec(
        name="server",
        argv=_manage("serve", f"--fd={fd}", f"--workers={workers}"),
        env=env,
        log=data_dir.log("server"),
        keep_fds=(fd,),
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
