"""Whether a Spark master answers at all. Spark itself would try for a minute, Spark Connect for ten."""

from __future__ import annotations

import os
import queue
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.etree import ElementTree

from .failures import MasterUnreachableError

ANSWER_S: Final = 10.0
"""How long a master may take to answer, finding its address included."""

_STREAM: Final = b"/files/taskq"
_REQUEST: Final = struct.pack(">qbi", 8 + 1 + 4 + len(_STREAM), 6, len(_STREAM)) + _STREAM
"""In the protocol of Spark's processes: a request for a stream that there is not. The reply says so, and nothing is
logged. Length of all, type of the message (StreamRequest), length of the name, name."""

_WEB_REQUEST: Final = "GET /version HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n"
"""Hadoop's processes answer it, too, though they speak a protocol of their own."""

_YARN: Final = "yarn.resourcemanager"
_YARN_PORT: Final = 8032


def check_answers(master: str) -> None:
    """Raises MasterUnreachableError if a process that should be listening does not answer. One that answers with an
    error does answer: Spark tells what it is."""
    if master.startswith("spark://"):
        hosts = [urlsplit(f"//{host}") for host in master.removeprefix("spark://").split(",")]
        _check_any(master, [partial(_ask, host.hostname, host.port, _REQUEST) for host in hosts])
    elif master.startswith("k8s://"):
        where = master.removeprefix("k8s://")
        url = urlsplit(where if "://" in where else f"https://{where}")
        _check_any(master, [partial(_ask_web, url.hostname, url.port, is_secure=url.scheme != "http")])
    elif master.startswith("sc://"):
        _check_any(master, [partial(_ask_connect, master)])
    elif master == "yarn" and (managers := _yarn_managers()):
        names = ", ".join(f"{host}:{port}" for host, port in managers)
        _check_any(f"yarn ({names})", [partial(_ask_web, *manager, is_secure=False) for manager in managers])


def _check_any(master: str, questions: Iterable[Callable[[], None]]) -> None:
    """Ask all at the same time; the first answer will do."""
    answers: queue.Queue[Exception | None] = queue.Queue()

    def ask(question: Callable[[], None]) -> None:
        try:
            question()
        except Exception as error:
            answers.put(error)
        else:
            answers.put(None)

    threads = [threading.Thread(target=ask, args=(question,), daemon=True) for question in questions]
    for thread in threads:
        thread.start()
    reason = f"no answer within {ANSWER_S:.0f} s"
    for _ in threads:
        try:
            error = answers.get(timeout=ANSWER_S + 1)
        except queue.Empty:  # names are still being looked up
            break
        if error is None:
            return
        if not isinstance(error, TimeoutError):
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    raise MasterUnreachableError(f"The Spark master {master} does not answer: {reason}.")


def _ask(host: str | None, port: int | None, request: bytes) -> None:
    """Raises OSError, TimeoutError among them. A connection that is closed is an answer."""
    with socket.create_connection((host or "", port or 0), timeout=ANSWER_S) as peer, suppress(ConnectionResetError):
        peer.sendall(request)
        peer.recv(1)


def _ask_web(host: str | None, port: int | None, *, is_secure: bool) -> None:
    """Raises OSError."""
    if not is_secure:
        _ask(host, port or 80, _WEB_REQUEST.format(host).encode())
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # whether it is the right one, Spark checks
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((host or "", port or 443), timeout=ANSWER_S) as connection:
        try:
            context.wrap_socket(connection, server_hostname=host).close()
        except ssl.SSLError:
            return  # it does speak TLS


def _yarn_managers() -> list[tuple[str, int]]:
    """Host and port of each resource manager, as far as Hadoop's settings say them in so many words."""
    said: dict[str, str] = {}
    for variable in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        with suppress(OSError, ElementTree.ParseError):
            path = Path(os.environ.get(variable) or os.devnull) / "yarn-site.xml"
            for one in ElementTree.parse(path).iter("property"):  # noqa: S314 - a file of this machine's administrator
                said[one.findtext("name", "").strip()] = one.findtext("value", "").strip()
    ids = [f".{name.strip()}" for name in said.get(f"{_YARN}.ha.rm-ids", "").split(",") if name.strip()] or [""]
    hosts = (said.get(f"{_YARN}.address{name}") or said.get(f"{_YARN}.hostname{name}", "") for name in ids)
    parts = [urlsplit(f"//{host}") for host in hosts if host and "$" not in host]
    return [(part.hostname, part.port or _YARN_PORT) for part in parts if part.hostname]


def _ask_connect(master: str) -> None:
    """Raises TimeoutError."""
    import grpc
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    channel = DefaultChannelBuilder(master).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=ANSWER_S)
    except grpc.FutureTimeoutError as error:
        raise TimeoutError from error
    finally:
        channel.close()
