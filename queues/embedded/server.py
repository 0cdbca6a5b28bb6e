"""A private Redis as a child process: its configuration, how it is started, asked and stopped.

It is not started where it would ignore jobs in one of the two formats of append-only files (`refuse_ignored_data`). Its
files are readable by their owner only.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
import subprocess
import tempfile
import time
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from queues.supervision import Child, tied_to_parent

from .binary import DataIgnoredError, EmbeddedRedisError, ServerDiedError, find_server

PRIVATE_UMASK: Final = 0o077

APPENDFSYNC_VARIABLE: Final = "TASKQ_REDIS_APPENDFSYNC"
"""Environment variable with Redis's setting `appendfsync`, one of these."""

_APPENDFSYNC: Final = ("everysec", "always", "no")
SOCKET_PATH_MAX: Final = 100
"""Bytes. The kernel's limit for the path of a unix socket is 108 (Linux) or 104 (macOS)."""

START_TIMEOUT_S: Final = 15.0
STOP_TIMEOUT_S: Final = 10.0
_LOOK_INTERVAL_S: Final = 0.01
AOF_FILE: Final = "appendonly.aof"
AOF_DIRECTORY: Final = "appendonlydir"
_MANIFEST: Final = f"{AOF_FILE}.manifest"
_DIRECTORY_SINCE: Final = 7
"""The major version of Redis. Valkey began with 7.2."""

_VERSION_TIMEOUT_S: Final = 10.0


def make_private(path: Path, *, umask: int = PRIVATE_UMASK) -> None:
    """Take the permissions in `umask` away from a file or directory, if it is there.

    Leaves alone what belongs to another user, and links, which may lead anywhere. Raises OSError.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    is_file = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    if is_file and found.st_uid == os.getuid() and found.st_mode & umask:
        path.chmod(stat.S_IMODE(found.st_mode) & ~umask)


def make_content_private(directory: Path, *, umask: int = PRIVATE_UMASK) -> None:
    """Do the same to a directory that holds nothing but our files, and to all that is in it. Raises OSError."""
    if directory.is_symlink():
        return
    make_private(directory, umask=umask)
    for parent, directories, files in os.walk(directory):
        for name in (*directories, *files):
            make_private(Path(parent, name), umask=umask)


def _appendfsync() -> str:
    """Raises EmbeddedRedisError."""
    chosen = os.environ.get(APPENDFSYNC_VARIABLE) or _APPENDFSYNC[0]
    if chosen not in _APPENDFSYNC:
        raise EmbeddedRedisError(f"{APPENDFSYNC_VARIABLE}={chosen}: it has to be one of {', '.join(_APPENDFSYNC)}")
    return chosen


def render_config(
    *, data_dir: Path, unix_socket: Path, persistent: bool, port: int | None, appendfsync: str = _APPENDFSYNC[0]
) -> str:
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
        "appendfsync " + appendfsync,
        # Jobs come and go, so under load the file grows by megabytes a second around little data: from Redis's 64 MB on
        # it would be rewritten several times a minute, each time by a child process that takes a core.
        "auto-aof-rewrite-min-size 256mb",
    ]
    return "\n".join(lines) + "\n"


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


class Answer(StrEnum):
    """What a server said to PING.

    `LOADING`: it is reading its data and will serve later. `ERROR`: it replied with another error, such as MISCONF (it
    cannot write its append-only file: the disk is full). `NOTHING`: no reply.
    """

    READY = "ready"
    LOADING = "loading"
    ERROR = "error"
    NOTHING = "nothing"


def ask(unix_socket: Path, *, timeout_s: float = 1.0) -> Answer:
    """Send PING to the server that listens on `unix_socket`."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(unix_socket))
            connection.sendall(b"PING\r\n")
            reply = connection.recv(64)
    except OSError:
        return Answer.NOTHING
    if reply.startswith(b"+PONG"):
        return Answer.READY
    if reply.startswith(b"-LOADING"):
        return Answer.LOADING
    return Answer.ERROR if reply.startswith(b"-") else Answer.NOTHING


