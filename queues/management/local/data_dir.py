"""What a local service keeps: its data directory and port, and the demo account in it.

The directory and the port are for one service at a time. The account (a namespace with a token, and somebody who may
sign in) is made once; a restart finds the same.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from django.contrib.auth import get_user_model

from queues.services.errors import InvalidTokenError, TokenExistsError
from queues.services.tokens.authentication import authorise
from queues.services.tokens.managing import create_token

T = TypeVar("T")

_IN_USE: Final = frozenset({errno.EAGAIN, errno.EADDRINUSE})

PORT_MAX: Final = 65_535

TAKEOVER_S: Final = 3.0
"""How long to wait for a service that was killed a moment ago to be gone altogether."""


class CannotStartError(Exception):
    """Something about this machine or the options is in the way. The message is one line that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataDir:
    """Paths in the data directory. `lock_fd` is held for as long as the service, or its Redis, lives."""

    path: Path
    lock_fd: int

    @property
    def redis_dir(self) -> Path:
        return self.path / "redis"

    @property
    def account_file(self) -> Path:
        return self.path / "demo.json"

    @property
    def heartbeat_file(self) -> Path:
        return self.path / "pump.heartbeat"

    def log(self, name: str) -> Path:
        return self.path / "log" / f"{name}.log"


def lock_data_dir(path: Path) -> DataDir:
    """Make the directory if need be and lock it. Raises CannotStartError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        (path / "log").mkdir(exist_ok=True)
        lock_fd = os.open(path / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotStartError(f"cannot write to the data directory {path}: {error.strerror}") from error
    _try_for_a_while(lambda: fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB), f"another taskq is running on {path}")
    return DataDir(path=path, lock_fd=lock_fd)


def reserve_port(host: str, port: int) -> socket.socket:
    """A socket with that address, on which nobody listens yet; port 0: any free one. Raises CannotStartError.

    Nobody else can listen there for as long as it is open, so that a person learns of it before anything is started,
    and nobody answers in place of our web server, which is to listen on it (`serve --fd`).
    """
    if not 0 <= port <= PORT_MAX:
        raise CannotStartError(f"there is no port {port}: choose one up to {PORT_MAX}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CannotStartError(f"cannot listen on {host}:{port}: {error}") from error

    def bind(on_error: contextlib.ExitStack) -> socket.socket:
        listener = on_error.enter_context(socket.socket(family, kind, protocol))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a server before may linger
        listener.bind(address)
        return listener

    def reserve() -> socket.socket:
        with contextlib.ExitStack() as on_error:
            if port:
                bind(on_error).listen()  # a Linux of some years ago lets several bind a port; one of them may listen
                on_error.close()
            listener = bind(on_error)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)  # else others could listen there, too
            on_error.pop_all()
            return listener

    return _try_for_a_while(reserve, f"cannot listen on {host}:{port}; stop what runs there or choose another --port")


def _try_for_a_while(attempt: Callable[[], T], complaint: str) -> T:
    """Try until it works or TAKEOVER_S are over; errors other than "in use" are final at once."""
    deadline = time.monotonic() + TAKEOVER_S
    while True:
        try:
            return attempt()
        except OSError as error:
            if error.errno not in _IN_USE or time.monotonic() > deadline:
                raise CannotStartError(f"{complaint} ({error.strerror})") from error
        time.sleep(0.05)


POOL: Final = "default"
NAMESPACE: Final = "demo"
USERNAME: Final = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The token, and the password that `username` has unless somebody changed it (then None)."""

    namespace: str
    token: str
    username: str
    password: str | None

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The account kept in `path`; None if there is none."""
        if not path.exists():
            return None
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(**fields)

    def write(self, path: Path) -> None:
        """Keep it in `path`, for its owner's eyes only."""
        fields = {
            "namespace": self.namespace,
            "token": self.token,
            "username": self.username,
            "password": self.password,
        }
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(fields, file)
        draft.replace(path)


def ensure_account(path: Path) -> Account:
    """Make whatever is missing of the account, in the database and in `path`.

    What somebody changed meanwhile stays changed: a revoked token is replaced by another one, and neither the
    password nor the rights of an existing user are touched.
    """
    kept = Account.read(path)
    account = Account(
        namespace=NAMESPACE,
        token=_ensure_token(kept.token if kept is not None else None),
        username=USERNAME,
        password=_ensure_user(kept.password if kept is not None else None),
    )
    if account != kept:
        account.write(path)
    return account


def _ensure_token(kept: str | None) -> str:
    if kept is None:
        return _new_token(None)
    try:
        authorise(pool=POOL, secret=kept, namespace=NAMESPACE)
    except InvalidTokenError:
        try:
            return _new_token(kept)  # another database than last time
        except TokenExistsError:
            return _new_token(None)  # somebody revoked it
    return kept


def _new_token(secret: str | None) -> str:
    description = "demo account of manage.py up"
    return create_token(pool=POOL, namespace=NAMESPACE, description=description, secret=secret).display


def _ensure_user(kept: str | None) -> str | None:
    users = get_user_model().objects
    user = users.filter(username=USERNAME).first()
    if user is None:
        password = kept or secrets.token_urlsafe(12)
        users.create_superuser(username=USERNAME, email="", password=password)
        return password
    return kept if kept is not None and user.check_password(kept) else None
