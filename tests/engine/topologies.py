"""A Redis Cluster and a Sentinel set-up out of the same server binary, on ports of 127.0.0.1 that are free."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import redis

from queues.embedded import find_server
from queues.supervision import tied_to_parent
from tests.support.waiting import wait_until

SLOTS = 16_384


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on. They and those of a cluster's bus (10,000 above) are lower than those that the system
    gives to connections, and each process of tests has a thousand of its own: nobody gets one between now and the
    server's start."""
    ports: list[int] = []
    first = 11_000 + 1_000 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10)
    with ExitStack() as stack:
        for port in range(first + time.time_ns() % 900, first + 1_000):
            if len(ports) == number:
                break
            listeners = [stack.enter_context(socket.socket()) for _ in range(2)]
            try:
                for listener, candidate in zip(listeners, (port, port + 10_000), strict=True):
                    listener.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            ports.append(port)
    assert len(ports) == number
    return ports


@contextmanager
def server(
    directory: Path, port: int, *options: str, program: tuple[str, ...] = (), binary: Path | None = None
) -> Iterator[redis.Redis]:
    """One server process, of the embedded binary unless another is given; a client of it."""
    directory.mkdir(parents=True)
    (directory / "redis.conf").write_text(
        "\n".join([f"port {port}", "bind 127.0.0.1", f"dir {directory}", 'save ""', "appendonly no", *options, ""])
    )
    command = tied_to_parent([str(binary or find_server()), str(directory / "redis.conf"), *program])
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    client = redis.Redis(port=port, socket_timeout=5)
    try:
        wait_until(lambda: answers(client.ping), or_fail=f"no answer from port {port}")
        yield client
    finally:
        client.close()
        process.kill()
        process.wait()


def answers(ask: Callable[[], object]) -> bool:
    try:
        return bool(ask())
    except redis.RedisError:
        return False


def _command(client: Any, *command: object) -> Any:
    return client.execute_command(*command)


@contextmanager
def cluster(
    directory: Path, masters: int = 3, *, replicated: bool = False, binary: Path | None = None
) -> Iterator[list[redis.Redis]]:
    """Clients of the masters of a new cluster, each with its share of the slots, and with a replica if `replicated`."""
    ports = free_ports(masters * (2 if replicated else 1))
    options = ("cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 2000")
    with ExitStack() as stack:
        clients = [stack.enter_context(server(directory / str(port), port, *options, binary=binary)) for port in ports]
        for number, client in enumerate(clients):
            if number < masters:
                first, last = number * SLOTS // masters, (number + 1) * SLOTS // masters
                _command(client, "CLUSTER", "ADDSLOTS", *range(first, last))
            _command(client, "CLUSTER", "MEET", "127.0.0.1", ports[0])

        def is_whole(client: redis.Redis) -> bool:
            told = _command(client, "CLUSTER", "INFO").split(b"\r\n")
            return b"cluster_state:ok" in told and b"cluster_known_nodes:%d" % len(ports) in told

        wait_until(lambda: all(is_whole(client) for client in clients), or_fail="the cluster does not come together")
        pairs = list(zip(clients, clients[masters:], strict=False))
        for master, replica in pairs:
            _command(replica, "CLUSTER", "REPLICATE", str(_command(master, "CLUSTER", "MYID"), "ascii"))
        for master, replica in pairs:
            wait_until(partial(_follows, replica, master), or_fail="a replica does not follow")
        yield clients[:masters]


def empty_cluster(masters: list[redis.Redis]) -> str:
    """Delete all that a cluster holds. Returns its pool URL, with all masters."""
    for client in masters:
        client.flushall()
    ports = [client.connection_pool.connection_kwargs["port"] for client in masters]
    return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)


@contextmanager
def replicated(directory: Path) -> Iterator[tuple[redis.Redis, redis.Redis]]:
    """Clients of a master and of its replica, which is in step."""
    ports = free_ports(2)
    with (
        server(directory / "master", ports[0]) as master,
        server(directory / "replica", ports[1], f"replicaof 127.0.0.1 {ports[0]}") as replica,
    ):
        wait_until(partial(_follows, replica, master), or_fail="the replica does not follow")
        yield master, replica


def _follows(replica: redis.Redis, master: redis.Redis) -> bool:
    """Whether it has its copy and confirms writes. WAIT alone counts a replica that has yet to load its copy."""
    link = replica.info("replication").get("master_link_status")
    return bool(link == "up" and _command(master, "WAIT", 1, 100) == 1)


@contextmanager
def sentinel(directory: Path, service: str) -> Iterator[tuple[redis.Redis, int]]:
    """A client of a master, and the port of the sentinel that watches it."""
    master_port, port = free_ports(2)
    options = (f"sentinel monitor {service} 127.0.0.1 {master_port} 1",)
    with (
        server(directory / "master", master_port) as master,
        server(directory / "sentinel", port, *options, program=("--sentinel",)),
    ):
        yield master, port