class EmbeddedRedis:
    """A Redis of one's own. `with EmbeddedRedis(directory, persistent=False) as redis: ... redis.url`.

    `data_dir` holds its configuration, its append-only file and its log; one server per directory. `port`: a port on
    127.0.0.1 to listen on besides the unix socket. Start it from a thread that lives as long as the process.
    """

    def __init__(self, data_dir: Path, *, persistent: bool, port: int | None = None) -> None:
        self.data_dir = data_dir.resolve()
        self.persistent = persistent
        self.port = port
        self.unix_socket = _socket_path(self.data_dir)
        self._child: Child | None = None

    @property
    def url(self) -> str:
        """Where clients find it."""
        return "unix://" + quote(str(self.unix_socket))

    @property
    def log(self) -> Path:
        """What the server had to say."""
        return self.data_dir / "redis.log"

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._child.pid if self._child is not None and self._child.status is None else None

    def command(self) -> list[str]:
        """Write the configuration and return the command line of the server, which ends with this process.

        Raises ServerNotFoundError, DataIgnoredError, or EmbeddedRedisError if the directory cannot be written or
        TASKQ_REDIS_APPENDFSYNC is wrong.
        """
        server, appendfsync = find_server(), _appendfsync()
        config = self.data_dir / "redis.conf"
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.persistent:
                refuse_ignored_data(self.data_dir, server)
            if self.unix_socket.parent != self.data_dir:
                _make_private(self.unix_socket.parent)
            self.unix_socket.unlink(
                missing_ok=True
            )  # so that a PING is never answered by a server that ran here before
            config.write_text(
                render_config(
                    data_dir=self.data_dir,
                    unix_socket=self.unix_socket,
                    persistent=self.persistent,
                    port=self.port,
                    appendfsync=appendfsync,
                )
            )
            make_content_private(self.data_dir)
        except OSError as error:
            raise EmbeddedRedisError(f"cannot prepare a Redis in {self.data_dir}: {error}") from error
        return tied_to_parent([str(server), str(config)])

    def answer(self) -> Answer:
        """Whether it answers PING now."""
        return ask(self.unix_socket)

    def start(self, *, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start it and return once it answers; the time it takes to load its data does not count as silence.

        Raises EmbeddedRedisError.
        """
        command = self.command()
        self.log.touch(mode=0o600)
        with self.log.open("ab") as log:
            self._child = Child(command, is_tied=False, kills_group=False, stdout=log, stderr=log, umask=PRIVATE_UMASK)
        deadline = time.monotonic() + timeout_s
        while (answer := self.answer()) is not Answer.READY:
            if self._child.status is not None:
                raise ServerDiedError(f"Redis ended with status {self._child.status}: see {self.log}")
            if answer is Answer.LOADING:
                deadline = time.monotonic() + timeout_s
            if time.monotonic() > deadline:
                self.stop()
                raise ServerDiedError(f"Redis did not answer within {timeout_s:g} s: see {self.log}")
            time.sleep(_LOOK_INTERVAL_S)

    def stop(self, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ask it to save and end; after `timeout_s`, kill it. Does nothing when it does not run."""
        child, self._child = self._child, None
        if child is not None:
            child.stop(timeout_s)

    def kill(self) -> None:
        """End it as a crash would."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _make_private(directory: Path) -> None:
    """Make a directory that only we may enter; refuse one that somebody else made first, as anybody may in /tmp."""
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.stat().st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to another user")


def _socket_path(data_dir: Path) -> Path:
    """The socket inside `data_dir`; if that path is too long for a socket, one in a private directory under /tmp."""
    path = data_dir / "redis.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_MAX:
        return path
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"taskq-{os.getuid()}-{digest}" / "redis.sock"


def refuse_ignored_data(data_dir: Path, server: Path) -> None:
    """Raise DataIgnoredError if `server` would start in `data_dir` without some of the jobs there; OSError."""
    file, directory = data_dir / AOF_FILE, data_dir / AOF_DIRECTORY
    if not _has_data(directory):
        return
    if file.exists():
        raise DataIgnoredError(
            f"{file} and {directory} both hold jobs, and Redis would read only one of them. The directory is that of "
            "Valkey and of Redis 7 and newer, the file that of Redis 6.2, or of a backup. Move the one that is not to "
            "be used out of the data directory: the file to start with what is in the directory, or the directory to "
            "start with what is in the file"
        )
    major = _major_version(server)
    if major is not None and major < _DIRECTORY_SINCE:
        raise DataIgnoredError(
            f"{server} is Redis {major} and does not read {directory}, which a Valkey or a newer Redis wrote: it would "
            "start without the jobs there. Use the server that wrote it (TASKQ_REDIS_SERVER), or move the directory "
            "away to start without them"
        )


def _has_data(directory: Path) -> bool:
    """Whether files of data are there, be they empty. A take-over that was interrupted leaves at most a manifest."""
    if not directory.is_dir():
        return False
    return any(path.name.startswith(AOF_FILE) and path.name != _MANIFEST for path in directory.iterdir())


def _major_version(server: Path) -> int | None:
    """None: it does not say."""
    try:
        said = subprocess.run(  # noqa: S603  the server that is started next
            [server, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired:
        return None
    found = re.search(rb"\bv=(\d+)\.", said)
    return int(found[1]) if found is not None else None
