"""Takes the place of `manage.py servepages DIRECTORY` until a connection is handed over: then it becomes that command.

Most tests of the API never ask for a page, and to load all pages takes a second of a processor. The connection that it
is started for is lost to it; the worker hands it over again, as it does when a pages process has just ended.
"""

from __future__ import annotations

import os
import select
import socket
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOCKET = "pages.sock"
"""As queues.server.server calls it, which takes long to import."""


def main(words: list[str]) -> None:
    """`words`: of the command. Any other command is run at once."""
    if words[0] == "servepages":
        _wait_for_connection(words[-1])
    os.execv(sys.executable, [sys.executable, os.path.join(ROOT, "manage.py"), *words])


def _wait_for_connection(directory: str) -> None:
    path = os.path.join(directory, SOCKET)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        select.select([listener], [], [])
        os.unlink(path)


if __name__ == "__main__":
    main(sys.argv[1:])
