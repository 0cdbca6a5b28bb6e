"""A Redis, a database and the processes on them, apart from those of the other tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, open_engine
from tests.http.service import copy_bootstrapped
from tests.running.processes import Family, manage


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A migrated database with the pool `default` on a Redis of its own, and how to start commands there."""

    redis: EmbeddedRedis
    env: dict[str, str]

    def engine(self) -> Engine:
        return open_engine(self.redis.url)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    family = Family(tmp_path)
    yield family
    family.wait_gone()


@pytest.fixture
def site(tmp_path: Path, family: Family) -> Iterator[Site]:
    data_dir = tmp_path / "data"
    copy_bootstrapped(data_dir)
    with EmbeddedRedis(tmp_path / "redis", persistent=True) as server:
        yield Site(redis=server, env=family.environment(TASKQ_DATA_DIR=str(data_dir), REDIS_URL=server.url))


@pytest.fixture
def start(site: Site) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `manage.py ARGUMENTS`; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_command(*arguments: str) -> subprocess.Popen[str]:
        started.append(manage(*arguments, env=site.env))
        return started[-1]

    yield start_command
    for process in started:
        process.kill()
        process.communicate()
