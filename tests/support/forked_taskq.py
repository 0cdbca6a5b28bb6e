"""`taskq` commands as forks of one process that has imported the library, which takes half a second each time.

python forked_taskq.py serve SOCKET         carries commands out until its standard input ends
python forked_taskq.py call SOCKET WORDS    is `taskq WORDS`, with the folder, environment, output and status of this
                                                process that asks; signals to it do not reach the command
"""

from __future__ import annotations

import json
import os
import socket
import sys

PRELOADED = ("apps", "inspector", "main", "printing", "run_task", "run_worker", "sync")


def call(path: str, words: list[str]) -> int:
    """Have the command carried out; its exit status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"\n"], [1, 2])
        connection.sendall(json.dumps({"words": words, "folder": os.getcwd(), "env": dict(os.environ)}).encode())
        connection.shutdown(socket.SHUT_WR)
        return int(connection.makefile().read())


def serve(path: str) -> None:
    """Fork for each connection. Returns in the process that is the command."""
    import contextlib
    import gc
    import importlib
    import select

    for name in PRELOADED:
        importlib.import_module(f"taskq.cli.{name}")
    importlib.import_module("taskq.worker")
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            if sys.stdin in select.select([sys.stdin, listener], [], [])[0]:
                sys.exit()
            connection, _ = listener.accept()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    """Those that have ended."""
            with connection:
                if os.fork() == 0:
                    listener.close()
                    if _is_command(connection):
                        return
                    os._exit(0)


def _is_command(connection: socket.socket) -> bool:
    """Fork once more: True in the command, False in the process that has told its status."""
    _, (output, errors), *_ = socket.recv_fds(connection, 1, 2)
    request = json.loads(connection.makefile().read())
    command = os.fork()
    if command != 0:
        status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        connection.sendall(str(status if status >= 0 else 128 - status).encode())
        return False
    connection.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0] = request["folder"]
    sys.argv = ["taskq", *request["words"]]
    return True


if __name__ == "__main__":
    if sys.argv[1] == "call":
        sys.exit(call(sys.argv[2], sys.argv[3:]))
    serve(sys.argv[2])
    import runpy

    runpy.run_module("taskq", run_name="__main__", alter_sys=True)
