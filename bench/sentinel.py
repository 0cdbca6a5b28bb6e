"""A master, its replica and three Sentinels on free ports of 127.0.0.1, and their failovers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis

from queues.embedded import find_server
from queues.supervision import tied_to_parent

from .processes import kill_group, wait_for

SERVICE = "jobs"
SENTINELS = 3
DOWN_AFTER_MS = 500
FAILOVER_TIMEOUT_MS = 3_000
SWITCH_TIMEOUT_S = 60.0


class _Server:
    """One process of the binary; with `sentinel`, a Sentinel."""

    def __init__(self, directory: Path, port: int, options: list[str], *, sentinel: bool = False) -> None:
        directory.mkdir()
        self.port = port
        self.client: Any = redis.Redis(port=port, socket_timeout=5, decode_responses=True)
        self._config = directory / "server.conf"
        self._config.write_text("\n".join([f"port {port}", "bind 127.0.0.1", f"dir {directory}", *options, ""]))
        self._program = ["--sentinel"] if sentinel else []
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> None:
        """`options` count beside those of its file, in which Sentinel writes, too."""
        command = tied_to_parent([str(find_server()), str(self._config), *options, *self._program])
        with self._config.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True, start_new_session=True
            )
        wait_for(self.answers, f"the server on port {self.port} answers")

    def kill(self) -> None:
        if self._process is not None:
            kill_group(self._process)

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def replication(self) -> dict[str, Any]:
        try:
            return dict(self.client.info("replication"))
        except redis.RedisError:
            return {}


class SentinelSetup:
    """`start` it, and `stop` it in the end. Both servers have an append-only file."""

    def __init__(self, directory: Path) -> None:
        ports = free_ports(2 + SENTINELS)
        storage = ["appendonly yes", 'save ""', "repl-diskless-sync yes", "repl-diskless-sync-delay 0"]
        watch = [
            f"sentinel monitor {SERVICE} 127.0.0.1 {ports[0]} {SENTINELS // 2 + 1}",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} {FAILOVER_TIMEOUT_MS}",
        ]
        self._servers = [_Server(directory / f"server-{port}", port, storage) for port in ports[:2]]
        self._sentinels = [_Server(directory / f"sentinel-{port}", port, watch, sentinel=True) for port in ports[2:]]

    def url(self, database: int) -> str:
        """Of a pool in that database of the master."""
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self._sentinels)
        return f"redis+sentinel://{hosts}/{SERVICE}/{database}"

    def start(self) -> None:
        """Returns once the replica follows, and every Sentinel knows it and its peers."""
        self._servers[0].start()
        self._servers[1].start("--replicaof", "127.0.0.1", str(self._servers[0].port))
        for sentinel in self._sentinels:
            sentinel.start()
        self.settle()

    def stop(self) -> None:
        for server in [*self._sentinels, *self._servers]:
            server.kill()
            server.client.close()

    def fail_over(self, *, demote_after_s: float | None = None) -> None:
        """Planned: ask a Sentinel. Until the old master is demoted it takes writes, which are then discarded.

        Sentinel demotes it after some eight seconds; with `demote_after_s` it is done here.
        """
        old, new = self.settle()
        wait_for(self._is_accepted, "a Sentinel begins the failover")
        self._wait_for_switch(new)
        if demote_after_s is not None:
            time.sleep(demote_after_s)
            if self._master_and_replica() != (new, old):
                # Failed over again, unasked: nothing to demote.
                self.fail_over(demote_after_s=demote_after_s)
                return
            old.client.replicaof("127.0.0.1", str(new.port))
            old.client.client_kill_filter(_type="normal")
        self.settle()

    def kill_master(self) -> None:
        """Unplanned: SIGKILL to the master. It comes back as a replica of the new one."""
        old, new = self.settle()
        old.kill()
        self._wait_for_switch(new)
        old.start("--replicaof", "127.0.0.1", str(new.port))
        self.settle()

    def _is_accepted(self) -> bool:
        """It is refused while the Sentinel has not looked at the replica since it became one."""
        try:
            return bool(self._sentinels[0].client.execute_command("SENTINEL", "FAILOVER", SERVICE))
        except redis.RedisError:
            return False

    @contextmanager
    def replica_stopped(self) -> Iterator[None]:
        """During the block the replica keeps its connections and says nothing."""
        _, replica = self.settle()
        pid = int(replica.client.info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def settle(self) -> tuple[_Server, _Server]:
        """Wait until the replica is in step and all Sentinels could fail over to it. Returns master and replica."""
        wait_for(self._is_settled, "the replica follows and all Sentinels know it", timeout_s=SWITCH_TIMEOUT_S)
        return self._master_and_replica()

    def _master_and_replica(self) -> tuple[_Server, _Server]:
        """As the first Sentinel has it: a server that pauses for longer than DOWN_AFTER_MS is replaced unasked."""
        named = self._named_by(self._sentinels[0])
        first, second = self._servers
        return (second, first) if named == second.port else (first, second)

    def _wait_for_switch(self, new: _Server) -> None:
        wait_for(
            lambda: new.replication().get("role") == "master", "the replica is promoted", timeout_s=SWITCH_TIMEOUT_S
        )
        wait_for(
            lambda: self._named_by(self._sentinels[0]) == new.port, "Sentinel names it", timeout_s=SWITCH_TIMEOUT_S
        )

    def _is_settled(self) -> bool:
        master, _ = self._master_and_replica()
        replica = master.replication().get("slave0")
        return (
            isinstance(replica, dict)
            and replica.get("state") == "online"
            and all(self._is_ready(sentinel, master) for sentinel in self._sentinels)
        )

    def _is_ready(self, sentinel: _Server, master: _Server) -> bool:
        if self._named_by(sentinel) != master.port:
            return False
        try:
            (replica,) = sentinel.client.sentinel_slaves(SERVICE) or [{}]
            peers = sentinel.client.sentinel_master(SERVICE)["num-other-sentinels"]
        except redis.RedisError:
            return False
        return replica.get("flags") == "slave" and int(peers) == SENTINELS - 1

    def _named_by(self, sentinel: _Server) -> int | None:
        try:
            address = sentinel.client.sentinel_get_master_addr_by_name(SERVICE)
        except redis.RedisError:
            return None
        return int(address[1]) if address else None


@contextmanager
def sentinel_setup(directory: Path) -> Iterator[SentinelSetup]:
    """Run one beside the block."""
    setup = SentinelSetup(directory)
    try:
        setup.start()
        yield setup
    finally:
        setup.stop()


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on, lower than those that the system gives to connections."""
    ports: list[int] = []
    with ExitStack() as stack:
        for port in range(11_000 + time.time_ns() % 10_000, 32_000):
            if len(ports) == number:
                break
            listener = stack.enter_context(socket.socket())
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
    return ports
