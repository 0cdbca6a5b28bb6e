"""A consumer that goes without having read its answer: the job is for the next one, at once and with its try back."""

from __future__ import annotations

import random
import select
import socket
import struct
import time
from urllib.parse import urlsplit

import pytest

from queues.server.delivery_check import UNREAD_WITHIN_S
from tests.http.client import Client
from tests.http.two_servers_connection import Wire, request
from tests.support.waiting import wait_until

ROUNDS = 150

STALLS_MAX = 3
"""A server that stands still for UNREAD_WITHIN_S hears too late that a connection was reset, and is not to blame."""


class RawConsumer:
    """A connection on which one says when to send, to read and to go."""

    def __init__(self, client: Client, *, receive_bytes: int = 0) -> None:
        parts = urlsplit(client.url)
        self.socket = socket.socket()
        self.socket.settimeout(10)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect((str(parts.hostname), parts.port or 80))
        self._client = client

    def ask(self, queue: str, query: str = "ttr=600", *, behind: bytes = b"") -> None:
        """`behind`: what is sent with it."""
        head = f"GET /api/{self._client.namespace}/{queue}?{query} HTTP/1.1\r\nHost: x\r\nX-Token: {self._client.token}"
        self.socket.sendall(f"{head}\r\n\r\n".encode() + behind)

    def wait_for_answer(self) -> None:
        assert select.select([self.socket], [], [], 10)[0], "no answer came"

    def read(self) -> bytes:
        return self.socket.recv(65_536)

    def reset(self) -> None:
        """Close without the usual farewell."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def working(client: Client, queue: str) -> int:
    return int(client.call("GET", f"/api/{{ns}}/{queue}/stats").json["working"])


def are_released(client: Client, queue: str, *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while held := working(client, queue):
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return not held


def hang_up_unread(client: Client, job_id: str, queue: str) -> None:
    """Take this job and go without reading, and wait for its release.

    The server hears of connections in the order in which they end: of those that ended before it has heard by then.
    """
    never_read = RawConsumer(client)
    never_read.ask(queue)
    never_read.wait_for_answer()
    never_read.socket.close()
    state = f"/api/{{ns}}/{queue}/job/{job_id}/detail"
    wait_until(
        lambda: client.call("GET", state).json["state"] == "ready",
        or_fail="a job that nobody has read is still held",
    )


@pytest.mark.parametrize("count", [1, 3])
def test_jobs_of_an_answer_that_was_never_read_are_ready_again(client: Client, queue: str, count: int) -> None:
    for number in range(STALLS_MAX):
        own = f"{queue}-{number}"
        published = [client.publish(own, tries=1) for _ in range(count)]
        consumer = RawConsumer(client)
        consumer.ask(own, f"ttr=600&count={count}")
        consumer.wait_for_answer()

        consumer.socket.close()

        if are_released(client, own, within_s=3):
            assert [client.take(own)["job_id"] for _ in range(count)] == published
            return
    pytest.fail("the jobs are still held")


def test_who_has_read_the_answer_and_closes_keeps_the_job(client: Client, queue: str) -> None:
    client.publish(queue)
    consumer = RawConsumer(client)
    consumer.ask(queue)
    consumer.wait_for_answer()
    assert b"200 OK" in consumer.read()

    consumer.socket.close()

    hang_up_unread(client, client.publish(queue), queue)
    assert working(client, queue) == 1


def test_a_reset_after_the_answer_was_read_leaves_the_lease_alone(client: Client, queue: str) -> None:
    """As a proxy may close, and a client that does not care for manners."""
    job_id = client.publish(queue, tries=1)
    consumer = RawConsumer(client)
    consumer.ask(queue)
    consumer.wait_for_answer()
    assert job_id.encode() in consumer.read()
    time.sleep(1.5 * UNREAD_WITHIN_S)

    consumer.reset()

    hang_up_unread(client, client.publish(queue), queue)
    assert client.call("DELETE", f"/api/{{ns}}/{queue}/job/{job_id}?attempt=1").status == 204


def test_a_large_answer_that_is_not_taken_in_time_gives_its_jobs_back(client: Client, queue: str) -> None:
    """However long after the answer was written: what the client's system has not confirmed, it has not read."""
    for _ in range(20):
        client.publish(queue, b"x" * 100_000, tries=1)
    consumer = RawConsumer(client, receive_bytes=4_096)
    consumer.ask(queue, "ttr=600&count=20")
    consumer.wait_for_answer()
    time.sleep(1.5 * UNREAD_WITHIN_S)

    consumer.reset()

    wait_until(lambda: working(client, queue) == 0, or_fail="jobs of an answer that was not taken are still held")


def test_who_is_slow_to_read_keeps_the_job_when_the_connection_goes_to_the_pages_process(
    client: Client, queue: str
) -> None:
    page = request("GET /login/", ("Host", "localhost"), ("Connection", "close"))
    with Wire(client.url) as other:
        assert other.call(page).status == 200, "its process has begun"
    client.publish(queue, b"x" * 300_000, tries=1)
    consumer = RawConsumer(client, receive_bytes=4_096)
    consumer.ask(queue, behind=page)
    consumer.wait_for_answer()
    time.sleep(1)  # it is handed over meanwhile; if not, this shows nothing

    read = b""
    while piece := consumer.read():
        read += piece

    assert read.count(b"HTTP/1.1 200 OK") == 2
    assert working(client, queue) == 1


def test_who_has_said_something_more_keeps_the_job_whatever_comes_then(client: Client, queue: str) -> None:
    first, _second = client.publish(queue), client.publish(queue)
    consumer = RawConsumer(client)
    consumer.ask(queue)
    consumer.wait_for_answer()
    assert first.encode() in consumer.read()
    consumer.ask(queue)
    consumer.wait_for_answer()

    consumer.socket.close()

    wait_until(lambda: working(client, queue) == 1, or_fail="the job that nobody has read is still held")


def test_consumers_that_hang_up_around_a_publish_take_no_job_with_them(client: Client, queue: str) -> None:
    pick = random.Random(7)
    for _ in range(ROUNDS):
        consumer = RawConsumer(client)
        consumer.ask(queue, "ttr=600&timeout=20")
        time.sleep(pick.uniform(0.001, 0.004))
        published = client.publish(queue)
        time.sleep(pick.uniform(0, 0.001))
        consumer.socket.shutdown(socket.SHUT_RDWR)
        consumer.socket.setblocking(False)
        try:
            has_it = bool(consumer.read())
        except (BlockingIOError, ConnectionResetError):  # nothing has come, or it came too late and was refused
            has_it = False
        consumer.socket.close()
        if has_it:
            client.call("DELETE", f"/api/{{ns}}/{queue}/job/{published}")
        else:
            assert client.take(queue, timeout=5)["job_id"] == published
            client.call("DELETE", f"/api/{{ns}}/{queue}/job/{published}")
