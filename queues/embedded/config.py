"""The redis.conf of an embedded server."""

from __future__ import annotations

from pathlib import Path


def render_config(*, data_dir: Path, unix_socket: Path, persistent: bool, port: int | None) -> str:
    """The text of redis.conf. `port`: a port on 127.0.0.1 to listen on as well; None: the unix socket only."""
    lines = [
        "daemonize no",
        'logfile ""',
        "port " + str(port or 0),
        "bind 127.0.0.1",
        "unixsocket " + _quoted(unix_socket),
        "unixsocketperm 700",
        "dir " + _quoted(data_dir),
        "databases 16",
        # A queue that evicts keys loses jobs: when memory runs out, publishing must fail instead.
        "maxmemory-policy noeviction",
        # Snapshots would only repeat what the append-only file holds.
        'save ""',
        "appendonly " + ("yes" if persistent else "no"),
        "appendfsync everysec",
        # Jobs come and go, so under load the file grows by megabytes a second around little data: from Redis's 64 MB on
        # it would be rewritten several times a minute, each time by a child process that takes a core.
        "auto-aof-rewrite-min-size 256mb",
    ]
    return "\n".join(lines) + "\n"


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
