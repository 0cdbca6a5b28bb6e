"""The code that the first day shows is run as it stands, against a real server: curl and Python.

PHP's needs a client from GitHub: only its syntax is looked at.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard.snippets import Language, SnippetTarget, write_snippets
from queues.engine import JobState
from tests.http.client import Client
from tests.http.service import ROOT, Server
from tests.support.python_path import python_path
from tests.support.waiting import wait_until

NAMESPACE = "first-day"
SECRET = "first'day\"$HOME\\secret"
SOON_S = 40


@pytest.fixture(scope="module")
def client(server: Server) -> Client:
    return Client(
        url=server.url, namespace=NAMESPACE, token=server.new_token(NAMESPACE, secret="plain-secret-of-20-chars")
    )


def language(client: Client, key: str) -> Language:
    """What the page has for it."""
    target = SnippetTarget(origin=client.url, namespace=client.namespace, token=client.token)
    return next(one for one in write_snippets(target) if one.key == key)


def run(command: Sequence[str], folder: Path) -> str:
    """What it prints; it has to succeed."""
    done = subprocess.run(command, cwd=folder, env=_env(), capture_output=True, text=True, timeout=SOON_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running(command: Sequence[str], folder: Path) -> Iterator[None]:
    """Until the end of the context."""
    process = subprocess.Popen(command, cwd=folder, env=_env(), start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        yield
        assert process.poll() is None, "a worker goes on"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": python_path(ROOT), "TASKQ": f"{sys.executable} -m taskq"}


def is_empty(client: Client, queue: str) -> bool:
    """Whether no job of the queue is left, in whatever state."""
    stats = client.call("GET", f"/api/{{ns}}/{queue}/stats").json
    return not any(stats[state.value] for state in JobState)


needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")


@needs_curl
def test_curl_publishes_consumes_and_acks_and_works(client: Client, tmp_path: Path) -> None:
    *first, worker = [snippet.code for snippet in language(client, "curl").snippets]

    said = run(["sh", "-e", "-c", "\n".join(first)], tmp_path)
    assert '"msg":"published"' in said
    assert '"data":"aGVsbG8="' in said
    assert is_empty(client, "greetings")

    client.publish("greetings")
    with running(["sh", "-c", worker], tmp_path):
        wait_until(lambda: is_empty(client, "greetings"), or_fail="the loop acks nothing", timeout_s=SOON_S)


def test_python_publishes_consumes_and_acks_and_works(client: Client, tmp_path: Path) -> None:
    for snippet in language(client, "python").snippets:
        if str(snippet.place).endswith(".py"):
            with (tmp_path / str(snippet.place)).open("a") as file:
                file.write(f"{snippet.code}\n")
    commands = language(client, "python").snippets[-1].code.replace("taskq ", "$TASKQ ")  # it is not installed here
    enqueue, work = commands.splitlines()

    assert "b'hello'" in run([sys.executable, "first.py"], tmp_path)
    assert is_empty(client, "greetings")

    run(["sh", "-e", "-c", enqueue], tmp_path)
    assert not is_empty(client, "hello-tasks")
    with running(["sh", "-c", f"exec {work}"], tmp_path):
        wait_until(lambda: is_empty(client, "hello-tasks"), or_fail="the worker acks nothing", timeout_s=SOON_S)


needs_php = pytest.mark.skipif(shutil.which("php") is None, reason="PHP is not on this machine")


@needs_php
def test_php_can_be_read(client: Client, tmp_path: Path) -> None:
    php = language(client, "php")
    for snippet in php.snippets:
        (tmp_path / str(snippet.place)).write_text(snippet.code)
        assert "No syntax errors" in run(["php", "-l", str(snippet.place)], tmp_path)


@needs_php
def test_no_token_breaks_out_of_its_quotes_in_php(server: Server, tmp_path: Path) -> None:
    code = language(Client(url=server.url, namespace=NAMESPACE, token=SECRET), "php").snippets[0].code
    start = code.index(f"'{NAMESPACE}', ") + len(f"'{NAMESPACE}', ")

    assert run(["php", "-r", f"echo {code[start : code.index(');', start)]};"], tmp_path) == SECRET


@needs_curl
def test_no_token_breaks_out_of_its_quotes(server: Server, tmp_path: Path) -> None:
    client = Client(url=server.url, namespace=NAMESPACE, token=SECRET)
    publish = language(client, "curl").snippets[0].code

    assert "invalid token" in run(["sh", "-e", "-c", publish], tmp_path)
    assert SECRET in run([sys.executable, "-c", _python_token(client)], tmp_path)


def _python_token(client: Client) -> str:
    """The token as Python reads it in the first line that has it."""
    code = language(client, "python").snippets[0].code
    start = code.index("token=") + len("token=")
    return f"print({code[start : code.index(')', start)]})"
