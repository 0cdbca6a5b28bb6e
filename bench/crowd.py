"""Thousands of consumers that wait, in a process of their own.

`python -m bench.crowd HOST PORT NAMESPACE WAITERS QUEUES`

The token comes by BENCH_TOKEN. Prints `waiting` once every request is sent, or what kept it from that. Then, for each
line on standard input, prints how many answers with status 200 and how many others have come so far. Ends when standard
input does.
"""

from __future__ import annotations

import os
import select
import selectors
import socket
import sys

from .limits import raise_open_files

WAIT_S = 600
CONNECT_TIMEOUT_S = 10.0


class Crowd:
    """The sockets, and what has come through them."""

    def __init__(self) -> None:
        self.jobs = 0
        self.others = 0
        self._selector = selectors.DefaultSelector()

    def join(self, host: str, port: int, request: bytes) -> None:
        """One more that waits."""
        consumer = socket.create_connection((host, port), CONNECT_TIMEOUT_S)
        consumer.sendall(request)
        self._selector.register(consumer, selectors.EVENT_READ)

    def look(self) -> None:
        """Count the answers that are there. Each connection asks once, so its first bytes tell."""
        for key, _ in self._selector.select(0):
            assert isinstance(key.fileobj, socket.socket), "nothing else was registered"
            if key.fileobj.recv(65_536)[9:12] == b"200":
                self.jobs += 1
            else:
                self.others += 1
            self._selector.unregister(key.fileobj)
            key.fileobj.close()


def main() -> None:
    """Wait until standard input ends."""
    host, port, namespace, waiters, queues = sys.argv[1:]
    raise_open_files()
    crowd = Crowd()
    for number in range(int(waiters)):
        path = f"/api/{namespace}/crowd-{number % int(queues)}?timeout={WAIT_S}&ttr=600"
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Token: {os.environ['BENCH_TOKEN']}\r\n\r\n"
        try:
            crowd.join(host, int(port), head.encode())
        except OSError as error:
            print(f"consumer {number + 1:,} could not connect: {error}", flush=True)
            return
    print("waiting", flush=True)
    while select.select([sys.stdin], [], []) and sys.stdin.readline():
        crowd.look()
        print(crowd.jobs, crowd.others, flush=True)


if __name__ == "__main__":
    main()
