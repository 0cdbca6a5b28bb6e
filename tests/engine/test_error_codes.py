"""Every error with which a Redis refuses for a while is StoreUnavailableError, of whatever version the server is."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queues.engine import Engine, StoreFullError, StoreUnavailableError, open_engine, publish
from queues.engine.transport.failures import MEANINGS, code_of, is_cross_slot
from tests.support.redis_servers import redis_binaries
from tests.support.waiting import wait_until

from .loop import in_loop, opened
from .topologies import cluster, free_ports, server

ENDLESS = "while true do end"


def ask(client: Any, *command: object) -> Any:
    """redis-py leaves this without annotations."""
    return client.execute_command(*command)


@pytest.fixture(params=redis_binaries())
def binary(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


class Refusing:
    """A server that can be made to refuse, and an engine on it."""

    def __init__(self, admin: redis.Redis, directory: Path, engine: Engine) -> None:
        self.admin = admin
        self.directory = directory
        self.engine = engine

    def reason(self) -> str:
        """Why a publish is refused."""
        with pytest.raises(StoreUnavailableError) as caught:
            self.engine.run(publish(self.engine.queue("shop", "orders"), [b"x"]))
        return caught.value.reason

    def become_replica(self, *, serves_stale_data: bool) -> None:
        self.admin.config_set("replica-serve-stale-data", "yes" if serves_stale_data else "no")
        ask(self.admin, "REPLICAOF", "127.0.0.1", "1")

    def fail_to_save(self) -> None:
        shutil.rmtree(self.directory)
        self.admin.config_set("save", "1000 1")
        ask(self.admin, "BGSAVE")
        wait_until(
            lambda: self.admin.info("persistence")["rdb_last_bgsave_status"] == "err",
            or_fail="the snapshot does not fail",
        )


@pytest.fixture
def refusing(tmp_path: Path, binary: Path) -> Iterator[Refusing]:
    (port,) = free_ports(1)
    directory = tmp_path / "redis"
    with server(directory, port, binary=binary) as admin:
        engine = open_engine(f"redis://127.0.0.1:{port}", partitions=3)
        engine.run(publish(engine.queue("shop", "orders"), [b"x"]))
        yield Refusing(admin, directory, engine)
        engine.close()


def test_a_replica_is_recognised(refusing: Refusing) -> None:
    refusing.become_replica(serves_stale_data=True)
    assert refusing.reason() == "READONLY"
    refusing.become_replica(serves_stale_data=False)
    assert refusing.reason() == "MASTERDOWN"


def test_a_server_that_will_not_write_is_recognised(refusing: Refusing) -> None:
    refusing.admin.config_set("min-replicas-to-write", 1)
    assert refusing.reason() == "NOREPLICAS"
    refusing.admin.config_set("min-replicas-to-write", 0)

    refusing.fail_to_save()
    assert refusing.reason() == "MISCONF"
    refusing.admin.config_set("save", "")

    refusing.admin.config_set("maxmemory", 1)
    with pytest.raises(StoreFullError):
        refusing.engine.run(publish(refusing.engine.queue("shop", "orders"), [b"x"]))


def test_a_server_that_is_busy_with_a_script_is_recognised(refusing: Refusing) -> None:
    refusing.admin.config_set("lua-time-limit", 1)
    refusing.admin.connection_pool.disconnect()
    port = refusing.admin.connection_pool.connection_kwargs["port"]
    with redis.Redis(port=port) as other:

        def occupy() -> None:
            with pytest.raises(redis.ResponseError):
                other.eval(ENDLESS, 0)

        thread = threading.Thread(target=occupy)
        thread.start()
        try:
            wait_until(lambda: _is_busy(refusing.admin), or_fail="the script does not run")
            assert refusing.reason() == "BUSY"
        finally:
            refusing.admin.script_kill()
            thread.join()


def _is_busy(client: redis.Redis) -> bool:
    try:
        client.ping()
    except redis.ResponseError as error:
        return code_of(error) == "BUSY"
    return False


def test_missing_permissions_are_recognised(refusing: Refusing) -> None:
    ask(refusing.admin, "ACL", "SETUSER", "default", "-evalsha")
    assert refusing.reason() == "NOPERM"
    ask(refusing.admin, "ACL", "SETUSER", "default", "+evalsha", "resetpass", ">secret")
    refusing.engine.client.connection_pool.disconnect()
    assert refusing.reason() in ("NOAUTH", "ResponseError")  # Redis 7.0: a protocol error, for so long a command


@in_loop
async def test_a_slot_that_is_being_moved_is_refused_for_a_while(tmp_path: Path, binary: Path) -> None:
    """TRYAGAIN where a part of the keys is there (since Redis 7), ASK before."""
    with cluster(tmp_path, masters=2, binary=binary) as masters:
        port = masters[0].connection_pool.connection_kwargs["port"]
        async with opened(f"redis+cluster://127.0.0.1:{port}", partitions=3) as engine:
            queue = engine.queue("shop", "orders")
            await engine.run(publish(queue, [b"x"]))
            slot = ask(masters[0], "CLUSTER", "KEYSLOT", queue.select(("jobs",))[0])
            here, there = masters if slot < 8192 else masters[::-1]
            ask(here, "CLUSTER", "SETSLOT", slot, "MIGRATING", ask(there, "CLUSTER", "MYID"))

            with pytest.raises(StoreUnavailableError) as caught:
                await engine.run(publish(queue, [b"x"]))
            assert caught.value.reason in ("TRYAGAIN", "ASK")

            ask(here, "CLUSTER", "SETSLOT", slot, "STABLE")
            assert (await engine.run(publish(queue, [b"x"]))).job_ids


def test_errors_of_scripts_are_no_refusals() -> None:
    for text in ("user_script:1: x", "Error running script (call to f_1): @user_script:3: attempt to index", "OOMPH x"):
        assert code_of(redis.ResponseError(text)) == ""
    for code in MEANINGS:
        assert code_of(redis.ResponseError(f"{code} for a while")) == code
        assert code_of(redis.ResponseError(f"Error running script (call to f_1): @user_script:1: -{code} so")) == code


def test_keys_in_several_slots_are_recognised_with_and_without_the_code_that_redis_py_knows() -> None:
    """A cluster's proxy puts words of its own before it, so that it is no ClusterCrossSlotError."""
    assert is_cross_slot(redis.exceptions.ClusterCrossSlotError("Keys in request don't hash to the same slot"))
    assert is_cross_slot(redis.ResponseError("ERR proxy: CROSSSLOT keys must be in the same slot"))
    assert not is_cross_slot(redis.ResponseError("ERR unknown command 'EVAL'"))
    assert not is_cross_slot(ConnectionError("not the same slot"))
