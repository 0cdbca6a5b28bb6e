"""Starts the parts in the order in which they need each other."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from queues.embedded import EmbeddedRedis, EmbeddedRedisError
from queues.engine import probe_store, redact_url
from queues.supervision import Supervisor

from . import parts
from .data_dir import Account, CannotStartError, DataDir, check_port, lock_data_dir

READY_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the person who starts it may choose."""

    data_dir: Path
    host: str
    port: int
    workers: int
    demo: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service that answers."""

    url: str
    redis_url: str
    account: Account
    data_dir: Path


def start_service(supervisor: Supervisor, options: Options) -> Running | None:
    """Start everything and return once all of it answers; None if asked to stop meanwhile.

    A Redis of ours is started unless REDIS_URL names one. Raises CannotStartError, and what the supervisor raises.
    """
    data_dir = lock_data_dir(options.data_dir)
    port = check_port(options.host, options.port)
    url = f"http://{_shown_host(options.host)}:{port}"
    env = _environment(options)
    redis_url = _start_redis(supervisor, data_dir, env)
    if not supervisor.wait_ready(timeout_s=READY_TIMEOUT_S):
        return None
    parts.bootstrap(data_dir, env=env)
    account = Account.read(data_dir.account_file)
    assert account is not None, "bootstrap has written it"
    supervisor.start(
        parts.server_part(data_dir, host=options.host, port=port, workers=options.workers, url=url, env=env)
    )
    supervisor.start(parts.pump_part(data_dir, env=env))
    if not supervisor.wait_ready(timeout_s=READY_TIMEOUT_S):
        return None
    if options.demo:
        supervisor.start(parts.demo_part(data_dir, url=url, namespace=account.namespace, token=account.token, env=env))
    return Running(url=url, redis_url=redis_url, account=account, data_dir=data_dir.path)


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
        supervisor.start(parts.redis_part(data_dir, redis, env=env))
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
